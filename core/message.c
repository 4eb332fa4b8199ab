/* message.c - payloads of the frames between coordinator and evaluators; docs/spec/wire.md lists the fields
 * in order. */
#include "core/message.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"

#define TIME_LIMIT_NS  1e18
#define RATE_LIMIT     1e24 /* bytes or operations per second */
#define THREAD_LIMIT   65536u
#define LANGUAGE_LIMIT 31u
#define MARGIN_LIMIT   10.0
#define RATIO_LIMIT    1e6

static double read_time(struct atoll_reader *r)
{
    return atoll_reader_f64_in(r, 0.0, TIME_LIMIT_NS);
}

static double read_rate(struct atoll_reader *r)
{
    return atoll_reader_f64_in(r, 0.0, RATE_LIMIT);
}

/* A text in an array of fixed size, with or without its NUL. */
static void put_fixed_text(struct atoll_buffer *out, const char *text, size_t text_bytes)
{
    atoll_buffer_put_blob(out, text, strnlen(text, text_bytes - 1));
}

/* The integers of the limits in their order, and the most of each. */
static const struct {
    size_t offset;
    uint32_t most;
} limit_fields[] = {
#define LIMIT(member, most)                                                                                  \
    {                                                                                                        \
        offsetof(struct atoll_device_limits, member), most                                                   \
    }
    LIMIT(compute_capability, 9999),
    LIMIT(multiprocessors, 1u << 16),
    LIMIT(warp_size, 1u << 10),
    LIMIT(threads_per_block, 1u << 16),
    LIMIT(threads_per_multiprocessor, 1u << 16),
    LIMIT(blocks_per_multiprocessor, 1u << 16),
    LIMIT(registers_per_multiprocessor, 1u << 24),
    LIMIT(registers_per_block, 1u << 24),
    LIMIT(shared_bytes_per_block, 1u << 30),
    LIMIT(shared_bytes_per_multiprocessor, 1u << 30),
    LIMIT(cluster_blocks, 1u << 16),
    LIMIT(cooperative, 1),
    LIMIT(grid[0], UINT32_MAX),
    LIMIT(grid[1], UINT32_MAX),
    LIMIT(grid[2], UINT32_MAX),
    LIMIT(block[0], 1u << 16),
    LIMIT(block[1], 1u << 16),
    LIMIT(block[2], 1u << 16),
    LIMIT(host_memory, 1),
#undef LIMIT
};
#define LIMIT_FIELDS (sizeof(limit_fields) / sizeof(*limit_fields))

static void put_limits(struct atoll_buffer *out, const struct atoll_device_limits *l)
{
    for (size_t i = 0; i < LIMIT_FIELDS; i++) {
        uint32_t value;
        memcpy(&value, (const char *)l + limit_fields[i].offset, sizeof(value));
        atoll_buffer_put_u32(out, value);
    }
    atoll_buffer_put_f64(out, l->memory_bytes);
    atoll_buffer_put_f64(out, l->clock_hz);
    atoll_buffer_put_f64(out, l->memory_clock_hz);
    for (size_t t = 0; t < ATOLL_DTYPE_COUNT + 1; t++)
        atoll_buffer_put_f64(out, l->tensor_flops[t]);
    put_fixed_text(out, l->driver, sizeof(l->driver));
    put_fixed_text(out, l->target, sizeof(l->target));
    put_fixed_text(out, l->counters, sizeof(l->counters));
}

static void read_limits(struct atoll_reader *r, struct atoll_device_limits *l)
{
    for (size_t i = 0; i < LIMIT_FIELDS; i++) {
        uint32_t value = atoll_reader_u32_in(r, 0, limit_fields[i].most);
        memcpy((char *)l + limit_fields[i].offset, &value, sizeof(value));
    }
    l->memory_bytes = read_rate(r);
    l->clock_hz = read_rate(r);
    l->memory_clock_hz = read_rate(r);
    for (size_t t = 0; t < ATOLL_DTYPE_COUNT + 1; t++)
        l->tensor_flops[t] = read_rate(r);
    atoll_reader_fixed_text(r, l->driver, sizeof(l->driver));
    atoll_reader_fixed_text(r, l->target, sizeof(l->target));
    atoll_reader_fixed_text(r, l->counters, sizeof(l->counters));
}

