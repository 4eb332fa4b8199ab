#include "core/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void atoll_event_init(struct atoll_event *e, enum atoll_event_type type)
{
    memset(e, 0, sizeof(*e));
    e->type = type;
    if (type == ATOLL_EVENT_EVALUATED)
        atoll_evaluation_init(&e->evaluation);
    if (type == ATOLL_EVENT_RIVAL)
        atoll_rival_init(&e->rival);
}

void atoll_event_fini(struct atoll_event *e)
{
    if (!e)
        return;
    if (e->type == ATOLL_EVENT_EVALUATED)
        atoll_evaluation_fini(&e->evaluation);
    if (e->type == ATOLL_EVENT_RIVAL)
        atoll_rival_fini(&e->rival);
    if (e->type == ATOLL_EVENT_DEVICE_TIME)
        free(e->device_times.times);
    memset(e, 0, sizeof(*e));
}

/* The body of each type follows the head (type, campaign_ns, unix_ns). */
static void encode_nothing(const struct atoll_event *e, struct atoll_buffer *out)
{
}

static int decode_nothing(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                          struct atoll_err *err)
{
    return 0;
}

/* What is left of the reader, for bodies that have a decoder of their own. */
static const void *rest(struct atoll_reader *r, size_t *ret_length)
{
    const unsigned char *bytes = r->data + r->offset;
    *ret_length = r->length - r->offset;
    r->offset = r->length;
    return bytes;
}

static void encode_start(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_search_encode(&e->search, out);
}

static int decode_start(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                        struct atoll_err *err)
{
    size_t length;
    const void *bytes = rest(r, &length);
    return atoll_search_decode(bytes, length, &e->search, err);
}

static void encode_task(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, e->task);
    atoll_buffer_put_blob(out, e->task_bytes, e->task_length);
}

static int decode_task(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                       struct atoll_err *err)
{
    e->task = atoll_reader_u32(r);
    e->task_bytes = atoll_reader_blob(r, &e->task_length);
    return 0;
}

static void encode_capacity(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, e->slots);
    if (!e->model_count) /* as before there were models */
        return;
    atoll_buffer_put_u32(out, e->model_count);
    for (uint32_t i = 0; i < e->model_count; i++) {
        atoll_buffer_put_text(out, e->models[i].model);
        atoll_buffer_put_u32(out, e->models[i].slots);
    }
    int any = 0, any_shape = 0;
    for (uint32_t i = 0; i < e->model_count; i++) {
        any |= e->models[i].torch_slots > 0;
        any_shape |= atoll_device_shape_is_known(&e->models[i].shape);
    }
    /* as before there were rivals where there is no torch, as before there were shapes where nobody says them */
    for (uint32_t i = 0; i < e->model_count && (any || any_shape); i++)
        atoll_buffer_put_u32(out, e->models[i].torch_slots);
    for (uint32_t i = 0; i < e->model_count && any_shape; i++)
        atoll_device_shape_encode(&e->models[i].shape, out);
}

static int decode_capacity(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                           struct atoll_err *err)
{
    e->slots = atoll_reader_u32(r);
    if (r->offset == r->length)
        return 0;
    e->model_count = atoll_reader_u32_in(r, 1, ATOLL_MODEL_LIMIT);
    for (uint32_t i = 0; i < e->model_count && !r->failed; i++) {
        atoll_reader_fixed_text(r, e->models[i].model, sizeof(e->models[i].model));
        e->models[i].slots = atoll_reader_u32(r);
    }
    int any = 0;
    if (r->failed || r->offset == r->length)
        return 0;
    for (uint32_t i = 0; i < e->model_count; i++) {
        e->models[i].torch_slots = atoll_reader_u32_in(r, 0, e->models[i].slots);
        any |= e->models[i].torch_slots > 0;
    }
    int any_shape = r->offset < r->length;
    for (uint32_t i = 0; i < e->model_count && any_shape; i++)
        atoll_device_shape_decode(r, &e->models[i].shape);
    if (!r->failed && !any && !any_shape)
        r->failed = ATOLL_E_PROTOCOL;
    return 0;
}

