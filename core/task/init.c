/* init.c - the values of one draw.  Element i of a tensor depends on (key, i) alone, so that any range gives
 * the same bits.  What a value is stands in init_value.h; here values are made as doubles in batches that fit the
 * first-level cache (the stream's words, sums of their bytes, values) and rounded to the dtype in a last loop.  All loops
 * are branch-free per form. */
#include "core/task/init.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/wide.h"
#include "core/task/stream.h"

#define BATCH        512
#define SEGMENT_KEYS ((uint64_t)1 << 63) /* beyond every index of an element */

typedef void fill_batch(const struct atoll_init_params *params, uint64_t begin, size_t count, double *ret);

unsigned atoll_input_set_distribution(const struct atoll_task *task, uint64_t draw_seed)
{
    unsigned bits[5], n = 0;
    for (unsigned bit = ATOLL_DRAW_BASE; bit <= ATOLL_DRAW_SIGNED; bit <<= 1)
        if (task->distributions & bit)
            bits[n++] = bit;
    return n ? bits[atoll_random_below(atoll_random_at(draw_seed, ~0ull), n)] : ATOLL_DRAW_BASE;
}

/* ---- the stream ---- */

#define STREAM_WORDS                                                                                         \
    (2 * BATCH + 4 * (2 + ATOLL_STREAM_AHEAD)) /* two words an element, whole blocks at both ends */

/* The words of elements begin .. begin + count - 1, somewhere in `room`. */
static const uint32_t *words_make(const struct atoll_init_params *p, uint64_t begin, size_t count,
                                  uint32_t *room)
{
    uint64_t first = begin * (unsigned)p->words;
    size_t lane = first % 4;
    atoll_stream_words(p->key, first / 4, (lane + count * (unsigned)p->words + 3) / 4, room);
    return room + lane;
}

/* ---- loops, one per form ---- */

ATOLL_WIDE_BODY void sums4_body(const uint32_t *words, size_t count, int32_t *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = atoll_value_bell4(words[i]);
}
ATOLL_WIDE_FUNCTION(void, sums4, (const uint32_t *words, size_t count, int32_t *ret), (words, count, ret))

/* Parameters are copied, so that the compiler knows that no store changes them. */
#define SUM_LOOP(name, value)                                                                                \
    ATOLL_WIDE_BODY void name##_body(const struct atoll_init_params *params, const int32_t *sums,            \
                                     size_t count, double *ret)                                              \
    {                                                                                                        \
        const struct atoll_init_params p = *params;                                                          \
        for (size_t i = 0; i < count; i++)                                                                   \
            ret[i] = value(&p, sums[i]);                                                                     \
    }                                                                                                        \
    ATOLL_WIDE_FUNCTION(                                                                                     \
        void, name,                                                                                          \
        (const struct atoll_init_params *params, const int32_t *sums, size_t count, double *ret),            \
        (params, sums, count, ret))

/* bits: what an element takes of the stream, by the type of its elements. */
#define WORD_LOOP(name, type, value)                                                                         \
    ATOLL_WIDE_BODY void name##_body(const struct atoll_init_params *params, const uint32_t *words,          \
                                     size_t count, double *ret)                                              \
    {                                                                                                        \
        const struct atoll_init_params p = *params;                                                          \
        for (size_t i = 0; i < count; i++) {                                                                 \
            type bits = sizeof(type) == 8 ? (type)((uint64_t)words[2 * i + 1] << 32 | words[2 * i])          \
                                          : (type)words[i];                                                  \
            ret[i] = value;                                                                                  \
        }                                                                                                    \
    }                                                                                                        \
    ATOLL_WIDE_FUNCTION(                                                                                     \
        void, name,                                                                                          \
        (const struct atoll_init_params *params, const uint32_t *words, size_t count, double *ret),          \
        (params, words, count, ret))

