/* llm_queue.c - states of an ask: ADDED (decided, no prompt yet) -> SENT (with the client) -> ANSWERED (its reply may wait
 * for the back-off) -> DELIVERED (its reply is in the round, texts still borrowed) -> freed by the next advance.
 *
 * Back-off: after n failures in a row a failed reply is delivered no sooner than 2^n s (at most a minute) after its ask was
 * sent, so that an engine that asks again at once does not spin.  GIVE_UP_LASTING failures of a kind that asking again
 * does not mend, or GIVE_UP_PASSING of any kind, in a row: nothing is asked any more. */
#include "mpi-eval/operator/llm_queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "llm-gateway/client/client.h"
#include "mpi-eval/operator/prompt_io.h"
#include "mpi-eval/operator/roles.h"

#define BACKOFF_LONGEST_S 60.0
#define GIVE_UP_LASTING   3
#define GIVE_UP_PASSING   20

enum ask_state { ASK_ADDED, ASK_SENT, ASK_ANSWERED, ASK_DELIVERED };

struct open_ask {
    struct open_ask *next;
    enum ask_state state;
    struct atoll_ask ask;
    struct atoll_arena *arena; /* of request, then of reply */
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    uint64_t call; /* the client's number of it; 0: it was not sent */
    double sent_ns;
};

