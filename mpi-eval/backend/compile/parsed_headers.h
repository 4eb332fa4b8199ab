/* parsed_headers.h - large headers of a compiler, parsed once for all units that include them: gcc's precompiled headers.  A unit
 * gets the header before its first line, where alone gcc takes the parsed one; its own #include of it then finds it done.
 * Layer: mpi-eval, backend/compile.  Lifetime: init/fini; the folder goes with the scratch folder that it is in.  One thread at a
 * time. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_PARSED_HEADERS_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_PARSED_HEADERS_H

#include <stddef.h>

#include "base/err.h"

#define ATOLL_PARSED_HEADERS_FOLDER "headers"
#define ATOLL_PARSED_HEADERS_LIMIT  8

/* One of them.  A name may stand twice, first with less of it for units that need no more. */
struct atoll_parsed_header {
    const char *name;   /* as an #include says it; NULL ends a table */
    const char *file;   /* in the folder, where each has its own */
    const char *before; /* text that is parsed before it; NULL: none */
    /* A unit with a name, or signs, that begin so does not get it; asked_words: one with such a name in a condition of the
     * preprocessor.  NULL ends; NULL: none. */
    const char *const *words;
    const char *const *asked_words;
    /* Whether what the preprocessor made of a unit with it means the same without it; NULL: always. */
    int (*suits)(const char *preprocessed);
};

enum atoll_parsed_state {
    ATOLL_PARSED_UNASKED,
    ATOLL_PARSED_BEING_MADE,
    ATOLL_PARSED_READY,
    ATOLL_PARSED_NEVER
};

struct atoll_parsed_headers {
    char *folder; /* owned; beside those in which the compiler runs; NULL: no headers */
    int folder_fd;
    const struct atoll_parsed_header *table; /* borrowed */
    size_t count;
    enum atoll_parsed_state states[ATOLL_PARSED_HEADERS_LIMIT];
};

/* table: at most ATOLL_PARSED_HEADERS_LIMIT; NULL: none.  Makes the folder ATOLL_PARSED_HEADERS_FOLDER in base. */
int atoll_parsed_headers_init(struct atoll_parsed_headers *headers, const char *base,
                              const struct atoll_parsed_header *table, struct atoll_err *err);
void atoll_parsed_headers_fini(struct atoll_parsed_headers *headers); /* zeroed is fine */
/* The first of them that a unit names in an #include and may get, 1 and up; 0: none.  Those that could not be made are none. */
size_t atoll_parsed_headers_find(const struct atoll_parsed_headers *headers, const char *text);
/* What is compiled to have it parsed: nothing where the compiler could fail later because of it (gcc before 12 ends where the
 * system does not give it one certain address). */
void atoll_parsed_headers_unit(const struct atoll_parsed_headers *headers, size_t header, char *ret_text,
                               size_t bytes);
/* Takes what the compiler made of it out of a folder; without (object NULL) units are compiled as they are for good. */
void atoll_parsed_headers_keep(struct atoll_parsed_headers *headers, size_t header, int from_folder_fd,
                               const char *object);
/* The file that a compiler beside the folder is to take first. */
void atoll_parsed_headers_path(const struct atoll_parsed_headers *headers, size_t header, char *ret_path,
                               size_t bytes);
/* Blanks the line by which gcc's preprocessor says that it took the parsed header: it stands before all text of the unit. */
void atoll_parsed_headers_hide(const struct atoll_parsed_headers *headers, size_t header, char *preprocessed);

#endif
