/* broker.c - the face of the broker: who comes in, who waits, and the turn that makes everything last.
 *
 * A turn first tells calls what happened since the last one, then lets those go whose turn it is, then commits: reservations,
 * settlements and exchanges of the turn are one transaction.  After it calls with a reservation are sent, and calls that
 * are over are answered.  Nothing calls a waiter back but atoll_broker_turn (and destroy). */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "llm-gateway/budget/spend_summary.h"

#define DEADLINE_S 600.0
#define SUMMARY_S  1.0 /* the summary file is at most so old while something changes */
#define RETRY_S                                                                                              \
    0.2 /* after a commit that failed: what waits may be much, and a full disk stays so for a while */
#define PACE_NS      5e6 /* of a slow disk: the loop has so long for others between two commits */
#define HEADER_BYTES (2 * (size_t)ATOLL_SECRET_LIMIT_BYTES)
#define BODY_BYTES   ((size_t)64 << 20)

/* ---- index: waiters by number, calls by the id and the key of their request ---- */

static struct atoll_waiter **row_of_number(const struct atoll_broker_index *index, uint64_t number)
{
    return &index->by_number[number & (index->row_count - 1)];
}

static struct atoll_call **row_of_id(const struct atoll_broker_index *index, const struct atoll_id *id)
{
    return &index->by_id[atoll_id_u64(id) & (index->row_count - 1)];
}

static struct atoll_call **row_of_key(const struct atoll_broker_index *index, const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, then mixed: keys differ in their last bytes */
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return &index->by_key[atoll_mix64(hash) & (index->row_count - 1)];
}

static void index_add(struct atoll_broker_index *index, struct atoll_call *call)
{
    struct atoll_call **row = row_of_id(index, &call->id);
    call->next_of_id = *row;
    *row = call;
    if (*call->request.key) {
        row = row_of_key(index, call->request.key);
        call->next_of_key = *row;
        *row = call;
    }
    call->is_indexed = 1;
}

static void index_remove(struct atoll_broker_index *index, struct atoll_call *call)
{
    if (!call->is_indexed)
        return;
    call->is_indexed = 0;
    struct atoll_call **link = row_of_id(index, &call->id);
    while (*link && *link != call)
        link = &(*link)->next_of_id;
    if (*link)
        *link = call->next_of_id;
    if (!*call->request.key)
        return;
    link = row_of_key(index, call->request.key);
    while (*link && *link != call)
        link = &(*link)->next_of_key;
    if (*link)
        *link = call->next_of_key;
}

static int may_join(const struct atoll_call *call)
{
    enum atoll_llm_status status = call->outcome.status;
    return call->state != ATOLL_CALL_ENDED || (status != ATOLL_LLM_CANCELLED && status != ATOLL_LLM_TIMEOUT);
}

/* A call of the same key, or, in the modes that look into the store, of the same id. */
static struct atoll_call *index_find(const struct atoll_broker *broker, const char *key,
                                     const struct atoll_id *id)
{
    const struct atoll_broker_index *index = &broker->index;
    enum atoll_exchange_mode mode = broker->config->mode;
    struct atoll_call *call = *key ? *row_of_key(index, key) : NULL;
    while (call && (strcmp(call->request.key, key) != 0 || !may_join(call)))
        call = call->next_of_key;
    if (call || (mode != ATOLL_EXCHANGE_REPLAY && mode != ATOLL_EXCHANGE_REPLAY_THEN_LIVE))
        return call;
    call = *row_of_id(index, id);
    while (call && (!atoll_id_equal(&call->id, id) || !may_join(call)))
        call = call->next_of_id;
    return call;
}

/* ---- waiters: each has a deadline of its own; a call goes on while one of them waits ---- */

static void leave_later(struct atoll_waiter *waiter, enum atoll_llm_status why)
{
    struct atoll_broker *broker = waiter->broker;
    if (waiter->is_leaving || !waiter->call)
        return;
    waiter->is_leaving = 1;
    waiter->left_as = why;
    waiter->next_leaving = broker->leaving;
    broker->leaving = waiter;
    atoll_broker_wake(broker);
}

static void deadline_passed(void *context)
{
    struct atoll_waiter *waiter = context;
    waiter->timer = 0;
    leave_later(waiter, ATOLL_LLM_TIMEOUT);
}

