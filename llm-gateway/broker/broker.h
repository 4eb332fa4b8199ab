/* broker.h - carries out requests: store, budget, limits, tries, outcome.
 * Layer: llm-gateway.  Lifetime: create/destroy.  One thread, on a loop.
 *
 * A call: LOOKUP (store) -> WAIT (breaker, buckets, throttle, backoff) -> RESERVE (written) -> SEND -> again WAIT for the
 * next try -> SETTLE (exchange and settlement written) -> done.  The callback comes exactly once, never inside
 * submit, within the deadline; nothing is answered before it is kept.  Two requests of the same key (or, in the modes
 * that look into the store, of the same id) are one call with two callbacks. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BROKER_H
#define ATOLL_LLM_GATEWAY_BROKER_BROKER_H

#include "llm-gateway/config/config.h"
#include "llm-gateway/server/metrics.h"
#include "llm-gateway/request/request.h"
#include "llm-gateway/budget/store.h"

struct atoll_broker;

typedef void atoll_broker_done(void *context, const struct atoll_llm_outcome *outcome);

/* Opens ledger and store, reads the keys, settles what a kill left open.  config, loop, metrics: borrowed. */
struct atoll_broker *atoll_broker_create(struct atoll_loop *loop, const struct atoll_gateway_config *config,
                                         struct atoll_metrics *metrics, struct atoll_err *err);
/* Calls every open callback with CANCELLED, wipes keys. */
void atoll_broker_destroy(struct atoll_broker *broker);
/* The request is copied.  Errors: INPUT (no such model), LIMIT (in_flight_limit, stopped), MEMORY. */
int atoll_broker_submit(struct atoll_broker *broker, const struct atoll_llm_request *request,
                        atoll_broker_done *done, void *context, uint64_t *ret_call, struct atoll_err *err);
/* Its callback comes with CANCELLED from the loop; the call itself goes on while others wait for it. */
void atoll_broker_cancel(struct atoll_broker *broker, uint64_t call);
/* Nothing new from now on: submit fails with LIMIT. */
void atoll_broker_stop(struct atoll_broker *broker);
unsigned atoll_broker_count(const struct atoll_broker *broker);
/* Once per turn of the loop: group commit, then what waits for it.  Callers of atoll_loop_run call it after each. */
int atoll_broker_turn(struct atoll_broker *broker, struct atoll_err *err);

#endif
