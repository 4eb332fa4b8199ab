/* broker_call.c - the life of one call, as a table of states and events.
 *
 *   NEW --known--> ENDED
 *   NEW --asked--> QUEUED --admitted--> RESERVED --committed--> SENT --finished--> ENDED
 *                    ^                     | budget missing       | worth a retry
 *                    +--- available --- WAITING_BUDGET            v
 *                    +-------------------- resumed ----------- PAUSED
 *
 * Money is set aside only once a call has its place at the endpoint: what waits in a queue when a gateway is killed has cost
 * nothing.  ABANDONED (the last deadline passed, or all cancelled) ends it in every state. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/random.h"
#include "base/spelling.h"

#define STATES_BYTES ((size_t)8 << 20) /* of all turns of a conversation */

/* ---- a call as a value ---- */

/* What a request leaves unsaid is its role's first, then its model's. */
static void apply_role(struct atoll_provider_model *traits, const struct atoll_gateway_role *role)
{
    if (!isnan(role->temperature)) {
        traits->temperature = role->temperature;
        traits->has_temperature = 1;
    }
    if (!isnan(role->top_p)) {
        traits->top_p = role->top_p;
        traits->has_top_p = 1;
    }
    traits->effort = role->effort ? role->effort : traits->effort;
    traits->max_output_tokens = role->max_tokens ? role->max_tokens : traits->max_output_tokens;
}

static int find_model(struct atoll_call *call, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = call->broker->config;
    const struct atoll_gateway_role *role = atoll_gateway_role_of(config, call->request.purpose);
    const char *name = !atoll_llm_request_is_by_role(&call->request) ? call->request.model
                       : role                                        ? role->model
                                                                     : NULL;
    /* All turns of a conversation with tools go to the member that began it. */
    const struct atoll_id drawn = atoll_llm_request_conversation(&call->request);
    int found = -1;
    if (!name) {
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "model: the request names none, and this gateway has none for its purpose '%.64s'; "
            "name one (--model), or give the role one (gateway.yaml, roles)",
            call->request.purpose);
    }
    for (size_t i = 0; i < config->ensemble_count; i++)
        if (strcmp(config->ensembles[i].name, name) == 0)
            found = atoll_ensemble_choose(&config->ensembles[i], call->request.generation, &drawn);
    for (size_t i = 0; found < 0 && i < config->model_count; i++)
        if (strcmp(config->models[i].name, name) == 0)
            found = (int)i;
    if (found < 0) {
        const char *known[ATOLL_CONFIG_NAMES_MOST];
        char hint[ATOLL_SPELLING_HINT_BYTES];
        size_t count = atoll_gateway_config_names(config, known);
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "model: this gateway has no model or ensemble of the name %.64s; %s", name,
                             atoll_spelling_hint(name, known, count, "gateway.yaml names them", hint));
    }
    call->model = (unsigned)found;
    call->traits = config->models[found].traits;
    if (role)
        apply_role(&call->traits, role);
    return 0;
}

struct atoll_call *atoll_call_create(struct atoll_broker *broker, const struct atoll_llm_request *request,
                                     const struct atoll_id *id, struct atoll_err *err)
{
    size_t bytes = atoll_llm_request_copy_bytes(request);
    struct atoll_call *call = calloc(1, sizeof(*call) + bytes);
    if (!call) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a call");
        return NULL;
    }
    call->broker = broker;
    call->id = *id;
    atoll_llm_request_copy(request, call + 1, &call->request);
    if (find_model(call, err)) {
        free(call);
        return NULL;
    }
    call->token_estimate = atoll_call_token_estimate(call);
    call->arrival = broker->next_arrival++;
    atoll_llm_outcome_init(&call->outcome);
    broker->call_count++;
    return call;
}

void atoll_call_destroy(struct atoll_call *call)
{
    if (!call)
        return;
    atoll_call_list_leave(call);
    call->broker->call_count--;
    atoll_arena_destroy(call->states);
    atoll_llm_outcome_fini(&call->outcome);
    free(call);
}

double atoll_call_deadline_ns(const struct atoll_call *call)
{
    double latest_ns = 0;
    for (const struct atoll_waiter *w = call->waiters; w; w = w->next)
        latest_ns = fmax(latest_ns, w->deadline_ns);
    return latest_ns;
}

/* ---- what the events' senders ask ---- */

