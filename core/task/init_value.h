/* init_value.h - the value of one element of a draw: a function of (parameters, index), the same bits on hosts and
 * devices.  Layer: core.  Header-only in the common subset of C11 and CUDA C++ (random.h says how): integer arithmetic,
 * exact conversions, one product and one sum that are never contracted.  init.c settles the parameters and has the loops
 * of the host; device kernels take the parameters by value. */
#ifndef ATOLL_CORE_TASK_INIT_VALUE_H
#define ATOLL_CORE_TASK_INIT_VALUE_H

#include "core/task/dtype_value.h"

#define ATOLL_NORMAL_MEAN 262140                /* of the sum of eight 16-bit uniforms */
#define ATOLL_NORMAL_STEP 0x1.3988e1412ed76p-16 /* 1 / its standard deviation, sqrt(8 * (2^32 - 1) / 12) */
#define ATOLL_HALF_SIGMA  26755                 /* half of that deviation, rounded */
#define ATOLL_TIES_SHIFT  16                    /* halves of a deviation that make every sum positive */

/* An init under a distribution. */
enum atoll_value_form {
    ATOLL_VALUE_NORMAL,
    ATOLL_VALUE_NORMAL_TIES, /* multiples of half a standard deviation */
    ATOLL_VALUE_NORMAL_SPARSE,
    ATOLL_VALUE_NORMAL_SIGNED, /* magnitudes of the base with one sign per row */
    ATOLL_VALUE_UNIFORM,
    ATOLL_VALUE_UNIFORM_TIES,   /* eight values */
    ATOLL_VALUE_UNIFORM_SPARSE, /* half of them the value of the interval that is nearest to zero */
    ATOLL_VALUE_UNIFORM_SIGNED,
    ATOLL_VALUE_INTEGER,
    ATOLL_VALUE_INDEX,
    ATOLL_VALUE_PERMUTATION,
    ATOLL_VALUE_RAGGED,
    ATOLL_VALUE_CONSTANT,
    ATOLL_VALUE_FORM_COUNT
};

struct atoll_init_params {
    atoll_u64 key;
    double a;            /* mean, low or the constant */
    double step;         /* normal: of one unit of the sum; uniform: high - low */
    double rest;         /* UNIFORM_SPARSE: of what is not drawn */
    long long low, span; /* INTEGER; span is also the total of RAGGED */
    atoll_u64 row;       /* extent of the last axis */
    int form, dtype;     /* enum atoll_value_form, enum atoll_dtype */
};

/* ---- normal ---- */

ATOLL_INLINE int atoll_value_lanes(atoll_u64 x)
{
    atoll_u64 pairs = (x & 0x0000ffff0000ffffull) + (x >> 16 & 0x0000ffff0000ffffull);
    return (int)((pairs & 0xffffffffull) + (pairs >> 32));
}

/* Centred sum of eight 16-bit uniforms; the second draw is the first one mixed on with the key. */
ATOLL_INLINE int atoll_value_bell(atoll_u64 key, atoll_u64 index)
{
    atoll_u64 bits = atoll_random_at(key, index);
    return atoll_value_lanes(bits) + atoll_value_lanes(atoll_mix64(bits + key)) - ATOLL_NORMAL_MEAN;
}

/* value where the lowest bit is set, else +0: no branch, since it would be mispredicted half the time. */
ATOLL_INLINE double atoll_value_keep(double value, atoll_u64 bits)
{
    return atoll_double_of(atoll_bits_of(value) & (0 - (bits & 1)));
}

ATOLL_INLINE double atoll_value_normal(const struct atoll_init_params *p, int sum)
{
    return ATOLL_ADD(ATOLL_MUL((double)sum, p->step), p->a);
}

/* Rounds down. */
ATOLL_INLINE double atoll_value_normal_ties(const struct atoll_init_params *p, int sum)
{
    int k = (sum + ATOLL_HALF_SIGMA / 2 + ATOLL_TIES_SHIFT * ATOLL_HALF_SIGMA) / ATOLL_HALF_SIGMA -
            ATOLL_TIES_SHIFT;
    return atoll_value_normal(p, k);
}

/* Odd sums stay. */
ATOLL_INLINE double atoll_value_normal_sparse(const struct atoll_init_params *p, int sum)
{
    return atoll_value_keep(atoll_value_normal(p, sum), (atoll_u64)(unsigned)sum);
}

/* ---- uniform ---- */

ATOLL_INLINE double atoll_value_uniform(const struct atoll_init_params *p, atoll_u64 bits)
{
    return ATOLL_ADD(ATOLL_MUL(atoll_random_unit(bits), p->step), p->a);
}

ATOLL_INLINE double atoll_value_uniform_ties(const struct atoll_init_params *p, atoll_u64 bits)
{
    return ATOLL_ADD(ATOLL_MUL((double)(int)(bits >> 61) * 0.125, p->step), p->a);
}