#define INDEX_LOOP(name, value)                                                                              \
    ATOLL_WIDE_BODY void name##_body(const struct atoll_init_params *params, uint64_t begin, size_t count,   \
                                     double *ret)                                                            \
    {                                                                                                        \
        const struct atoll_init_params p = *params;                                                          \
        (void)p;                                                                                             \
        for (size_t i = 0; i < count; i++)                                                                   \
            ret[i] = value;                                                                                  \
    }                                                                                                        \
    ATOLL_WIDE_FUNCTION(void, name,                                                                          \
                        (const struct atoll_init_params *params, uint64_t begin, size_t count, double *ret), \
                        (params, begin, count, ret))

SUM_LOOP(double_normal, atoll_value_normal)
SUM_LOOP(double_normal_ties, atoll_value_normal_ties)
SUM_LOOP(double_normal_sparse, atoll_value_normal_sparse)
SUM_LOOP(single_normal, atoll_single_normal)
SUM_LOOP(single_normal_ties, atoll_single_normal_ties)
SUM_LOOP(single_normal_sparse, atoll_single_normal_sparse)
SUM_LOOP(single_bent, atoll_single_bent)
SUM_LOOP(single_bent_sparse, atoll_single_bent_sparse)
WORD_LOOP(double_uniform, uint64_t, atoll_value_uniform(&p, bits))
WORD_LOOP(double_uniform_ties, uint64_t, atoll_value_uniform_ties(&p, bits))
WORD_LOOP(double_uniform_sparse, uint64_t, atoll_value_uniform_sparse(&p, bits))
WORD_LOOP(single_uniform, uint32_t, atoll_single_uniform(&p, bits))
WORD_LOOP(single_uniform_ties, uint32_t, atoll_single_uniform_ties(&p, bits))
WORD_LOOP(single_uniform_sparse, uint32_t, atoll_single_uniform_sparse(&p, bits))
WORD_LOOP(integer_narrow, uint32_t, (double)(p.low + (int64_t)((uint64_t)bits * (uint64_t)p.span >> 32)))
WORD_LOOP(integer_wide, uint64_t, (double)(p.low + (int64_t)(bits % (uint64_t)p.span)))
INDEX_LOOP(index_base, (double)(int64_t)(begin + i))
INDEX_LOOP(permutation_base, atoll_value_permutation(&p, begin + i))
INDEX_LOOP(ragged_base, atoll_value_ragged(&p, begin + i))
INDEX_LOOP(constant_base, p.a)

enum { DOUBLE, SINGLE, BENT, CLASSES };
typedef void sum_loop(const struct atoll_init_params *params, const int32_t *sums, size_t count, double *ret);
typedef void word_loop(const struct atoll_init_params *params, const uint32_t *words, size_t count,
                       double *ret);

static void put_signs(const struct atoll_init_params *p, uint64_t begin, size_t count, double *values)
{
    for (size_t i = 0; i < count;) {
        uint64_t row = (begin + i) / p->row;
        uint64_t end = (row + 1) * p->row - begin;
        double sign = atoll_value_sign(p, row);
        for (; i < count && i < end; i++)
            values[i] = atoll_value_signed(values[i], sign);
    }
}

static void normal_fill(const struct atoll_init_params *p, uint64_t begin, size_t count, double *ret)
{
    static sum_loop *const by_form[][CLASSES] = {
        [ATOLL_VALUE_NORMAL] = {double_normal, single_normal, single_bent},
        [ATOLL_VALUE_NORMAL_TIES] = {double_normal_ties, single_normal_ties, single_normal_ties},
        [ATOLL_VALUE_NORMAL_SPARSE] = {double_normal_sparse, single_normal_sparse, single_bent_sparse},
        [ATOLL_VALUE_NORMAL_SIGNED] = {double_normal, single_normal, single_bent},
    };
    uint32_t room[STREAM_WORDS];
    int32_t sums[BATCH + 2 * (1 + ATOLL_STREAM_AHEAD)], *first = sums;
    if (p->words == 2) {
        first += begin % 2;
        atoll_stream_bells(p->key, begin / 2, (begin % 2 + count + 1) / 2, sums);
    } else {
        sums4(words_make(p, begin, count, room), count, sums);
    }
    by_form[p->form][p->words == 1                     ? BENT
                     : ATOLL_VALUE_IS_SINGLE(p->dtype) ? SINGLE
                                                       : DOUBLE](p, first, count, ret);
    if (p->form == ATOLL_VALUE_NORMAL_SIGNED)
        put_signs(p, begin, count, ret);
}

