/* broker.h - carries out requests: store, budget, limits, tries, outcome.
 * Layer: llm-gateway.  Lifetime: create/destroy.  One thread, on a loop.
 *
 * A call: asked before? -> wait (breaker, buckets, throttle) -> reserve (committed) -> send -> pause and try again, or settle
 * (exchange and settlement committed) -> done.  The callback comes exactly once, never inside submit, within the deadline;
 * nothing is sent before its reservation lasts, nothing is answered before exchange and settlement do.  Two requests of the same key (or, in the modes
 * that look into the store, of the same id) are one call with two callbacks. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BROKER_H
#define ATOLL_LLM_GATEWAY_BROKER_BROKER_H

#include "llm-gateway/config/config.h"
#include "llm-gateway/http/loop.h"
#include "llm-gateway/request/request.h"
#include "llm-gateway/server/metrics.h"

struct atoll_broker;

typedef void atoll_broker_done(void *context, const struct atoll_llm_outcome *outcome);

/* Opens the gateway's file, whose owner it is from then on, and reads the keys.  config, loop, metrics: borrowed. */
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
/* Once per turn of the loop, after each atoll_loop_run: one commit for all that happened, then what waits for it.  -1: nothing
 * was sent or answered; FULL: call it again, all is kept in memory; BUSY: another gateway owns the file. */
int atoll_broker_turn(struct atoll_broker *broker, struct atoll_err *err);

#endif