static void remove_from_call(struct atoll_waiter *waiter)
{
    struct atoll_waiter **link = &waiter->call->waiters;
    while (*link && *link != waiter)
        link = &(*link)->next;
    if (*link)
        *link = waiter->next;
    waiter->call = NULL;
}

/* The last one stays with its call until that has settled what it cost, and gets the call's own outcome. */
static void leave(struct atoll_waiter *waiter)
{
    struct atoll_call *call = waiter->call;
    struct atoll_broker *broker = waiter->broker;
    int is_over = call->state == ATOLL_CALL_ENDED;
    waiter->is_leaving = 0;
    if (!is_over && call->waiters == waiter && !waiter->next) {
        call->abandoned_as = waiter->left_as;
        index_remove(&broker->index, call); /* who asks the same now asks anew */
        atoll_call_step(call, ATOLL_CALL_ABANDONED);
        return;
    }
    if (is_over && waiter->left_as == ATOLL_LLM_TIMEOUT) /* its outcome is there, and comes with this turn */
        return;
    remove_from_call(waiter);
    waiter->next = NULL;
    *broker->left_end = waiter;
    broker->left_end = &waiter->next;
}

static void leave_all(struct atoll_broker *broker)
{
    struct atoll_waiter *waiter;
    while ((waiter = broker->leaving) != NULL) {
        broker->leaving = waiter->next_leaving;
        leave(waiter);
    }
}

static struct atoll_waiter *waiter_create(struct atoll_call *call, double deadline_ns,
                                          atoll_broker_done *done, void *context, struct atoll_err *err)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_waiter *waiter = calloc(1, sizeof(*waiter)), **end = &call->waiters;
    if (!waiter) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a call");
        return NULL;
    }
    *waiter = (struct atoll_waiter){.number = broker->next_number,
                                    .call = call,
                                    .done = done,
                                    .context = context,
                                    .deadline_ns = deadline_ns,
                                    .broker = broker,
                                    .request = call->id};
    if (atoll_loop_at(broker->loop, deadline_ns, deadline_passed, waiter, &waiter->timer, err)) {
        free(waiter);
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    *end = waiter;
    broker->next_number++;
    broker->waiter_count++;
    struct atoll_waiter **row = row_of_number(&broker->index, waiter->number);
    waiter->next_in_row = *row;
    *row = waiter;
    return waiter;
}

/* The callback may do anything with the broker but destroy it. */
static void answer(struct atoll_waiter *waiter, const struct atoll_llm_outcome *outcome)
{
    struct atoll_broker *broker = waiter->broker;
    struct atoll_waiter **link = row_of_number(&broker->index, waiter->number);
    atoll_loop_cancel(broker->loop, waiter->timer);
    while (*link && *link != waiter)
        link = &(*link)->next_in_row;
    if (*link)
        *link = waiter->next_in_row;
    for (link = &broker->leaving; waiter->is_leaving && *link; link = &(*link)->next_leaving) {
        if (*link == waiter) {
            *link = waiter->next_leaving;
            break;
        }
    }
    broker->waiter_count--;
    waiter->done(waiter->context, outcome);
    free(waiter);
}

static void answer_left(struct atoll_broker *broker)
{
    struct atoll_waiter *waiter = broker->left, *next;
    broker->left = NULL;
    broker->left_end = &broker->left;
    for (; waiter; waiter = next) {
        struct atoll_llm_outcome outcome;
        next = waiter->next;
        atoll_llm_outcome_init(&outcome);
        outcome.request = waiter->request;
        atoll_llm_outcome_set(&outcome, waiter->left_as,
                              waiter->left_as == ATOLL_LLM_TIMEOUT
                                  ? "the deadline passed; others still wait for the same request"
                                  : "cancelled");
        answer(waiter, &outcome);
        atoll_llm_outcome_fini(&outcome);
    }
}

static void answer_ended(struct atoll_broker *broker, struct atoll_call_list *ended)
{
    struct atoll_call *call;
    while ((call = ended->first) != NULL) {
        atoll_call_list_leave(call);
        index_remove(&broker->index, call);
        while (call->waiters) {
            struct atoll_waiter *waiter = call->waiters;
            remove_from_call(waiter);
            answer(waiter, &call->outcome);
        }
        atoll_call_destroy(call);
    }
}

/* ---- coming and going ---- */

