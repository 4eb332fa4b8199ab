/* init_value.h - the value of one element of a draw: a function of (parameters, index), the same bits on hosts and
 * devices.  Layer: core.  Header-only in the common subset of C11 and CUDA C++ (random.h says how): integer arithmetic,
 * exact conversions, products and sums that are never contracted.  The stream is Philox's: element i takes `words` words
 * of it from word i * words on, so that a block of four serves two to four elements (docs/adr/0030).  init.c settles the
 * parameters and has the loops of the host; device kernels take the parameters by value. */
#ifndef ATOLL_CORE_TASK_INIT_VALUE_H
#define ATOLL_CORE_TASK_INIT_VALUE_H

#include "core/task/dtype_value.h"

/* A normal is the sum of bytes, each times a weight of its own, less the mean: so a word or two have as many sums as they
 * can.  The weights are odd, so every byte's lowest bit decides over the sum's, and near each other, so the sum is as good
 * as one of uniforms alike (Irwin and Hall).  That of eight bytes ends at 4.87 deviations; that of four, at 3.44, is bent
 * until its deviation is 1 and its kurtosis 3, and then ends at 4.05. */
#define ATOLL_BELL_FIRST  0xd3e3f1ffu /* weights of the bytes of a word: 255, 241, 227, 211 */
#define ATOLL_BELL_SECOND 0xc7dfeffbu /* 251, 239, 223, 199 */
#define ATOLL_BELL4_MEAN  119085
#define ATOLL_BELL4_STEP  0x1.cba40d392b7acp-16 /* 0.94781... / deviation of the sum */
#define ATOLL_BELL4_BEND  0x1.0a461b300699cp-51 /* 0.019126... / deviation^3 */
#define ATOLL_BELL4_HALF  0x1.e4f3435c38761p-15 /* 2 / deviation */
#define ATOLL_BELL8_MEAN  235365
#define ATOLL_BELL8_STEP  0x1.5ac5927aaef9dp-16 /* 1 / deviation of the sum */
#define ATOLL_BELL8_HALF  0x1.5ac5927aaef9dp-15

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

/* The element types of single precision and below: their values are made in it. */
#define ATOLL_VALUE_IS_SINGLE(dtype) ((dtype) >= ATOLL_F32 && (dtype) <= ATOLL_F8E5M2)

/* The same number twice: what is made in single precision takes the second form. */
struct atoll_init_params {
    atoll_u64 key;
    double a;    /* mean, low or the constant */
    double step; /* normal: of one unit of the sum (ties: half a deviation); uniform: high - low */
    double rest; /* UNIFORM_SPARSE: of what is not drawn */
    float a_single, step_single, rest_single;
    float bend;          /* normal of one word: per cube of a unit; else 0 */
    long long low, span; /* INTEGER; span is also the total of RAGGED */
    atoll_u64 row;       /* extent of the last axis */
    int form, dtype;     /* enum atoll_value_form, enum atoll_dtype */
    int words, reserved; /* 32-bit words of the stream that an element takes; 0: the stream is not used */
};

/* Makes a normal of p's form, dtype and a. */
ATOLL_INLINE void atoll_value_normal_settle(struct atoll_init_params *p, double deviation)
{
    int is_bent = ATOLL_VALUE_IS_SINGLE(p->dtype) && p->dtype != ATOLL_F32,
        is_ties = p->form == ATOLL_VALUE_NORMAL_TIES;
    p->words = is_bent ? 1 : 2;
    p->step = deviation * (is_ties ? 0.5 : is_bent ? ATOLL_BELL4_STEP : ATOLL_BELL8_STEP);
    p->bend = is_bent && !is_ties ? atoll_narrow(deviation * ATOLL_BELL4_BEND) : 0;
    p->a_single = atoll_narrow(p->a);
    p->step_single = atoll_narrow(p->step);
}

/* ---- the stream ---- */

/* Words 4 * block .. 4 * block + 3. */
ATOLL_INLINE struct atoll_words atoll_value_words(const struct atoll_init_params *p, atoll_u64 block)
{
    return atoll_philox(p->key, block, 0);
}

ATOLL_INLINE unsigned atoll_value_word(const struct atoll_words *w, unsigned lane)
{
    return lane & 2 ? lane & 1 ? w->d : w->c : lane & 1 ? w->b : w->a;
}

