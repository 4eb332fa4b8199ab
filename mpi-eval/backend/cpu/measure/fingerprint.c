#include "mpi-eval/backend/cpu/measure/expected.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/random.h"
#include "mpi-eval/backend/cpu/measure/memory.h"
#include "mpi-eval/referee/wide.h"

#define BLOCK ((size_t)ATOLL_FINGERPRINT_BLOCK)

/* Random signs and sizes: errors cannot be arranged to cancel without the key. */
static void weights_of(uint64_t key, double *weights)
{
    for (size_t i = 0; i < 2 * BLOCK; i++) {
        atoll_u64 bits = atoll_random_at(key, i);
        weights[i] = (0.5 + atoll_random_unit(bits)) * (bits & 1 ? 1.0 : -1.0);
    }
}

static const double *block_weights(const double *weights, uint64_t key, size_t block)
{
    return weights + atoll_random_at(~key, block) % BLOCK;
}

static double bound_of(const struct atoll_tolerance *t, double value, double scale)
{
    return t->atol + t->rtol * fmax(fabs(value), scale);
}

/* Sums over one whole block. */
struct block_sums {
    double value, bound, magnitude;
    double expected2, bound2; /* of the elements, without weights */
};

ATOLL_WIDE_BODY double lanes_sum(const double *lane)
{
    return lane[0] + lane[1] + lane[2] + lane[3] + (lane[4] + lane[5] + lane[6] + lane[7]);
}

ATOLL_WIDE_BODY int expect_block_body(const double *w, const double *values, const double *scale,
                                      const struct atoll_tolerance *t, struct block_sums *ret)
{
    atoll_half_f64 sum[2] = {0}, bound[2] = {0}, magnitude[2] = {0}, expected2[2] = {0}, bound2[2] = {0};
    for (size_t i = 0; i < BLOCK; i += ATOLL_WIDE_LANES)
        for (size_t h = 0; h < 2; h++) {
            size_t at = i + h * ATOLL_WIDE_HALF_LANES;
            atoll_half_f64 weight = *(const atoll_half_f64 *)(w + at),
                           r = *(const atoll_half_f64 *)(values + at);
            atoll_half_f64 size = ATOLL_HALF_MAGNITUDE(r), s = {0};
            if (scale)
                s = *(const atoll_half_f64 *)(scale + at);
            atoll_half_f64 product = weight * r, own = t->atol + t->rtol * ATOLL_HALF_LARGER(s, size);
            sum[h] += product;
            magnitude[h] += ATOLL_HALF_MAGNITUDE(product);
            bound[h] += ATOLL_HALF_MAGNITUDE(weight) * own;
            expected2[h] += r * r;
            bound2[h] += own * own;
        }
    *ret = (struct block_sums){lanes_sum((const double *)sum), lanes_sum((const double *)bound),
                               lanes_sum((const double *)magnitude), lanes_sum((const double *)expected2),
                               lanes_sum((const double *)bound2)};
    return 0;
}
ATOLL_WIDE_FUNCTION(int, expect_block,
                    (const double *w, const double *values, const double *scale,
                     const struct atoll_tolerance *t, struct block_sums *ret),
                    (w, values, scale, t, ret))

#define BLOCKS_PER_PIECE ((size_t)256)

struct squares {
    double expected2, bound2;
};

struct filling {
    struct atoll_fingerprint *print;
    const struct atoll_tolerance *tolerance;
    const double *values, *scale;
    struct squares *squares; /* per block */
    atomic_int finite;
    double weights[2 * BLOCK];
};

