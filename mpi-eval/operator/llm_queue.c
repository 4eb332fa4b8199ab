/* llm_queue.c - states of a question: NOTED (decided, not worded) -> SENT (with the client) -> BACK (answered, its REPLY may
 * wait for the brake) -> TOLD (its REPLY is in the round, texts still borrowed) -> gone with the next call.
 *
 * The brake: after n failures in a row a failed reply is told no sooner than 2^n s (at most a minute) after its ask was
 * worded, so that an engine that asks again at once does not spin.  GIVEN_UP_LASTING failures of a kind that asking again
 * does not mend, or GIVEN_UP_PASSING of any kind, in a row: nothing is asked any more. */
#include "mpi-eval/operator/llm_queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "llm-gateway/client/client.h"
#include "mpi-eval/operator/prompt_io.h"

#define BRAKE_LONGEST_S  60.0
#define GIVEN_UP_LASTING 3
#define GIVEN_UP_PASSING 20
#define ROUND_SPARE      2

enum question_state { QUESTION_NOTED, QUESTION_SENT, QUESTION_BACK, QUESTION_TOLD };

struct question {
    struct atoll_llm_queue *owner;
    struct question *next;
    enum question_state state;
    struct atoll_ask ask;
    struct atoll_arena *arena; /* request, then reply */
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    uint64_t call;
    double asked_ns;
};

struct atoll_llm_queue {
    struct atoll_llm_queue_settings settings;
    struct atoll_client *client; /* NULL: none */
    struct atoll_prompt_context *context;
    char campaign[ATOLL_ID_HEX];
    const char *account; /* borrowed from the campaign; NULL: its own */
    char backend[16];
    struct question *first, **last;
    struct atoll_llm_queue_counts counts;
    unsigned failures, lasting; /* in a row */
    int has_told_none, is_held;
};

static void question_destroy(struct question *q)
{
    atoll_llm_outcome_fini(&q->outcome);
    atoll_arena_destroy(q->arena);
    free(q);
}

void atoll_llm_queue_destroy(struct atoll_llm_queue *qs)
{
    if (!qs)
        return;
    atoll_client_destroy(qs->client); /* its callbacks come now */
    while (qs->first) {
        struct question *q = qs->first;
        qs->first = q->next;
        question_destroy(q);
    }
    atoll_prompt_context_destroy(qs->context);
    free(qs);
}

static int connect_gateway(struct atoll_llm_queue *qs, const struct atoll_campaign *campaign,
                           struct atoll_err *err)
{
    qs->client = atoll_client_create(qs->settings.gateway, qs->settings.token_file, err);
    qs->context = qs->client ? atoll_prompt_context_create(err) : NULL;
    return qs->context ? atoll_prompt_context_add_campaign(qs->context, campaign, err) : -1;
}

struct atoll_llm_queue *atoll_llm_queue_create(const struct atoll_llm_queue_settings *settings,
                                               const struct atoll_campaign *campaign, struct atoll_err *err)
{
    const char *backend = atoll_campaign_option(campaign, "backend");
    struct atoll_llm_queue *qs = calloc(1, sizeof *qs);
    if (!qs) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for questions to models");
        return NULL;
    }
    qs->settings = *settings;
    qs->last = &qs->first;
    if (!(qs->settings.deadline_s > 0))
        qs->settings.deadline_s = ATOLL_QUESTION_DEADLINE_S;
    atoll_id_hex(&atoll_campaign_config(campaign)->id, qs->campaign);
    qs->account = atoll_campaign_option(campaign, ATOLL_LLM_QUEUE_ACCOUNT_OPTION);
    snprintf(qs->backend, sizeof qs->backend, "%s", backend ? backend : "cpu");
    if (settings->gateway && connect_gateway(qs, campaign, err) != 0) {
        atoll_llm_queue_destroy(qs);
        return NULL;
    }
    return qs;
}

int atoll_llm_queue_add_device(struct atoll_llm_queue *qs, const struct atoll_device_info *device,
                               struct atoll_err *err)
{
    return qs->context ? atoll_prompt_context_add_device(qs->context, device, err) : 0;
}

int atoll_llm_queue_note(struct atoll_llm_queue *qs, const struct atoll_ask *ask, struct atoll_err *err)
{
    struct question *q = calloc(1, sizeof *q);
    if (!q)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a question to a model");
    q->arena = atoll_arena_create(ATOLL_PROMPT_IO_ARENA_BYTES, err);
    if (!q->arena) {
        free(q);
        return -1;
    }
    q->owner = qs;
    q->ask = *ask;
    atoll_llm_outcome_init(&q->outcome);
    *qs->last = q;
    qs->last = &q->next;
    return 0;
}

