/* init.c - the values of one draw.  Element i of a tensor depends on (key, i) alone, so that any range gives
 * the same bits. Values are made as doubles in batches that fit the first-level cache, by integer arithmetic,
 * one product and one sum (never contracted), and rounded to the dtype in a second loop.  Both loops are
 * branch-free per kind. */
#include "core/init.h"

#include <string.h>

#include "core/random.h"

#define BATCH       512
#define NORMAL_MEAN 262140                /* of the sum of eight 16-bit uniforms */
#define NORMAL_STEP 0x1.3988e1412ed76p-16 /* 1 / its standard deviation, sqrt(8 * (2^32 - 1) / 12) */
#define HALF_SIGMA  26755                 /* half of that deviation, rounded */
#define TIES_SHIFT  16                    /* halves of a deviation that make every sum positive */

struct fill {
    atoll_u64 key;
    double a, b;       /* of the init, scaled */
    int64_t low, span; /* INTEGER; span is also total of RAGGED */
    uint64_t row;      /* extent of the last axis */
};

typedef void fill_batch(const struct fill *f, uint64_t begin, size_t count, double *ret);

unsigned atoll_draw_distribution(const struct atoll_task *task, uint64_t draw_seed)
{
    unsigned bits[5], n = 0;
    for (unsigned bit = ATOLL_DRAW_BASE; bit <= ATOLL_DRAW_SIGNED; bit <<= 1)
        if (task->distributions & bit)
            bits[n++] = bit;
    return n ? bits[atoll_random_below(atoll_random_at(draw_seed, ~0ull), n)] : ATOLL_DRAW_BASE;
}

/* ---- normal ---- */

static inline int64_t lanes(atoll_u64 x)
{
    atoll_u64 pairs = (x & 0x0000ffff0000ffffull) + (x >> 16 & 0x0000ffff0000ffffull);
    return (int64_t)((pairs & 0xffffffffull) + (pairs >> 32));
}

/* Centred sum of eight 16-bit uniforms; the second draw is the first one mixed on with the key. */
static inline int64_t bell(atoll_u64 key, atoll_u64 bits)
{
    return lanes(bits) + lanes(atoll_mix64(bits + key)) - NORMAL_MEAN;
}

#define BELLS_LOOP                                                                                           \
    for (size_t i = 0; i < count; i++)                                                                       \
        ret[i] = (int32_t)bell(key, atoll_random_at(key, begin + i));

/* The same integers with 64-bit vector products, where the processor has them: twice as fast. */
#if defined(__x86_64__) && defined(__clang__)
#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl")))
#elif defined(__x86_64__)
#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl"), optimize("O3")))
#endif
#ifdef WIDE
WIDE static void bells_wide(atoll_u64 key, uint64_t begin, size_t count, int32_t *ret)
{
    BELLS_LOOP
}

static int has_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

static void bells(atoll_u64 key, uint64_t begin, size_t count, int32_t *ret)
{
#ifdef WIDE
    if (has_wide()) {
        bells_wide(key, begin, count, ret);
        return;
    }
#endif
    BELLS_LOOP
}

static void normal_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double step = f->b * NORMAL_STEP;
    int32_t sums[BATCH];
    bells(f->key, begin, count, sums);
    for (size_t i = 0; i < count; i++)
        ret[i] = (double)sums[i] * step + f->a;
}

/* Multiples of half a standard deviation. */
static void normal_ties(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double step = f->b * 0.5;
    int32_t sums[BATCH];
    bells(f->key, begin, count, sums);
    for (size_t i = 0; i < count; i++) {
        int32_t k =
            (sums[i] + HALF_SIGMA / 2 + TIES_SHIFT * HALF_SIGMA) / HALF_SIGMA - TIES_SHIFT; /* rounds down */
        ret[i] = (double)k * step + f->a;
    }
}

/* value where the lowest bit is set, else +0: no branch, since it would be mispredicted half the time. */
static inline double keep(double value, atoll_u64 bits)
{
    union {
        double value;
        atoll_u64 bits;
    } v = {value};
    v.bits &= 0 - (bits & 1);
    return v.value;
}

/* Odd sums stay. */
static void normal_sparse(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double step = f->b * NORMAL_STEP;
    int32_t sums[BATCH];
    bells(f->key, begin, count, sums);
    for (size_t i = 0; i < count; i++)
        ret[i] = keep((double)sums[i] * step + f->a, (atoll_u64)(uint32_t)sums[i]);
}