int atoll_broker_submit(struct atoll_broker *broker, const struct atoll_llm_request *request,
                        atoll_broker_done *done, void *context, uint64_t *ret_call, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    if (broker->is_closing)
        return atoll_err_set(err, ATOLL_E_LIMIT, "gateway: it is ending and takes nothing new");
    if (config->in_flight_limit && broker->waiter_count >= config->in_flight_limit) {
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "gateway: %u calls are held, no more at once (in_flight_limit)",
                             broker->waiter_count);
    }
    double seconds = request->deadline_s > 0  ? request->deadline_s
                     : config->deadline_s > 0 ? config->deadline_s
                                              : DEADLINE_S;
    const struct atoll_id id = atoll_llm_request_id(request);
    struct atoll_call *call = index_find(broker, request->key, &id), *made = NULL;
    if (!call)
        call = made = atoll_call_create(broker, request, &id, err);
    struct atoll_waiter *waiter =
        call ? waiter_create(call, atoll_loop_now_ns(broker->loop) + seconds * ATOLL_NS_PER_S, done, context,
                             err)
             : NULL;
    if (!waiter) {
        atoll_call_destroy(made);
        return -1;
    }
    if (ret_call)
        *ret_call = waiter->number;
    if (made) {
        index_add(&broker->index, made);
        atoll_call_start(made);
    }
    return 0;
}

void atoll_broker_cancel(struct atoll_broker *broker, uint64_t call)
{
    struct atoll_waiter *waiter = *row_of_number(&broker->index, call);
    while (waiter && waiter->number != call)
        waiter = waiter->next_in_row;
    if (waiter)
        leave_later(waiter, ATOLL_LLM_CANCELLED);
}

void atoll_broker_stop(struct atoll_broker *broker)
{
    broker->is_closing = 1;
}

unsigned atoll_broker_count(const struct atoll_broker *broker)
{
    return broker->waiter_count;
}

/* ---- turns ---- */

/* What a list holds now; what is appended from here on is the next turn's. */
static void take(struct atoll_call_list *list, struct atoll_call_list *ret_taken)
{
    *ret_taken = *list;
    *list = (struct atoll_call_list){NULL, NULL};
    for (struct atoll_call *call = ret_taken->first; call; call = call->next)
        call->list = ret_taken;
}

static void tell_all(struct atoll_call_list *list, enum atoll_call_event (*event_of)(struct atoll_call *call),
                     enum atoll_call_event event)
{
    struct atoll_call_list taken;
    take(list, &taken);
    while (taken.first) {
        struct atoll_call *call = taken.first;
        atoll_call_list_leave(call);
        atoll_call_step(call, event_of ? event_of(call) : event);
    }
}

static void let_go(struct atoll_broker *broker)
{
    for (size_t i = 0; i < broker->config->endpoint_count && !broker->is_ending; i++) {
        struct atoll_broker_endpoint *endpoint = &broker->endpoints[i];
        struct atoll_call *call;
        while (endpoint->is_due && (call = atoll_broker_endpoint_next(endpoint)) != NULL)
            atoll_call_step(call, ATOLL_CALL_ADMITTED);
        endpoint->is_due = 0;
    }
}

/* What is too large for the store on its own goes there without the raw reply. */
static int keep(struct atoll_call *call, struct atoll_err *err)
{
    struct atoll_store *store = call->broker->store;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_store_put(store, &call->request, &call->outcome, call->last_reservation, &why) == 0)
        return 0;
    if (why.code == ATOLL_E_LIMIT) {
        atoll_buffer_fini(&call->outcome.raw);
        atoll_err_clear(&why);
        if (atoll_store_put(store, &call->request, &call->outcome, call->last_reservation, &why) == 0)
            return 0;
    }
    if (why.code == ATOLL_E_LIMIT || why.code == ATOLL_E_INPUT) {
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.store.put", &why);
        return 0;
    }
    return atoll_err_set(err, why.code, "%s", why.text);
}

