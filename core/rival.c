/* rival.c - rivals on the wire (docs/spec/wire.md), and which of them is the fastest. */
#include "core/rival.h"

#include <math.h>
#include <string.h>

#define TIME_LIMIT_NS 1e18

static double read_time(struct atoll_reader *r)
{
    return atoll_reader_f64_in(r, 0.0, TIME_LIMIT_NS);
}

void atoll_rival_init(struct atoll_rival *r)
{
    memset(r, 0, sizeof(*r));
}

void atoll_rival_fini(struct atoll_rival *r)
{
    atoll_timings_fini(r->timings);
    atoll_rival_init(r);
}

void atoll_rival_encode(const struct atoll_rival *r, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, r->evaluation);
    atoll_buffer_put_u32(out, r->task);
    atoll_buffer_put_u32(out, r->number);
    atoll_buffer_put_u32(out, r->verdict);
    atoll_buffer_put_blob(out, r->detail, strnlen(r->detail, sizeof(r->detail) - 1));
    atoll_buffer_put_blob(out, r->versions, strnlen(r->versions, sizeof(r->versions) - 1));
    atoll_buffer_put_f64(out, r->worst_error);
    atoll_buffer_put_f64(out, r->compile_ns);
    atoll_buffer_put_f64(out, r->occupied_ns);
    atoll_buffer_put_u64(out, r->device);
    atoll_buffer_put_i64(out, r->started_unix_ns);
    atoll_timings_encode(r->timings, r->timing_count, out);
    for (size_t i = 0; i < r->timing_count; i++)
        atoll_buffer_put_f64(out, r->host_ns[i]);
}

int atoll_rival_decode(const void *bytes, size_t length, struct atoll_rival *ret_rival, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_rival d;
    atoll_rival_init(&d);
    atoll_rival_fini(ret_rival);
    atoll_reader_init(&r, bytes, length);
    d.evaluation = atoll_reader_u64(&r);
    d.task = atoll_reader_u32(&r);
    d.number = atoll_reader_u32_in(&r, 0, ATOLL_TASK_RIVAL_LIMIT - 1);
    d.verdict = (enum atoll_verdict)atoll_reader_u32_in(&r, 0, ATOLL_VERDICT_COUNT - 1);
    atoll_reader_fixed_text(&r, d.detail, sizeof(d.detail));
    atoll_reader_fixed_text(&r, d.versions, sizeof(d.versions));
    d.worst_error = atoll_reader_f64_in(&r, 0.0, HUGE_VAL);
    d.compile_ns = read_time(&r);
    d.occupied_ns = read_time(&r);
    d.device = atoll_reader_u64(&r);
    d.started_unix_ns = atoll_reader_i64(&r);
    if (d.started_unix_ns < 0)
        r.failed = ATOLL_E_PROTOCOL;
    atoll_timings_decode(&r, d.timings, &d.timing_count);
    for (size_t i = 0; i < d.timing_count; i++)
        d.host_ns[i] = read_time(&r);
    if (atoll_reader_finish(&r, "rival", err)) {
        atoll_rival_fini(&d);
        return -1;
    }
    *ret_rival = d;
    return 0;
}

double atoll_rival_time_ns(const struct atoll_rival *r, const struct atoll_task *task)
{
    return atoll_timings_mean_ns(r->timings, r->timing_count, task, ATOLL_TIMING_MEDIAN);
}

void atoll_rival_times_add(struct atoll_rival_times *times, const struct atoll_rival *r)
{
    if (r->verdict != ATOLL_V_CORRECT || r->number >= ATOLL_TASK_RIVAL_LIMIT)
        return;
    for (size_t i = 0; i < r->timing_count; i++) {
        const struct atoll_timing *t = &r->timings[i];
        if (t->variant >= ATOLL_TASK_VARIANT_LIMIT || !isfinite(t->summary.median) ||
            !(t->summary.median > 0)) {
            continue;
        }
        times->ns[r->number][t->variant] = t->summary.median;
        times->lo_ns[r->number][t->variant] = t->summary.lo95;
        times->hi_ns[r->number][t->variant] = t->summary.hi95;
    }
}

/* Of those variants that are known. */
static double mean_ns(const double *variants_ns, const struct atoll_task *task)
{
    struct atoll_timing timings[ATOLL_TASK_VARIANT_LIMIT];
    size_t count = 0;
    memset(timings, 0, sizeof(timings));
    for (uint32_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++) {
        if (!(variants_ns[v] > 0))
            continue;
        timings[count].variant = v;
        timings[count++].summary.median = variants_ns[v];
    }
    return atoll_timings_mean_ns(timings, count, task, ATOLL_TIMING_MEDIAN);
}

/* 0: where a time is known, its interval's end is not. */
static double end_ns(const double *ends_ns, const double *times_ns, const struct atoll_task *task)
{
    for (uint32_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++)
        if (times_ns[v] > 0 && !(isfinite(ends_ns[v]) && ends_ns[v] > 0))
            return 0;
    return mean_ns(ends_ns, task);
}

struct atoll_fastest_rival atoll_rival_times_fastest(const struct atoll_rival_times *times,
                                                     const struct atoll_task *task)
{
    struct atoll_fastest_rival fastest = {.time_ns = 0};
    double best_ns[ATOLL_TASK_VARIANT_LIMIT] = {0}, least_ns = 0;
    double lo_ns[ATOLL_TASK_VARIANT_LIMIT] = {0}, hi_ns[ATOLL_TASK_VARIANT_LIMIT] = {0};
    uint8_t numbers[ATOLL_TASK_VARIANT_LIMIT] = {0};
    for (uint8_t n = 0; n < ATOLL_TASK_RIVAL_LIMIT; n++) {
        double own_ns = mean_ns(times->ns[n], task);
        if (own_ns > 0 && (!(least_ns > 0) || own_ns < least_ns)) {
            least_ns = own_ns;
            fastest.number = n;
        }
        for (uint32_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++) {
            if (times->ns[n][v] > 0 && (!(best_ns[v] > 0) || times->ns[n][v] < best_ns[v])) {
                best_ns[v] = times->ns[n][v];
                lo_ns[v] = times->lo_ns[n][v];
                hi_ns[v] = times->hi_ns[n][v];
                numbers[v] = n;
            }
        }
    }
    fastest.time_ns = mean_ns(best_ns, task);
    fastest.lo_ns = end_ns(lo_ns, best_ns, task);
    fastest.hi_ns = end_ns(hi_ns, best_ns, task);
    if (!(fastest.lo_ns > 0) || !(fastest.hi_ns > 0))
        fastest.lo_ns = fastest.hi_ns = 0;
    for (uint32_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++)
        fastest.numbers[v] = best_ns[v] > 0 ? numbers[v] : (uint8_t)fastest.number;
    return fastest;
}