static void encode_evaluated(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_evaluation_encode(&e->evaluation, out);
}

static int decode_evaluated(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                            struct atoll_err *err)
{
    size_t length;
    const void *bytes = rest(r, &length);
    return atoll_evaluation_decode(bytes, length, &e->evaluation, err);
}

static void encode_duelled(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_duel_encode(&e->duel, out);
}

static int decode_duelled(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                          struct atoll_err *err)
{
    size_t length;
    const void *bytes = rest(r, &length);
    return atoll_duel_decode(bytes, length, &e->duel, err);
}

static void encode_rival(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_rival_encode(&e->rival, out);
}

static int decode_rival(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                        struct atoll_err *err)
{
    size_t length;
    const void *bytes = rest(r, &length);
    return atoll_rival_decode(bytes, length, &e->rival, err);
}

static void encode_source(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, e->task);
    atoll_buffer_put_u32(out, e->island);
    atoll_buffer_put_text(out, e->language);
    atoll_buffer_put_text(out, e->origin);
    atoll_buffer_put_text(out, e->source);
}

static int decode_source(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                         struct atoll_err *err)
{
    e->task = atoll_reader_u32(r);
    e->island = atoll_reader_u32(r);
    e->language = atoll_reader_text(r, arena);
    e->origin = atoll_reader_text(r, arena);
    e->source = atoll_reader_text(r, arena);
    return 0;
}

static void encode_reply(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_reply_encode(&e->reply, out);
}

static int decode_reply(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                        struct atoll_err *err)
{
    atoll_reply_decode(r, arena, &e->reply);
    return 0;
}

static void encode_hint(const struct atoll_event *e, struct atoll_buffer *out)
{
    const struct atoll_hint *h = &e->hint;
    atoll_buffer_put_u32(out, e->task);
    atoll_buffer_put_bytes(out, h->source.bytes, sizeof(h->source.bytes));
    atoll_buffer_put_u8(out, (uint8_t)h->choice.count);
    for (size_t i = 0; i < h->choice.count; i++)
        atoll_buffer_put_i64(out, h->choice.values[i]);
    atoll_buffer_put_f64(out, h->time_ns);
}

static int decode_hint(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                       struct atoll_err *err)
{
    struct atoll_hint *h = &e->hint;
    e->task = atoll_reader_u32(r);
    atoll_reader_bytes(r, h->source.bytes, sizeof(h->source.bytes));
    h->choice.count = atoll_reader_u8(r);
    if (h->choice.count > ATOLL_PLAN_PARAM_LIMIT) {
        h->choice.count = 0;
        r->failed = 1;
    }
    for (size_t i = 0; i < h->choice.count; i++)
        h->choice.values[i] = atoll_reader_i64(r);
    h->time_ns = atoll_reader_f64_in(r, 0, 1e18);
    return 0;
}

static void encode_extend(const struct atoll_event *e, struct atoll_buffer *out)
{
    const struct atoll_extension *x = &e->extension;
    atoll_buffer_put_u64(out, x->evaluations);
    atoll_buffer_put_f64(out, x->device_ns);
    atoll_buffer_put_f64(out, x->wall_ns);
    atoll_buffer_put_u64(out, x->tokens);
    atoll_buffer_put_f64(out, x->money_usd);
}

static int decode_extend(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                         struct atoll_err *err)
{
    struct atoll_extension *x = &e->extension;
    x->evaluations = atoll_reader_u64(r);
    x->device_ns = atoll_reader_f64_in(r, 0, 1e18);
    x->wall_ns = atoll_reader_f64_in(r, 0, 1e18);
    x->tokens = atoll_reader_u64(r);
    x->money_usd = atoll_reader_f64_in(r, 0, 1e12);
    return 0;
}