static int write_all(struct atoll_broker *broker, struct atoll_err *err)
{
    int is_due = broker->spending && atoll_spending_is_dirty(broker->spending), result = 0;
    for (const struct atoll_call *call = broker->ended.first; call && !is_due; call = call->next)
        is_due = !call->is_kept;
    if (!is_due)
        return 0;
    double began_ns = atoll_clock_mono_ns();
    if (atoll_database_begin(broker->database, err))
        return -1;
    if (broker->spending)
        result = atoll_spending_write(broker->spending, err);
    for (struct atoll_call *call = broker->ended.first; call && result == 0; call = call->next)
        result = call->is_kept ? 0 : keep(call, err);
    if (result)
        atoll_database_rollback(broker->database);
    else
        result = atoll_database_commit(broker->database, err);
    double ended_ns = atoll_clock_mono_ns();
    broker->commit_due_ns = ended_ns + fmin(ended_ns - began_ns, PACE_NS);
    if (result)
        return -1;
    if (broker->spending) {
        atoll_spending_written(broker->spending);
        broker->is_summary_due = 1;
    }
    for (struct atoll_call *call = broker->ended.first; call; call = call->next)
        call->is_kept = 1;
    return 0;
}

/* One transaction for all that happened since the last one; after -1 a later turn does it again. */
static int commit(struct atoll_broker *broker, struct atoll_err *err)
{
    double now_ns = atoll_loop_now_ns(broker->loop);
    if (!broker->is_ending && now_ns < broker->retry_ns)
        return atoll_err_set(err, broker->failed.code, "%s", broker->failed.text);
    atoll_err_clear(&broker->failed);
    broker->retry_ns = 0;
    if (write_all(broker, &broker->failed) == 0)
        return 0;
    broker->retry_ns = now_ns + RETRY_S * ATOLL_NS_PER_S;
    return atoll_err_set(err, broker->failed.code, "%s", broker->failed.text);
}

static void pace_rang(void *context)
{
    struct atoll_broker *broker = context;
    broker->pace_timer = 0;
}

/* 1: the last commit was just now.  A question, its exchange and its answer take several turns of the loop: with a commit in
 * each of them, many at once would wait for the disk again and again. */
static int is_too_soon(struct atoll_broker *broker)
{
    double left_ns = broker->commit_due_ns - atoll_clock_mono_ns();
    return left_ns > 0 &&
           (broker->pace_timer || atoll_loop_at(broker->loop, atoll_loop_now_ns(broker->loop) + left_ns,
                                                pace_rang, broker, &broker->pace_timer, NULL) == 0);
}

static void summary_rang(void *context)
{
    struct atoll_broker *broker = context;
    broker->summary_timer = 0;
}

/* For `atoll gateway spend`, which must not open a file that is owned. */
static void write_summary(struct atoll_broker *broker)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!broker->is_summary_due || broker->summary_timer)
        return;
    broker->is_summary_due = 0;
    if (atoll_spend_summary_write(broker->spending, broker->config->file, &err))
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.summary", &err);
    if (!broker->is_ending) {
        atoll_loop_at(broker->loop, atoll_loop_now_ns(broker->loop) + SUMMARY_S * ATOLL_NS_PER_S,
                      summary_rang, broker, &broker->summary_timer, NULL);
    }
}

int atoll_broker_turn(struct atoll_broker *broker, struct atoll_err *err)
{
    struct atoll_call_list reserved, ended;
    if (broker->is_turning)
        return 0;
    tell_all(&broker->finished, atoll_call_judge, ATOLL_CALL_NOTHING);
    tell_all(&broker->resumed, NULL, ATOLL_CALL_RESUMED);
    leave_all(broker);
    if (broker->is_budget_freed) {
        broker->is_budget_freed = 0;
        tell_all(&broker->waiting_budget, atoll_call_reserve, ATOLL_CALL_NOTHING);
    }
    let_go(broker);
    if (is_too_soon(broker))
        return 0;
    if ((broker->database && atoll_database_turn(broker->database, err)) || commit(broker, err))
        return -1;
    broker->is_turning = 1;
    take(&broker->reserved, &reserved);
    take(&broker->ended, &ended);
    tell_all(&reserved, NULL, ATOLL_CALL_COMMITTED);
    answer_ended(broker, &ended);
    answer_left(broker);
    write_summary(broker);
    if (broker->metrics) {
        atoll_metrics_gauge(broker->metrics, "calls", broker->waiter_count);
        atoll_metrics_gauge(broker->metrics, "exchanges", atoll_transfers_count(broker->transfers));
    }
    broker->is_turning = 0;
    return 0;
}

/* ---- from a configuration to endpoints, queues, file and keys; and their end ---- */

