/* evaluation.c - results on the wire; the order of fields is docs/spec/wire.md.  Decoders build a value aside
 * and hand it over only when all of it holds. */
#include "core/evaluation.h"

#include <math.h>
#include <string.h>

#define TIME_LIMIT_NS 1e18 /* 31 years: nothing of ours takes longer, and sums of it stay finite */

void atoll_evaluation_init(struct atoll_evaluation *e)
{
    memset(e, 0, sizeof(*e));
    atoll_profile_init(&e->profile);
}

void atoll_evaluation_fini(struct atoll_evaluation *e)
{
    atoll_timings_fini(e->timings);
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
    atoll_timings_encode(e->timings, e->timing_count, out);
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
    atoll_timings_decode(&r, decoded.timings, &decoded.timing_count);
    if (r.failed || r.offset < r.length) /* frame version 1 ends here */
        atoll_profile_decode(&r, &decoded.profile);
    if (atoll_reader_finish(&r, "evaluation", err)) {
        atoll_evaluation_fini(&decoded);
        return -1;
    }
    *e = decoded;
    return 0;
}

double atoll_evaluation_time_ns(const struct atoll_evaluation *e, const struct atoll_task *task)
{
    return atoll_timings_mean_ns(e->timings, e->timing_count, task, ATOLL_TIMING_MEDIAN);
}

double atoll_evaluation_floor_ns(const struct atoll_evaluation *e, const struct atoll_task *task)
{
    return atoll_timings_mean_ns(e->timings, e->timing_count, task, ATOLL_TIMING_FLOOR);
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
    *ret_lo = atoll_timings_mean_ns(e->timings, e->timing_count, task, ATOLL_TIMING_LO95);
    *ret_hi = atoll_timings_mean_ns(e->timings, e->timing_count, task, ATOLL_TIMING_HI95);
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