static struct atoll_prompt_io universal_of(const struct atoll_llm_queue *qs,
                                           const struct atoll_engine *engine)
{
    return (struct atoll_prompt_io){
        engine,     qs->context, qs->campaign, qs->settings.model, qs->backend, qs->settings.deadline_s,
        qs->account};
}

static void on_done(void *context, const struct atoll_llm_outcome *outcome)
{
    struct question *q = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_llm_outcome_copy(outcome, &q->outcome, &err) != 0)
        atoll_llm_outcome_set(&q->outcome, ATOLL_LLM_CANCELLED, "%s", err.text);
    q->state = QUESTION_BACK;
}

/* Answers of our own: there is no model for it, or none any more. */
static int is_asked_outside(const struct atoll_llm_queue *qs, const struct question *q)
{
    return qs->client && !qs->counts.is_over && q->ask.kind == ATOLL_ASK_WRITE;
}

static void send(struct atoll_llm_queue *qs, struct question *q, const struct atoll_engine *engine,
                 double now_ns)
{
    struct atoll_prompt_io universal = universal_of(qs, engine);
    struct atoll_err err = ATOLL_ERR_INIT;
    q->asked_ns = now_ns;
    q->state = QUESTION_BACK;
    if (!is_asked_outside(qs, q))
        return;
    if (atoll_prompt_io_request(&universal, &q->ask, q->arena, &q->request, &err) != 0) {
        atoll_llm_outcome_set(&q->outcome, ATOLL_LLM_INVALID, "%s", err.text);
        return;
    }
    q->state = QUESTION_SENT;
    if (atoll_client_ask(qs->client, &q->request, on_done, q, &q->call, &err) != 0) {
        q->state = QUESTION_BACK;
        atoll_llm_outcome_set(&q->outcome, ATOLL_LLM_NETWORK, "%s", err.text);
        return;
    }
    qs->counts.asked++;
    qs->counts.open++;
}

/* The gateway may forget what is durable here. */
static void forget(struct atoll_llm_queue *qs, uint64_t ask)
{
    for (struct question *q = qs->first; q && qs->client; q = q->next) {
        if (q->ask.number == ask && q->state == QUESTION_TOLD && q->call)
            atoll_client_settled(qs->client, q->call);
    }
}