/* Headers with a key never move: the room for them is there before. */
static int open_memory(struct atoll_broker *broker, struct atoll_err *err)
{
    static const char room[HEADER_BYTES];
    struct atoll_broker_index *index = &broker->index;
    atoll_buffer_init(&broker->body, BODY_BYTES);
    atoll_buffer_init(&broker->headers, HEADER_BYTES);
    atoll_buffer_put_bytes(&broker->headers, room, sizeof(room));
    if (atoll_buffer_check(&broker->headers, err))
        return -1;
    atoll_buffer_clear(&broker->headers);
    index->row_count = 64;
    while (index->row_count < broker->config->in_flight_limit && index->row_count < (size_t)1 << 20)
        index->row_count *= 2;
    index->by_number = calloc(index->row_count, sizeof(*index->by_number));
    index->by_id = calloc(index->row_count, sizeof(*index->by_id));
    index->by_key = calloc(index->row_count, sizeof(*index->by_key));
    return index->by_number && index->by_id && index->by_key
               ? 0
               : atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for an index of its calls");
}

static int open_database(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    int is_replay = config->mode == ATOLL_EXCHANGE_REPLAY;
    const struct atoll_database_settings settings = {.path = config->file,
                                                     .mode =
                                                         is_replay ? ATOLL_DATABASE_READ : ATOLL_DATABASE_OWN,
                                                     .is_permanent_host = config->is_permanent_host,
                                                     .is_patient = 1};
    if (!config->file) {
        return config->mode == ATOLL_EXCHANGE_LIVE
                   ? 0
                   : atoll_err_set(
                         err, ATOLL_E_INPUT,
                         "gateway: recording and replaying need a file: name one (budget: {file: ...})");
    }
    broker->database = atoll_database_open(&settings, err);
    if (!broker->database)
        return -1;
    if (!is_replay) {
        broker->spending = atoll_spending_open(broker->database, config->limits, config->limit_count, err);
        broker->is_summary_due = 1;
    }
    if (config->mode != ATOLL_EXCHANGE_LIVE)
        broker->store = atoll_store_of(broker->database, err);
    return (is_replay || broker->spending) && (config->mode == ATOLL_EXCHANGE_LIVE || broker->store) ? 0 : -1;
}

/* Reading a variable takes it out of the environment: endpoints that name the same one share its key. */
static struct atoll_secret *shared_key(const struct atoll_broker_endpoint *endpoint)
{
    const struct atoll_broker_endpoint *first = endpoint->broker->endpoints;
    for (; endpoint->config->key_env && first < endpoint; first++) {
        if (first->key && first->config->key_env &&
            strcmp(first->config->key_env, endpoint->config->key_env) == 0) {
            return first->key;
        }
    }
    return NULL;
}

static int open_key(struct atoll_broker_endpoint *endpoint, struct atoll_err *err)
{
    const struct atoll_endpoint *config = endpoint->config;
    if (!config->key_file && !config->key_env)
        return 0;
    endpoint->key = shared_key(endpoint);
    if (!endpoint->key) {
        endpoint->key = config->key_file ? atoll_secret_of_file(config->key_file, err)
                                         : atoll_secret_of_environment(config->key_env, err);
    }
    return endpoint->key
               ? 0
               : atoll_err_add(err, "the key of endpoint %s; remove what you have no key for", config->name);
}

static int open_endpoints(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    double now_ns = atoll_loop_now_ns(broker->loop);
    broker->endpoints = calloc(config->endpoint_count + 1, sizeof(*broker->endpoints));
    if (!broker->endpoints)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for its endpoints");
    for (size_t i = 0; i < config->endpoint_count; i++) {
        struct atoll_broker_endpoint *endpoint = &broker->endpoints[i];
        endpoint->broker = broker;
        endpoint->config = &config->endpoints[i];
        atoll_breaker_init(&endpoint->breaker);
        atoll_throttle_init(&endpoint->throttle, endpoint->config->concurrency,
                            endpoint->config->concurrency);
        atoll_bucket_init(&endpoint->requests, endpoint->config->requests_per_minute, now_ns);
        atoll_bucket_init(&endpoint->tokens, endpoint->config->tokens_per_minute, now_ns);
        if (config->mode != ATOLL_EXCHANGE_REPLAY && open_key(endpoint, err))
            return -1;
    }
    return 0;
}

static unsigned find_queue(const struct atoll_gateway_config *config, unsigned model)
{
    for (unsigned i = 0; i < model; i++) {
        if (config->models[i].endpoint == config->models[model].endpoint &&
            strcmp(config->models[i].traits.model, config->models[model].traits.model) == 0) {
            return i;
        }
    }
    return model;
}

