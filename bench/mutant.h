/* mutant.h - variations of a CUDA source for measurements: other text with the same meaning, or with a known flaw.
 * Layer: bench.  Pure. */
#ifndef ATOLL_BENCH_MUTANT_H
#define ATOLL_BENCH_MUTANT_H

#include "base/err.h"

enum atoll_mutant {
    ATOLL_MUTANT_COMMENT, /* the same kernel */
    ATOLL_MUTANT_RENAME,  /* the same kernel with a parameter under another name */
    ATOLL_MUTANT_BROKEN,  /* does not compile */
    ATOLL_MUTANT_SKIPS_FIRST,
    ATOLL_MUTANT_SKIPS_LAST, /* a block of the first kernel leaves its part of the output as it is */
    ATOLL_MUTANT_SKIPS_LATE, /* the same in large grids only: right at small shapes */
    ATOLL_MUTANT_HANGS,
    ATOLL_MUTANT_FAULTS, /* writes to an address that is nobody's */
    ATOLL_MUTANT_COUNT
};

const char *atoll_mutant_name(enum atoll_mutant kind);

/* number: makes the text another one than those of other numbers.  Owned by the caller (free).  ATOLL_E_INPUT when the
 * source has no kernel with a body, or one without parameters that is to be renamed. */
char *atoll_mutant_make(const char *source, enum atoll_mutant kind, unsigned number, struct atoll_err *err);

#endif
