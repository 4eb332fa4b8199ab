/* wide.h - one loop, compiled for the widest vectors that the processor has.  The lanes and the order of their
 * sums are the same at every width, and products are never contracted, so every width gives the same bits.
 * Layer: mpi-eval, referee. */
#ifndef ATOLL_MPI_EVAL_REFEREE_WIDE_H
#define ATOLL_MPI_EVAL_REFEREE_WIDE_H

#include <stddef.h>
#include <stdint.h>

#define ATOLL_WIDE_LANES 8

/* Aligned like their elements: a load may start anywhere. */
typedef float atoll_wide_f32 __attribute__((vector_size(32), aligned(4)));
typedef double atoll_wide_f64 __attribute__((vector_size(64), aligned(8)));
typedef int64_t atoll_wide_i64 __attribute__((vector_size(64), aligned(8)));
typedef uint64_t atoll_wide_u64 __attribute__((vector_size(64), aligned(1)));

#define ATOLL_WIDE_BODY static inline __attribute__((always_inline))

#if defined(__x86_64__)
static inline int atoll_wide_level(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx2") ? 1 : 0;
}

/* Defines `name` from the ATOLL_WIDE_BODY function name_body. */
#define ATOLL_WIDE_FUNCTION(result, name, parameters, arguments)                                             \
    __attribute__((target("avx512f,avx512dq,avx512vl"))) static result name##_512 parameters                 \
    {                                                                                                        \
        return name##_body arguments;                                                                        \
    }                                                                                                        \
    __attribute__((target("avx2"))) static result name##_256 parameters                                      \
    {                                                                                                        \
        return name##_body arguments;                                                                        \
    }                                                                                                        \
    static result name parameters                                                                            \
    {                                                                                                        \
        int level = atoll_wide_level();                                                                      \
        return level == 2   ? name##_512 arguments                                                           \
               : level == 1 ? name##_256 arguments                                                           \
                            : name##_body arguments;                                                         \
    }
#else
#define ATOLL_WIDE_FUNCTION(result, name, parameters, arguments)                                             \
    static result name parameters                                                                            \
    {                                                                                                        \
        return name##_body arguments;                                                                        \
    }
#endif

/* memcpy for what no cache should hold. */
void atoll_wide_copy(void *to, const void *from, size_t bytes);

#endif
