/* fuzz_event.c - a campaign out of any bytes: each record is an event as the journal holds it, or an answer to something
 * that is under way, so that mutations get past the numbers that an answer must name.  Whatever came, the state that
 * was saved loads, is saved as the same bytes, and the loaded engine decides what the first one decides; and
 * a campaign that is asked to end does. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "core/event.h"
#include "core/issue.h"
#include "core/task/task.h"
#include "evolution/engine/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENT_LIMIT    400 /* of one campaign */
#define DECISION_LIMIT 64  /* remembered; the last ones */
#define STEP_DECISIONS 100000

enum record {
    RECORD_EVENT,
    RECORD_EVALUATED,
    RECORD_DUELLED,
    RECORD_REPLY,
    RECORD_RELOAD,
    RECORD_RIVAL,
    RECORD_COUNT
};

struct recent {
    struct atoll_decision items[DECISION_LIMIT];
    uint32_t count;
};

struct campaign {
    struct atoll_engine *engine, *twin; /* twin: loaded from a snapshot, sees the same events */
    struct recent evaluations, duels, asks, rivals;
    struct atoll_buffer decided, twin_decided;
    struct atoll_arena *arena;
    uint64_t decisions;
    int failed;
};

static void remember(struct recent *r, const struct atoll_decision *d)
{
    r->items[r->count++ % DECISION_LIMIT] = *d;
}

static void see(void *context, const struct atoll_decision *d)
{
    struct campaign *c = context;
    if (++c->decisions > STEP_DECISIONS)
        abort(); /* it does not end */
    atoll_decision_encode(d, &c->decided);
    if (d->type == ATOLL_DECIDE_EVALUATE)
        remember(&c->evaluations, d);
    if (d->type == ATOLL_DECIDE_DUEL)
        remember(&c->duels, d);
    if (d->type == ATOLL_DECIDE_ASK)
        remember(&c->asks, d);
    if (d->type == ATOLL_DECIDE_RIVAL)
        remember(&c->rivals, d);
}

static void see_twin(void *context, const struct atoll_decision *d)
{
    struct campaign *c = context;
    atoll_decision_encode(d, &c->twin_decided);
}

static const struct atoll_decision *pick(const struct recent *r, uint8_t which)
{
    uint32_t known = r->count < DECISION_LIMIT ? r->count : DECISION_LIMIT;
    return known ? &r->items[(r->count - 1 - which % known) % DECISION_LIMIT] : NULL;
}

static void step(struct campaign *c, const struct atoll_event *event)
{
    atoll_buffer_clear(&c->decided);
    atoll_buffer_clear(&c->twin_decided);
    c->decisions = 0;
    c->failed = atoll_engine_step(c->engine, event, see, c, NULL) != 0;
    if (!c->twin)
        return;
    int twin_failed = atoll_engine_step(c->twin, event, see_twin, c, NULL) != 0;
    if (twin_failed != c->failed || c->decided.length != c->twin_decided.length ||
        (c->decided.length && memcmp(c->decided.data, c->twin_decided.data, c->decided.length) != 0))
        abort();
}

