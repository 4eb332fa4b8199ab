/* compilers.h - the compilers that candidates are compiled with, for code of knowledge: made when they are first needed, all at work at
 * the same time.
 * Layer: scheduler.  Lifetime: init/fini.  Single owner. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_COMPILERS_H
#define ATOLL_SCHEDULER_KNOWLEDGE_COMPILERS_H

#include "base/err.h"
#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_CHECK_COMPILER_LIMIT 48
#define ATOLL_CHECK_FLAG_BYTES     256

enum atoll_check_compiler_kind {
    ATOLL_CHECK_CC,     /* as candidates in C are compiled */
    ATOLL_CHECK_CLANG,  /* the same by clang */
    ATOLL_CHECK_CROSS,  /* C for another processor, by clang */
    ATOLL_CHECK_OPENCL, /* by clang */
    ATOLL_CHECK_CUDA,
    ATOLL_CHECK_TRITON,
    ATOLL_CHECK_COMPILER_KIND_COUNT
};
/* "cc", "clang" ... as findings call them. */
const char *atoll_check_compiler_name(enum atoll_check_compiler_kind kind);

struct atoll_check_compiler {
    enum atoll_check_compiler_kind kind;
    char flags[ATOLL_CHECK_FLAG_BYTES]; /* of the index: a target, or what is added to candidates' flags */
    struct atoll_compiler *compiler;    /* NULL: none here */
    char trouble[ATOLL_ERR_TEXT_BYTES]; /* why */
    size_t pending;
};

struct atoll_check_compilers {
    const char *python; /* of Triton, as a setup says it */
    unsigned slots;     /* of each */
    size_t count;
    struct atoll_check_compiler compilers[ATOLL_CHECK_COMPILER_LIMIT];
};

/* python: borrowed. */
void atoll_check_compilers_init(struct atoll_check_compilers *compilers, const char *python);
void atoll_check_compilers_fini(struct atoll_check_compilers *compilers);
/* The one of its kind and flags, which may have none behind it; NULL with LIMIT. */
struct atoll_check_compiler *atoll_check_compilers_get(struct atoll_check_compilers *compilers,
                                                       enum atoll_check_compiler_kind kind, const char *flags,
                                                       struct atoll_err *err);
/* Queues a unit; number: the caller's. */
int atoll_check_compiler_submit(struct atoll_check_compiler *compiler, uint64_t number, const char *unit_name,
                                const char *text, size_t length, struct atoll_err *err);
/* Waits for everything that was queued; done is called for each, and takes nothing. */
void atoll_check_compilers_finish(struct atoll_check_compilers *compilers,
                                  void (*done)(void *context, const struct atoll_compiled *compiled),
                                  void *context);

#endif
