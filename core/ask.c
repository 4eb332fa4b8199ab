#include "core/ask.h"

#include <math.h>

#include "core/issue.h"
#include "core/text_limit.h"

#define LEVELS     4
#define DIMENSIONS 3
#define HAS_TIMES                                                                                            \
    0x80u /* beside the kind: the times of the task follow; what engines before version 5 wrote has none */
#define HAS_PROMPT                                                                                           \
    0x40u /* beside the kind: the version of the prompt text follows, which is not 0; from engine version 9 on */
#define NS_MAX    1e18
#define HAS_ITEMS 0x80u /* beside the status: items follow the order; engines before version 8 wrote none */
#define GAIN_MAX  1e6

const char *atoll_operator_name(enum atoll_operator op)
{
    static const char *const names[ATOLL_OPERATOR_COUNT] = {
        [ATOLL_OPERATOR_SEED] = "seed",
        [ATOLL_OPERATOR_TUNE] = "tune",
        [ATOLL_OPERATOR_IMPORT] = "import",
        [ATOLL_OPERATOR_UNIVERSAL] = "universal",
        [ATOLL_OPERATOR_PLAN] = "plan",
        [ATOLL_OPERATOR_EXECUTE] = "execute",
        [ATOLL_OPERATOR_STAGED] = "staged",
        [ATOLL_OPERATOR_TEMPLATE] = "template",
        [ATOLL_OPERATOR_INITIALISE] = "initialise",
        [ATOLL_OPERATOR_TRANSLATE] = "translate",
        [ATOLL_OPERATOR_NULL_CONTROL] = "noop",
        [ATOLL_OPERATOR_EXTRACT] = "extract",
    };
    return (unsigned)op < ATOLL_OPERATOR_COUNT ? names[op] : "unknown";
}

const char *atoll_ask_kind_name(enum atoll_ask_kind kind)
{
    static const char *const names[ATOLL_ASK_KIND_COUNT] = {
        [ATOLL_ASK_WRITE] = "write", [ATOLL_ASK_PLAN] = "plan",           [ATOLL_ASK_ANALYSE] = "analyse",
        [ATOLL_ASK_ORDER] = "order", [ATOLL_ASK_SUMMARISE] = "summarise", [ATOLL_ASK_DISTIL] = "distil",
        [ATOLL_ASK_META] = "meta",   [ATOLL_ASK_JUDGE] = "judge"};
    return (unsigned)kind < ATOLL_ASK_KIND_COUNT ? names[kind] : "unknown";
}

const char *atoll_reply_status_name(enum atoll_reply_status status)
{
    static const char *const names[ATOLL_REPLY_STATUS_COUNT] = {
        [ATOLL_REPLY_OK] = "ok",           [ATOLL_REPLY_EMPTY] = "empty",
        [ATOLL_REPLY_REFUSED] = "refused", [ATOLL_REPLY_FAILED] = "failed",
        [ATOLL_REPLY_SPENT] = "spent",     [ATOLL_REPLY_TASK_SPENT] = "task_spent",
        [ATOLL_REPLY_BUILTIN] = "builtin"};
    return (unsigned)status < ATOLL_REPLY_STATUS_COUNT ? names[status] : "unknown";
}

const char *atoll_item_kind_name(enum atoll_item_kind kind)
{
    static const char *const names[ATOLL_ITEM_KIND_COUNT] = {
        [ATOLL_ITEM_PLAN] = "plan",          [ATOLL_ITEM_ISSUE] = "issue", [ATOLL_ITEM_PROPOSAL] = "proposal",
        [ATOLL_ITEM_REWRITE] = "rewrite",    [ATOLL_ITEM_HINT] = "hint",   [ATOLL_ITEM_EDIT] = "edit",
        [ATOLL_ITEM_JUDGEMENT] = "judgement"};
    return (unsigned)kind < ATOLL_ITEM_KIND_COUNT ? names[kind] : "unknown";
}

void atoll_reply_count_items(struct atoll_reply *reply)
{
    uint32_t plans = 0, known = 0;
    uint64_t issues = 0;
    for (uint32_t i = 0; i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        plans += item->kind == ATOLL_ITEM_PLAN;
        known += item->kind == ATOLL_ITEM_ISSUE;
        if (item->kind == ATOLL_ITEM_ISSUE && item->issue < ATOLL_ISSUE_COUNT)
            issues |= UINT64_C(1) << item->issue;
    }
    if (plans)
        reply->plan_count = plans;
    if (known)
        reply->issues = issues;
}

const struct atoll_reply_item *atoll_items_plan(const struct atoll_reply_item *items, uint32_t count,
                                                uint32_t index)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i].kind == ATOLL_ITEM_PLAN && index-- == 0)
            return &items[i];
    return NULL;
}

