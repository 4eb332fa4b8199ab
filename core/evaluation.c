/* evaluation.c - results on the wire; the order of fields is docs/spec/wire.md.  Decoders build a value aside
 * and hand it over only when all of it holds. */
#include "core/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_LIMIT_NS 1e18 /* 31 years: nothing of ours takes longer, and sums of it stay finite */
#define SUMMARY_BYTES 72u
#define TIMING_BYTES  (4u + 4u + SUMMARY_BYTES + 8u + 8u + 4u + 4u) /* without samples */
#define FLAGS_MASK                                                                                           \
    ((uint32_t)(ATOLL_TIMING_DROPPED_EARLY | ATOLL_TIMING_TIME_LIMIT | ATOLL_TIMING_AUDIT |                  \
                ATOLL_TIMING_FLOOR_SINGLE | ATOLL_TIMING_FLOOR_SPLIT))

void atoll_evaluation_init(struct atoll_evaluation *e)
{
    memset(e, 0, sizeof(*e));
    atoll_profile_init(&e->profile);
}

void atoll_evaluation_fini(struct atoll_evaluation *e)
{
    for (size_t i = 0; i < ATOLL_TASK_VARIANT_LIMIT; i++)
        free(e->timings[i].samples_ns);
    atoll_evaluation_init(e);
}

static double read_time(struct atoll_reader *r)
{
    return atoll_reader_f64_in(r, 0.0, TIME_LIMIT_NS);
}

static void read_id(struct atoll_reader *r, struct atoll_id *ret_id)
{
    atoll_reader_bytes(r, ret_id->bytes, sizeof(ret_id->bytes));
}

static uint8_t read_u8_in(struct atoll_reader *r, uint8_t limit)
{
    uint8_t v = atoll_reader_u8(r);
    if (v >= limit)
        r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
    return r->failed ? 0 : v;
}

static void put_summary(struct atoll_buffer *out, const struct atoll_summary *s)
{
    const double values[] = {s->min, s->p10,  s->median, s->p90,
                             s->max, s->lo95, s->hi95,   s->relative_half_width};
    atoll_buffer_put_u64(out, s->count);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        atoll_buffer_put_f64(out, values[i]);
}

static void read_summary(struct atoll_reader *r, struct atoll_summary *s)
{
    double *const values[] = {&s->min, &s->p10, &s->median, &s->p90, &s->max, &s->lo95, &s->hi95};
    uint64_t count = atoll_reader_u64(r);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        *values[i] = read_time(r);
    s->relative_half_width = atoll_reader_f64_in(r, 0.0, HUGE_VAL);
    int is_ordered = s->min <= s->p10 && s->p10 <= s->median && s->median <= s->p90 && s->p90 <= s->max &&
                     s->min <= s->lo95 && s->lo95 <= s->median && s->median <= s->hi95 && s->hi95 <= s->max;
    if (!r->failed && (count > ATOLL_SAMPLES_LIMIT || !is_ordered))
        r->failed = ATOLL_E_PROTOCOL;
    s->count = r->failed ? 0 : (size_t)count;
}

static void put_timing(struct atoll_buffer *out, const struct atoll_timing *t)
{
    atoll_buffer_put_u32(out, t->variant);
    atoll_buffer_put_u32(out, t->flags);
    put_summary(out, &t->summary);
    atoll_buffer_put_f64(out, t->floor_ns);
    atoll_buffer_put_f64(out, t->resolution_ns);
    atoll_buffer_put_u32(out, t->discarded_count);
    atoll_buffer_put_u32(out, (uint32_t)t->sample_count);
    for (size_t i = 0; i < t->sample_count; i++)
        atoll_buffer_put_f64(out, t->samples_ns[i]);
}

static void read_samples(struct atoll_reader *r, struct atoll_timing *t)
{
    size_t count = atoll_reader_count(r, sizeof(double));
    if (count > ATOLL_SAMPLES_LIMIT)
        r->failed = ATOLL_E_PROTOCOL;
    if (r->failed || count == 0)
        return;
    t->samples_ns = malloc(count * sizeof(*t->samples_ns));
    if (!t->samples_ns) {
        r->failed = ATOLL_E_MEMORY;
        return;
    }
    t->sample_count = count;
    for (size_t i = 0; i < count; i++)
        t->samples_ns[i] = read_time(r);
}

static void read_timing(struct atoll_reader *r, struct atoll_timing *t)
{
    t->variant = atoll_reader_u32_in(r, 0, ATOLL_TASK_VARIANT_LIMIT - 1);
    t->flags = atoll_reader_u32_in(r, 0, FLAGS_MASK);
    read_summary(r, &t->summary);
    t->floor_ns = read_time(r);
    t->resolution_ns = read_time(r);
    t->discarded_count = atoll_reader_u32(r);
    read_samples(r, t);
}