static void word_fill(const struct atoll_init_params *p, uint64_t begin, size_t count, double *ret)
{
    static word_loop *const by_form[][2] = {
        [ATOLL_VALUE_UNIFORM] = {single_uniform, double_uniform},
        [ATOLL_VALUE_UNIFORM_TIES] = {single_uniform_ties, double_uniform_ties},
        [ATOLL_VALUE_UNIFORM_SPARSE] = {single_uniform_sparse, double_uniform_sparse},
        [ATOLL_VALUE_UNIFORM_SIGNED] = {single_uniform, double_uniform},
        [ATOLL_VALUE_INTEGER] = {integer_narrow, integer_wide},
    };
    uint32_t room[STREAM_WORDS];
    by_form[p->form][p->words == 2](p, words_make(p, begin, count, room), count, ret);
    if (p->form == ATOLL_VALUE_UNIFORM_SIGNED)
        put_signs(p, begin, count, ret);
}

static fill_batch *const loops[ATOLL_VALUE_FORM_COUNT] = {
    [ATOLL_VALUE_NORMAL] = normal_fill,
    [ATOLL_VALUE_NORMAL_TIES] = normal_fill,
    [ATOLL_VALUE_NORMAL_SPARSE] = normal_fill,
    [ATOLL_VALUE_NORMAL_SIGNED] = normal_fill,
    [ATOLL_VALUE_UNIFORM] = word_fill,
    [ATOLL_VALUE_UNIFORM_TIES] = word_fill,
    [ATOLL_VALUE_UNIFORM_SPARSE] = word_fill,
    [ATOLL_VALUE_UNIFORM_SIGNED] = word_fill,
    [ATOLL_VALUE_INTEGER] = word_fill,
    [ATOLL_VALUE_INDEX] = index_base,
    [ATOLL_VALUE_PERMUTATION] = permutation_base,
    [ATOLL_VALUE_RAGGED] = ragged_base,
    [ATOLL_VALUE_CONSTANT] = constant_base,
};

/* ---- settling ---- */

static int choose(enum atoll_init_kind kind, unsigned distribution)
{
    static const int base[] = {
        [ATOLL_INIT_NORMAL] = ATOLL_VALUE_NORMAL,           [ATOLL_INIT_UNIFORM] = ATOLL_VALUE_UNIFORM,
        [ATOLL_INIT_INTEGER] = ATOLL_VALUE_INTEGER,         [ATOLL_INIT_INDEX] = ATOLL_VALUE_INDEX,
        [ATOLL_INIT_PERMUTATION] = ATOLL_VALUE_PERMUTATION, [ATOLL_INIT_RAGGED] = ATOLL_VALUE_RAGGED,
        [ATOLL_INIT_CONSTANT] = ATOLL_VALUE_CONSTANT,
    };
    static const struct {
        enum atoll_init_kind kind;
        unsigned distribution;
        int form;
    } others[] = {
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_TIES, ATOLL_VALUE_NORMAL_TIES},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_TIES, ATOLL_VALUE_UNIFORM_TIES},
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_SPARSE, ATOLL_VALUE_NORMAL_SPARSE},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_SPARSE, ATOLL_VALUE_UNIFORM_SPARSE},
        {ATOLL_INIT_NORMAL, ATOLL_DRAW_SIGNED, ATOLL_VALUE_NORMAL_SIGNED},
        {ATOLL_INIT_UNIFORM, ATOLL_DRAW_SIGNED, ATOLL_VALUE_UNIFORM_SIGNED},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (others[i].kind == kind && others[i].distribution == distribution)
            return others[i].form;
    return base[kind];
}

