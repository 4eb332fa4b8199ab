/* timing.c - timings on the wire (docs/spec/wire.md), and their means. */
#include "core/timing.h"

#include <math.h>
#include <stdlib.h>

#define TIME_LIMIT_NS 1e18 /* 31 years: nothing of ours takes longer, and sums of it stay finite */
#define SUMMARY_BYTES 72u
#define TIMING_BYTES  (4u + 4u + SUMMARY_BYTES + 8u + 8u + 4u + 4u) /* without samples */
#define FLAGS_MASK                                                                                           \
    ((uint32_t)(ATOLL_TIMING_DROPPED_EARLY | ATOLL_TIMING_TIME_LIMIT | ATOLL_TIMING_AUDIT |                  \
                ATOLL_TIMING_FLOOR_SINGLE | ATOLL_TIMING_FLOOR_SPLIT | ATOLL_TIMING_TILED))

static double read_time(struct atoll_reader *r)
{
    return atoll_reader_f64_in(r, 0.0, TIME_LIMIT_NS);
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

void atoll_timings_fini(struct atoll_timing *timings)
{
    for (size_t i = 0; i < ATOLL_TASK_VARIANT_LIMIT; i++) {
        free(timings[i].samples_ns);
        timings[i].samples_ns = NULL;
        timings[i].sample_count = 0;
    }
}

void atoll_timings_encode(const struct atoll_timing *timings, size_t count, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        put_timing(out, &timings[i]);
}

void atoll_timings_decode(struct atoll_reader *r, struct atoll_timing *timings, size_t *ret_count)
{
    size_t count = atoll_reader_count(r, TIMING_BYTES);
    uint32_t seen = 0; /* bit 1 << variant */
    if (count > ATOLL_TASK_VARIANT_LIMIT)
        r->failed = ATOLL_E_PROTOCOL;
    for (size_t i = 0; i < count && !r->failed; i++) {
        struct atoll_timing *t = &timings[i];
        read_timing(r, t);
        if (seen & 1u << t->variant)
            r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
        seen |= 1u << t->variant;
        *ret_count = i + 1;
    }
}

static double value_of(const struct atoll_timing *t, enum atoll_timing_value value)
{
    switch (value) {
    case ATOLL_TIMING_LO95: return t->summary.lo95;
    case ATOLL_TIMING_HI95: return t->summary.hi95;
    case ATOLL_TIMING_FLOOR: return t->floor_ns;
    default: return t->summary.median;
    }
}

double atoll_timings_mean_ns(const struct atoll_timing *timings, size_t count, const struct atoll_task *task,
                             enum atoll_timing_value value)
{
    double sum = 0.0, weights = 0.0;
    for (size_t i = 0; i < count; i++) {
        const struct atoll_timing *t = &timings[i];
        if (t->variant >= task->variant_count || task->variants[t->variant].kind != ATOLL_VARIANT_BENCH)
            continue;
        double its = value_of(t, value), weight = task->variants[t->variant].weight;
        if (!(its > 0.0))
            return 0.0;
        sum += weight * log(its);
        weights += weight;
    }
    return weights > 0.0 ? exp(sum / weights) : 0.0;
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
