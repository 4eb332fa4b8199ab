#include "mpi-eval/operator/prompt_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/knowledge.h"
#include "evolution/prompt/prompt.h"
#include "llm-gateway/budget/exchange_store.h"
#include "mpi-eval/operator/prompt_io.h"

#define TOOLS_SINCE 4 /* version of the prompts that told of tools first */

/* An ask that was briefed and is not answered yet, and its prompt. */
struct open_ask {
    struct open_ask *next;
    struct atoll_ask ask;
    struct atoll_arena *arena;
    struct atoll_prompt_question question;
};

struct atoll_prompt_replay {
    struct atoll_knowledge_pack *knowledge; /* NULL: of none so far */
    struct atoll_prompt_context *context;
    struct atoll_store *store;  /* NULL: no recording */
    struct atoll_store *record; /* NULL: none is made */
    int is_compared;            /* prompts are of this version */
    unsigned tool_limit;
    int has_trajectory;
    char campaign[ATOLL_ID_HEX];
    const char *backend; /* borrowed from the campaign */
    struct atoll_roles roles;
    struct open_ask *open;
    struct atoll_prompt_replay_report report;
};

static void open_ask_destroy(struct open_ask *o)
{
    atoll_arena_destroy(o->arena);
    free(o);
}

void atoll_prompt_replay_destroy(struct atoll_prompt_replay *r)
{
    if (!r)
        return;
    while (r->open) {
        struct open_ask *o = r->open;
        r->open = o->next;
        open_ask_destroy(o);
    }
    atoll_store_close(r->store);
    atoll_store_close(r->record);
    atoll_prompt_context_destroy(r->context);
    atoll_knowledge_pack_destroy(r->knowledge);
    free(r);
}

static const char *option_of(const struct atoll_campaign *campaign, const char *key, const char *fallback)
{
    const char *value = atoll_campaign_option(campaign, key);
    return value && *value ? value : fallback;
}

struct atoll_prompt_replay *atoll_prompt_replay_create(const struct atoll_campaign *campaign,
                                                       const char *recording, const char *record,
                                                       struct atoll_err *err)
{
    struct atoll_prompt_replay *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to write prompts again");
        return NULL;
    }
    atoll_id_hex(&atoll_campaign_config(campaign)->id, r->campaign);
    r->backend = option_of(campaign, "backend", "cpu");
    unsigned long version = strtoul(option_of(campaign, ATOLL_PROMPT_REPLAY_OPTION, "0"), NULL, 10);
    r->is_compared = version == ATOLL_PROMPT_VERSION;
    r->has_trajectory = atoll_campaign_config(campaign)->search.trajectory != 0;
    r->tool_limit = version >= TOOLS_SINCE ? atoll_campaign_config(campaign)->search.tools : 0;
    if (atoll_campaign_knowledge_read(campaign, &r->knowledge, err) == 0)
        r->context = atoll_prompt_context_create(0, err);
    if (r->context &&
        atoll_roles_parse(atoll_campaign_option(campaign, ATOLL_ROLES_MODEL_OPTION),
                          atoll_campaign_option(campaign, ATOLL_ROLES_OPTION), &r->roles, err) == 0 &&
        (!recording || (r->store = atoll_store_open(recording, ATOLL_STORE_READ, err))) &&
        (!record || (r->record = atoll_store_open(record, ATOLL_STORE_RECORD, err))))
        return r;
    atoll_prompt_replay_destroy(r);
    return NULL;
}

int atoll_prompt_replay_device(struct atoll_prompt_replay *r, const struct atoll_device_info *device,
                               struct atoll_err *err)
{
    return atoll_prompt_context_add_device(r->context, device, err);
}

static struct atoll_prompt_io prompt_io_of(const struct atoll_prompt_replay *r,
                                           const struct atoll_engine *engine)
{
    return (struct atoll_prompt_io){.engine = engine,
                                    .context = r->context,
                                    .texts = r->knowledge,
                                    .campaign = r->campaign,
                                    .roles = &r->roles,
                                    .backend = r->backend,
                                    .has_trajectory = r->has_trajectory,
                                    .tool_limit = r->tool_limit};
}

/* Where an ask is in the list, or its end. */
static struct open_ask **find_open_ask(struct atoll_prompt_replay *r, uint64_t ask)
{
    struct open_ask **at = &r->open;
    while (*at && (*at)->ask.number != ask)
        at = &(*at)->next;
    return at;
}

/* What an ask was told beside is durable now: its prompt was written then, or after a resume with the same words. */
static int write_prompt(struct atoll_prompt_replay *r, const struct atoll_engine *engine, uint64_t ask,
                        struct atoll_err *err)
{
    const struct atoll_ask_record *record =
        atoll_ask_history_find(atoll_prompt_context_asks(r->context), ask);
    struct open_ask **at = find_open_ask(r, ask);
    if (!record || record->is_answered)
        return 0;
    if (!r->knowledge && !(r->knowledge = atoll_knowledge_pack_load(NULL, NULL, 0, err)))
        return -1;
    struct atoll_prompt_io io = prompt_io_of(r, engine);
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to write prompts again");
        (*at)->arena = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, err);
        if (!(*at)->arena)
            return -1;
    }
    (*at)->ask = record->ask;
    atoll_arena_reset((*at)->arena);
    return atoll_prompt_io_request(&io, &(*at)->ask, (*at)->arena, &(*at)->question, err);
}