static void read_timings(struct atoll_reader *r, struct atoll_evaluation *e)
{
    size_t count = atoll_reader_count(r, TIMING_BYTES);
    uint32_t seen = 0; /* bit 1 << variant */
    if (count > ATOLL_TASK_VARIANT_LIMIT)
        r->failed = ATOLL_E_PROTOCOL;
    for (size_t i = 0; i < count && !r->failed; i++) {
        struct atoll_timing *t = &e->timings[i];
        read_timing(r, t);
        if (seen & 1u << t->variant)
            r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
        seen |= 1u << t->variant;
        e->timing_count = i + 1;
    }
}

void atoll_evaluation_encode(const struct atoll_evaluation *e, struct atoll_buffer *out)
{
    const double times[] = {e->compile_ns, e->check_ns, e->sampling_ns, e->occupied_ns, e->candidate_ns};
    atoll_buffer_put_u64(out, e->evaluation);
    atoll_buffer_put_bytes(out, e->candidate.bytes, sizeof(e->candidate.bytes));
    atoll_buffer_put_u32(out, e->verdict);
    atoll_buffer_put_u32(out, e->level);
    atoll_buffer_put_blob(out, e->detail, strnlen(e->detail, sizeof(e->detail) - 1));
    atoll_buffer_put_u8(out, e->behaviour.memory);
    atoll_buffer_put_u8(out, e->behaviour.algorithm);
    atoll_buffer_put_u8(out, e->behaviour.coordination);
    atoll_buffer_put_bytes(out, e->binary.bytes, sizeof(e->binary.bytes));
    atoll_buffer_put_u64(out, e->device);
    atoll_buffer_put_i64(out, e->started_unix_ns);
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        atoll_buffer_put_f64(out, times[i]);
    atoll_buffer_put_u32(out, e->code_bytes);
    atoll_buffer_put_u32(out, e->draw_count);
    atoll_buffer_put_u32(out, e->fully_compared_count);
    atoll_buffer_put_f64(out, e->worst_error);
    atoll_buffer_put_u32(out, (uint32_t)e->timing_count);
    for (size_t i = 0; i < e->timing_count; i++)
        put_timing(out, &e->timings[i]);
    atoll_profile_encode(&e->profile, out);
}

static void read_head(struct atoll_reader *r, struct atoll_evaluation *e)
{
    e->evaluation = atoll_reader_u64(r);
    read_id(r, &e->candidate);
    e->verdict = (enum atoll_verdict)atoll_reader_u32_in(r, 0, ATOLL_VERDICT_COUNT - 1);
    e->level = atoll_reader_u32_in(r, 0, 8);
    atoll_reader_fixed_text(r, e->detail, sizeof(e->detail));
    e->behaviour.memory = read_u8_in(r, ATOLL_BEHAVIOUR_LEVELS);
    e->behaviour.algorithm = read_u8_in(r, ATOLL_BEHAVIOUR_LEVELS);
    e->behaviour.coordination = read_u8_in(r, ATOLL_BEHAVIOUR_LEVELS);
    read_id(r, &e->binary);
    e->device = atoll_reader_u64(r);
    e->started_unix_ns = atoll_reader_i64(r);
    if (e->started_unix_ns < 0)
        r->failed = ATOLL_E_PROTOCOL;
}