static void reload(struct campaign *c)
{
    struct atoll_buffer first, second;
    atoll_buffer_init(&first, (size_t)1 << 28);
    atoll_buffer_init(&second, (size_t)1 << 28);
    if (atoll_engine_save(c->engine, &first, NULL))
        abort();
    atoll_engine_destroy(c->twin);
    c->twin = atoll_engine_load(first.data, first.length, NULL);
    if (!c->twin || atoll_engine_save(c->twin, &second, NULL) || first.length != second.length ||
        memcmp(first.data, second.data, first.length) != 0)
        abort();
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

/* What is answered goes through its bytes, as everything that an engine sees. */
static void step_decoded(struct campaign *c, const struct atoll_event *made)
{
    struct atoll_buffer bytes;
    struct atoll_event event;
    atoll_buffer_init(&bytes, (size_t)1 << 26);
    atoll_event_encode(made, &bytes);
    atoll_arena_reset(c->arena);
    if (!bytes.failed && !atoll_event_decode(bytes.data, bytes.length, c->arena, &event, NULL)) {
        step(c, &event);
        atoll_event_fini(&event);
    }
    atoll_buffer_fini(&bytes);
}

static void use_event(struct campaign *c, struct atoll_reader *r)
{
    struct atoll_event event;
    size_t length;
    const void *bytes = atoll_reader_blob(r, &length);
    atoll_arena_reset(c->arena);
    if (r->failed || atoll_event_decode(bytes, length, c->arena, &event, NULL))
        return;
    step(c, &event);
    atoll_event_fini(&event);
}

static void answer_evaluation(struct campaign *c, struct atoll_reader *r)
{
    struct atoll_event event;
    const struct atoll_decision *d = pick(&c->evaluations, atoll_reader_u8(r));
    uint8_t verdict = atoll_reader_u8(r), cell = atoll_reader_u8(r), flags = atoll_reader_u8(r);
    double time_ns = atoll_reader_f64(r);
    if (!d || r->failed)
        return;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    event.evaluation.evaluation = d->evaluation;
    event.evaluation.candidate = d->candidate;
    event.evaluation.verdict = (enum atoll_verdict)(verdict % ATOLL_VERDICT_COUNT);
    event.evaluation.behaviour = (struct atoll_behaviour){cell / 16 % 4, cell / 4 % 4, cell % 4};
    event.evaluation.occupied_ns = time_ns;
    event.evaluation.timing_count = 1;
    event.evaluation.timings[0].variant = flags % 4;
    event.evaluation.timings[0].flags = flags;
    event.evaluation.timings[0].floor_ns = time_ns / 2;
    struct atoll_summary *s = &event.evaluation.timings[0].summary;
    s->min = s->p10 = s->median = s->p90 = s->max = s->lo95 = s->hi95 = time_ns;
    step_decoded(c, &event);
    atoll_event_fini(&event);
}

static void answer_duel(struct campaign *c, struct atoll_reader *r)
{
    struct atoll_event event;
    const struct atoll_decision *d = pick(&c->duels, atoll_reader_u8(r));
    uint8_t verdict = atoll_reader_u8(r), better = atoll_reader_u8(r);
    double ratio = atoll_reader_f64(r);
    if (!d || r->failed)
        return;
    atoll_event_init(&event, ATOLL_EVENT_DUELLED);
    event.duel = (struct atoll_duel){.evaluation = d->evaluation,
                                     .purpose = d->purpose,
                                     .verdict = (enum atoll_verdict)(verdict % ATOLL_VERDICT_COUNT),
                                     .better = better & 1,
                                     .pair_count = better / 2 % 16,
                                     .ratio = ratio,
                                     .p_value = fmod(fabs(ratio), 1),
                                     .elite_ns = fabs(ratio),
                                     .occupied_ns = fabs(ratio)};
    step_decoded(c, &event);
}

static void fill_rival(struct atoll_event *event, const struct atoll_decision *d, unsigned verdict)
{
    atoll_event_init(event, ATOLL_EVENT_RIVAL);
    event->rival.evaluation = d->evaluation;
    event->rival.task = d->task;
    event->rival.number = d->rival;
    event->rival.verdict = (enum atoll_verdict)(verdict % ATOLL_VERDICT_COUNT);
}

static void answer_rival(struct campaign *c, struct atoll_reader *r)
{
    struct atoll_event event;
    const struct atoll_decision *d = pick(&c->rivals, atoll_reader_u8(r));
    uint8_t verdict = atoll_reader_u8(r), variant = atoll_reader_u8(r);
    double time_ns = atoll_reader_f64(r);
    if (!d || r->failed)
        return;
    fill_rival(&event, d, verdict);
    event.rival.occupied_ns = time_ns;
    event.rival.timing_count = 1;
    event.rival.timings[0].variant = variant % 4;
    struct atoll_summary *s = &event.rival.timings[0].summary;
    s->min = s->p10 = s->median = s->p90 = s->max = s->lo95 = s->hi95 = time_ns;
    step_decoded(c, &event);
    atoll_event_fini(&event);
}

static void answer_ask(struct campaign *c, struct atoll_reader *r)
{
    struct atoll_event event;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 24, NULL);
    const struct atoll_decision *d = pick(&c->asks, atoll_reader_u8(r));
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    struct atoll_reply *reply = &event.reply;
    reply->status = (enum atoll_reply_status)(atoll_reader_u8(r) % ATOLL_REPLY_STATUS_COUNT);
    reply->source_count = atoll_reader_u8(r) % 4;
    for (uint32_t i = 0; i < reply->source_count; i++) {
        reply->sources[i].language = "c";
        reply->sources[i].text = arena ? atoll_reader_text(r, arena) : "";
    }
    reply->plan_count = atoll_reader_u8(r) % (ATOLL_ASK_COUNT_LIMIT + 1);
    reply->issues = atoll_reader_u64(r);
    reply->order_count = atoll_reader_u8(r) % (ATOLL_STAGE_LIMIT + 1);
    atoll_reader_bytes(r, reply->order, reply->order_count);
    reply->tokens = atoll_reader_u64(r);
    reply->cost_usd = atoll_reader_f64(r);
    /* Out of the tokens, so that records mean what they meant, and whatever the counts above say. */
    reply->item_count = (uint32_t)(reply->tokens % 5);
    for (uint32_t i = 0; i < reply->item_count; i++) {
        uint64_t bits = reply->tokens >> (8 * i);
        reply->items[i].kind = (enum atoll_item_kind)(bits % ATOLL_ITEM_KIND_COUNT);
        reply->items[i].issue = (uint8_t)(bits / 8 % (ATOLL_ISSUE_COUNT + 1));
    }
    if (d && !r->failed) {
        reply->ask = d->ask.number;
        step_decoded(c, &event);
    }
    atoll_event_fini(&event);
    atoll_arena_destroy(arena);
}