/* Modest growth, less where the dtype overflows early.  A power of two, so the result is the base's value times the factor, exactly.  A uniform may only shrink
 * towards zero. */
static double scale_factor(atoll_u64 key, enum atoll_dtype dtype, const struct atoll_init *init)
{
    static const int wide[] = {-4, -2, -1, 1, 2}, narrow[] = {-3, -2, -1, 1};
    atoll_u64 bits = atoll_random_at(key + 2, 0);
    int is_narrow = dtype == ATOLL_F16 || dtype == ATOLL_F8E4M3 || dtype == ATOLL_F8E5M2;
    int exponent = is_narrow ? narrow[atoll_random_below(bits, 4)] : wide[atoll_random_below(bits, 5)];
    if (init->kind == ATOLL_INIT_UNIFORM && (init->a > 0 || init->b < 0))
        return 1;
    if (init->kind == ATOLL_INIT_UNIFORM && exponent > 0)
        exponent = -exponent;
    return exponent < 0 ? 1.0 / (double)(1 << -exponent) : (double)(1 << exponent);
}

static int is_symmetric(const struct atoll_init *init)
{
    return init->kind == ATOLL_INIT_NORMAL ? init->a == 0 : init->a == -init->b;
}

static int settle_extent(const struct atoll_task *task, const struct atoll_tensor *t,
                         const struct atoll_init *init, const struct atoll_variant *variant,
                         struct atoll_init_params *p, struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t n = atoll_task_bindings(task, variant, bindings);
    int64_t bound =
        init->kind == ATOLL_INIT_INTEGER || init->kind == ATOLL_INIT_RAGGED ? (int64_t)init->b : 0;
    int64_t row = 1;
    if (t->rank && atoll_expression_eval(t->shape[t->rank - 1], bindings, n, &row, err))
        return atoll_err_add(err, "while filling tensor '%s'", t->name);
    if (init->bound && atoll_expression_eval(init->bound, bindings, n, &bound, err))
        return atoll_err_add(err, "while filling tensor '%s'", t->name);
    p->row = (uint64_t)row;
    p->low = init->kind == ATOLL_INIT_INTEGER ? (int64_t)init->a : 0;
    p->span = bound - p->low;
    if (row < 1 || (init->kind == ATOLL_INIT_INTEGER && p->span < 1) || p->span < 0) {
        return atoll_err_set(err, ATOLL_E_INPUT, "tensor '%s': init is empty at variant '%s'", t->name,
                             variant->name);
    }
    return 0;
}

/* The largest value is not above `high` in single precision either. */
static void settle_uniform(struct atoll_init_params *p, double high)
{
    p->words = ATOLL_VALUE_IS_SINGLE(p->dtype) ? 1 : 2;
    p->step = high - p->a;
    p->a_single = (float)p->a;
    p->rest_single = (float)p->rest;
    p->step_single = (float)p->step;
    while (p->step_single > 0 && atoll_single_uniform(p, 0xffffffffu) > (float)high)
        p->step_single = nextafterf(p->step_single, 0);
}