static void blocks_fill(void *context, size_t begin_block, size_t end_block)
{
    struct filling *f = context;
    struct atoll_fingerprint *p = f->print;
    for (size_t b = begin_block; b < end_block; b++) {
        const double *w = block_weights(f->weights, p->key, b),
                     *from = f->scale ? f->scale + b * BLOCK : NULL;
        size_t begin = b * BLOCK;
        struct block_sums s;
        if (p->count - begin >= BLOCK) {
            expect_block(w, f->values + begin, from, f->tolerance, &s);
        } else {
            s = (struct block_sums){0};
            for (size_t i = 0; i < p->count - begin; i++) {
                double value = f->values[begin + i];
                double own = bound_of(f->tolerance, value, from ? from[i] : 0.0);
                s.value += w[i] * value;
                s.bound += fabs(w[i]) * own;
                s.magnitude += fabs(w[i] * value);
                s.expected2 += value * value;
                s.bound2 += own * own;
            }
        }
        f->squares[b] = (struct squares){s.expected2, s.bound2};
        p->sums[b] = s.value;
        p->bounds[b] = s.bound + 1e-13 * s.magnitude;
        if (!isfinite(s.value) || !isfinite(p->bounds[b]))
            atomic_store_explicit(&f->finite, 0, memory_order_relaxed);
    }
}

/* In the order of the blocks: the same with any number of threads. */
static struct atoll_norm_rule norm_of(const struct filling *f)
{
    struct squares sum = {0, 0};
    for (size_t b = 0; b < f->print->block_count; b++) {
        sum.expected2 += f->squares[b].expected2;
        sum.bound2 += f->squares[b].bound2;
    }
    return atoll_norm_rule_of(f->tolerance, sum.expected2, sum.bound2);
}

