/* wide.h - one loop, compiled for the widest vectors that the processor has.  Products are never contracted and sums
 * keep their order, so every width gives the same bits.
 * Layer: base.  Header-only. */
#ifndef ATOLL_BASE_WIDE_H
#define ATOLL_BASE_WIDE_H

#define ATOLL_WIDE_BODY static inline __attribute__((always_inline))

#if defined(__x86_64__)
#if defined(__clang__)
#define ATOLL_WIDE_TARGET(features) __attribute__((target(features)))
#else
#define ATOLL_WIDE_TARGET(features) __attribute__((target(features), optimize("O3")))
#endif

static inline int atoll_wide_level(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx2") ? 1 : 0;
}

/* Defines `name` from the ATOLL_WIDE_BODY function name_body. */
#define ATOLL_WIDE_FUNCTION(result, name, parameters, arguments)                                             \
    ATOLL_WIDE_TARGET("avx512f,avx512dq,avx512vl") static result name##_512 parameters                       \
    {                                                                                                        \
        return name##_body arguments;                                                                        \
    }                                                                                                        \
    ATOLL_WIDE_TARGET("avx2") static result name##_256 parameters                                            \
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

#endif