void atoll_device_info_encode(const struct atoll_device_info *d, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, d->key);
    put_fixed_text(out, d->backend, sizeof(d->backend));
    put_fixed_text(out, d->model, sizeof(d->model));
    put_fixed_text(out, d->uuid, sizeof(d->uuid));
    put_fixed_text(out, d->node, sizeof(d->node));
    put_fixed_text(out, d->toolchain, sizeof(d->toolchain));
    atoll_buffer_put_u32(out, d->threads);
    atoll_buffer_put_f64(out, d->bandwidth_bytes_per_s);
    for (size_t t = 0; t < ATOLL_DTYPE_COUNT; t++)
        atoll_buffer_put_f64(out, d->peak_flops[t]);
    atoll_buffer_put_f64(out, d->empty_launch_ns);
    atoll_buffer_put_f64(out, d->clock_resolution_ns);
    atoll_buffer_put_f64(out, d->last_level_cache_bytes);
    put_fixed_text(out, d->isolation, sizeof(d->isolation));
    put_limits(out, &d->limits);
    put_fixed_text(out, d->torch, sizeof(d->torch));
}

int atoll_device_info_decode(const void *bytes, size_t length, struct atoll_device_info *ret_info,
                             struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_device_info d;
    memset(&d, 0, sizeof(d));
    atoll_reader_init(&r, bytes, length);
    d.key = atoll_reader_u64(&r);
    atoll_reader_fixed_text(&r, d.backend, sizeof(d.backend));
    atoll_reader_fixed_text(&r, d.model, sizeof(d.model));
    atoll_reader_fixed_text(&r, d.uuid, sizeof(d.uuid));
    atoll_reader_fixed_text(&r, d.node, sizeof(d.node));
    atoll_reader_fixed_text(&r, d.toolchain, sizeof(d.toolchain));
    d.threads = atoll_reader_u32_in(&r, 0, THREAD_LIMIT);
    d.bandwidth_bytes_per_s = read_rate(&r);
    for (size_t t = 0; t < ATOLL_DTYPE_COUNT; t++)
        d.peak_flops[t] = read_rate(&r);
    d.empty_launch_ns = read_time(&r);
    d.clock_resolution_ns = read_time(&r);
    d.last_level_cache_bytes = read_rate(&r);
    atoll_reader_fixed_text(&r, d.isolation, sizeof(d.isolation));
    if (r.failed || r.offset < r.length) /* frame version 1 ends here */
        read_limits(&r, &d.limits);
    if (r.failed || r.offset < r.length) /* frame version 2 ends here */
        atoll_reader_fixed_text(&r, d.torch, sizeof(d.torch));
    if (atoll_reader_finish(&r, "device", err))
        return -1;
    *ret_info = d;
    return 0;
}

void atoll_pulse_encode(const struct atoll_pulse *p, struct atoll_buffer *out)
{
    atoll_buffer_put_f64(out, p->uptime_ns);
    atoll_buffer_put_f64(out, p->occupied_ns);
    atoll_buffer_put_f64(out, p->candidate_ns);
    atoll_buffer_put_f64(out, p->compile_ns);
    atoll_buffer_put_f64(out, p->idle_ns);
    atoll_buffer_put_u32(out, p->queued);
    atoll_buffer_put_u32(out, p->compiling);
    atoll_buffer_put_u32(out, p->worker_restarts);
}

int atoll_pulse_decode(const void *bytes, size_t length, struct atoll_pulse *ret_pulse, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_pulse p = {0};
    atoll_reader_init(&r, bytes, length);
    p.uptime_ns = read_time(&r);
    p.occupied_ns = read_time(&r);
    p.candidate_ns = read_time(&r);
    p.compile_ns = read_time(&r);
    p.idle_ns = read_time(&r);
    p.queued = atoll_reader_u32(&r);
    p.compiling = atoll_reader_u32(&r);
    p.worker_restarts = atoll_reader_u32(&r);
    if (atoll_reader_finish(&r, "heartbeat", err))
        return -1;
    *ret_pulse = p;
    return 0;
}

