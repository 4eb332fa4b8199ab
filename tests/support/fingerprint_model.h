/* fingerprint_model.h - fingerprints of expected values as the device makes and matches them, element by element on the host. */
#ifndef ATOLL_TESTS_SUPPORT_FINGERPRINT_MODEL_H
#define ATOLL_TESTS_SUPPORT_FINGERPRINT_MODEL_H

#include <math.h>

#include "core/task/task.h"
#include "mpi-eval/backend/cuda/kernels/fingerprint.h"

struct model_pair {
    double value, bound;
};

/* Weight of an element, sign and all. */
static inline double model_weight(const atoll_u64 key[2], atoll_u64 salt, size_t element)
{
    size_t block = element / ATOLL_PRINT_BLOCK, at = element % ATOLL_PRINT_BLOCK;
    struct atoll_pair word = atoll_print_word(key, salt, ATOLL_PRINT_WEIGHTS, at / 2);
    unsigned signs = atoll_print_signs(atoll_print_sign_key(key, salt), block / ATOLL_PRINT_CHUNK,
                                       (unsigned)(at / ATOLL_PRINT_GROUP));
    double weight = atoll_print_weight(at % 2 ? word.y : word.x);
    return signs >> block % ATOLL_PRINT_CHUNK & 1 ? -weight : weight;
}

/* A float that is not below. */
static inline double model_scale(double scale)
{
    float f = (float)scale;
    return (double)f < scale ? (double)nextafterf(f, INFINITY) : (double)f;
}

static inline double model_bound(const struct atoll_tolerance *t, double value, double scale)
{
    return t->atol + t->rtol * fmax(fabs(value), model_scale(scale));
}

/* Pairs of all blocks, then of the samples; returns how many. */
static inline size_t model_make(const struct atoll_tolerance *t, const double *values, const double *scale,
                                size_t count, const atoll_u64 key[2], atoll_u64 salt,
                                struct model_pair *ret_pairs)
{
    size_t blocks = (size_t)atoll_print_blocks(count), samples = (size_t)atoll_print_samples(count);
    for (size_t b = 0; b < blocks; b++)
        ret_pairs[b] = (struct model_pair){0, 0};
    for (size_t i = 0; i < count; i++) {
        double w = model_weight(key, salt, i);
        ret_pairs[i / ATOLL_PRINT_BLOCK].value += w * values[i];
        ret_pairs[i / ATOLL_PRINT_BLOCK].bound += fabs(w) * model_bound(t, values[i], scale ? scale[i] : 0) +
                                                  ATOLL_PRINT_SLACK * fabs(w * values[i]);
    }
    for (size_t i = 0; i < samples; i++) {
        size_t at = (size_t)atoll_print_place(key, salt, i, count);
        ret_pairs[blocks + i] =
            (struct model_pair){values[at], model_bound(t, values[at], scale ? scale[at] : 0)};
    }
    return blocks + samples;
}

/* Sums of squares of the values and of their bounds. */
static inline void model_squares(const struct atoll_tolerance *t, const double *values, const double *scale,
                                 size_t count, double *ret_expected2, double *ret_bound2)
{
    *ret_expected2 = *ret_bound2 = 0;
    for (size_t i = 0; i < count; i++) {
        double bound = model_bound(t, values[i], scale ? scale[i] : 0);
        *ret_expected2 += values[i] * values[i];
        *ret_bound2 += bound * bound;
    }
}

/* How many pairs are off by more than bound_ratio of their bounds; sum of squares of what blocks' sums are. */
static inline size_t model_match(const struct model_pair *pairs, enum atoll_dtype dtype, const void *data,
                                 size_t count, const atoll_u64 key[2], atoll_u64 salt, double bound_ratio,
                                 double *ret_error2)
{
    size_t blocks = (size_t)atoll_print_blocks(count), samples = (size_t)atoll_print_samples(count), off = 0;
    *ret_error2 = 0;
    for (size_t b = 0; b < blocks; b++) {
        double sum = 0;
        for (size_t i = b * ATOLL_PRINT_BLOCK; i < count && i < (b + 1) * ATOLL_PRINT_BLOCK; i++)
            sum += model_weight(key, salt, i) * atoll_dtype_load(dtype, data, i);
        off += !(fabs(sum - pairs[b].value) <= bound_ratio * pairs[b].bound);
        *ret_error2 += (sum - pairs[b].value) * (sum - pairs[b].value);
    }
    for (size_t i = 0; i < samples; i++) {
        double y = atoll_dtype_load(dtype, data, (size_t)atoll_print_place(key, salt, i, count));
        off += !(fabs(y - pairs[blocks + i].value) <= bound_ratio * pairs[blocks + i].bound);
    }
    return off;
}

#endif
