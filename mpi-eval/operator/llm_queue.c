/* llm_queue.c - states of an ask: ADDED (decided, no prompt yet) -> BRIEFING (what it is told beside is in the round) -> SENT
 * (with the client) -> ANSWERED (its reply may wait for the back-off) -> DELIVERED (its reply is in the round, texts still
 * borrowed) -> freed by the next advance.  An ask whose briefing was journaled by a former attempt is sent without another.
 * An answer that calls tools goes from ANSWERED to CALLING, and when all of them are done to TURNING (the turn is in the round),
 * then it is SENT again with what they gave.
 *
 * Back-off: after n failures in a row a failed reply is delivered no sooner than 2^n s (at most a minute) after its ask was
 * sent, so that an engine that asks again at once does not spin.  GIVE_UP_LASTING failures of a kind that asking again
 * does not mend, or GIVE_UP_PASSING of any kind, in a row: that model is asked no more.  Asks for candidates of it are then
 * answered by the tuner for good (SPENT), others by the built-in operator (BUILTIN). */
#include "mpi-eval/operator/llm_queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/hints.h"
#include "base/log.h"
#include "llm-gateway/client/client.h"
#include "mpi-eval/operator/briefer.h"
#include "mpi-eval/operator/embedder.h"
#include "mpi-eval/operator/knowledge_briefs.h"
#include "mpi-eval/operator/prompt_io.h"
#include "mpi-eval/operator/roles.h"
#include "mpi-eval/operator/tool_loop.h"

#define BACKOFF_LONGEST_S 60.0
#define GIVE_UP_LASTING   3
#define GIVE_UP_PASSING   20
#define BRIEFING_BYTES    ((size_t)16 << 20)

enum ask_state { ASK_ADDED, ASK_BRIEFING, ASK_SENT, ASK_ANSWERED, ASK_CALLING, ASK_TURNING, ASK_DELIVERED };

struct open_ask {
    struct open_ask *next;
    enum ask_state state;
    struct atoll_ask ask;
    struct atoll_arena *arena; /* of briefing, question and reply */
    struct atoll_prompt_question question;
    struct atoll_llm_outcome outcome;
    uint64_t call; /* the client's number of it; 0: it was not sent */
    double sent_ns;
    int has_logged_room;
    struct atoll_tool_loop loop;
    const char *states[ATOLL_TOOL_CALL_LIMIT]; /* of the provider, one a turn of this attempt; NULL */
};

/* How it went with a model lately. */
struct trust {
    unsigned failures, lasting; /* in a row */
    int is_over;                /* it is asked no more */
};

struct atoll_llm_queue {
    struct atoll_llm_queue_settings settings;
    struct atoll_roles roles;
    struct atoll_client *client; /* NULL: none */
    struct atoll_tools *tools;   /* NULL: none */
    unsigned tool_limit;
    int has_trajectory;
    struct atoll_prompt_context *context;
    struct atoll_briefer *briefer;
    struct atoll_knowledge_briefs *knowledge; /* NULL: nothing of it is told */
    struct atoll_embedder *embedder;          /* NULL: words alone say which kernels are similar */
    /* at the first role of each model, behind them those of islands alone */
    struct trust trust[ATOLL_MODEL_ROLE_COUNT + ATOLL_ROLES_ISLAND_LIMIT];
    char campaign[ATOLL_ID_HEX];
    const char *account; /* borrowed from the campaign; NULL: its own */
    char backend[16];
    struct open_ask *first, **end;
    struct atoll_llm_queue_counts counts;
    int has_logged_none, is_held;
};

static void open_ask_destroy(struct open_ask *a)
{
    atoll_llm_outcome_fini(&a->outcome);
    atoll_arena_destroy(a->arena);
    free(a);
}

void atoll_llm_queue_destroy(struct atoll_llm_queue *queue)
{
    if (!queue)
        return;
    atoll_client_destroy(queue->client); /* its callbacks come now */
    while (queue->first) {
        struct open_ask *a = queue->first;
        queue->first = a->next;
        open_ask_destroy(a);
    }
    atoll_briefer_destroy(queue->briefer);
    atoll_embedder_destroy(queue->embedder);
    atoll_knowledge_briefs_destroy(queue->knowledge);
    atoll_prompt_context_destroy(queue->context);
    free(queue);
}