static int differs(const char *what, const struct atoll_reply *reply, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_MISMATCH, "ask %llu: %s", (unsigned long long)reply->ask, what);
}

static void outcome_from_journal(const struct open_ask *o, const struct atoll_reply *reply,
                                 struct atoll_llm_outcome *outcome)
{
    const struct atoll_dialogue *d = &reply->dialogue;
    outcome->status = ATOLL_LLM_OK;
    outcome->request = atoll_llm_request_id(&o->question.request);
    snprintf(outcome->model, sizeof(outcome->model), "%s", reply->origin);
    snprintf(outcome->name, sizeof(outcome->name), "%s", o->question.request.model);
    outcome->usage = (struct atoll_llm_usage){.input = d->input_tokens,
                                              .cached_input = d->cached_tokens,
                                              .output = d->output_tokens,
                                              .reasoning = d->reasoning_tokens};
    outcome->cost_usd = reply->cost_usd;
    outcome->elapsed_s = d->elapsed_s;
    outcome->tries = 1;
}

/* The outcome as the journal has it, or as the recording does. */
static int find_outcome(struct atoll_prompt_replay *r, const struct open_ask *o,
                        const struct atoll_reply *reply, struct atoll_llm_outcome *outcome,
                        struct atoll_err *err)
{
    size_t length = strlen(reply->dialogue.answer);
    if (!r->store) {
        outcome_from_journal(o, reply, outcome);
        atoll_buffer_put_bytes(&outcome->text, reply->dialogue.answer, length + 1);
        outcome->text.length = length;
        return atoll_buffer_check(&outcome->text, err);
    }
    int got = atoll_store_find(r->store, &o->question.request, outcome, err);
    if (got < 0)
        return -1;
    if (!got)
        return differs("the recording does not hold its request", reply, err);
    r->report.recorded++;
    return 0;
}

static int has_same_sources(const struct atoll_reply *a, const struct atoll_reply *b)
{
    int same = a->source_count == b->source_count;
    for (uint32_t i = 0; same && i < a->source_count; i++) {
        same = strcmp(a->sources[i].language, b->sources[i].language) == 0 &&
               strcmp(a->sources[i].text, b->sources[i].text) == 0;
    }
    return same;
}

static int is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static int has_same_items(const struct atoll_reply *a, const struct atoll_reply *b)
{
    int same = a->item_count == b->item_count && a->plan_count == b->plan_count && a->issues == b->issues &&
               a->order_count == b->order_count && memcmp(a->order, b->order, a->order_count) == 0;
    for (uint32_t i = 0; same && i < a->item_count; i++) {
        const struct atoll_reply_item *x = &a->items[i], *y = &b->items[i];
        same = x->kind == y->kind && x->issue == y->issue && x->stage == y->stage &&
               x->severity == y->severity && x->gain_low == y->gain_low && x->gain_high == y->gain_high &&
               is_same_text(x->title, y->title) && is_same_text(x->text, y->text) &&
               is_same_text(x->why, y->why) && is_same_text(x->before, y->before) &&
               is_same_text(x->after, y->after);
    }
    return same;
}

/* unix_ns: when the answer came. */
static int compare_answer(struct atoll_prompt_replay *r, const struct atoll_engine *engine,
                          struct open_ask *o, const struct atoll_reply *reply, int64_t unix_ns,
                          struct atoll_err *err)
{
    struct atoll_prompt_io io = prompt_io_of(r, engine);
    struct atoll_llm_outcome outcome;
    struct atoll_reply derived = {0};
    atoll_llm_outcome_init(&outcome);
    int rc = find_outcome(r, o, reply, &outcome, err);
    if (rc == 0)
        rc = atoll_prompt_io_reply(&io, &o->ask, &o->question, &outcome, o->arena, &derived, err);
    if (rc == 0 && strcmp(derived.dialogue.answer, reply->dialogue.answer) != 0)
        rc = differs("the recorded answer is not the one of the journal", reply, err);
    if (rc == 0 && (!has_same_sources(reply, &derived) || !has_same_items(reply, &derived)))
        rc = differs("its answer is read differently now", reply, err);
    if (rc == 0 && r->record) {
        outcome.started_unix_ns = unix_ns - (int64_t)(1e9 * outcome.elapsed_s);
        rc = atoll_store_put(r->record, &o->question.request, &outcome, 0, err);
        r->report.kept += rc == 0;
    }
    atoll_llm_outcome_fini(&outcome);
    if (rc == 0)
        r->report.answers++;
    return rc;
}