static void put_ids(struct atoll_buffer *out, const struct atoll_id *ids, size_t count)
{
    atoll_buffer_put_u8(out, (uint8_t)count);
    for (size_t i = 0; i < count; i++)
        atoll_buffer_put_bytes(out, ids[i].bytes, sizeof(ids[i].bytes));
}

static size_t take_ids(struct atoll_reader *r, struct atoll_id *ret_ids, uint32_t limit)
{
    uint32_t count = atoll_reader_u8(r);
    if (count > limit)
        r->failed = 1;
    for (uint32_t i = 0; i < count && !r->failed; i++)
        atoll_reader_bytes(r, ret_ids[i].bytes, sizeof(ret_ids[i].bytes));
    return r->failed ? 0 : count;
}

static uint8_t take_below(struct atoll_reader *r, unsigned limit)
{
    uint8_t v = atoll_reader_u8(r);
    if (v >= limit)
        r->failed = 1;
    return v < limit ? v : 0;
}

static void put_advice(const struct atoll_ask *ask, struct atoll_buffer *out)
{
    atoll_buffer_put_u8(out, (uint8_t)ask->advice_count);
    for (size_t i = 0; i < ask->advice_count; i++) {
        const struct atoll_advice *a = &ask->advice[i];
        atoll_buffer_put_u8(out, a->dimension);
        atoll_buffer_put_u8(out, a->level);
        atoll_buffer_put_u8(out, a->sign > 0);
        atoll_buffer_put_f64(out, a->weight);
    }
}

static void take_advice(struct atoll_reader *r, struct atoll_ask *ask)
{
    uint8_t count = take_below(r, ATOLL_ASK_ADVICE_LIMIT + 1);
    for (uint8_t i = 0; i < count && !r->failed; i++) {
        struct atoll_advice *a = &ask->advice[i];
        a->dimension = take_below(r, DIMENSIONS);
        a->level = take_below(r, LEVELS);
        a->sign = take_below(r, 2) ? 1 : -1;
        a->weight = atoll_reader_f64(r);
        if (!isfinite(a->weight) || !(a->weight > 0))
            r->failed = 1;
    }
    ask->advice_count = r->failed ? 0 : count;
}

void atoll_ask_encode(const struct atoll_ask *ask, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, ask->number);
    atoll_buffer_put_u8(out, (uint8_t)((unsigned)ask->kind | HAS_TIMES | (ask->prompt ? HAS_PROMPT : 0)));
    atoll_buffer_put_u8(out, (uint8_t)ask->op);
    atoll_buffer_put_u32(out, ask->task);
    atoll_buffer_put_u32(out, ask->model);
    atoll_buffer_put_u32(out, ask->island);
    atoll_buffer_put_u32(out, ask->generation);
    atoll_buffer_put_u8(out, ask->role);
    atoll_buffer_put_u8(out, ask->stage);
    atoll_buffer_put_u8(out, ask->round);
    atoll_buffer_put_u64(out, ask->issues);
    atoll_buffer_put_u32(out, ask->count);
    atoll_buffer_put_u64(out, ask->plan);
    atoll_buffer_put_u32(out, ask->plan_index);
    atoll_buffer_put_bytes(out, ask->parent.bytes, sizeof(ask->parent.bytes));
    put_ids(out, ask->inspirations, ask->inspiration_count);
    put_ids(out, ask->failures, ask->failure_count);
    put_advice(ask, out);
    atoll_buffer_put_f64(out, ask->baseline_ns);
    atoll_buffer_put_f64(out, ask->best_ns);
    atoll_buffer_put_f64(out, ask->floor_ns);
    if (ask->prompt)
        atoll_buffer_put_u32(out, ask->prompt);
}

static void take_times(struct atoll_reader *r, struct atoll_ask *ask)
{
    ask->baseline_ns = atoll_reader_f64_in(r, 0, NS_MAX);
    ask->best_ns = atoll_reader_f64_in(r, 0, NS_MAX);
    ask->floor_ns = atoll_reader_f64_in(r, 0, NS_MAX);
}

