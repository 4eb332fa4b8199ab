/* breaker.h - circuit breaker of one endpoint: after failures in a row nothing is sent for a while, then one probe.
 * Layer: llm-gateway, pure (state, event, time) machine.  Plain value. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BREAKER_H
#define ATOLL_LLM_GATEWAY_BROKER_BREAKER_H

#include "llm-gateway/request/outcome.h"

enum atoll_breaker_state { ATOLL_BREAKER_CLOSED, ATOLL_BREAKER_OPEN, ATOLL_BREAKER_PROBING };

struct atoll_breaker {
    enum atoll_breaker_state state;
    unsigned failures; /* in a row */
    unsigned limit;    /* opens at so many; default 5 */
    double open_s;     /* how long, doubles with each failed probe up to longest_s; defaults 5 and 120 */
    double first_s, longest_s, until_ns;
};
void atoll_breaker_init(struct atoll_breaker *breaker);
/* May a call go out now?  1 yes (PROBING: this one is the probe), 0: not before ret_when_ns. */
int atoll_breaker_admit(struct atoll_breaker *breaker, double now_ns, double *ret_when_ns);
/* NETWORK, OVERLOADED, TIMEOUT, STREAM count as failures of the endpoint; RATE, QUOTA, DENIED and answers do not; CANCELLED
 * gives a probe back. */
void atoll_breaker_note(struct atoll_breaker *breaker, enum atoll_llm_status status, double now_ns);

#endif