static int add_hints(struct atoll_llm_queue *queue, const struct atoll_campaign *campaign,
                     struct atoll_err *err)
{
    struct atoll_hint_file file;
    int rc = atoll_campaign_hints_read(campaign, &file, err);
    if (rc != 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < file.hint_count; i++)
        rc = atoll_briefer_add_hint(queue->briefer, &file.hints[i], err);
    atoll_hint_file_fini(&file);
    return rc;
}

static int add_knowledge(struct atoll_llm_queue *queue, const struct atoll_campaign *campaign,
                         struct atoll_err *err)
{
    if (!queue->settings.knowledge || !atoll_campaign_config(campaign)->search.knowledge)
        return 0;
    queue->knowledge = atoll_knowledge_briefs_create(
        queue->settings.knowledge, atoll_campaign_option(campaign, ATOLL_KNOWLEDGE_EXCEPT_OPTION), err);
    if (!queue->knowledge)
        return -1;
    atoll_briefer_set_knowledge(queue->briefer, queue->knowledge);
    const struct atoll_embedder_settings embedder = {
        .client = queue->client,
        .retrieval = atoll_knowledge_briefs_retrieval(queue->knowledge),
        .model = atoll_campaign_option(campaign, ATOLL_EMBEDDER_OPTION),
        .campaign = queue->campaign,
        .account = queue->account};
    if (!embedder.model || !*embedder.model || atoll_campaign_config(campaign)->search.knowledge < 2)
        return 0;
    queue->embedder = atoll_embedder_create(&embedder, err);
    return queue->embedder ? 0 : -1;
}

struct atoll_llm_queue *atoll_llm_queue_create(const struct atoll_llm_queue_settings *settings,
                                               const struct atoll_campaign *campaign, struct atoll_err *err)
{
    const char *backend = atoll_campaign_option(campaign, "backend");
    struct atoll_llm_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for asks to models");
        return NULL;
    }
    queue->settings = *settings;
    queue->end = &queue->first;
    if (!(queue->settings.deadline_s > 0))
        queue->settings.deadline_s = ATOLL_LLM_QUEUE_DEADLINE_S;
    atoll_id_hex(&atoll_campaign_config(campaign)->id, queue->campaign);
    queue->tool_limit = atoll_campaign_config(campaign)->search.tools;
    queue->has_trajectory = atoll_campaign_config(campaign)->search.trajectory != 0;
    queue->account = atoll_campaign_option(campaign, ATOLL_LLM_QUEUE_ACCOUNT_OPTION);
    snprintf(queue->backend, sizeof(queue->backend), "%s", backend ? backend : "cpu");
    if (!settings->gateway)
        return queue;
    if (atoll_roles_parse(settings->model, settings->roles, &queue->roles, err) != 0) {
        atoll_llm_queue_destroy(queue);
        return NULL;
    }
    queue->client = atoll_client_create(settings->gateway, settings->token_file, err);
    queue->context = queue->client ? atoll_prompt_context_create(0, err) : NULL;
    if (queue->context)
        queue->briefer = atoll_briefer_create(&atoll_campaign_config(campaign)->search, queue->backend,
                                              queue->context, err);
    if (queue->briefer && add_hints(queue, campaign, err) == 0 && add_knowledge(queue, campaign, err) == 0)
        return queue;
    atoll_llm_queue_destroy(queue);
    return NULL;
}

struct loading {
    struct atoll_llm_queue *queue;
    const struct atoll_engine *engine;
};

static int load_event(void *context, const struct atoll_event *event, struct atoll_err *err)
{
    const struct loading *loading = context;
    return atoll_briefer_add_event(loading->queue->briefer, loading->engine, event, err);
}