/* A turn that called tools: what was asked then, and the calls that came. */
static int keep_turn(struct atoll_prompt_replay *r, const struct atoll_tool_turn *turn, struct atoll_err *err)
{
    struct open_ask *o = *find_open_ask(r, turn->ask);
    struct atoll_llm_outcome outcome;
    struct atoll_llm_tool_call calls[ATOLL_LLM_TOOL_CALL_LIMIT];
    int rc = 0;
    if (!o || !r->record || !r->is_compared || turn->call_count == 0)
        return 0;
    atoll_llm_outcome_init(&outcome);
    for (uint32_t i = 0; i < turn->call_count; i++)
        calls[i] =
            (struct atoll_llm_tool_call){turn->calls[i].id, turn->calls[i].name, turn->calls[i].arguments};
    outcome.request = atoll_llm_request_id(&o->question.request);
    snprintf(outcome.name, sizeof(outcome.name), "%s", o->question.request.model);
    outcome.usage.input = turn->tokens_in;
    outcome.usage.output = turn->tokens_out;
    outcome.cost_usd = turn->cost_usd;
    outcome.tries = 1;
    atoll_outcome_text_put(&outcome.text, turn->said, strlen(turn->said));
    atoll_outcome_text_put(&outcome.reasoning, turn->thought, strlen(turn->thought));
    rc = atoll_llm_outcome_set_calls(&outcome, calls, turn->call_count, err);
    outcome.status = ATOLL_LLM_TOOL_CALLS;
    if (rc == 0)
        rc = atoll_store_put(r->record, &o->question.request, &outcome, 0, err);
    r->report.kept += rc == 0;
    atoll_llm_outcome_fini(&outcome);
    return rc;
}

static int compare_prompt(struct atoll_prompt_replay *r, struct open_ask *o, const struct atoll_reply *reply,
                          struct atoll_err *err)
{
    const struct atoll_dialogue *d = &reply->dialogue;
    int is_equal = strcmp(d->system, o->question.request.messages[0].text) == 0 &&
                   strcmp(d->prompt, o->question.request.messages[1].text) == 0;
    if (!is_equal && r->is_compared)
        return differs("its prompt is written differently now", reply, err);
    r->report.prompts += (uint64_t)is_equal;
    r->report.other += (uint64_t)!is_equal;
    o->question.request.messages[0].text = d->system; /* a recording holds what was sent */
    o->question.request.messages[1].text = d->prompt;
    return 0;
}

static int compare_reply(struct atoll_prompt_replay *r, const struct atoll_engine *engine,
                         const struct atoll_reply *reply, int64_t unix_ns, struct atoll_err *err)
{
    int rc = 0, was_asked = !atoll_id_is_zero(&reply->dialogue.request);
    /* Prompts before version 4 went out without a briefing. */
    if (was_asked && !r->is_compared && !*find_open_ask(r, reply->ask) &&
        write_prompt(r, engine, reply->ask, err) != 0) {
        return -1;
    }
    struct open_ask **at = find_open_ask(r, reply->ask), *o = *at;
    if (!o)
        return was_asked ? differs("a model answered what it was not briefed for", reply, err) : 0;
    *at = o->next;
    if (was_asked) {
        rc = compare_prompt(r, o, reply, err);
        if (rc == 0 && reply->status == ATOLL_REPLY_OK)
            rc = compare_answer(r, engine, o, reply, unix_ns, err);
    }
    open_ask_destroy(o);
    return rc;
}

/* A reply is compared before the prompt context or the list changes: that is how things stood when the run read it. */
int atoll_prompt_replay_step(struct atoll_prompt_replay *r, const struct atoll_engine *engine,
                             const struct atoll_event *event, const struct atoll_decision *decisions,
                             size_t count, struct atoll_err *err)
{
    if (event->type == ATOLL_EVENT_REPLY && compare_reply(r, engine, &event->reply, event->unix_ns, err) != 0)
        return -1;
    if (event->type == ATOLL_EVENT_TOOL && keep_turn(r, &event->tool_turn, err) != 0)
        return -1;
    if (atoll_prompt_context_add_event(r->context, event, err) != 0)
        return -1;
    if (event->type == ATOLL_EVENT_BRIEFING)
        return write_prompt(r, engine, event->briefing.ask, err);
    if (event->type == ATOLL_EVENT_TOOL)
        return write_prompt(r, engine, event->tool_turn.ask, err);
    for (size_t i = 0; i < count; i++)
        if (decisions[i].type == ATOLL_DECIDE_ASK &&
            atoll_prompt_context_add_ask(r->context, &decisions[i].ask, err) != 0)
            return -1;
    return 0;
}

int atoll_prompt_replay_finish(struct atoll_prompt_replay *r, struct atoll_err *err)
{
    return r->record ? atoll_store_finish(r->record, err) : 0;
}

void atoll_prompt_replay_report(const struct atoll_prompt_replay *r,
                                struct atoll_prompt_replay_report *ret_report)
{
    *ret_report = r->report;
}
