/* compilers.h - the compilers that candidates are compiled with, for code of knowledge: made when they are first needed, at work side
 * by side.  What one said of a text is kept beside the cubins of candidates, under compiler, flags, static rules and text.
 * Layer: scheduler.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_COMPILERS_H
#define ATOLL_SCHEDULER_KNOWLEDGE_COMPILERS_H

#include "base/err.h"
#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_CHECK_FLAG_BYTES 256 /* of the index: a target, or what is added to candidates' flags */

enum atoll_check_compiler_kind {
    ATOLL_CHECK_CC,     /* as candidates in C are compiled */
    ATOLL_CHECK_CLANG,  /* the same by clang, which makes an object alone */
    ATOLL_CHECK_CROSS,  /* C for another processor, by clang */
    ATOLL_CHECK_OPENCL, /* by clang */
    ATOLL_CHECK_CUDA,
    ATOLL_CHECK_TRITON,
    ATOLL_CHECK_COMPILER_KIND_COUNT
};
/* "cc", "clang" ... as findings call them. */
const char *atoll_check_compiler_name(enum atoll_check_compiler_kind kind);

/* Borrowed during the call. */
struct atoll_check_verdict {
    uint64_t number;
    enum atoll_compile_status status;
    const char *said; /* "" nothing */
};

struct atoll_check_compiler;
struct atoll_check_compilers;

/* python: of Triton, as a setup says it; borrowed.  cache: verdicts of earlier checks are kept and used. */
struct atoll_check_compilers *atoll_check_compilers_create(const char *python, int cache,
                                                           struct atoll_err *err);
void atoll_check_compilers_destroy(struct atoll_check_compilers *compilers); /* NULL is fine */
/* The one of its kind and flags, which may have nothing behind it; NULL with LIMIT. */
struct atoll_check_compiler *atoll_check_compilers_get(struct atoll_check_compilers *compilers,
                                                       enum atoll_check_compiler_kind kind, const char *flags,
                                                       struct atoll_err *err);

struct atoll_check_unit {
    uint64_t number; /* the caller's */
    const char *language;
    const char *name, *text; /* text: of length bytes */
    size_t length;
    int may_be_mutable; /* its object may have variables that are written; of C */
    const char *
        expected; /* what a kept verdict is good for: nothing else, so that no other question gets its answer */
};
/* Queues a unit.  C that becomes a shared object is looked at as one before it is loaded (FORBIDDEN). */
int atoll_check_compilers_submit(struct atoll_check_compilers *compilers,
                                 struct atoll_check_compiler *compiler, const struct atoll_check_unit *unit,
                                 struct atoll_err *err);
/* Compiles everything that was queued; done is called once for each, and says whether the verdict is as it was expected: such
 * ones are kept.  BROKEN: nobody here can tell, said: why.  Errors: MEMORY. */
int atoll_check_compilers_finish(struct atoll_check_compilers *compilers,
                                 int (*done)(void *context, const struct atoll_check_verdict *verdict),
                                 void *context, struct atoll_err *err);

#endif