/* p has key and dtype. */
static int settle(const struct atoll_task *task, const struct atoll_tensor *t, const struct atoll_init *init,
                  const struct atoll_variant *variant, unsigned distribution, struct atoll_init_params *p,
                  struct atoll_err *err)
{
    double factor = 1, a, b;
    if (settle_extent(task, t, init, variant, p, err))
        return -1;
    if (distribution == ATOLL_DRAW_SIGNED && !is_symmetric(init))
        distribution = ATOLL_DRAW_BASE;
    if (distribution == ATOLL_DRAW_SCALED &&
        (init->kind == ATOLL_INIT_NORMAL || init->kind == ATOLL_INIT_UNIFORM)) {
        factor = scale_factor(p->key, t->dtype, init);
    }
    p->form = choose(init->kind, distribution);
    a = init->a * factor;
    b = init->b * factor;
    p->a = a;
    p->rest = a > 0 ? a : b < 0 ? b : 0.0;
    if (init->kind == ATOLL_INIT_NORMAL)
        atoll_value_normal_settle(p, b);
    else if (init->kind == ATOLL_INIT_UNIFORM)
        settle_uniform(p, b);
    else if (init->kind == ATOLL_INIT_INTEGER)
        p->words = (uint64_t)p->span >> 32 ? 2 : 1;
    return 0;
}

size_t atoll_init_part_count(const struct atoll_tensor *tensor)
{
    return tensor->segment_count ? tensor->segment_count : 1;
}

/* A segment has a key of its own.  The rows of a packed tensor mean nothing, so no distribution goes by them. */
static int settle_segment(const struct atoll_task *task, const struct atoll_tensor *t, size_t segment,
                          const struct atoll_variant *variant, unsigned distribution,
                          struct atoll_init_part *part, struct atoll_err *err)
{
    size_t count = 0;
    part->params.key = atoll_random_at(part->params.key, SEGMENT_KEYS + segment);
    if (distribution == ATOLL_DRAW_SIGNED)
        distribution = ATOLL_DRAW_BASE;
    if (atoll_task_segment_count(task, &t->segments[segment], variant, &count, err))
        return -1;
    part->count = count;
    return settle(task, t, &t->segments[segment].init, variant, distribution, &part->params, err);
}

int atoll_init_settle(const struct atoll_task *task, size_t tensor, size_t part,
                      const struct atoll_variant *variant, uint64_t draw_seed, unsigned distribution,
                      struct atoll_init_part *at, struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_init_part p = {
        .begin = part ? at->begin + at->count : 0,
        .params = {.key = atoll_random_at(draw_seed, tensor), .dtype = (int)t->dtype}};
    size_t count = 0;
    if (t->segment_count) {
        if (settle_segment(task, t, part, variant, distribution, &p, err))
            return -1;
    } else {
        if (atoll_task_element_count(task, tensor, variant, &count, err) ||
            settle(task, t, &t->init, variant, distribution, &p.params, err))
            return -1;
        p.count = count;
    }
    *at = p;
    return 0;
}

/* Values from..to of a part, at base + from. */
static void fill_part(const struct atoll_init_params *params, uint64_t from, uint64_t to, unsigned char *base)
{
    fill_batch *fill = loops[params->form];
    enum atoll_dtype dtype = (enum atoll_dtype)params->dtype;
    size_t bytes = atoll_dtype_bytes(dtype);
    for (uint64_t at = from; at < to;) {
        double values[BATCH];
        size_t count = to - at < BATCH ? (size_t)(to - at) : BATCH;
        fill(params, at, count, values);
        atoll_dtype_store_array(dtype, base + at * bytes, count, values);
        at += count;
    }
}

int atoll_init_fill(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant,
                    uint64_t draw_seed, unsigned distribution, size_t begin, size_t end, void *base,
                    struct atoll_err *err)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    size_t bytes = atoll_dtype_bytes(t->dtype), parts = atoll_init_part_count(t);
    struct atoll_init_part p = {0};
    for (size_t i = 0; i < parts; i++) {
        if (atoll_init_settle(task, tensor, i, variant, draw_seed, distribution, &p, err))
            return -1;
        uint64_t from = begin > p.begin ? begin - p.begin : 0, to = end > p.begin ? end - p.begin : 0;
        fill_part(&p.params, from, to < p.count || parts == 1 ? to : p.count,
                  (unsigned char *)base + p.begin * bytes);
    }
    return 0;
}