enum atoll_call_event atoll_call_reserve(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char before[sizeof(call->outcome.detail)] = "";
    if (atoll_reservation_make(call, &err) == 0)
        return ATOLL_CALL_BUDGET_AVAILABLE;
    if (err.code == ATOLL_E_BUSY) { /* the outcome if nothing comes before the deadline */
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_BUDGET, "%s", err.text);
        return ATOLL_CALL_BUDGET_MISSING;
    }
    if (call->try_count) { /* that is why another one was wanted */
        snprintf(before, sizeof(before), "; the last try ended as %s: %.200s",
                 atoll_llm_status_name(call->outcome.status), call->outcome.detail);
    }
    /* A limit is a limit; no memory will pass, and is none. */
    atoll_llm_outcome_set(&call->outcome,
                          err.code == ATOLL_E_LIMIT   ? ATOLL_LLM_BUDGET
                          : err.code == ATOLL_E_INPUT ? ATOLL_LLM_INVALID
                                                      : ATOLL_LLM_OVERLOADED,
                          "%s%s", err.text, before);
    return ATOLL_CALL_FINISHED;
}

enum atoll_call_event atoll_call_judge(struct atoll_call *call)
{
    double left_s = (atoll_call_deadline_ns(call) - atoll_loop_now_ns(call->broker->loop)) / ATOLL_NS_PER_S;
    double unit = atoll_random_unit(
        atoll_random_at(atoll_id_u64(&call->id) ^ (uint64_t)call->started_unix_ns, call->try_count));
    if (atoll_llm_status_is_final(call->outcome.status) || left_s <= 0 ||
        !atoll_retry_decide(&call->broker->config->retry, &call->outcome, &call->headers, call->try_count,
                            left_s, unit, &call->wait_s)) {
        return ATOLL_CALL_FINISHED;
    }
    return ATOLL_CALL_WORTH_RETRY;
}

/* ---- what a step does; each may say what follows at once ---- */

static enum atoll_call_event push(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_queue_push(call, &err) == 0)
        return ATOLL_CALL_NOTHING;
    atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_OVERLOADED, "%s", err.text);
    return ATOLL_CALL_FINISHED;
}

static void give_place_back(struct atoll_call *call)
{
    struct atoll_broker_endpoint *endpoint = atoll_broker_endpoint_of(call->broker, call->model);
    struct atoll_queue *queue = atoll_queue_of(call->broker, call->model);
    atoll_bucket_return(&endpoint->requests, 1);
    atoll_bucket_return(&queue->requests, 1);
    atoll_broker_endpoint_note(endpoint, queue, ATOLL_LLM_CANCELLED, atoll_loop_now_ns(call->broker->loop),
                               call->token_estimate);
}

static enum atoll_call_event reserve(struct atoll_call *call)
{
    enum atoll_call_event event = atoll_call_reserve(call);
    if (event == ATOLL_CALL_BUDGET_AVAILABLE) {
        atoll_call_list_append(&call->broker->reserved, call);
        return ATOLL_CALL_NOTHING;
    }
    give_place_back(call);
    return event;
}

static enum atoll_call_event wait_for_budget(struct atoll_call *call)
{
    atoll_call_list_append(&call->broker->waiting_budget, call);
    return ATOLL_CALL_NOTHING;
}

static enum atoll_call_event send(struct atoll_call *call)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_try_send(call, atoll_call_deadline_ns(call), &err) == 0)
        return ATOLL_CALL_NOTHING;
    atoll_llm_outcome_set(&call->outcome, err.code == ATOLL_E_INPUT ? ATOLL_LLM_INVALID : ATOLL_LLM_NETWORK,
                          "%s", err.text);
    return ATOLL_CALL_FINISHED;
}

static void pause_rang(void *context)
{
    struct atoll_call *call = context;
    call->timer = 0;
    atoll_call_list_append(&call->broker->resumed, call);
    atoll_broker_wake(call->broker);
}

static enum atoll_call_event pause(struct atoll_call *call)
{
    struct atoll_loop *loop = call->broker->loop;
    double when_ns = atoll_loop_now_ns(loop) + call->wait_s * ATOLL_NS_PER_S;
    return atoll_loop_at(loop, when_ns, pause_rang, call, &call->timer, NULL) ? ATOLL_CALL_FINISHED
                                                                              : ATOLL_CALL_NOTHING;
}