void atoll_setup_encode(const struct atoll_setup *s, struct atoll_buffer *out)
{
    atoll_buffer_put_bytes(out, s->secret, sizeof(s->secret));
    atoll_buffer_put_f64(out, s->sample_device_ns);
    atoll_buffer_put_f64(out, s->sample_wall_ns);
    atoll_buffer_put_u32(out, s->sample_min);
    atoll_buffer_put_f64(out, s->interval_target);
    atoll_buffer_put_u32(out, s->full_compares);
    atoll_buffer_put_u32(out, s->threads);
    atoll_buffer_put_f64(out, s->compile_deadline_ns);
    atoll_buffer_put_u64(out, s->compile_memory_bytes);
    atoll_buffer_put_f64(out, s->sanitize_deadline_ns);
    put_fixed_text(out, s->compiler, sizeof(s->compiler));
    put_fixed_text(out, s->compile_flags, sizeof(s->compile_flags));
    atoll_buffer_put_u32(out, s->backend_null != 0);
    put_fixed_text(out, s->backend, sizeof(s->backend));
    put_fixed_text(out, s->include_path, sizeof(s->include_path));
    put_fixed_text(out, s->python, sizeof(s->python));
    atoll_buffer_put_u32(out, s->is_warm != 0);
    atoll_buffer_put_u32(out, s->profile_all != 0);
    atoll_buffer_put_f64(out, s->profile_ratio);
    atoll_buffer_put_f64(out, s->profile_budget);
    atoll_buffer_put_u32(out, s->wants_triton != 0);
}

int atoll_setup_decode(const void *bytes, size_t length, struct atoll_setup *ret_setup, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_setup s;
    memset(&s, 0, sizeof(s));
    atoll_reader_init(&r, bytes, length);
    atoll_reader_bytes(&r, s.secret, sizeof(s.secret));
    s.sample_device_ns = read_time(&r);
    s.sample_wall_ns = read_time(&r);
    s.sample_min = atoll_reader_u32_in(&r, 0, ATOLL_SAMPLES_LIMIT);
    s.interval_target = atoll_reader_f64_in(&r, 0.0, 1.0);
    s.full_compares = atoll_reader_u32_in(&r, 0, ATOLL_SAMPLES_LIMIT);
    s.threads = atoll_reader_u32_in(&r, 0, THREAD_LIMIT);
    s.compile_deadline_ns = read_time(&r);
    s.compile_memory_bytes = atoll_reader_u64(&r);
    s.sanitize_deadline_ns = read_time(&r);
    atoll_reader_fixed_text(&r, s.compiler, sizeof(s.compiler));
    atoll_reader_fixed_text(&r, s.compile_flags, sizeof(s.compile_flags));
    s.backend_null = atoll_reader_u32_in(&r, 0, 1);
    atoll_reader_fixed_text(&r, s.backend, sizeof(s.backend));
    atoll_reader_fixed_text(&r, s.include_path, sizeof(s.include_path));
    atoll_reader_fixed_text(&r, s.python, sizeof(s.python));
    s.is_warm = atoll_reader_u32_in(&r, 0, 1);
    s.profile_all = atoll_reader_u32_in(&r, 0, 1);
    s.profile_ratio = atoll_reader_f64_in(&r, 0.0, RATIO_LIMIT);
    s.profile_budget = atoll_reader_f64_in(&r, 0.0, 1.0);
    s.wants_triton = atoll_reader_u32_in(&r, 0, 1);
    if (atoll_reader_finish(&r, "setup", err))
        return -1;
    *ret_setup = s;
    return 0;
}

static void put_candidate(struct atoll_buffer *out, const struct atoll_order_candidate *c)
{
    atoll_buffer_put_bytes(out, c->id.bytes, sizeof(c->id.bytes));
    atoll_buffer_put_text(out, c->language);
    atoll_buffer_put_text(out, c->source);
    atoll_buffer_put_u32(out, (uint32_t)c->choice.count);
    for (size_t i = 0; i < c->choice.count; i++)
        atoll_buffer_put_i64(out, c->choice.values[i]);
}

static const char *read_text(struct atoll_reader *r, struct atoll_arena *arena, size_t limit)
{
    const char *text = atoll_reader_text(r, arena);
    if (strlen(text) > limit)
        r->failed = ATOLL_E_PROTOCOL;
    return text;
}

static void read_candidate(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_order_candidate *c)
{
    atoll_reader_bytes(r, c->id.bytes, sizeof(c->id.bytes));
    c->language = read_text(r, arena, LANGUAGE_LIMIT);
    c->source = read_text(r, arena, ATOLL_SOURCE_LIMIT);
    size_t count = atoll_reader_count(r, sizeof(int64_t));
    if (count > ATOLL_PLAN_PARAM_LIMIT)
        r->failed = ATOLL_E_PROTOCOL;
    for (size_t i = 0; i < count && !r->failed; i++) {
        c->choice.values[i] = atoll_reader_i64(r);
        c->choice.count = i + 1;
    }
}