int atoll_llm_queue_load(struct atoll_llm_queue *queue, const struct atoll_campaign *campaign,
                         const struct atoll_engine *engine, struct atoll_err *err)
{
    struct loading loading = {queue, engine};
    return queue->context
               ? atoll_prompt_context_add_campaign(queue->context, campaign, load_event, &loading, err)
               : 0;
}

void atoll_llm_queue_set_tools(struct atoll_llm_queue *queue, struct atoll_tools *tools)
{
    queue->tools = tools;
}

int atoll_llm_queue_add_device(struct atoll_llm_queue *queue, const struct atoll_device_info *device,
                               struct atoll_err *err)
{
    return queue->context ? atoll_prompt_context_add_device(queue->context, device, err) : 0;
}

int atoll_llm_queue_add(struct atoll_llm_queue *queue, const struct atoll_ask *ask, struct atoll_err *err)
{
    for (const struct open_ask *known = queue->first; known; known = known->next)
        if (known->ask.number == ask->number)
            return 0; /* a resume repeats what more budget has just led to */
    if (queue->context && atoll_prompt_context_add_ask(queue->context, ask, err) != 0)
        return -1;
    struct open_ask *a = calloc(1, sizeof(*a));
    if (!a)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an ask to a model");
    a->arena = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, err);
    if (!a->arena) {
        free(a);
        return -1;
    }
    a->ask = *ask;
    atoll_llm_outcome_init(&a->outcome);
    *queue->end = a;
    queue->end = &a->next;
    return 0;
}

static struct atoll_prompt_io prompt_io_of(const struct atoll_llm_queue *queue,
                                           const struct atoll_engine *engine)
{
    return (struct atoll_prompt_io){.engine = engine,
                                    .context = queue->context,
                                    .texts = queue->settings.knowledge,
                                    .campaign = queue->campaign,
                                    .roles = &queue->roles,
                                    .backend = queue->backend,
                                    .has_trajectory = queue->has_trajectory,
                                    .tool_limit = queue->tools ? queue->tool_limit : 0,
                                    .deadline_s = queue->settings.deadline_s,
                                    .account = queue->account};
}

static void on_outcome(void *context, const struct atoll_llm_outcome *outcome)
{
    struct open_ask *a = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_llm_outcome_copy(outcome, &a->outcome, &err) != 0)
        atoll_llm_outcome_set(&a->outcome, ATOLL_LLM_CANCELLED, "%s", err.text);
    a->state = ASK_ANSWERED;
}

static enum atoll_model_role role_of(const struct open_ask *a)
{
    return atoll_model_role_of_ask(&a->ask);
}

/* Roles of one model share their luck; where the gateway chooses the model, each has its own. */
static struct trust *trust_of(struct atoll_llm_queue *queue, const struct open_ask *a)
{
    const struct atoll_roles *roles = &queue->roles;
    const char *model = atoll_roles_model(roles, role_of(a), a->ask.island);
    unsigned first = 0, island = 0;
    while (first < ATOLL_MODEL_ROLE_COUNT && strcmp(roles->of[first].model, model) != 0)
        first++;
    while (first == ATOLL_MODEL_ROLE_COUNT && strcmp(roles->islands[island].model, model) != 0)
        island++;
    first += island;
    return &queue->trust[strcmp(model, ATOLL_ROLES_BY_GATEWAY) != 0 ? first : (unsigned)role_of(a)];
}

/* Whether a model writes the answer: there is one, still. */
static int is_for_model(struct atoll_llm_queue *queue, const struct open_ask *a)
{
    return queue->client && !trust_of(queue, a)->is_over;
}

/* NULL: nothing is known of it. */
static const struct atoll_ask_record *record_of(const struct atoll_llm_queue *queue, const struct open_ask *a)
{
    return atoll_ask_history_find(atoll_prompt_context_asks(queue->context), a->ask.number);
}

static int has_briefing(const struct atoll_llm_queue *queue, const struct open_ask *a)
{
    const struct atoll_ask_record *record = record_of(queue, a);
    return record && record->briefing;
}