void atoll_ask_decode(struct atoll_reader *reader, struct atoll_ask *ret_ask)
{
    struct atoll_ask a = {.number = atoll_reader_u64(reader)};
    unsigned kind = atoll_reader_u8(reader), has_times = kind & HAS_TIMES, has_prompt = kind & HAS_PROMPT;
    kind &= ~(HAS_TIMES | HAS_PROMPT);
    if (kind >= ATOLL_ASK_KIND_COUNT)
        reader->failed = 1;
    a.kind = reader->failed ? ATOLL_ASK_WRITE : (enum atoll_ask_kind)kind;
    a.op = (enum atoll_operator)take_below(reader, ATOLL_OPERATOR_COUNT);
    a.task = atoll_reader_u32(reader);
    a.model = atoll_reader_u32(reader);
    a.island = atoll_reader_u32(reader);
    a.generation = atoll_reader_u32(reader);
    a.role = atoll_reader_u8(reader);
    a.stage = atoll_reader_u8(reader);
    a.round = atoll_reader_u8(reader);
    a.issues = atoll_reader_u64(reader);
    a.count = atoll_reader_u32_in(reader, 1, ATOLL_ASK_COUNT_LIMIT);
    a.plan = atoll_reader_u64(reader);
    a.plan_index = atoll_reader_u32(reader);
    atoll_reader_bytes(reader, a.parent.bytes, sizeof(a.parent.bytes));
    a.inspiration_count = take_ids(reader, a.inspirations, ATOLL_ASK_INSPIRATION_LIMIT);
    a.failure_count = take_ids(reader, a.failures, ATOLL_ASK_FAILURE_LIMIT);
    take_advice(reader, &a);
    if (has_times)
        take_times(reader, &a);
    if (has_prompt)
        a.prompt = atoll_reader_u32_in(reader, 1, UINT32_MAX);
    *ret_ask = a;
}

static int has_dialogue(const struct atoll_dialogue *d)
{
    return !atoll_id_is_zero(&d->request);
}

/* The last of a reply, and there only where a model answered: replies of earlier engines end before it. */
static void put_dialogue(const struct atoll_dialogue *d, struct atoll_buffer *out)
{
    if (!has_dialogue(d))
        return;
    atoll_buffer_put_bytes(out, d->request.bytes, sizeof(d->request.bytes));
    atoll_buffer_put_text(out, d->system);
    atoll_buffer_put_text(out, d->prompt);
    atoll_buffer_put_text(out, d->answer);
    atoll_buffer_put_text(out, d->thought);
    atoll_buffer_put_text(out, d->detail);
    atoll_buffer_put_u64(out, d->input_tokens);
    atoll_buffer_put_u64(out, d->cached_tokens);
    atoll_buffer_put_u64(out, d->output_tokens);
    atoll_buffer_put_u64(out, d->reasoning_tokens);
    atoll_buffer_put_f64(out, d->elapsed_s);
    atoll_buffer_put_u32(out, d->is_from_store);
    if (!d->section_count && !(d->model && *d->model))
        return;
    atoll_buffer_put_text(out, d->model);
    atoll_buffer_put_u32(out, d->section_count);
    for (uint32_t i = 0; i < d->section_count; i++) {
        atoll_buffer_put_text(out, d->sections[i].name);
        atoll_buffer_put_u32(out, d->sections[i].bytes);
        atoll_buffer_put_u32(out, d->sections[i].cut_bytes);
    }
}

/* Engines before 8 did not write them. */
static void take_sections(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_dialogue *d)
{
    if (r->failed || r->offset == r->length)
        return;
    d->model = atoll_reader_text(r, arena);
    uint32_t count = atoll_reader_u32_in(r, 0, ATOLL_DIALOGUE_SECTION_LIMIT);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        d->sections[i].name = atoll_reader_text(r, arena);
        d->sections[i].bytes = atoll_reader_u32(r);
        d->sections[i].cut_bytes = atoll_reader_u32(r);
    }
    d->section_count = r->failed ? 0 : count;
}

static void take_dialogue(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_dialogue *d)
{
    d->system = d->prompt = d->answer = d->thought = d->detail = d->model = "";
    if (r->failed || r->offset == r->length)
        return;
    atoll_reader_bytes(r, d->request.bytes, sizeof(d->request.bytes));
    d->system = atoll_reader_text(r, arena);
    d->prompt = atoll_reader_text(r, arena);
    d->answer = atoll_reader_text(r, arena);
    d->thought = atoll_reader_text(r, arena);
    d->detail = atoll_reader_text(r, arena);
    d->input_tokens = atoll_reader_u64(r);
    d->cached_tokens = atoll_reader_u64(r);
    d->output_tokens = atoll_reader_u64(r);
    d->reasoning_tokens = atoll_reader_u64(r);
    d->elapsed_s = atoll_reader_f64_in(r, 0, 1e12);
    d->is_from_store = atoll_reader_u32_in(r, 0, 1);
    take_sections(r, arena, d);
    if (!has_dialogue(d))
        r->failed = 1;
}

