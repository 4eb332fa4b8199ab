/* broker_reservation.c - what tries may cost and what they did cost.
 * A booking holds exactly one try's worst case under the try's model: input bound at the dearest input price, and the output
 * limit.  Tries that cost nothing hand it on to the next try of the same model; one that cost something ends it, and the
 * next one needs a booking of its own.  So a settlement never exceeds its reservation unless the provider says so. */
#include "llm-gateway/broker/broker_state.h"

#include <math.h>
#include <string.h>

#include "base/log.h"

#define EXCHANGE_BYTES ((size_t)128 << 20)

static const struct atoll_price *price_of(const struct atoll_broker *broker, unsigned model)
{
    return broker->config->models[model].price;
}

uint64_t atoll_booking_output_limit(const struct atoll_broker *broker,
                                    const struct atoll_llm_request *request, unsigned model)
{
    if (request->operation == ATOLL_LLM_EMBED)
        return 0;
    return request->max_output_tokens ? request->max_output_tokens
                                      : broker->config->models[model].traits.max_output_tokens;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int is_enough(const struct atoll_call *call, const struct atoll_booking *booking)
{
    return booking->is_held && booking->model == call->model;
}

int atoll_booking_reserve(struct atoll_call *call, struct atoll_booking *booking, struct atoll_err *err)
{
    struct atoll_broker *broker = call->broker;
    if (is_enough(call, booking))
        return 0;
    atoll_booking_drop(call, booking);
    uint64_t input = atoll_llm_request_input_bound(&call->request);
    uint64_t output = atoll_booking_output_limit(broker, &call->request, call->model);
    struct atoll_booking wanted = {.is_held = 1,
                                   .model = call->model,
                                   .money = atoll_price_worst(price_of(broker, call->model), input, output),
                                   .tokens = sum_of(input, output)};
    const struct atoll_spending_purpose purpose = {.campaign = call->request.campaign,
                                                   .task = call->request.task,
                                                   .model = broker->config->models[call->model].name,
                                                   .request = call->id};
    if (broker->spending && atoll_spending_reserve(broker->spending, &purpose, wanted.money, wanted.tokens,
                                                   atoll_broker_unix_ns(), &wanted.number, err))
        return -1;
    *booking = wanted;
    return 0;
}

atoll_nanousd atoll_booking_cost(const struct atoll_call *call, const struct atoll_booking *booking,
                                 int may_be_billed, struct atoll_llm_outcome *outcome)
{
    struct atoll_llm_usage *usage = &outcome->usage;
    if (!may_be_billed) {
        *usage = (struct atoll_llm_usage){0};
        return 0;
    }
    if (!usage->is_estimated)
        return atoll_price_cost(price_of(call->broker, booking->model), usage);
    *usage = (struct atoll_llm_usage){
        .input = atoll_llm_request_input_bound(&call->request),
        .output = atoll_booking_output_limit(call->broker, &call->request, booking->model),
        .is_estimated = 1};
    return booking->money;
}

void atoll_booking_settle(struct atoll_call *call, struct atoll_booking *booking, atoll_nanousd money,
                          uint64_t tokens)
{
    struct atoll_broker *broker = call->broker;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!booking->is_held)
        return;
    call->spent = sum_of(call->spent, money);
    /* What cannot be settled stays reserved, and is spent at its worst when the ledger is opened again. */
    if (broker->spending && atoll_spending_settle(broker->spending, booking->number, money, tokens, &err))
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.ledger.settle", &err);
    *booking = (struct atoll_booking){0};
    atoll_broker_feed(broker);
}

void atoll_booking_drop(struct atoll_call *call, struct atoll_booking *booking)
{
    atoll_booking_settle(call, booking, 0, 0);
}

void atoll_booking_lose(struct atoll_call *call, struct atoll_booking *booking)
{
    atoll_booking_settle(call, booking, booking->money, booking->tokens);
}

/* ---- after a kill ---- */

/* An exchange knows what its last try cost, and that is the one its reservation covered. */
static double cost_of_last(const struct atoll_broker *broker, const struct atoll_llm_outcome *outcome)
{
    const struct atoll_gateway_config *config = broker->config;
    double whole = ceil(outcome->cost_usd * 1e9 - 1e-3);
    for (size_t i = 0; outcome->tries > 1 && i < config->model_count; i++) {
        if (strcmp(config->models[i].name, outcome->name) == 0)
            return fmin(whole, (double)atoll_price_cost(config->models[i].price, &outcome->usage));
    }
    return fmax(whole, 0);
}

static int recover_one(struct atoll_broker *broker, size_t at, uint64_t reservation, struct atoll_err *err)
{
    struct atoll_llm_outcome outcome;
    struct atoll_buffer request;
    struct atoll_err why = ATOLL_ERR_INIT;
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_init(&request, EXCHANGE_BYTES);
    int result = atoll_store_read(broker->store, at, &request, &outcome, err);
    /* Where no usage came it stays as it is: spent at its worst.  Most of them are settled: NOTFOUND. */
    if (result == 0 && !outcome.usage.is_estimated &&
        atoll_spending_settle(broker->spending, reservation, (atoll_nanousd)cost_of_last(broker, &outcome),
                              sum_of(outcome.usage.input, outcome.usage.output), &why) &&
        why.code != ATOLL_E_NOTFOUND)
        result = atoll_err_set(err, why.code, "%s", why.text);
    atoll_buffer_fini(&request);
    atoll_llm_outcome_fini(&outcome);
    return result;
}

int atoll_bookings_recover(struct atoll_broker *broker, struct atoll_err *err)
{
    if (!broker->store || !broker->spending)
        return 0;
    for (size_t i = 0; i < atoll_store_count(broker->store); i++) {
        struct atoll_store_entry entry;
        uint64_t unknown = 0;
        atoll_store_at(broker->store, i, &entry);
        if (entry.reservation && atoll_spending_unknown(broker->spending, &entry.request, &unknown) == 1 &&
            recover_one(broker, i, entry.reservation, err))
            return -1;
    }
    return atoll_spending_sync(broker->spending, err);
}
