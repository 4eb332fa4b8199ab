/* spool_desk.h - the spool's requests, carried to the broker, and its outcomes, carried back.
 * Layer: llm-gateway.  Lifetime: create/destroy, destroyed after its broker.  On the loop's thread. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_DESK_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_DESK_H

#include "llm-gateway/broker/broker.h"

struct atoll_spool_desk;

/* Looks into config->spool every 50 ms while something is under way there, else every 500 ms. */
struct atoll_spool_desk *atoll_spool_desk_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                 const struct atoll_gateway_config *config,
                                                 struct atoll_err *err);
/* Takes nothing new. */
void atoll_spool_desk_stop(struct atoll_spool_desk *desk);
/* What is not answered yet stays in the spool for whoever comes next. */
void atoll_spool_desk_destroy(struct atoll_spool_desk *desk);

#endif