/* What providers want back with the messages that called, where it is still there. */
static void hand_back_states(struct open_ask *a)
{
    size_t turn = 0;
    for (size_t i = 0; i < a->question.request.message_count && turn < ATOLL_TOOL_CALL_LIMIT; i++)
        if (a->question.request.messages[i].role == ATOLL_LLM_ASSISTANT)
            a->question.request.messages[i].provider_state = a->states[turn++];
}

/* Once an ask: turns of tools have filled the model's context. */
static void log_room(const struct atoll_llm_queue *queue, struct open_ask *a)
{
    if (!a->question.is_short_of_room || a->has_logged_room)
        return;
    const struct atoll_ask_record *record = record_of(queue, a);
    const char *role = atoll_model_role_name(role_of(a));
    a->has_logged_room = 1;
    atoll_log(ATOLL_LOG_INFO, "eval.ask.room",
              "ask %llu: after %u calls of tools the %s's context of %u tokens is nearly full; %s",
              (unsigned long long)a->ask.number, record ? record->call_count : 0, role,
              queue->roles.of[role_of(a)].context_tokens,
              a->question.request.is_tool_free ? "no more calls are wanted" : "what calls give is cut");
}

static void send_ask(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                     double now_ns)
{
    struct atoll_prompt_io io = prompt_io_of(queue, engine);
    struct atoll_err err = ATOLL_ERR_INIT;
    a->sent_ns = now_ns;
    a->state = ASK_ANSWERED;
    if (atoll_prompt_io_request(&io, &a->ask, a->arena, &a->question, &err) != 0) {
        atoll_llm_outcome_set(&a->outcome, ATOLL_LLM_INVALID, "%s", err.text);
        return;
    }
    log_room(queue, a);
    hand_back_states(a);
    a->state = ASK_SENT;
    if (atoll_client_ask(queue->client, &a->question.request, on_outcome, a, &a->call, &err) != 0) {
        a->state = ASK_ANSWERED;
        atoll_llm_outcome_set(&a->outcome, ATOLL_LLM_NETWORK, "%s", err.text);
        return;
    }
    queue->counts.asked += record_of(queue, a)->turn_count == 0;
    queue->counts.open++;
}

/* A turn is durable: the gateway may forget it, and the model is asked on. */
static void ask_on(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                   double now_ns)
{
    atoll_client_settled(queue->client, a->call);
    atoll_llm_outcome_fini(&a->outcome);
    atoll_llm_outcome_init(&a->outcome);
    a->call = 0;
    send_ask(queue, a, engine, now_ns);
}

int atoll_llm_queue_settle(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err)
{
    int rc = queue->context ? atoll_prompt_context_add_event(queue->context, event, err) : 0;
    if (rc == 0 && queue->briefer)
        rc = atoll_briefer_add_event(queue->briefer, engine, event, err);
    for (struct open_ask *a = queue->first; a; a = a->next) {
        /* A reply that is durable here need not be kept by the gateway. */
        if (event->type == ATOLL_EVENT_REPLY && queue->client && a->ask.number == event->reply.ask &&
            a->state == ASK_DELIVERED && a->call) {
            atoll_client_settled(queue->client, a->call);
        }
    }
    for (struct open_ask *a = queue->first; a && !queue->is_held; a = a->next) {
        if (a->state == ASK_TURNING && event->type == ATOLL_EVENT_TOOL &&
            event->tool_turn.ask == a->ask.number)
            ask_on(queue, a, engine, now_ns);
        if (a->state != ASK_ADDED && a->state != ASK_BRIEFING)
            continue;
        if (!is_for_model(queue, a)) {
            a->state = ASK_ANSWERED;
            a->sent_ns = now_ns;
        } else if (has_briefing(queue, a)) {
            send_ask(queue, a, engine, now_ns);
        }
    }
    return rc;
}

/* Asking again does not mend it. */
static int is_lasting(enum atoll_llm_status status)
{
    return status == ATOLL_LLM_DENIED || status == ATOLL_LLM_NOTFOUND || status == ATOLL_LLM_INVALID ||
           status == ATOLL_LLM_QUOTA || status == ATOLL_LLM_MISS;
}

