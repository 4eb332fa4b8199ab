/* spool_service.h - the spool's requests, carried to the broker, and its outcomes, carried back.
 * Layer: llm-gateway.  Lifetime: create/destroy, destroyed after its broker.  On the loop's thread. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_SERVICE_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_SERVICE_H

#include "llm-gateway/broker/broker.h"

struct atoll_spool_service;

/* Looks into config->spool every 50 ms while something is under way there, else every 500 ms.  BUSY: another gateway serves
 * it. */
struct atoll_spool_service *atoll_spool_service_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                       const struct atoll_gateway_config *config,
                                                       struct atoll_err *err);
/* -1 and BUSY once another gateway has the spool: this one must end. */
int atoll_spool_service_state(const struct atoll_spool_service *service, struct atoll_err *err);
/* Takes nothing new. */
void atoll_spool_service_stop(struct atoll_spool_service *service);
/* What is not answered yet stays in the spool for whoever comes next. */
void atoll_spool_service_destroy(struct atoll_spool_service *service);

#endif
