/* gateway.h - a whole gateway: loop, broker, HTTP server and spool, until a signal.
 * Layer: llm-gateway.  Blocking; one thread. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_GATEWAY_H
#define ATOLL_LLM_GATEWAY_SERVER_GATEWAY_H

#include <signal.h>

#include "llm-gateway/config/config.h"

/* opened: called with the server's URL once it listens; may be NULL, and is not called without one.  stop: not 0 ends it in
 * order: nothing new is taken, calls in flight are given stop_s, then everything is settled. */
int atoll_gateway_run(const struct atoll_gateway_config *config,
                      void (*opened)(void *context, const char *url), void *context,
                      const volatile sig_atomic_t *stop, double stop_s, struct atoll_err *err);

#endif