static int is_failure(enum atoll_llm_status status)
{
    return !atoll_llm_status_is_answer(status) && status != ATOLL_LLM_EMPTY && status != ATOLL_LLM_REFUSED &&
           status != ATOLL_LLM_BUDGET;
}

/* A search goes on without templates at its end, and a stage without an extractor. */
static int writes_for_good(const struct open_ask *a)
{
    return role_of(a) != ATOLL_MODEL_ROLE_TEMPLATER && role_of(a) != ATOLL_MODEL_ROLE_EXTRACTOR;
}

static void count_cost(struct atoll_llm_queue *queue, const struct atoll_llm_outcome *outcome)
{
    queue->counts.tokens += outcome->usage.input + outcome->usage.output;
    queue->counts.cost_usd += outcome->cost_usd;
}

/* Counts what an ask cost and how it went; too many failures in a row, and no model is asked any more. */
static void record_outcome(struct atoll_llm_queue *queue, const struct open_ask *a)
{
    struct trust *trust = trust_of(queue, a);
    const char *model = atoll_roles_model(&queue->roles, role_of(a), a->ask.island);
    const struct atoll_llm_outcome *outcome = &a->outcome;
    count_cost(queue, outcome);
    if (!is_failure(outcome->status)) {
        trust->failures = trust->lasting = 0;
        queue->counts.answered++;
        if (outcome->status == ATOLL_LLM_BUDGET) {
            atoll_log(ATOLL_LOG_WARNING, "eval.ask.budget", "ask %llu: %s; the tuner goes on with this task",
                      (unsigned long long)a->ask.number, outcome->detail);
        }
        return;
    }
    queue->counts.failed++;
    trust->failures++;
    trust->lasting = is_lasting(outcome->status) ? trust->lasting + 1 : 0;
    atoll_log(ATOLL_LOG_WARNING, "eval.ask.failed", "ask %llu: %s: %s", (unsigned long long)a->ask.number,
              atoll_llm_status_name(outcome->status), outcome->detail);
    if (trust->lasting >= GIVE_UP_LASTING || trust->failures >= GIVE_UP_PASSING) {
        trust->is_over = 1;
        atoll_log(ATOLL_LOG_WARNING, "eval.ask.over",
                  "the model '%s' (as %s) failed %u times in a row (%s: %s) and is asked no more; the tuner "
                  "goes on",
                  model, atoll_model_role_name(role_of(a)), trust->failures,
                  atoll_llm_status_name(outcome->status), outcome->detail);
    }
}

/* What the engine does about an ask that a model did not answer. */
static enum atoll_reply_status status_without_model(struct atoll_llm_queue *queue, const struct open_ask *a)
{
    switch (a->ask.kind) {
    case ATOLL_ASK_WRITE:
        return writes_for_good(a) && trust_of(queue, a)->is_over ? ATOLL_REPLY_SPENT : ATOLL_REPLY_FAILED;
    case ATOLL_ASK_PLAN: /* when all of a kernel's have failed the built-in plans */
    case ATOLL_ASK_JUDGE: /* nobody else judges: the candidate stays */ return ATOLL_REPLY_FAILED;
    default: return ATOLL_REPLY_BUILTIN;
    }
}

static void reply_without_model(struct atoll_llm_queue *queue, const struct open_ask *a,
                                struct atoll_reply *reply)
{
    reply->status = status_without_model(queue, a);
    queue->counts.is_over |= reply->status == ATOLL_REPLY_SPENT;
}