static int is_about_rival(const struct atoll_order *o)
{
    return o->kind == ATOLL_ORDER_RIVAL || (o->kind == ATOLL_ORDER_DUEL && o->purpose == ATOLL_DUEL_RIVAL);
}

/* Up to the last that is known. */
static void put_bars(struct atoll_buffer *out, const struct atoll_order *o)
{
    uint32_t count = ATOLL_TASK_VARIANT_LIMIT;
    while (count && o->bars_ns[count - 1] == 0)
        count--;
    atoll_buffer_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        atoll_buffer_put_f64(out, o->bars_ns[i]);
}

void atoll_order_encode(const struct atoll_order *o, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, o->evaluation);
    atoll_buffer_put_u32(out, o->task);
    atoll_buffer_put_u32(out, o->kind);
    atoll_buffer_put_u32(out, o->purpose);
    if (o->kind != ATOLL_ORDER_RIVAL)
        put_candidate(out, &o->candidate);
    if (atoll_order_has_elite(o))
        put_candidate(out, &o->elite);
    atoll_buffer_put_f64(out, o->baseline_ns);
    atoll_buffer_put_f64(out, o->incumbent_ns);
    atoll_buffer_put_f64(out, o->alpha);
    atoll_buffer_put_f64(out, o->margin);
    atoll_buffer_put_u32(out, o->pair_limit);
    if (o->kind == ATOLL_ORDER_EVALUATE)
        put_bars(out, o);
    if (!is_about_rival(o))
        return;
    atoll_buffer_put_u32(out, o->rival);
    atoll_buffer_put_bytes(out, o->rivals, sizeof(o->rivals));
    atoll_buffer_put_f64(out, o->limit_ns);
}

static void read_rival(struct atoll_reader *r, struct atoll_order *o)
{
    o->rival = atoll_reader_u32_in(r, 0, ATOLL_TASK_RIVAL_LIMIT - 1);
    atoll_reader_bytes(r, o->rivals, sizeof(o->rivals));
    for (size_t i = 0; i < sizeof(o->rivals); i++)
        if (o->rivals[i] >= ATOLL_TASK_RIVAL_LIMIT)
            r->failed = ATOLL_E_PROTOCOL;
    o->limit_ns = read_time(r);
}

static void read_bars(struct atoll_reader *r, struct atoll_order *o)
{
    size_t count = atoll_reader_count(r, sizeof(double));
    if (count > ATOLL_TASK_VARIANT_LIMIT)
        r->failed = ATOLL_E_PROTOCOL;
    for (size_t i = 0; i < count && !r->failed; i++)
        o->bars_ns[i] = read_time(r);
}

int atoll_order_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                       struct atoll_order *ret_order, struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_order o;
    memset(&o, 0, sizeof(o));
    o.candidate.language = o.candidate.source = o.elite.language = o.elite.source = "";
    atoll_reader_init(&r, bytes, length);
    o.evaluation = atoll_reader_u64(&r);
    o.task = atoll_reader_u32(&r);
    o.kind = (enum atoll_order_kind)atoll_reader_u32_in(&r, 0, ATOLL_ORDER_KIND_COUNT - 1);
    o.purpose = (enum atoll_duel_purpose)atoll_reader_u32_in(&r, 0, ATOLL_DUEL_PURPOSE_COUNT - 1);
    if (o.kind != ATOLL_ORDER_RIVAL)
        read_candidate(&r, arena, &o.candidate);
    if (atoll_order_has_elite(&o))
        read_candidate(&r, arena, &o.elite);
    o.baseline_ns = read_time(&r);
    o.incumbent_ns = read_time(&r);
    o.alpha = atoll_reader_f64_in(&r, 0.0, 0.5);
    o.margin = atoll_reader_f64_in(&r, 0.0, MARGIN_LIMIT);
    o.pair_limit = atoll_reader_u32(&r);
    if (o.kind == ATOLL_ORDER_EVALUATE)
        read_bars(&r, &o);
    if (is_about_rival(&o))
        read_rival(&r, &o);
    if (atoll_reader_finish(&r, "order", err))
        return -1;
    *ret_order = o;
    return 0;
}