static void read_costs(struct atoll_reader *r, struct atoll_evaluation *e)
{
    double *const times[] = {&e->compile_ns, &e->check_ns, &e->sampling_ns, &e->occupied_ns,
                             &e->candidate_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        *times[i] = read_time(r);
    e->code_bytes = atoll_reader_u32(r);
    e->draw_count = atoll_reader_u32(r);
    e->fully_compared_count = atoll_reader_u32(r);
    e->worst_error = atoll_reader_f64_in(r, 0.0, HUGE_VAL);
}

int atoll_evaluation_decode(const void *bytes, size_t length, struct atoll_evaluation *e,
                            struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_evaluation decoded;
    atoll_evaluation_init(&decoded);
    atoll_evaluation_fini(e);
    atoll_reader_init(&r, bytes, length);
    read_head(&r, &decoded);
    read_costs(&r, &decoded);
    read_timings(&r, &decoded);
    if (r.failed || r.offset < r.length) /* frame version 1 ends here */
        atoll_profile_decode(&r, &decoded.profile);
    if (atoll_reader_finish(&r, "evaluation", err)) {
        atoll_evaluation_fini(&decoded);
        return -1;
    }
    *e = decoded;
    return 0;
}

/* Weighted geometric mean of one value per timing; 0 when there is none or one is not known. */
static double geometric_mean(const struct atoll_evaluation *e, const struct atoll_task *task,
                             double (*value_of)(const struct atoll_timing *))
{
    double sum = 0.0, weights = 0.0;
    for (size_t i = 0; i < e->timing_count; i++) {
        const struct atoll_timing *t = &e->timings[i];
        if (t->variant >= task->variant_count || task->variants[t->variant].kind != ATOLL_VARIANT_BENCH)
            continue;
        double value = value_of(t), weight = task->variants[t->variant].weight;
        if (!(value > 0.0))
            return 0.0;
        sum += weight * log(value);
        weights += weight;
    }
    return weights > 0.0 ? exp(sum / weights) : 0.0;
}

static double median_of(const struct atoll_timing *t)
{
    return t->summary.median;
}

static double floor_of(const struct atoll_timing *t)
{
    return t->floor_ns;
}

static double low_of(const struct atoll_timing *t)
{
    return t->summary.lo95;
}

static double high_of(const struct atoll_timing *t)
{
    return t->summary.hi95;
}

double atoll_evaluation_time_ns(const struct atoll_evaluation *e, const struct atoll_task *task)
{
    return geometric_mean(e, task, median_of);
}

double atoll_evaluation_floor_ns(const struct atoll_evaluation *e, const struct atoll_task *task)
{
    return geometric_mean(e, task, floor_of);
}

const char *atoll_floor_model_name(enum atoll_floor_model model)
{
    static const char *const names[ATOLL_FLOOR_MODEL_COUNT] = {"untold", "single", "split"};
    return (unsigned)model < ATOLL_FLOOR_MODEL_COUNT ? names[model] : "untold";
}

enum atoll_floor_model atoll_timing_floor_model(const struct atoll_timing *timing)
{
    return timing->flags & ATOLL_TIMING_FLOOR_SPLIT    ? ATOLL_FLOOR_SPLIT
           : timing->flags & ATOLL_TIMING_FLOOR_SINGLE ? ATOLL_FLOOR_SINGLE
                                                       : ATOLL_FLOOR_UNTOLD;
}

enum atoll_floor_model atoll_evaluation_floor_model(const struct atoll_evaluation *e)
{
    enum atoll_floor_model model =
        e->timing_count ? atoll_timing_floor_model(&e->timings[0]) : ATOLL_FLOOR_UNTOLD;
    for (size_t i = 1; i < e->timing_count; i++)
        if (atoll_timing_floor_model(&e->timings[i]) != model)
            return ATOLL_FLOOR_UNTOLD;
    return model;
}

void atoll_evaluation_interval_ns(const struct atoll_evaluation *e, const struct atoll_task *task,
                                  double *ret_lo, double *ret_hi)
{
    *ret_lo = geometric_mean(e, task, low_of);
    *ret_hi = geometric_mean(e, task, high_of);
}

void atoll_duel_encode(const struct atoll_duel *d, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, d->evaluation);
    atoll_buffer_put_u32(out, d->purpose);
    atoll_buffer_put_u32(out, d->verdict);
    atoll_buffer_put_u32(out, d->better != 0);
    atoll_buffer_put_f64(out, d->ratio);
    atoll_buffer_put_f64(out, d->p_value);
    atoll_buffer_put_u32(out, d->pair_count);
    atoll_buffer_put_f64(out, d->elite_ns);
    atoll_buffer_put_f64(out, d->challenger_ns);
    atoll_buffer_put_f64(out, d->occupied_ns);
    atoll_buffer_put_f64(out, d->candidate_ns);
    atoll_buffer_put_u64(out, d->device);
    atoll_buffer_put_blob(out, d->detail, strnlen(d->detail, sizeof(d->detail) - 1));
    if (!(d->ratio_hi > 0)) /* as before there were intervals */
        return;
    const double ends[] = {d->ratio_lo,    d->ratio_hi,         d->elite_lo_ns,
                           d->elite_hi_ns, d->challenger_lo_ns, d->challenger_hi_ns};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        atoll_buffer_put_f64(out, ends[i]);
}

int atoll_duel_decode(const void *bytes, size_t length, struct atoll_duel *ret_duel, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_duel d;
    memset(&d, 0, sizeof(d));
    atoll_reader_init(&r, bytes, length);
    d.evaluation = atoll_reader_u64(&r);
    d.purpose = (enum atoll_duel_purpose)atoll_reader_u32_in(&r, 0, ATOLL_DUEL_PURPOSE_COUNT - 1);
    d.verdict = (enum atoll_verdict)atoll_reader_u32_in(&r, 0, ATOLL_VERDICT_COUNT - 1);
    d.better = (int)atoll_reader_u32_in(&r, 0, 1);
    d.ratio = atoll_reader_f64_in(&r, 0.0, TIME_LIMIT_NS);
    d.p_value = atoll_reader_f64_in(&r, 0.0, 1.0);
    d.pair_count = atoll_reader_u32(&r);
    d.elite_ns = read_time(&r);
    d.challenger_ns = read_time(&r);
    d.occupied_ns = read_time(&r);
    d.candidate_ns = read_time(&r);
    d.device = atoll_reader_u64(&r);
    atoll_reader_fixed_text(&r, d.detail, sizeof(d.detail));
    double *const ends[] = {&d.ratio_lo,    &d.ratio_hi,         &d.elite_lo_ns,
                            &d.elite_hi_ns, &d.challenger_lo_ns, &d.challenger_hi_ns};
    int is_early = r.offset == r.length; /* an engine before there were intervals */
    for (size_t i = 0; !is_early && i < sizeof(ends) / sizeof(*ends); i++)
        *ends[i] = atoll_reader_f64_in(&r, 0.0, TIME_LIMIT_NS);
    if (atoll_reader_finish(&r, "duel", err))
        return -1;
    *ret_duel = d;
    return 0;
}