/* The reply for the engine to an ask that is answered. */
static int make_reply(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                      struct atoll_reply *ret_reply, struct atoll_err *err)
{
    struct atoll_prompt_io io = prompt_io_of(queue, engine);
    *ret_reply =
        (struct atoll_reply){.ask = a->ask.number, .status = ATOLL_REPLY_SPENT, .origin = "coordinator"};
    if (!queue->client) {
        if (!queue->has_logged_none)
            atoll_log(ATOLL_LOG_WARNING, "eval.ask", "no operator is connected; the tuner answers all asks");
        queue->has_logged_none = 1;
        return 0;
    }
    if (!a->call) { /* it was not sent */
        if (is_for_model(queue, a))
            record_outcome(queue, a); /* which may end the asking */
        reply_without_model(queue, a, ret_reply);
        return 0;
    }
    queue->counts.open--;
    record_outcome(queue, a);
    if (atoll_prompt_io_reply(&io, &a->ask, &a->question, &a->outcome, a->arena, ret_reply, err) != 0)
        return -1;
    int is_open =
        ret_reply->status == ATOLL_REPLY_OK || ret_reply->status == ATOLL_REPLY_TASK_SPENT ||
        (ret_reply->status != ATOLL_REPLY_FAILED &&
         (a->ask.kind == ATOLL_ASK_WRITE || a->ask.kind == ATOLL_ASK_PLAN || a->ask.kind == ATOLL_ASK_JUDGE));
    if (!is_open)
        reply_without_model(queue, a, ret_reply);
    return 0;
}

/* ---- calls of tools ---- */

static int take_results(struct atoll_llm_queue *queue, double now_ns, struct atoll_err *err)
{
    struct atoll_tool_result result;
    while (queue->tools && atoll_tools_next(queue->tools, now_ns, &result)) {
        int got = 0;
        for (struct open_ask *a = queue->first; a && got == 0; a = a->next)
            if (a->state == ASK_CALLING)
                got = atoll_tool_loop_take(&a->loop, &result, a->arena, err);
        if (got < 0)
            return -1;
    }
    return 0;
}

/* An answer that calls tools; where none may be called any more it counts as what it said beside. */
static int begin_calls(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                       double now_ns, struct atoll_err *err)
{
    const struct atoll_prompt_io io = prompt_io_of(queue, engine);
    const struct atoll_ask_record *record = record_of(queue, a);
    unsigned limit = atoll_prompt_io_tool_limit(&io, &a->ask);
    struct atoll_llm_outcome *outcome = &a->outcome;
    if (limit == 0 || a->question.request.is_tool_free || record->turn_count == ATOLL_TOOL_CALL_LIMIT) {
        atoll_llm_outcome_set(outcome, outcome->text.length ? ATOLL_LLM_OK : ATOLL_LLM_EMPTY,
                              "it called tools where no call was left");
        return 0;
    }
    const struct atoll_device_info *device =
        atoll_prompt_context_device(queue->context, atoll_engine_model(engine, a->ask.model));
    const struct atoll_tool_scene scene = {.engine = engine,
                                           .device = device ? atoll_device_family(device) : "",
                                           .features = atoll_knowledge_features(queue->backend),
                                           .task = a->ask.task,
                                           .model = a->ask.model,
                                           .language =
                                               atoll_prompt_io_language(engine, queue->backend, &a->ask)};
    a->states[record->turn_count] =
        outcome->provider_state.length
            ? atoll_arena_text(a->arena, (const char *)outcome->provider_state.data,
                               outcome->provider_state.length, err)
            : NULL;
    if (outcome->provider_state.length && !a->states[record->turn_count])
        return -1;
    if (atoll_tool_loop_begin(&a->loop, queue->tools, &scene, record, limit, outcome, a->arena, now_ns,
                              err) != 0)
        return -1;
    count_cost(queue, outcome);
    queue->counts.open--;
    a->state = ASK_CALLING;
    return 0;
}

int atoll_llm_queue_advance(struct atoll_llm_queue *queue, double now_ns, struct atoll_err *err)
{
    struct open_ask **at = &queue->first;
    while (*at) {
        struct open_ask *a = *at;
        if (a->state == ASK_DELIVERED) {
            *at = a->next;
            open_ask_destroy(a);
        } else {
            at = &a->next;
        }
    }
    queue->end = at;
    if (queue->client && atoll_client_turn(queue->client, err) != 0)
        return -1;
    return take_results(queue, now_ns, err);
}