/* ---- uniform ---- */

static void uniform_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double span = f->b - f->a;
    for (size_t i = 0; i < count; i++)
        ret[i] = atoll_random_unit(atoll_random_at(f->key, begin + i)) * span + f->a;
}

/* Eight values: low and seven steps of an eighth of the interval. */
static void uniform_ties(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double span = f->b - f->a;
    for (size_t i = 0; i < count; i++)
        ret[i] = (double)(int32_t)(atoll_random_at(f->key, begin + i) >> 61) * 0.125 * span + f->a;
}

/* Half of the elements are the value of the interval that is nearest to zero. */
static void uniform_sparse(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    double span = f->b - f->a, rest = f->a > 0 ? f->a : f->b < 0 ? f->b : 0.0;
    for (size_t i = 0; i < count; i++) {
        atoll_u64 bits = atoll_random_at(f->key, begin + i);
        double value = atoll_random_unit(bits) * span + f->a;
        ret[i] = keep(value, bits) + keep(rest, bits + 1);
    }
}

/* ---- signed: magnitudes of the base with one sign per row ---- */

static void put_signs(const struct fill *f, uint64_t begin, size_t count, double *values)
{
    for (size_t i = 0; i < count;) {
        uint64_t row = (begin + i) / f->row;
        uint64_t end = (row + 1) * f->row - begin;
        double sign = atoll_random_at(f->key + 1, row) & 1 ? 1.0 : -1.0;
        for (; i < count && i < end; i++)
            values[i] = __builtin_fabs(values[i]) * sign;
    }
}

static void normal_signed(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    normal_base(f, begin, count, ret);
    put_signs(f, begin, count, ret);
}

static void uniform_signed(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    uniform_base(f, begin, count, ret);
    put_signs(f, begin, count, ret);
}

/* ---- integers ---- */

static void integer_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++) {
        atoll_u64 v = atoll_random_below(atoll_random_at(f->key, begin + i), (atoll_u64)f->span);
        ret[i] = (double)(f->low + (int64_t)v);
    }
}

static void index_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = (double)(int64_t)(begin + i);
}

static void constant_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = f->a;
}

/* A keyed bijection of 0..2^bits-1: rounds of an odd product, a sum and a shift down, each invertible. */
static uint64_t scramble(uint64_t key, unsigned bits, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    unsigned shift = bits / 2 + 1;
    for (unsigned round = 0; round < 4; round++) {
        uint64_t k = atoll_random_at(key, round);
        x = (x * (k | 1) + (k >> 32)) & mask;
        x ^= x >> shift;
    }
    return x;
}

/* Cycle walking (Black and Rogaway, CT-RSA 2002): applied again until the result lies below n, which keeps it
 * a bijection. */
static uint64_t permute(uint64_t key, uint64_t n, uint64_t x)
{
    unsigned bits = 1;
    while (((uint64_t)1 << bits) < n)
        bits++;
    do
        x = scramble(key, bits, x);
    while (x >= n);
    return x;
}

static void permutation_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = begin + i, row = at / f->row;
        ret[i] = (double)(int64_t)permute(atoll_random_at(f->key, row), f->row, at % f->row);
    }
}

/* Offset i of n segments lies at random between the middles around i * total / n, so offsets ascend and each
 * can be computed alone.  i, n, total <= 2^31: the products fit 64 bits. */
static uint64_t ragged_offset(uint64_t key, uint64_t at, uint64_t i, uint64_t segments, uint64_t total)
{
    if (i == 0 || segments == 0)
        return 0;
    if (i >= segments)
        return total;
    uint64_t low = (2 * i - 1) * total / (2 * segments), high = (2 * i + 1) * total / (2 * segments);
    return high > low ? low + atoll_random_below(atoll_random_at(key, at), high - low) : low;
}

static void ragged_base(const struct fill *f, uint64_t begin, size_t count, double *ret)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = begin + i;
        ret[i] = (double)(int64_t)ragged_offset(f->key, at, at % f->row, f->row - 1, (uint64_t)f->span);
    }
}

/* ---- choice of the loop ---- */