static void use_reload(struct campaign *c, struct atoll_reader *r)
{
    reload(c);
}

static void (*const uses[RECORD_COUNT])(struct campaign *c, struct atoll_reader *r) = {
    [RECORD_EVENT] = use_event,  [RECORD_EVALUATED] = answer_evaluation, [RECORD_DUELLED] = answer_duel,
    [RECORD_REPLY] = answer_ask, [RECORD_RELOAD] = use_reload,           [RECORD_RIVAL] = answer_rival,
};

/* ---- whoever asks for an end gets one: evaluators of every model that answer everything ---- */

static void take_last(void *context, const struct atoll_decision *d)
{
    *(struct atoll_decision *)context = *d;
}

static void say_capacity(struct campaign *c)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.model_count = atoll_engine_model_count(c->engine);
    event.slots = event.model_count ? event.model_count : 1;
    for (uint32_t i = 0; i < event.model_count; i++) {
        event.models[i].slots = event.models[i].torch_slots = 1;
        memcpy(event.models[i].model, atoll_engine_model(c->engine, i), sizeof(event.models[i].model));
    }
    step(c, &event);
}

static void answer(struct campaign *c, const struct atoll_decision *d)
{
    int is_duel = d->type == ATOLL_DECIDE_DUEL;
    struct atoll_event event;
    if (d->type == ATOLL_DECIDE_RIVAL) {
        fill_rival(&event, d, ATOLL_V_TIMEOUT);
        step(c, &event);
        return;
    }
    atoll_event_init(&event, is_duel ? ATOLL_EVENT_DUELLED : ATOLL_EVENT_EVALUATED);
    event.evaluation.evaluation = event.duel.evaluation = d->evaluation;
    event.evaluation.candidate = d->candidate;
    event.duel.purpose = d->purpose;
    event.evaluation.verdict = event.duel.verdict = ATOLL_V_UNSTABLE;
    step(c, &event);
    atoll_event_fini(&event);
}

static void finish(struct campaign *c)
{
    struct atoll_engine_status status;
    struct atoll_event event;
    atoll_engine_status(c->engine, &status);
    if (!atoll_engine_task(c->engine, 0) || status.stopped)
        return;
    say_capacity(c);
    atoll_event_init(&event, ATOLL_EVENT_FINISH);
    step(c, &event);
    for (;;) {
        struct atoll_decision d = {.evaluation = 0};
        atoll_engine_under_way(c->engine, take_last, &d);
        if (c->failed || !d.type)
            break;
        answer(c, &d);
    }
    atoll_engine_status(c->engine, &status);
    if (!c->failed && !status.stopped)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct campaign c = {.engine = atoll_engine_create(NULL),
                         .arena = atoll_arena_create((size_t)1 << 26, NULL)};
    struct atoll_reader r;
    atoll_reader_init(&r, data, size);
    atoll_buffer_init(&c.decided, (size_t)1 << 28);
    atoll_buffer_init(&c.twin_decided, (size_t)1 << 28);
    if (!c.engine || !c.arena)
        abort();
    for (unsigned i = 0; i < EVENT_LIMIT && !r.failed && r.offset < r.length && !c.failed; i++)
        uses[atoll_reader_u8(&r) % RECORD_COUNT](&c, &r);
    if (!c.failed)
        reload(&c);
    if (!c.failed)
        finish(&c);
    atoll_engine_destroy(c.engine);
    atoll_engine_destroy(c.twin);
    atoll_arena_destroy(c.arena);
    atoll_buffer_fini(&c.decided);
    atoll_buffer_fini(&c.twin_decided);
    return 0;
}
