/* broker_batch.c - calls that can wait, handed to the batches of their endpoint.
 * What a batch cannot answer (it failed, expired, was not taken) goes the ordinary way in the time that is left. */
#include "llm-gateway/broker/broker_state.h"

#include <stdio.h>
#include <string.h>

int atoll_lane_open_batches(struct atoll_lane *lane, struct atoll_err *err)
{
    const struct atoll_broker *broker = lane->broker;
    char folder[4096];
    if (!lane->endpoint->has_batch || !broker->config->ledger ||
        broker->config->mode == ATOLL_EXCHANGE_REPLAY)
        return 0;
    int length = snprintf(folder, sizeof folder, "%s/batches", broker->config->ledger);
    if (length < 0 || (size_t)length >= sizeof folder)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", broker->config->ledger);
    lane->batch_folder = strdup(folder);
    if (!lane->batch_folder)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for batches");
    const struct atoll_batch_settings settings = {.endpoint = lane->endpoint,
                                                  .key = lane->key ? atoll_secret_text(lane->key) : NULL,
                                                  .folder = lane->batch_folder,
                                                  .collect_s = broker->config->batch_poll_s / 12,
                                                  .poll_s = broker->config->batch_poll_s};
    lane->batches = atoll_batches_create(broker->loop, broker->transfers, &settings, err);
    return lane->batches ? 0 : -1;
}

int atoll_call_may_batch(const struct atoll_call *call)
{
    return call->request.can_wait && call->request.operation == ATOLL_LLM_CHAT &&
           atoll_lane_of(call->broker, call->model)->batches != NULL;
}

/* Stable over restarts, and another one for each key: within a batch ids are unique. */
static void name_of(const struct atoll_call *call, char ret_hex[ATOLL_ID_HEX])
{
    struct {
        struct atoll_id request, key;
    } parts = {call->id, atoll_id_of(call->request.key, strlen(call->request.key))};
    const struct atoll_id id = atoll_id_of(&parts, sizeof parts);
    atoll_id_hex(&id, ret_hex);
}

/* 2xx costs what it says; what may have been handed in without our knowing costs its worst. */
static int may_be_billed(const struct atoll_llm_outcome *outcome)
{
    return outcome->http_status ? outcome->http_status >= 200 && outcome->http_status < 300
                                : outcome->usage.is_estimated;
}

static void done(void *context, const struct atoll_llm_outcome *outcome)
{
    struct atoll_call *call = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_llm_outcome_copy(outcome, &call->outcome, &err)) {
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_UNKNOWN, "%s", err.text);
        call->outcome.usage.is_estimated = 1;
        call->outcome.http_status = outcome->http_status;
    }
    atoll_lane_scrub(atoll_lane_of(call->broker, call->model), &call->outcome);
    call->last_reservation = call->booking.number;
    atoll_nanousd money =
        atoll_booking_cost(call, &call->booking, may_be_billed(&call->outcome), &call->outcome);
    atoll_booking_settle(call, &call->booking, money, call->outcome.usage.input + call->outcome.usage.output);
    atoll_call_tell(call, ATOLL_CALL_ANSWERED);
}

int atoll_call_hand_in(struct atoll_call *call, struct atoll_err *err)
{
    char name[ATOLL_ID_HEX];
    name_of(call, name);
    return atoll_batches_add(atoll_lane_of(call->broker, call->model)->batches, name, &call->request,
                             &call->broker->config->models[call->model].traits, done, call, err);
}

void atoll_call_withdraw(struct atoll_call *call)
{
    char name[ATOLL_ID_HEX];
    name_of(call, name);
    atoll_batches_forget(atoll_lane_of(call->broker, call->model)->batches, name);
    atoll_booking_lose(call, &call->booking);
}