static fill_batch *choose(enum atoll_init_kind kind, unsigned distribution)
{
    static fill_batch *const base[] = {
        [ATOLL_INIT_NORMAL] = normal_base,           [ATOLL_INIT_UNIFORM] = uniform_base,
        [ATOLL_INIT_INTEGER] = integer_base,         [ATOLL_INIT_INDEX] = index_base,
        [ATOLL_INIT_PERMUTATION] = permutation_base, [ATOLL_INIT_RAGGED] = ragged_base,
        [ATOLL_INIT_CONSTANT] = constant_base,
    };
    static const struct {
        enum atoll_init_kind kind;
        unsigned distribution;
        fill_batch *fill;
    } others[] = {
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_TIES, normal_ties},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_TIES, uniform_ties},
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_SPARSE, normal_sparse},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_SPARSE, uniform_sparse},
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_SIGNED, normal_signed},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_SIGNED, uniform_signed},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].kind == kind && others[i].distribution == distribution)
            return others[i].fill;
    return base[kind];
}

/* Exponents of the scaled distribution: modest growth, less where the dtype overflows early. */
static int scale_exponent(const struct fill *f, enum atoll_dtype dtype)
{
    static const int wide[] = {-4, -2, -1, 1, 2}, narrow[] = {-3, -2, -1, 1};
    atoll_u64 bits = atoll_random_at(f->key + 2, 0);
    int is_narrow = dtype == ATOLL_F16 || dtype == ATOLL_F8E4M3 || dtype == ATOLL_F8E5M2;
    return is_narrow ? narrow[atoll_random_below(bits, 4)] : wide[atoll_random_below(bits, 5)];
}

static double power_of_two(int exponent)
{
    return exponent < 0 ? 1.0 / (double)(1 << -exponent) : (double)(1 << exponent);
}

/* Powers of two, so the result is the base's value times the factor, exactly.  A uniform may only shrink
 * towards zero. */
static void apply_scale(struct fill *f, const struct atoll_tensor *t)
{
    int exponent = scale_exponent(f, t->dtype);
    if (t->init.kind == ATOLL_INIT_UNIFORM && (f->a > 0 || f->b < 0))
        return;
    if (t->init.kind == ATOLL_INIT_UNIFORM && exponent > 0)
        exponent = -exponent;
    f->a *= power_of_two(exponent);
    f->b *= power_of_two(exponent);
}

static int is_symmetric(const struct atoll_init *init)
{
    return init->kind == ATOLL_INIT_NORMAL ? init->a == 0 : init->a == -init->b;
}

static int settle(const struct atoll_task *task, const struct atoll_tensor *t,
                  const struct atoll_variant *variant, struct fill *f, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t n = atoll_task_bindings(task, variant, bindings);
    int64_t bound =
        t->init.kind == ATOLL_INIT_INTEGER || t->init.kind == ATOLL_INIT_RAGGED ? (int64_t)t->init.b : 0;
    int64_t row = 1;
    if (t->rank && atoll_expression_eval(t->shape[t->rank - 1], bindings, n, &row, err))
        return atoll_err_add(err, "; while filling tensor '%s'", t->name);
    if (t->init.bound && atoll_expression_eval(t->init.bound, bindings, n, &bound, err))
        return atoll_err_add(err, "; while filling tensor '%s'", t->name);
    f->row = (uint64_t)row;
    f->low = t->init.kind == ATOLL_INIT_INTEGER ? (int64_t)t->init.a : 0;
    f->span = bound - f->low;
    if (row < 1 || (t->init.kind == ATOLL_INIT_INTEGER && f->span < 1) || f->span < 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "tensor '%s': init is empty at variant '%s'", t->name,
                             variant->name);
    return 0;
}

int atoll_init_fill(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant,
                    uint64_t draw_seed, unsigned distribution, size_t begin, size_t end, void *base,
                    struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct fill f = {.key = atoll_random_at(draw_seed, tensor), .a = t->init.a, .b = t->init.b};
    if (settle(task, t, variant, &f, err))
        return -1;
    if (distribution == ATOLL_DRAW_SIGNED && !is_symmetric(&t->init))
        distribution = ATOLL_DRAW_BASE;
    if (distribution == ATOLL_DRAW_SCALED &&
        (t->init.kind == ATOLL_INIT_NORMAL || t->init.kind == ATOLL_INIT_UNIFORM))
        apply_scale(&f, t);
    fill_batch *fill = choose(t->init.kind, distribution);
    size_t bytes = atoll_dtype_bytes(t->dtype);
    for (size_t at = begin; at < end;) {
        double values[BATCH];
        size_t count = end - at < BATCH ? end - at : BATCH;
        fill(&f, at, count, values);
        atoll_dtype_store_array(t->dtype, (unsigned char *)base + at * bytes, count, values);
        at += count;
    }
    return 0;
}