static int compare_indices(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

int atoll_fingerprint_make(struct atoll_fingerprint *ret_print, struct atoll_team *team,
                           const struct atoll_tolerance *tolerance, const double *values, const double *scale,
                           size_t count, uint64_t key, struct atoll_err *err)
{
    struct atoll_fingerprint p = {.count = count, .key = key};
    struct filling f = {.print = &p, .tolerance = tolerance, .values = values, .scale = scale, .finite = 1};
    p.block_count = (count + BLOCK - 1) / BLOCK;
    p.sample_count = count < ATOLL_FINGERPRINT_SAMPLES ? count : ATOLL_FINGERPRINT_SAMPLES;
    p.sums = calloc(p.block_count + 1, sizeof(*p.sums));
    p.bounds = calloc(p.block_count + 1, sizeof(*p.bounds));
    p.indices = calloc(p.sample_count + 1, sizeof(*p.indices));
    p.values = calloc(p.sample_count + 1, sizeof(*p.values));
    p.tolerances = calloc(p.sample_count + 1, sizeof(*p.tolerances));
    f.squares = calloc(p.block_count + 1, sizeof(*f.squares));
    if (!p.sums || !p.bounds || !p.indices || !p.values || !p.tolerances || !f.squares) {
        free(f.squares);
        atoll_fingerprint_fini(&p);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the fingerprint of %zu elements", count);
    }
    weights_of(key, f.weights);
    atoll_team_run(team, p.block_count, BLOCKS_PER_PIECE, blocks_fill, &f);
    p.finite = atomic_load_explicit(&f.finite, memory_order_relaxed);
    p.norm = norm_of(&f);
    free(f.squares);
    for (size_t i = 0; i < p.sample_count; i++)
        p.indices[i] = p.sample_count == p.count
                           ? i
                           : (size_t)atoll_random_below(atoll_random_at(p.key ^ 0x73616d70ull, i), p.count);
    qsort(p.indices, p.sample_count, sizeof(*p.indices), compare_indices);
    for (size_t i = 0; i < p.sample_count; i++) {
        size_t k = p.indices[i];
        p.values[i] = values[k];
        p.tolerances[i] = bound_of(tolerance, values[k], scale ? scale[k] : 0.0);
    }
    *ret_print = p;
    return 0;
}

void atoll_fingerprint_fini(struct atoll_fingerprint *print)
{
    free(print->sums);
    free(print->bounds);
    free(print->indices);
    free(print->values);
    free(print->tolerances);
    *print = (struct atoll_fingerprint){0};
}

ATOLL_WIDE_BODY double weigh_f64_body(const double *w, const double *y)
{
    atoll_wide_f64 sum = {0};
    for (size_t i = 0; i < BLOCK; i += ATOLL_WIDE_LANES)
        sum += *(const atoll_wide_f64 *)(w + i) * *(const atoll_wide_f64 *)(y + i);
    return lanes_sum((const double *)&sum);
}
ATOLL_WIDE_FUNCTION(double, weigh_f64, (const double *w, const double *y), (w, y))

ATOLL_WIDE_BODY double weigh_f32_body(const double *w, const float *y)
{
    atoll_wide_f64 sum = {0};
    for (size_t i = 0; i < BLOCK; i += ATOLL_MEMORY_LINE_BYTES / sizeof(*y))
        __builtin_prefetch((const char *)(y + i) + ATOLL_MEMORY_AHEAD_BYTES);
    for (size_t i = 0; i < BLOCK; i += ATOLL_WIDE_LANES)
        sum += *(const atoll_wide_f64 *)(w + i) *
               __builtin_convertvector(*(const atoll_wide_f32 *)(y + i), atoll_wide_f64);
    return lanes_sum((const double *)&sum);
}
ATOLL_WIDE_FUNCTION(double, weigh_f32, (const double *w, const float *y), (w, y))

/* n elements from data on, weighed. */
static double weigh(const double *w, enum atoll_dtype dtype, const void *data, size_t n)
{
    double y[BLOCK];
    if (n == BLOCK && dtype == ATOLL_F32)
        return weigh_f32(w, data);
    atoll_dtype_load_array(dtype, data, n, y);
    for (size_t i = n; i < BLOCK; i++)
        y[i] = 0;
    return weigh_f64(w, y);
}

struct matching {
    const struct atoll_fingerprint *print;
    enum atoll_dtype dtype;
    const char *data;
    double *squares; /* per block, of what its sum is off */
    atomic_int right;
    double weights[2 * BLOCK];
};

static void blocks_match(void *context, size_t begin_block, size_t end_block)
{
    struct matching *m = context;
    const struct atoll_fingerprint *p = m->print;
    size_t bytes = atoll_dtype_bytes(m->dtype);
    for (size_t b = begin_block; b < end_block; b++) {
        size_t begin = b * BLOCK, n = p->count - begin < BLOCK ? p->count - begin : BLOCK;
        double sum = weigh(block_weights(m->weights, p->key, b), m->dtype, m->data + begin * bytes, n),
               off = sum - p->sums[b];
        if (!(fabs(off) <= p->norm.bound_ratio * p->bounds[b])) {
            atomic_store_explicit(&m->right, 0, memory_order_relaxed);
            return;
        }
        if (m->squares)
            m->squares[b] = off * off;
    }
}

static int norm_matches(const struct matching *m)
{
    double error2 = 0;
    for (size_t b = 0; m->squares && b < m->print->block_count; b++)
        error2 += m->squares[b];
    return error2 <= m->print->norm.error2_limit;
}

int atoll_fingerprint_match(const struct atoll_fingerprint *print, struct atoll_team *team,
                            enum atoll_dtype dtype, const void *data)
{
    struct matching m = {.print = print, .dtype = dtype, .data = data, .right = 1};
    if (!print->finite)
        return 0;
    for (size_t i = 0; i < print->sample_count; i++) {
        double y = atoll_dtype_load(dtype, data, print->indices[i]);
        if (!(fabs(y - print->values[i]) <= print->norm.bound_ratio * print->tolerances[i]))
            return 0;
    }
    if (!isinf(print->norm.error2_limit) && !(m.squares = calloc(print->block_count + 1, sizeof(*m.squares))))
        return 0;
    weights_of(print->key, m.weights);
    atoll_team_run(team, print->block_count, BLOCKS_PER_PIECE, blocks_match, &m);
    int is_right = atomic_load_explicit(&m.right, memory_order_relaxed) && norm_matches(&m);
    free(m.squares);
    return is_right;
}
