#include "mpi-eval/operator/prompt_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/prompt/prompt.h"
#include "llm-gateway/budget/store.h"
#include "mpi-eval/operator/prompt_io.h"

/* An ask that is not answered yet, and how it was worded. */
struct open_ask {
    struct open_ask *next;
    struct atoll_ask ask;
    struct atoll_arena *arena;
    struct atoll_llm_request request;
};

struct atoll_prompt_replay {
    struct atoll_prompt_context *context;
    struct atoll_store *store;  /* NULL: no recording */
    struct atoll_store *record; /* NULL: none is made */
    int is_compared;            /* prompts are of this version */
    char campaign[ATOLL_ID_HEX];
    const char *backend, *model; /* borrowed from the campaign */
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
    free(r);
}

static const char *option_of(const struct atoll_campaign *campaign, const char *key, const char *fallback)
{
    const char *value = atoll_campaign_option(campaign, key);
    return value && *value ? value : fallback;
}

static int stores_open(struct atoll_prompt_replay *r, const char *recording, const char *record,
                       struct atoll_err *err)
{
    if (recording)
        r->store = atoll_store_open(recording, ATOLL_STORE_READ, err);
    if (recording && !r->store)
        return -1;
    if (record)
        r->record = atoll_store_open(record, ATOLL_STORE_WRITE, err);
    return record && !r->record ? -1 : 0;
}

struct atoll_prompt_replay *atoll_prompt_replay_create(const struct atoll_campaign *campaign,
                                                       const char *recording, const char *record,
                                                       struct atoll_err *err)
{
    struct atoll_prompt_replay *r = calloc(1, sizeof *r);
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to word prompts again");
        return NULL;
    }
    atoll_id_hex(&atoll_campaign_config(campaign)->id, r->campaign);
    r->backend = option_of(campaign, "backend", "cpu");
    r->model = option_of(campaign, "model", "");
    r->is_compared =
        strtoul(option_of(campaign, ATOLL_PROMPT_REPLAY_OPTION, "0"), NULL, 10) == ATOLL_PROMPT_VERSION;
    r->context = atoll_prompt_context_create(err);
    if (r->context && stores_open(r, recording, record, err) == 0)
        return r;
    atoll_prompt_replay_destroy(r);
    return NULL;
}

int atoll_prompt_replay_device(struct atoll_prompt_replay *r, const struct atoll_device_info *device,
                               struct atoll_err *err)
{
    return atoll_prompt_context_add_device(r->context, device, err);
}

static struct atoll_prompt_io universal_of(const struct atoll_prompt_replay *r,
                                           const struct atoll_engine *engine)
{
    return (struct atoll_prompt_io){engine, r->context, r->campaign, r->model, r->backend, 0, NULL};
}

/* The place of an ask in the list, or that of its end. */
static struct open_ask **place_of(struct atoll_prompt_replay *r, uint64_t ask)
{
    struct open_ask **at = &r->open;
    while (*at && (*at)->ask.number != ask)
        at = &(*at)->next;
    return at;
}

/* Asked again after a resume: the last wording is the one that may have been sent. */
static int word(struct atoll_prompt_replay *r, const struct atoll_engine *engine, const struct atoll_ask *ask,
                struct atoll_err *err)
{
    struct atoll_prompt_io universal = universal_of(r, engine);
    struct open_ask **at = place_of(r, ask->number);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to word prompts again");
        (*at)->arena = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, err);
        if (!(*at)->arena)
            return -1;
    }
    (*at)->ask = *ask;
    atoll_arena_reset((*at)->arena);
    return atoll_prompt_io_request(&universal, ask, (*at)->arena, &(*at)->request, err);
}

static int differs(const char *what, const struct atoll_reply *reply, struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_MISMATCH, "ask %llu: %s", (unsigned long long)reply->ask, what);
}

static void outcome_tell(const struct open_ask *o, const struct atoll_reply *reply,
                         struct atoll_llm_outcome *outcome)
{
    const struct atoll_dialogue *d = &reply->dialogue;
    outcome->status = ATOLL_LLM_OK;
    outcome->request = atoll_llm_request_id(&o->request);
    snprintf(outcome->model, sizeof outcome->model, "%s", reply->origin);
    snprintf(outcome->name, sizeof outcome->name, "%s", o->request.model);
    outcome->usage = (struct atoll_llm_usage){.input = d->input_tokens,
                                              .cached_input = d->cached_tokens,
                                              .output = d->output_tokens,
                                              .reasoning = d->reasoning_tokens};
    outcome->cost_usd = reply->cost_usd;
    outcome->elapsed_s = d->elapsed_s;
    outcome->tries = 1;
}