struct atoll_llm_queue {
    struct atoll_llm_queue_settings settings;
    struct atoll_roles roles;
    struct atoll_client *client; /* NULL: none */
    struct atoll_tools *tools;   /* NULL: none */
    struct atoll_prompt_context *context;
    char campaign[ATOLL_ID_HEX];
    const char *account; /* borrowed from the campaign; NULL: its own */
    char backend[16];
    struct open_ask *first, **end;
    struct atoll_llm_queue_counts counts;
    unsigned failures, lasting; /* in a row */
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
    atoll_prompt_context_destroy(queue->context);
    free(queue);
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
    if (queue->context && atoll_prompt_context_add_campaign(queue->context, campaign, err) == 0)
        return queue;
    atoll_llm_queue_destroy(queue);
    return NULL;
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
                                    .campaign = queue->campaign,
                                    .roles = &queue->roles,
                                    .backend = queue->backend,
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

/* Whether a model writes the answer: it is not one of the tuner's asks, and there is a model, still. */
static int is_for_model(const struct atoll_llm_queue *queue, const struct open_ask *a)
{
    return queue->client && !queue->counts.is_over && a->ask.kind == ATOLL_ASK_WRITE;
}

static void send_ask(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                     double now_ns)
{
    struct atoll_prompt_io io = prompt_io_of(queue, engine);
    struct atoll_err err = ATOLL_ERR_INIT;
    a->sent_ns = now_ns;
    a->state = ASK_ANSWERED;
    if (!is_for_model(queue, a))
        return;
    if (atoll_prompt_io_request(&io, &a->ask, a->arena, &a->request, &err) != 0) {
        atoll_llm_outcome_set(&a->outcome, ATOLL_LLM_INVALID, "%s", err.text);
        return;
    }
    a->state = ASK_SENT;
    if (atoll_client_ask(queue->client, &a->request, on_outcome, a, &a->call, &err) != 0) {
        a->state = ASK_ANSWERED;
        atoll_llm_outcome_set(&a->outcome, ATOLL_LLM_NETWORK, "%s", err.text);
        return;
    }
    queue->counts.asked++;
    queue->counts.open++;
}

int atoll_llm_queue_settle(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err)
{
    int rc = queue->context ? atoll_prompt_context_add_event(queue->context, event, err) : 0;
    for (struct open_ask *a = queue->first; a; a = a->next) {
        /* A reply that is durable here need not be kept by the gateway. */
        if (event->type == ATOLL_EVENT_REPLY && queue->client && a->ask.number == event->reply.ask &&
            a->state == ASK_DELIVERED && a->call) {
            atoll_client_settled(queue->client, a->call);
        }
    }
    for (struct open_ask *a = queue->first; a && !queue->is_held; a = a->next)
        if (a->state == ASK_ADDED)
            send_ask(queue, a, engine, now_ns);
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

/* Counts what an ask cost and how it went; too many failures in a row, and no model is asked any more. */
static void record_outcome(struct atoll_llm_queue *queue, const struct open_ask *a)
{
    const struct atoll_llm_outcome *outcome = &a->outcome;
    queue->counts.tokens += outcome->usage.input + outcome->usage.output;
    queue->counts.cost_usd += outcome->cost_usd;
    if (!is_failure(outcome->status)) {
        queue->failures = queue->lasting = 0;
        queue->counts.answered++;
        if (outcome->status == ATOLL_LLM_BUDGET) {
            atoll_log(ATOLL_LOG_WARNING, "eval.ask.budget", "ask %llu: %s; the tuner goes on with this task",
                      (unsigned long long)a->ask.number, outcome->detail);
        }
        return;
    }
    queue->counts.failed++;
    queue->failures++;
    queue->lasting = is_lasting(outcome->status) ? queue->lasting + 1 : 0;
    atoll_log(ATOLL_LOG_WARNING, "eval.ask.failed", "ask %llu: %s: %s", (unsigned long long)a->ask.number,
              atoll_llm_status_name(outcome->status), outcome->detail);
    if (queue->lasting >= GIVE_UP_LASTING || queue->failures >= GIVE_UP_PASSING) {
        queue->counts.is_over = 1;
        atoll_log(ATOLL_LOG_WARNING, "eval.ask.over",
                  "the model '%s' failed %u times in a row (%s: %s) and is asked no more; the tuner goes on",
                  queue->settings.model, queue->failures, atoll_llm_status_name(outcome->status),
                  outcome->detail);
    }
}

/* The reply for the engine to an ask that is answered. */
static int make_reply(struct atoll_llm_queue *queue, struct open_ask *a, const struct atoll_engine *engine,
                      struct atoll_reply *ret_reply, struct atoll_err *err)
{
    struct atoll_prompt_io io = prompt_io_of(queue, engine);
    *ret_reply =
        (struct atoll_reply){.ask = a->ask.number, .status = ATOLL_REPLY_SPENT, .origin = "coordinator"};
    if (queue->client && !queue->counts.is_over && a->ask.kind != ATOLL_ASK_WRITE) {
        ret_reply->status = ATOLL_REPLY_BUILTIN;
        return 0;
    }
    if (!a->call) { /* it was not sent */
        if (!queue->client && !queue->has_logged_none)
            atoll_log(ATOLL_LOG_WARNING, "eval.ask", "no operator is connected; the tuner answers all asks");
        queue->has_logged_none = 1;
        if (is_for_model(queue, a)) {
            record_outcome(queue, a); /* which may end the asking: the tuner goes on then */
            ret_reply->status = queue->counts.is_over ? ATOLL_REPLY_SPENT : ATOLL_REPLY_FAILED;
        }
        return 0;
    }
    queue->counts.open--;
    record_outcome(queue, a);
    if (atoll_prompt_io_reply(&io, &a->ask, &a->request, &a->outcome, a->arena, ret_reply, err) != 0)
        return -1;
    if (queue->counts.is_over && is_failure(a->outcome.status))
        ret_reply->status = ATOLL_REPLY_SPENT;
    return 0;
}

int atoll_llm_queue_advance(struct atoll_llm_queue *queue, struct atoll_err *err)
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
    return queue->client ? atoll_client_turn(queue->client, err) : 0;
}

int atoll_llm_queue_next_reply(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                               double now_ns, struct atoll_reply *ret_reply, struct atoll_err *err)
{
    for (struct open_ask *a = queue->first; a; a = a->next) {
        double backoff_ns = 1e9 * fmin(BACKOFF_LONGEST_S, exp2((double)queue->failures));
        int waits =
            is_for_model(queue, a) && is_failure(a->outcome.status) && now_ns < a->sent_ns + backoff_ns;
        if (a->state != ASK_ANSWERED || waits)
            continue;
        if (make_reply(queue, a, engine, ret_reply, err) != 0)
            return -1;
        a->state = ASK_DELIVERED;
        return 1;
    }
    return 0;
}

void atoll_llm_queue_hold(struct atoll_llm_queue *queue)
{
    queue->is_held = 1;
}

void atoll_llm_queue_cancel(struct atoll_llm_queue *queue)
{
    for (struct open_ask *a = queue->first; a; a = a->next)
        if (a->state == ASK_SENT)
            atoll_client_cancel(queue->client, a->call);
}

int atoll_llm_queue_fd(const struct atoll_llm_queue *queue)
{
    return queue->client ? atoll_client_fd(queue->client) : -1;
}

void atoll_llm_queue_count(const struct atoll_llm_queue *queue, struct atoll_llm_queue_counts *ret_counts)
{
    *ret_counts = queue->counts;
}