/* The words of an element, the first one in the low half. */
ATOLL_INLINE atoll_u64 atoll_value_bits(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 first = p->words == 2 ? index * 2 : index;
    struct atoll_words w = atoll_value_words(p, first >> 2);
    unsigned lane = (unsigned)first & 3;
    unsigned low = atoll_value_word(&w, lane);
    return p->words == 2 ? (atoll_u64)atoll_value_word(&w, lane + 1) << 32 | low : low;
}

/* ---- normal ---- */

/* Four products of bytes and their sum; what it begins with may be a negative number. */
ATOLL_INLINE unsigned atoll_weighted_bytes(unsigned word, unsigned weights, unsigned begin)
{
#ifdef __CUDACC__
    unsigned sum;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(word), "r"(weights), "r"(begin));
    return sum;
#else
    return begin + (word & 0xff) * (weights & 0xff) + (word >> 8 & 0xff) * (weights >> 8 & 0xff) +
           (word >> 16 & 0xff) * (weights >> 16 & 0xff) + (word >> 24) * (weights >> 24);
#endif
}

ATOLL_INLINE int atoll_value_bell4(unsigned word)
{
    return (int)atoll_weighted_bytes(word, ATOLL_BELL_FIRST, 0u - ATOLL_BELL4_MEAN);
}

ATOLL_INLINE int atoll_value_bell8(unsigned first, unsigned second)
{
    unsigned half = atoll_weighted_bytes(first, ATOLL_BELL_FIRST, 0u - ATOLL_BELL8_MEAN);
    return (int)atoll_weighted_bytes(second, ATOLL_BELL_SECOND, half);
}

/* value where the lowest bit is set, else +0: no branch, since it would be mispredicted half the time. */
ATOLL_INLINE double atoll_value_keep(double value, unsigned bits)
{
    return atoll_double_of(atoll_bits_of(value) & (0 - (atoll_u64)(bits & 1)));
}

ATOLL_INLINE float atoll_single_keep(float value, unsigned bits)
{
    return atoll_float_of(atoll_float_bits(value) & (0 - (bits & 1)));
}

ATOLL_INLINE double atoll_value_normal(const struct atoll_init_params *p, int sum)
{
    return ATOLL_ADD(ATOLL_MUL((double)sum, p->step), p->a);
}

/* To the next multiple of half a deviation, by what the sum with a large number drops. */
ATOLL_INLINE double atoll_value_normal_ties(const struct atoll_init_params *p, int sum)
{
    double k = ATOLL_ADD(ATOLL_MUL((double)sum, ATOLL_BELL8_HALF), 0x1.8p52);
    return ATOLL_ADD(ATOLL_MUL(ATOLL_ADD(k, -0x1.8p52), p->step), p->a);
}

/* Odd sums stay. */
ATOLL_INLINE double atoll_value_normal_sparse(const struct atoll_init_params *p, int sum)
{
    return atoll_value_keep(atoll_value_normal(p, sum), (unsigned)sum);
}

ATOLL_INLINE float atoll_single_normal(const struct atoll_init_params *p, int sum)
{
    return ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE((float)sum, p->step_single), p->a_single);
}

ATOLL_INLINE float atoll_single_normal_ties(const struct atoll_init_params *p, int sum)
{
    float half = p->words == 2 ? (float)ATOLL_BELL8_HALF : (float)ATOLL_BELL4_HALF;
    float k = ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE((float)sum, half), 0x1.8p23f);
    return ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE(ATOLL_ADD_SINGLE(k, -0x1.8p23f), p->step_single), p->a_single);
}

ATOLL_INLINE float atoll_single_normal_sparse(const struct atoll_init_params *p, int sum)
{
    return atoll_single_keep(atoll_single_normal(p, sum), (unsigned)sum);
}

/* Of one word. */
ATOLL_INLINE float atoll_single_bent(const struct atoll_init_params *p, int sum)
{
    float y = (float)sum;
    float slope = ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE(ATOLL_MUL_SINGLE(y, y), p->bend), p->step_single);
    return ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE(y, slope), p->a_single);
}

ATOLL_INLINE float atoll_single_bent_sparse(const struct atoll_init_params *p, int sum)
{
    return atoll_single_keep(atoll_single_bent(p, sum), (unsigned)sum);
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
    return ATOLL_ADD(atoll_value_keep(atoll_value_uniform(p, bits), (unsigned)bits),
                     atoll_value_keep(p->rest, (unsigned)bits + 1));
}