/* The name and the sums of a call; status, texts and usage are those of its last try. */
static enum atoll_call_event end(struct atoll_call *call)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_llm_outcome *outcome = &call->outcome;
    const struct atoll_gateway_model *model = &broker->config->models[call->model];
    atoll_loop_cancel(broker->loop, call->timer);
    call->timer = 0;
    atoll_call_list_leave(call);
    atoll_reservation_drop(call);
    outcome->request = call->id;
    if (!outcome->is_from_store) {
        outcome->cost_usd = (double)call->spent * 1e-9;
        outcome->tries = call->try_count;
    }
    if (!outcome->is_from_store && call->try_count) {
        outcome->started_unix_ns = call->started_unix_ns;
        outcome->elapsed_s = (atoll_loop_now_ns(broker->loop) - call->started_ns) / ATOLL_NS_PER_S;
        snprintf(outcome->name, sizeof(outcome->name), "%s", model->name);
        snprintf(outcome->endpoint, sizeof(outcome->endpoint), "%s",
                 broker->config->endpoints[model->endpoint].name);
    }
    call->is_kept = !broker->store || !call->try_count;
    if (broker->metrics)
        atoll_metrics_outcome(broker->metrics, model->name, outcome);
    atoll_call_list_append(&broker->ended, call);
    atoll_broker_wake(broker);
    return ATOLL_CALL_NOTHING;
}

/* What the last try said stays in the text. */
static enum atoll_call_event abandon(struct atoll_call *call)
{
    static const char *const while_texts[ATOLL_CALL_STATE_COUNT] = {
        [ATOLL_CALL_WAITING_BUDGET] = "waiting for money or tokens that calls in flight may give back",
        [ATOLL_CALL_RESERVED] = "its reservation was written",
        [ATOLL_CALL_PAUSED] = "waiting before another try",
        [ATOLL_CALL_QUEUED] = "waiting for a place at the endpoint",
        [ATOLL_CALL_SENT] = "the model was answering",
    };
    struct atoll_llm_outcome *outcome = &call->outcome;
    int is_late = call->abandoned_as == ATOLL_LLM_TIMEOUT;
    int is_poor = is_late && call->before == ATOLL_CALL_WAITING_BUDGET;
    char before[sizeof(outcome->detail)] = "";
    if (outcome->detail[0]) {
        snprintf(before, sizeof(before), "; before: %s: %.300s", atoll_llm_status_name(outcome->status),
                 outcome->detail);
    }
    atoll_llm_outcome_set(outcome, is_poor ? outcome->status : call->abandoned_as, "%s while %s%s",
                          is_late ? "the call's deadline passed" : "cancelled", while_texts[call->before],
                          before);
    return end(call);
}

static enum atoll_call_event abandon_queued(struct atoll_call *call)
{
    atoll_queue_remove(call);
    atoll_broker_endpoint_of(call->broker, call->model)->is_due = 1; /* the new head may go */
    return abandon(call);
}

static enum atoll_call_event abandon_reserved(struct atoll_call *call)
{
    give_place_back(call);
    return abandon(call);
}

/* What came of the answer is kept: it is paid for. */
static enum atoll_call_event abandon_sent(struct atoll_call *call)
{
    if (call->attempt) /* else it is over, and was not looked at yet */
        atoll_try_stop(call->attempt, call->abandoned_as);
    return abandon(call);
}

/* ---- the table ---- */

static const struct row {
    enum atoll_call_state state;
    enum atoll_call_event event;
    enum atoll_call_state next_state;
    enum atoll_call_event (*action)(struct atoll_call *call);
} rows[] = {
    {ATOLL_CALL_NEW, ATOLL_CALL_KNOWN, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_NEW, ATOLL_CALL_ASKED, ATOLL_CALL_QUEUED, push},
    {ATOLL_CALL_QUEUED, ATOLL_CALL_ADMITTED, ATOLL_CALL_RESERVED, reserve},
    {ATOLL_CALL_QUEUED, ATOLL_CALL_FINISHED, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_QUEUED, ATOLL_CALL_ABANDONED, ATOLL_CALL_ENDED, abandon_queued},
    {ATOLL_CALL_RESERVED, ATOLL_CALL_COMMITTED, ATOLL_CALL_SENT, send},
    {ATOLL_CALL_RESERVED, ATOLL_CALL_BUDGET_MISSING, ATOLL_CALL_WAITING_BUDGET, wait_for_budget},
    {ATOLL_CALL_RESERVED, ATOLL_CALL_FINISHED, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_RESERVED, ATOLL_CALL_ABANDONED, ATOLL_CALL_ENDED, abandon_reserved},
    {ATOLL_CALL_WAITING_BUDGET, ATOLL_CALL_BUDGET_AVAILABLE, ATOLL_CALL_QUEUED, push},
    {ATOLL_CALL_WAITING_BUDGET, ATOLL_CALL_BUDGET_MISSING, ATOLL_CALL_WAITING_BUDGET, wait_for_budget},
    {ATOLL_CALL_WAITING_BUDGET, ATOLL_CALL_FINISHED, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_WAITING_BUDGET, ATOLL_CALL_ABANDONED, ATOLL_CALL_ENDED, abandon},
    {ATOLL_CALL_SENT, ATOLL_CALL_WORTH_RETRY, ATOLL_CALL_PAUSED, pause},
    {ATOLL_CALL_SENT, ATOLL_CALL_FINISHED, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_SENT, ATOLL_CALL_ABANDONED, ATOLL_CALL_ENDED, abandon_sent},
    {ATOLL_CALL_PAUSED, ATOLL_CALL_RESUMED, ATOLL_CALL_QUEUED, push},
    {ATOLL_CALL_PAUSED, ATOLL_CALL_FINISHED, ATOLL_CALL_ENDED, end},
    {ATOLL_CALL_PAUSED, ATOLL_CALL_ABANDONED, ATOLL_CALL_ENDED, abandon},
};