static void put_items(const struct atoll_reply *reply, struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, reply->item_count);
    for (uint32_t i = 0; i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        const char *const texts[] = {item->title, item->text, item->why, item->before, item->after};
        atoll_buffer_put_u8(out, (uint8_t)item->kind);
        atoll_buffer_put_u8(out, item->issue);
        atoll_buffer_put_u8(out, item->stage);
        atoll_buffer_put_u8(out, item->severity);
        atoll_buffer_put_f64(out, item->gain_low);
        atoll_buffer_put_f64(out, item->gain_high);
        for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
            atoll_text_put(out, texts[t], ATOLL_ITEM_TEXT_LIMIT);
    }
}

static void take_items(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_reply *reply)
{
    uint32_t count = atoll_reader_u32_in(r, 1, ATOLL_REPLY_ITEM_LIMIT);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        struct atoll_reply_item *item = &reply->items[i];
        const char **const texts[] = {&item->title, &item->text, &item->why, &item->before, &item->after};
        item->kind = (enum atoll_item_kind)take_below(r, ATOLL_ITEM_KIND_COUNT);
        item->issue = take_below(r, ATOLL_ISSUE_COUNT + 1);
        item->stage = take_below(r, ATOLL_ISSUE_STAGE_COUNT);
        item->severity = take_below(r, ATOLL_ITEM_SEVERITY_LIMIT + 1);
        item->gain_low = atoll_reader_f64_in(r, 0, GAIN_MAX);
        item->gain_high = atoll_reader_f64_in(r, 0, GAIN_MAX);
        for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
            *texts[t] = atoll_text_take(r, arena, ATOLL_ITEM_TEXT_LIMIT);
    }
    reply->item_count = r->failed ? 0 : count;
}

void atoll_reply_encode(const struct atoll_reply *reply, struct atoll_buffer *out)
{
    atoll_buffer_put_u64(out, reply->ask);
    atoll_buffer_put_u8(out, (uint8_t)((unsigned)reply->status | (reply->item_count ? HAS_ITEMS : 0)));
    atoll_buffer_put_text(out, reply->origin ? reply->origin : "");
    atoll_buffer_put_u64(out, reply->tokens);
    atoll_buffer_put_f64(out, reply->cost_usd);
    atoll_buffer_put_u32(out, reply->source_count);
    for (uint32_t i = 0; i < reply->source_count; i++) {
        atoll_buffer_put_text(out, reply->sources[i].language);
        atoll_buffer_put_text(out, reply->sources[i].text);
    }
    atoll_buffer_put_u32(out, reply->plan_count);
    atoll_buffer_put_u64(out, reply->issues);
    atoll_buffer_put_u32(out, reply->order_count);
    for (uint32_t i = 0; i < reply->order_count; i++)
        atoll_buffer_put_u8(out, reply->order[i]);
    if (reply->item_count)
        put_items(reply, out);
    put_dialogue(&reply->dialogue, out);
}

static void take_sources(struct atoll_reader *r, struct atoll_arena *arena, struct atoll_reply *reply)
{
    uint32_t count = atoll_reader_u32_in(r, 0, ATOLL_REPLY_SOURCE_LIMIT);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        reply->sources[i].language = atoll_reader_text(r, arena);
        reply->sources[i].text = atoll_reader_text(r, arena);
    }
    reply->source_count = r->failed ? 0 : count;
}

void atoll_reply_decode(struct atoll_reader *reader, struct atoll_arena *arena, struct atoll_reply *ret_reply)
{
    struct atoll_reply reply = {.ask = atoll_reader_u64(reader)};
    unsigned status = atoll_reader_u8(reader), has_items = status & HAS_ITEMS;
    status &= ~HAS_ITEMS;
    if (status >= ATOLL_REPLY_STATUS_COUNT)
        reader->failed = ATOLL_E_PROTOCOL;
    reply.status = reader->failed ? ATOLL_REPLY_OK : (enum atoll_reply_status)status;
    reply.origin = atoll_reader_text(reader, arena);
    reply.tokens = atoll_reader_u64(reader);
    reply.cost_usd = atoll_reader_f64(reader);
    if (!isfinite(reply.cost_usd) || reply.cost_usd < 0)
        reader->failed = 1;
    take_sources(reader, arena, &reply);
    reply.plan_count = atoll_reader_u32_in(reader, 0, ATOLL_ASK_COUNT_LIMIT);
    reply.issues = atoll_reader_u64(reader);
    reply.order_count = atoll_reader_u32_in(reader, 0, ATOLL_STAGE_LIMIT);
    for (uint32_t i = 0; i < reply.order_count && !reader->failed; i++)
        reply.order[i] = atoll_reader_u8(reader);
    if (has_items)
        take_items(reader, arena, &reply);
    take_dialogue(reader, arena, &reply.dialogue);
    *ret_reply = reply;
}