/* (23 bits + 1/2) / 2^23: never 0 nor 1. */
ATOLL_INLINE float atoll_single_uniform(const struct atoll_init_params *p, unsigned word)
{
    float unit = ATOLL_ADD_SINGLE(atoll_float_of(word >> 9 | 0x3f800000u), -0x1.fffffep-1f);
    return ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE(unit, p->step_single), p->a_single);
}

ATOLL_INLINE float atoll_single_uniform_ties(const struct atoll_init_params *p, unsigned word)
{
    float unit = ATOLL_ADD_SINGLE(atoll_float_of((word >> 9 & 0x700000u) | 0x3f800000u), -1.0f);
    return ATOLL_ADD_SINGLE(ATOLL_MUL_SINGLE(unit, p->step_single), p->a_single);
}

ATOLL_INLINE float atoll_single_uniform_sparse(const struct atoll_init_params *p, unsigned word)
{
    return atoll_float_of(atoll_float_bits(atoll_single_keep(atoll_single_uniform(p, word), word)) |
                          atoll_float_bits(atoll_single_keep(p->rest_single, word + 1)));
}

/* ---- signs ---- */

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
    atoll_u64 bits = atoll_value_bits(p, index), span = (atoll_u64)p->span;
    return (double)(p->low + (long long)(p->words == 2 ? bits % span : bits * span >> 32));
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

/* Without the sign of its row. */
ATOLL_INLINE float atoll_init_single(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 bits = atoll_value_bits(p, index);
    unsigned word = (unsigned)bits;
    int is_bent = p->words == 1,
        sum = is_bent ? atoll_value_bell4(word) : atoll_value_bell8(word, (unsigned)(bits >> 32));
    switch (p->form) {
    case ATOLL_VALUE_NORMAL:
    case ATOLL_VALUE_NORMAL_SIGNED: return is_bent ? atoll_single_bent(p, sum) : atoll_single_normal(p, sum);
    case ATOLL_VALUE_NORMAL_TIES: return atoll_single_normal_ties(p, sum);
    case ATOLL_VALUE_NORMAL_SPARSE:
        return is_bent ? atoll_single_bent_sparse(p, sum) : atoll_single_normal_sparse(p, sum);
    case ATOLL_VALUE_UNIFORM_TIES: return atoll_single_uniform_ties(p, word);
    case ATOLL_VALUE_UNIFORM_SPARSE: return atoll_single_uniform_sparse(p, word);
    default: return atoll_single_uniform(p, word);
    }
}

ATOLL_INLINE double atoll_init_double(const struct atoll_init_params *p, atoll_u64 index)
{
    atoll_u64 bits = atoll_value_bits(p, index);
    int sum = atoll_value_bell8((unsigned)bits, (unsigned)(bits >> 32));
    switch (p->form) {
    case ATOLL_VALUE_NORMAL:
    case ATOLL_VALUE_NORMAL_SIGNED: return atoll_value_normal(p, sum);
    case ATOLL_VALUE_NORMAL_TIES: return atoll_value_normal_ties(p, sum);
    case ATOLL_VALUE_NORMAL_SPARSE: return atoll_value_normal_sparse(p, sum);
    case ATOLL_VALUE_UNIFORM_TIES: return atoll_value_uniform_ties(p, bits);
    case ATOLL_VALUE_UNIFORM_SPARSE: return atoll_value_uniform_sparse(p, bits);
    default: return atoll_value_uniform(p, bits);
    }
}

ATOLL_INLINE int atoll_value_is_signed(int form)
{
    return form == ATOLL_VALUE_NORMAL_SIGNED || form == ATOLL_VALUE_UNIFORM_SIGNED;
}

ATOLL_INLINE double atoll_init_value(const struct atoll_init_params *p, atoll_u64 index)
{
    if (p->form <= ATOLL_VALUE_UNIFORM_SIGNED) {
        double value = ATOLL_VALUE_IS_SINGLE(p->dtype) ? atoll_widen(atoll_init_single(p, index))
                                                       : atoll_init_double(p, index);
        return atoll_value_is_signed(p->form) ? atoll_value_signed(value, atoll_value_sign(p, index / p->row))
                                              : value;
    }
    switch (p->form) {
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