int atoll_llm_queue_settle(struct atoll_llm_queue *qs, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err)
{
    int rc = qs->context ? atoll_prompt_context_add_event(qs->context, event, err) : 0;
    if (event->type == ATOLL_EVENT_REPLY)
        forget(qs, event->reply.ask);
    for (struct question *q = qs->first; q; q = q->next) {
        if (q->state == QUESTION_NOTED && !qs->is_held)
            send(qs, q, engine, now_ns);
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

static int is_held_back(const struct atoll_llm_queue *qs, const struct question *q, double now_ns)
{
    double brake_s = fmin(BRAKE_LONGEST_S, exp2((double)qs->failures));
    return is_asked_outside(qs, q) && is_failure(q->outcome.status) && now_ns < q->asked_ns + brake_s * 1e9;
}

static void give_up(struct atoll_llm_queue *qs, const struct question *q)
{
    qs->counts.is_over = 1;
    atoll_log(ATOLL_LOG_WARNING, "eval.ask.over",
              "the model '%s' failed %u times in a row (%s: %s) and is asked no more; the tuner goes on",
              qs->settings.model, qs->failures, atoll_llm_status_name(q->outcome.status), q->outcome.detail);
}

static void failure_note(struct atoll_llm_queue *qs, const struct question *q)
{
    qs->counts.failed++;
    qs->failures++;
    qs->lasting = is_lasting(q->outcome.status) ? qs->lasting + 1 : 0;
    atoll_log(ATOLL_LOG_WARNING, "eval.ask.failed", "ask %llu: %s: %s", (unsigned long long)q->ask.number,
              atoll_llm_status_name(q->outcome.status), q->outcome.detail);
    if (qs->lasting >= GIVEN_UP_LASTING || qs->failures >= GIVEN_UP_PASSING)
        give_up(qs, q);
}

static void outcome_note(struct atoll_llm_queue *qs, const struct question *q)
{
    qs->counts.tokens += q->outcome.usage.input + q->outcome.usage.output;
    qs->counts.cost_usd += q->outcome.cost_usd;
    if (is_failure(q->outcome.status)) {
        failure_note(qs, q);
        return;
    }
    qs->failures = qs->lasting = 0;
    qs->counts.answered++;
    if (q->outcome.status == ATOLL_LLM_BUDGET)
        atoll_log(ATOLL_LOG_WARNING, "eval.ask.budget", "ask %llu: %s; the tuner goes on with this task",
                  (unsigned long long)q->ask.number, q->outcome.detail);
}

static void nobody_say(struct atoll_llm_queue *qs)
{
    if (!qs->client && !qs->has_told_none)
        atoll_log(ATOLL_LOG_WARNING, "eval.ask", "no operator is connected; the tuner answers all asks");
    qs->has_told_none = 1;
}

/* Words the reply of a question that is back. */
static int reply_word(struct atoll_llm_queue *qs, struct question *q, const struct atoll_engine *engine,
                      struct atoll_reply *ret_reply, struct atoll_err *err)
{
    struct atoll_prompt_io universal = universal_of(qs, engine);
    *ret_reply =
        (struct atoll_reply){.ask = q->ask.number, .status = ATOLL_REPLY_SPENT, .origin = "coordinator"};
    if (qs->client && !qs->counts.is_over && q->ask.kind != ATOLL_ASK_WRITE) {
        ret_reply->status = ATOLL_REPLY_BUILTIN;
        return 0;
    }
    if (!q->call) { /* it never left */
        nobody_say(qs);
        if (is_asked_outside(qs, q))
            outcome_note(qs, q);
        if (is_asked_outside(qs, q))
            ret_reply->status = ATOLL_REPLY_FAILED;
        return 0;
    }
    qs->counts.open--;
    outcome_note(qs, q);
    if (atoll_prompt_io_reply(&universal, &q->ask, &q->request, &q->outcome, q->arena, ret_reply, err) != 0)
        return -1;
    if (qs->counts.is_over && is_failure(q->outcome.status))
        ret_reply->status = ATOLL_REPLY_SPENT;
    return 0;
}

static int tell(struct atoll_llm_queue *qs, struct question *q, const struct atoll_engine *engine,
                struct atoll_commit *ledger, const struct atoll_event *now, struct atoll_err *err)
{
    struct atoll_event event = *now;
    if (reply_word(qs, q, engine, &event.reply, err) != 0)
        return -1;
    q->state = QUESTION_TOLD;
    return atoll_commit_add(ledger, &event, err);
}

/* Those of the round before: committed since. */
static void told_drop(struct atoll_llm_queue *qs)
{
    struct question **at = &qs->first;
    while (*at) {
        struct question *q = *at;
        if (q->state == QUESTION_TOLD) {
            *at = q->next;
            question_destroy(q);
        } else {
            at = &q->next;
        }
    }
    qs->last = at;
}

int atoll_llm_queue_answer(struct atoll_llm_queue *qs, const struct atoll_engine *engine,
                           struct atoll_commit *ledger, const struct atoll_event *now, double now_ns,
                           struct atoll_err *err)
{
    told_drop(qs);
    if (qs->client && atoll_client_turn(qs->client, err) != 0)
        return -1;
    for (struct question *q = qs->first; q; q = q->next) {
        if (atoll_commit_round_count(ledger) >= ATOLL_COMMIT_ROUND_LIMIT - ROUND_SPARE)
            return 0;
        if (q->state == QUESTION_BACK && !is_held_back(qs, q, now_ns) &&
            tell(qs, q, engine, ledger, now, err) != 0)
            return -1;
    }
    return 0;
}

void atoll_llm_queue_hold(struct atoll_llm_queue *qs)
{
    qs->is_held = 1;
}

void atoll_llm_queue_withdraw(struct atoll_llm_queue *qs)
{
    for (struct question *q = qs->first; q; q = q->next) {
        if (q->state == QUESTION_SENT)
            atoll_client_cancel(qs->client, q->call);
    }
}

int atoll_llm_queue_fd(const struct atoll_llm_queue *qs)
{
    return qs->client ? atoll_client_fd(qs->client) : -1;
}

void atoll_llm_queue_count(const struct atoll_llm_queue *qs, struct atoll_llm_queue_counts *ret_counts)
{
    *ret_counts = qs->counts;
}