/* The briefing lies in the ask's arena, as the journal will hold it: whoever it was chosen from may change before it is durable. */
static int make_briefing(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                         struct atoll_briefing *ret_briefing, struct atoll_err *err)
{
    struct atoll_prompt_io io = prompt_io_of(queue, engine);
    struct atoll_briefing briefing;
    struct atoll_buffer bytes;
    struct atoll_reader reader;
    if (atoll_briefer_make(queue->briefer, engine, &a->ask, &briefing, err) != 0)
        return -1;
    atoll_buffer_init(&bytes, BRIEFING_BYTES);
    atoll_briefing_encode(&briefing, &bytes);
    int rc = atoll_buffer_check(&bytes, err);
    if (rc == 0) {
        atoll_reader_init(&reader, bytes.data, bytes.length);
        atoll_briefing_decode(&reader, a->arena, &briefing);
        rc = atoll_reader_finish(&reader, "briefing", err);
    }
    atoll_buffer_fini(&bytes);
    if (rc != 0)
        return -1;
    atoll_prompt_io_count_cuts(&io, &a->ask, &briefing, a->arena);
    *ret_briefing = briefing;
    return 0;
}

/* What a first draft is shown may have to wait for vectors. */
static int may_be_briefed(struct atoll_llm_queue *queue, const struct open_ask *a,
                          const struct atoll_engine *engine, double now_ns)
{
    return !queue->embedder || !atoll_briefer_wants_kernels(queue->briefer, engine, &a->ask) ||
           atoll_embedder_ready(queue->embedder, engine, a->ask.task, now_ns);
}

static int is_due(struct atoll_llm_queue *queue, const struct open_ask *a, double now_ns)
{
    double backoff_ns = 1e9 * fmin(BACKOFF_LONGEST_S, exp2((double)trust_of(queue, a)->failures));
    int waits = is_for_model(queue, a) && is_failure(a->outcome.status) && now_ns < a->sent_ns + backoff_ns;
    return a->state == ASK_ANSWERED && !waits;
}

int atoll_llm_queue_next_event(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                               double now_ns, struct atoll_event *event, struct atoll_err *err)
{
    for (struct open_ask *a = queue->first; a; a = a->next) {
        if (a->state == ASK_ADDED && !queue->is_held && is_for_model(queue, a) &&
            may_be_briefed(queue, a, engine, now_ns)) {
            event->type = ATOLL_EVENT_BRIEFING;
            if (make_briefing(queue, a, engine, &event->briefing, err) != 0)
                return -1;
            a->state = ASK_BRIEFING;
            return 1;
        }
        if (a->state == ASK_ANSWERED && a->outcome.status == ATOLL_LLM_TOOL_CALLS &&
            begin_calls(queue, a, engine, now_ns, err) != 0) {
            return -1;
        }
        if (a->state == ASK_CALLING && a->loop.open == 0) {
            event->type = ATOLL_EVENT_TOOL;
            event->tool_turn = a->loop.turn;
            a->state = ASK_TURNING;
            return 1;
        }
        if (is_due(queue, a, now_ns)) {
            event->type = ATOLL_EVENT_REPLY;
            if (make_reply(queue, a, engine, &event->reply, err) != 0)
                return -1;
            a->state = ASK_DELIVERED;
            return 1;
        }
    }
    return 0;
}

void atoll_llm_queue_hold(struct atoll_llm_queue *queue)
{
    queue->is_held = 1;
}

void atoll_llm_queue_cancel(struct atoll_llm_queue *queue)
{
    for (struct open_ask *a = queue->first; a; a = a->next) {
        if (a->state == ASK_SENT)
            atoll_client_cancel(queue->client, a->call);
        if (a->state == ASK_CALLING)
            atoll_tool_loop_cancel(&a->loop, queue->tools);
    }
}

int atoll_llm_queue_fd(const struct atoll_llm_queue *queue)
{
    return queue->client ? atoll_client_fd(queue->client) : -1;
}

void atoll_llm_queue_count(const struct atoll_llm_queue *queue, struct atoll_llm_queue_counts *ret_counts)
{
    *ret_counts = queue->counts;
    if (queue->embedder) {
        uint64_t tokens;
        double usd;
        atoll_embedder_cost(queue->embedder, &tokens, &usd);
        ret_counts->tokens += tokens;
        ret_counts->cost_usd += usd;
    }
}