/* The outcome as the journal tells it, or as the recording does. */
static int outcome_find(struct atoll_prompt_replay *r, const struct open_ask *o,
                        const struct atoll_reply *reply, struct atoll_llm_outcome *outcome,
                        struct atoll_err *err)
{
    size_t length = strlen(reply->dialogue.answer);
    if (!r->store) {
        outcome_tell(o, reply, outcome);
        atoll_buffer_put_bytes(&outcome->text, reply->dialogue.answer, length + 1);
        outcome->text.length = length;
        return atoll_buffer_check(&outcome->text, err);
    }
    int got = atoll_store_find(r->store, &o->request, outcome, err);
    if (got < 0)
        return -1;
    if (!got)
        return differs("the recording does not hold its request", reply, err);
    r->report.recorded++;
    return 0;
}

static int is_same_reply(const struct atoll_reply *a, const struct atoll_reply *b)
{
    int same = a->source_count == b->source_count;
    for (uint32_t i = 0; same && i < a->source_count; i++)
        same = strcmp(a->sources[i].language, b->sources[i].language) == 0 &&
               strcmp(a->sources[i].text, b->sources[i].text) == 0;
    return same;
}

/* unix_ns: when the answer came. */
static int read_again(struct atoll_prompt_replay *r, const struct atoll_engine *engine, struct open_ask *o,
                      const struct atoll_reply *reply, int64_t unix_ns, struct atoll_err *err)
{
    struct atoll_prompt_io universal = universal_of(r, engine);
    struct atoll_llm_outcome outcome;
    struct atoll_reply derived = {0};
    atoll_llm_outcome_init(&outcome);
    int rc = outcome_find(r, o, reply, &outcome, err);
    if (rc == 0)
        rc = atoll_prompt_io_reply(&universal, &o->ask, &o->request, &outcome, o->arena, &derived, err);
    if (rc == 0 && strcmp(derived.dialogue.answer, reply->dialogue.answer) != 0)
        rc = differs("the recorded answer is not the one of the journal", reply, err);
    if (rc == 0 && !is_same_reply(reply, &derived))
        rc = differs("its answer is read differently now", reply, err);
    if (rc == 0 && r->record) {
        outcome.started_unix_ns = unix_ns - (int64_t)(1e9 * outcome.elapsed_s);
        rc = atoll_store_append(r->record, &o->request, &outcome, 0, err);
        r->report.kept += rc == 0;
    }
    atoll_llm_outcome_fini(&outcome);
    if (rc == 0)
        r->report.answers++;
    return rc;
}

static int prompt_compare(struct atoll_prompt_replay *r, struct open_ask *o, const struct atoll_reply *reply,
                          struct atoll_err *err)
{
    const struct atoll_dialogue *d = &reply->dialogue;
    int is_equal = strcmp(d->system, o->request.messages[0].text) == 0 &&
                   strcmp(d->prompt, o->request.messages[1].text) == 0;
    if (!is_equal && r->is_compared)
        return differs("its prompt is worded differently now", reply, err);
    r->report.prompts += (uint64_t)is_equal;
    r->report.other += (uint64_t)!is_equal;
    o->request.messages[0].text = d->system; /* what a recording holds is what was said */
    o->request.messages[1].text = d->prompt;
    return 0;
}

static int reply_compare(struct atoll_prompt_replay *r, const struct atoll_engine *engine,
                         const struct atoll_reply *reply, int64_t unix_ns, struct atoll_err *err)
{
    struct open_ask **at = place_of(r, reply->ask), *o = *at;
    int rc = 0;
    if (!o)
        return 0;
    *at = o->next;
    if (!atoll_id_is_zero(&reply->dialogue.request)) {
        rc = prompt_compare(r, o, reply, err);
        if (rc == 0 && reply->status == ATOLL_REPLY_OK)
            rc = read_again(r, engine, o, reply, unix_ns, err);
    }
    open_ask_destroy(o);
    return rc;
}

/* A reply is read before the prompt context or the list changes, as it was when the run told it. */
int atoll_prompt_replay_step(struct atoll_prompt_replay *r, const struct atoll_engine *engine,
                             const struct atoll_event *event, const struct atoll_decision *decisions,
                             size_t count, struct atoll_err *err)
{
    if (event->type == ATOLL_EVENT_REPLY && reply_compare(r, engine, &event->reply, event->unix_ns, err) != 0)
        return -1;
    if (atoll_prompt_context_add_event(r->context, event, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (decisions[i].type == ATOLL_DECIDE_ASK && decisions[i].ask.kind == ATOLL_ASK_WRITE &&
            word(r, engine, &decisions[i].ask, err) != 0)
            return -1;
    }
    return 0;
}

int atoll_prompt_replay_finish(struct atoll_prompt_replay *r, struct atoll_err *err)
{
    return r->record ? atoll_store_sync(r->record, err) : 0;
}

void atoll_prompt_replay_report(const struct atoll_prompt_replay *r,
                                struct atoll_prompt_replay_report *ret_report)
{
    *ret_report = r->report;
}