ATOLL_INLINE double atoll_value_uniform_sparse(const struct atoll_init_params *p, atoll_u64 bits)
{
    return ATOLL_ADD(atoll_value_keep(atoll_value_uniform(p, bits), bits),
                     atoll_value_keep(p->rest, bits + 1));
}

ATOLL_INLINE double atoll_value_sign(const struct atoll_init_params *p, atoll_u64 row)
{
    return atoll_random_at(p->key + 1, row) & 1 ? 1.0 : -1.0;
}

ATOLL_INLINE double atoll_value_signed(double value, double sign)
{
    return atoll_double_of(atoll_bits_of(value) & 0x7fffffffffffffffull) * sign;
}

/* ---- integers ---- */

ATOLL_INLINE double atoll_value_integer(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 v = atoll_random_below(atoll_random_at(p->key, index), (atoll_u64)p->span);
    return (double)(p->low + (long long)v);
}

/* A keyed bijection of 0..2^bits-1: rounds of an odd product, a sum and a shift down, each invertible. */
ATOLL_INLINE atoll_u64 atoll_value_scramble(atoll_u64 key, unsigned bits, atoll_u64 x)
{
    atoll_u64 mask = (1ull << bits) - 1;
    unsigned shift = bits / 2 + 1;
    for (unsigned round = 0; round < 4; round++) {
        atoll_u64 k = atoll_random_at(key, round);
        x = (x * (k | 1) + (k >> 32)) & mask;
        x ^= x >> shift;
    }
    return x;
}

/* Cycle walking (Black and Rogaway, CT-RSA 2002): applied again until the result lies below n, which keeps it
 * a bijection. */
ATOLL_INLINE atoll_u64 atoll_value_permute(atoll_u64 key, atoll_u64 n, atoll_u64 x)
{
    unsigned bits = 1;
    while ((1ull << bits) < n)
        bits++;
    do {
        x = atoll_value_scramble(key, bits, x);
    } while (x >= n);
    return x;
}

ATOLL_INLINE double atoll_value_permutation(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 row = index / p->row;
    return (double)(long long)atoll_value_permute(atoll_random_at(p->key, row), p->row, index - row * p->row);
}

/* Offset i of n segments lies at random between the middles around i * total / n, so offsets ascend and each
 * can be computed alone.  i, n, total <= 2^31: the products fit 64 bits. */
ATOLL_INLINE double atoll_value_ragged(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 i = index % p->row, segments = p->row - 1, total = (atoll_u64)p->span;
    if (i == 0 || segments == 0)
        return 0;
    if (i >= segments)
        return (double)(long long)total;
    atoll_u64 low = (2 * i - 1) * total / (2 * segments), high = (2 * i + 1) * total / (2 * segments);
    if (high > low)
        low += atoll_random_below(atoll_random_at(p->key, index), high - low);
    return (double)(long long)low;
}

/* ---- any ---- */

ATOLL_INLINE double atoll_init_value(const struct atoll_init_params *p, atoll_u64 index)
{
    switch (p->form) {
    case ATOLL_VALUE_NORMAL: return atoll_value_normal(p, atoll_value_bell(p->key, index));
    case ATOLL_VALUE_NORMAL_TIES: return atoll_value_normal_ties(p, atoll_value_bell(p->key, index));
    case ATOLL_VALUE_NORMAL_SPARSE: return atoll_value_normal_sparse(p, atoll_value_bell(p->key, index));
    case ATOLL_VALUE_NORMAL_SIGNED:
        return atoll_value_signed(atoll_value_normal(p, atoll_value_bell(p->key, index)),
                                  atoll_value_sign(p, index / p->row));
    case ATOLL_VALUE_UNIFORM: return atoll_value_uniform(p, atoll_random_at(p->key, index));
    case ATOLL_VALUE_UNIFORM_TIES: return atoll_value_uniform_ties(p, atoll_random_at(p->key, index));
    case ATOLL_VALUE_UNIFORM_SPARSE: return atoll_value_uniform_sparse(p, atoll_random_at(p->key, index));
    case ATOLL_VALUE_UNIFORM_SIGNED:
        return atoll_value_signed(atoll_value_uniform(p, atoll_random_at(p->key, index)),
                                  atoll_value_sign(p, index / p->row));
    case ATOLL_VALUE_INTEGER: return atoll_value_integer(p, index);
    case ATOLL_VALUE_INDEX: return (double)(long long)index;
    case ATOLL_VALUE_PERMUTATION: return atoll_value_permutation(p, index);
    case ATOLL_VALUE_RAGGED: return atoll_value_ragged(p, index);
    default: return p->a;
    }
}

/* Its bits as element of the dtype. */
ATOLL_INLINE atoll_u64 atoll_init_bits(const struct atoll_init_params *p, atoll_u64 index)
{
    return atoll_dtype_encode(p->dtype, atoll_init_value(p, index));
}

#endif
