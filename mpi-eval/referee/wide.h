/* wide.h - lanes for loops of base/wide.h whose sums are the same at every width, and copies past the caches.
 * Layer: mpi-eval, referee. */
#ifndef ATOLL_MPI_EVAL_REFEREE_WIDE_H
#define ATOLL_MPI_EVAL_REFEREE_WIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

#define ATOLL_WIDE_LANES 8

/* Aligned like their elements: a load may start anywhere. */
typedef float atoll_wide_f32 __attribute__((vector_size(32), aligned(4)));
typedef double atoll_wide_f64 __attribute__((vector_size(64), aligned(8)));
typedef int64_t atoll_wide_i64 __attribute__((vector_size(64), aligned(8)));
typedef uint64_t atoll_wide_u64 __attribute__((vector_size(64), aligned(1)));

/* Half of the lanes, for loops that compare: compilers take comparisons of vectors that are wider than the processor's apart
 * element by element, and 32 bytes are within those of AVX2. */
#define ATOLL_WIDE_HALF_LANES 4
typedef double atoll_half_f64 __attribute__((vector_size(32), aligned(8)));
typedef int64_t atoll_half_i64 __attribute__((vector_size(32), aligned(8)));
/* Macros: vectors are not passed by value, for their binary interface depends on the width.  NaN is never larger. */
#define ATOLL_HALF_MAGNITUDE(x) ((atoll_half_f64)((atoll_half_i64)(x)&INT64_MAX))
#define ATOLL_HALF_LARGER(x, y)                                                                              \
    ((atoll_half_f64)(((atoll_half_i64)(x) & ((x) > (y))) | ((atoll_half_i64)(y) & ~((x) > (y)))))

/* memcpy for what no cache should hold. */
void atoll_wide_copy(void *to, const void *from, size_t bytes);

#endif