static void encode_device_time(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, e->device_times.device);
    atoll_task_times_encode(e->device_times.times, e->device_times.count, out);
}

static int decode_device_time(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                              struct atoll_err *err)
{
    e->device_times.device = atoll_reader_u64(r);
    atoll_task_times_decode(r, &e->device_times.times, &e->device_times.count);
    return 0;
}

static void encode_briefing(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_briefing_encode(&e->briefing, out);
}

static int decode_briefing(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                           struct atoll_err *err)
{
    atoll_briefing_decode(r, arena, &e->briefing);
    return 0;
}

static void encode_tool(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_tool_turn_encode(&e->tool_turn, out);
}

static int decode_tool(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                       struct atoll_err *err)
{
    atoll_tool_turn_decode(r, arena, &e->tool_turn);
    return 0;
}

static const struct body {
    void (*encode)(const struct atoll_event *e, struct atoll_buffer *out);
    int (*decode)(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_event *e,
                  struct atoll_err *err);
} bodies[ATOLL_EVENT_TYPE_COUNT] = {
    [ATOLL_EVENT_START] = {encode_start, decode_start},
    [ATOLL_EVENT_TASK] = {encode_task, decode_task},
    [ATOLL_EVENT_CAPACITY] = {encode_capacity, decode_capacity},
    [ATOLL_EVENT_EVALUATED] = {encode_evaluated, decode_evaluated},
    [ATOLL_EVENT_DUELLED] = {encode_duelled, decode_duelled},
    [ATOLL_EVENT_SOURCE] = {encode_source, decode_source},
    [ATOLL_EVENT_TICK] = {encode_nothing, decode_nothing},
    [ATOLL_EVENT_FINISH] = {encode_nothing, decode_nothing},
    [ATOLL_EVENT_RESUME] = {encode_nothing, decode_nothing},
    [ATOLL_EVENT_REPLY] = {encode_reply, decode_reply},
    [ATOLL_EVENT_HINT] = {encode_hint, decode_hint},
    [ATOLL_EVENT_EXTEND] = {encode_extend, decode_extend},
    [ATOLL_EVENT_RIVAL] = {encode_rival, decode_rival},
    [ATOLL_EVENT_DEVICE_TIME] = {encode_device_time, decode_device_time},
    [ATOLL_EVENT_BRIEFING] = {encode_briefing, decode_briefing},
    [ATOLL_EVENT_TOOL] = {encode_tool, decode_tool},
};

static const struct body *body_of(unsigned type)
{
    return type < ATOLL_EVENT_TYPE_COUNT && bodies[type].encode ? &bodies[type] : NULL;
}

void atoll_event_encode(const struct atoll_event *e, struct atoll_buffer *out)
{
    atoll_buffer_put_u8(out, (uint8_t)e->type);
    atoll_buffer_put_i64(out, e->campaign_ns);
    atoll_buffer_put_i64(out, e->unix_ns);
    const struct body *body = body_of(e->type);
    if (body)
        body->encode(e, out);
}

int atoll_event_decode(const void *bytes, size_t length, struct atoll_arena *arena, struct atoll_event *e,
                       struct atoll_err *err)
{
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    unsigned type = atoll_reader_u8(&r);
    int64_t campaign_ns = atoll_reader_i64(&r);
    int64_t unix_ns = atoll_reader_i64(&r);
    const struct body *body = body_of(type);
    if (!r.failed && !body)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "event: unknown type %u", type);
    if (!r.failed && campaign_ns < 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "event: negative campaign time");
    if (r.failed)
        return atoll_reader_finish(&r, "event", err);
    atoll_event_init(e, (enum atoll_event_type)type);
    e->campaign_ns = campaign_ns;
    e->unix_ns = unix_ns;
    if (body->decode(&r, arena, e, err) || atoll_reader_finish(&r, "event", err)) {
        atoll_event_fini(e);
        return -1;
    }
    return 0;
}