static int open_queues(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    double now_ns = atoll_loop_now_ns(broker->loop);
    broker->queues = calloc(config->model_count + 1, sizeof(*broker->queues));
    broker->queue_of = calloc(config->model_count + 1, sizeof(*broker->queue_of));
    if (!broker->queues || !broker->queue_of)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for its models");
    for (unsigned i = 0; i < config->model_count; i++) {
        atoll_bucket_init(&broker->queues[i].requests, 0, now_ns);
        atoll_bucket_init(&broker->queues[i].tokens, 0, now_ns);
        broker->queue_of[i] = find_queue(config, i);
    }
    return 0;
}

/* Half-open is fine. */
static void close_all(struct atoll_broker *broker)
{
    const struct atoll_gateway_config *config = broker->config;
    if (broker->transfers)
        atoll_transfers_destroy(broker->transfers);
    for (size_t i = broker->endpoints ? config->endpoint_count : 0; i-- > 0;) {
        struct atoll_broker_endpoint *endpoint =
            &broker->endpoints[i]; /* who shares a key asks those before it */
        atoll_loop_cancel(broker->loop, endpoint->timer);
        if (endpoint->key && endpoint->key != shared_key(endpoint))
            atoll_secret_destroy(endpoint->key);
    }
    for (size_t i = 0; broker->queues && i < config->model_count; i++)
        free(broker->queues[i].heap);
    free(broker->endpoints);
    free(broker->queues);
    free(broker->queue_of);
    atoll_store_close(broker->store);
    atoll_spending_close(broker->spending);
    atoll_database_close(broker->database);
    free(broker->index.by_number);
    free(broker->index.by_id);
    free(broker->index.by_key);
    if (broker->headers.data)
        sodium_memzero(broker->headers.data, broker->headers.capacity);
    atoll_buffer_fini(&broker->headers);
    atoll_buffer_fini(&broker->body);
    atoll_loop_cancel(broker->loop, broker->wake_timer);
    atoll_loop_cancel(broker->loop, broker->summary_timer);
    atoll_loop_cancel(broker->loop, broker->pace_timer);
    free(broker);
}

struct atoll_broker *atoll_broker_create(struct atoll_loop *loop, const struct atoll_gateway_config *config,
                                         struct atoll_metrics *metrics, struct atoll_err *err)
{
    struct atoll_broker *broker = calloc(1, sizeof(*broker));
    if (!broker) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a broker");
        return NULL;
    }
    broker->loop = loop;
    broker->config = config;
    broker->metrics = metrics;
    broker->next_number = broker->next_arrival = 1;
    broker->left_end = &broker->left;
    if (open_memory(broker, err) == 0 && open_endpoints(broker, err) == 0 && open_queues(broker, err) == 0 &&
        open_database(broker, err) == 0 &&
        (broker->transfers = atoll_transfers_create(loop, 0, err)) != NULL) {
        return broker;
    }
    close_all(broker);
    return NULL;
}

/* Answers that could not be committed are none: the next life will not know them. */
static void disown_ended(struct atoll_broker *broker)
{
    for (struct atoll_call *call = broker->ended.first; call; call = call->next) {
        if (!call->outcome.is_from_store && !call->is_kept) {
            atoll_llm_outcome_fini(&call->outcome);
            atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_CANCELLED,
                                  "the gateway ended before its answer could be made durable");
            call->outcome.request = call->id;
        }
    }
}

void atoll_broker_destroy(struct atoll_broker *broker)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_call_list ended;
    if (!broker)
        return;
    broker->is_closing = broker->is_ending = 1;
    tell_all(&broker->finished, atoll_call_judge, ATOLL_CALL_NOTHING);
    for (size_t row = 0; row < broker->index.row_count; row++)
        for (struct atoll_waiter *w = broker->index.by_number[row]; w; w = w->next_in_row)
            leave_later(w, ATOLL_LLM_CANCELLED);
    leave_all(broker);
    if (commit(broker, &err)) { /* what is not durable stays reserved: it counts as spent */
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.commit", &err);
        disown_ended(broker);
    }
    take(&broker->ended, &ended);
    answer_ended(broker, &ended);
    answer_left(broker);
    atoll_loop_cancel(broker->loop, broker->summary_timer);
    broker->summary_timer = 0;
    write_summary(broker);
    close_all(broker);
}