void atoll_call_step(struct atoll_call *call, enum atoll_call_event event)
{
    while (event != ATOLL_CALL_NOTHING) {
        const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(*rows);
        while (row < end && (row->state != call->state || row->event != event))
            row++;
        if (row == end) {
            atoll_log(ATOLL_LOG_ERROR, "gateway.call.event", "a call in state %d cannot take event %d",
                      (int)call->state, (int)event);
            return;
        }
        call->before = call->state;
        call->state = row->next_state;
        event = row->action(call);
    }
}

/* The reply that a turn of a conversation was, by the request it answered: all that stood before it. */
static int find_turn(const struct atoll_call *call, size_t turn, struct atoll_llm_outcome *ret_outcome)
{
    const struct atoll_llm_message *m = &call->request.messages[turn];
    struct atoll_llm_request before = call->request;
    before.message_count = turn;
    before.is_tool_free = 0; /* it called */
    before.key = "";
    if (atoll_store_find(call->broker->store, &before, ret_outcome, NULL) != 1 ||
        ret_outcome->tool_call_count != m->tool_call_count)
        return 0;
    for (size_t i = 0; i < m->tool_call_count; i++)
        if (strcmp(ret_outcome->tool_calls[i].id, m->tool_calls[i].id) != 0)
            return 0;
    return ret_outcome->provider_state.length > 0;
}

/* Who asks keeps what providers want back with their calls in memory alone; after a kill of theirs the store has it still. */
static void restore_states(struct atoll_call *call)
{
    for (size_t i = 0; i < call->request.message_count; i++) {
        struct atoll_llm_message *m = &call->request.messages[i];
        struct atoll_llm_outcome outcome;
        if (!m->tool_call_count || (m->provider_state && *m->provider_state))
            continue;
        atoll_llm_outcome_init(&outcome);
        if (find_turn(call, i, &outcome)) {
            if (!call->states)
                call->states = atoll_arena_create(STATES_BYTES, NULL);
            if (call->states)
                m->provider_state = atoll_arena_text(call->states, (const char *)outcome.provider_state.data,
                                                     outcome.provider_state.length, NULL);
        }
        atoll_llm_outcome_fini(&outcome);
    }
}

void atoll_call_start(struct atoll_call *call)
{
    const struct atoll_gateway_config *config = call->broker->config;
    int is_replay = config->mode == ATOLL_EXCHANGE_REPLAY;
    struct atoll_err err = ATOLL_ERR_INIT;
    int found = call->broker->store && (is_replay || config->mode == ATOLL_EXCHANGE_REPLAY_THEN_LIVE)
                    ? atoll_store_find(call->broker->store, &call->request, &call->outcome, &err)
                    : 0;
    if (found < 0)
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.store.read", &err);
    if (found <= 0 && is_replay) {
        char hex[ATOLL_ID_HEX];
        atoll_id_hex(&call->id, hex);
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_MISS,
                              "replay: %s holds no answer to this request (id %.16s, key '%.64s')",
                              config->file, hex, call->request.key);
    }
    if (found <= 0 && !is_replay && call->broker->store)
        restore_states(call);
    atoll_call_step(call, found > 0 || is_replay ? ATOLL_CALL_KNOWN : ATOLL_CALL_ASKED);
}
