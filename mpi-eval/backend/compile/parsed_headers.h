/* parsed_headers.h - large headers of a compiler, parsed once for all units that include them: gcc's precompiled headers.  A unit
 * gets the header before its first line, where alone gcc takes the parsed one; its own #include of it then finds it done.
 * Layer: mpi-eval, backend/compile.  Lifetime: init/fini; the folder goes with the scratch folder that it is in.  One thread at a
 * time. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_PARSED_HEADERS_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_PARSED_HEADERS_H

#include <stddef.h>

#include "base/err.h"

#define ATOLL_PARSED_HEADERS_FOLDER "headers"
#define ATOLL_PARSED_HEADERS_LIMIT  4

enum atoll_parsed_state {
    ATOLL_PARSED_UNASKED,
    ATOLL_PARSED_BEING_MADE,
    ATOLL_PARSED_READY,
    ATOLL_PARSED_NEVER
};

struct atoll_parsed_headers {
    char *folder; /* owned; beside those in which the compiler runs; NULL: no headers */
    int folder_fd;
    const char *const *names; /* borrowed */
    size_t count;
    enum atoll_parsed_state states[ATOLL_PARSED_HEADERS_LIMIT];
};

/* names: NULL ends, at most ATOLL_PARSED_HEADERS_LIMIT; NULL: none.  Makes the folder ATOLL_PARSED_HEADERS_FOLDER in base. */
int atoll_parsed_headers_init(struct atoll_parsed_headers *headers, const char *base,
                              const char *const *names, struct atoll_err *err);
void atoll_parsed_headers_fini(struct atoll_parsed_headers *headers); /* zeroed is fine */
/* The first of them that a unit names in an #include, 1 and up; 0: none. */
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
