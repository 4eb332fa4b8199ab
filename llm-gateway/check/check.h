/* check.h - what stands between here and a model's answer, step by step: for `atoll gateway check`, also from inside a job.
 * Layer: llm-gateway.  Blocking, with a loop of its own; each step has a deadline.  A step that failed skips those that
 * need it, and says why.
 *
 * Of an endpoint:  key, connect, tls, token, models, call (and tools, where a model refuses them), limits
 * Of the roles:    role, one for each that gateway.yaml names
 * Of a gateway:    connect, tls, token, models, call
 * Of a spool:      folder, call
 * Of a recording:  recording */
#ifndef ATOLL_LLM_GATEWAY_CHECK_CHECK_H
#define ATOLL_LLM_GATEWAY_CHECK_CHECK_H

#include "llm-gateway/config/offer.h"

enum atoll_check_result { ATOLL_CHECK_OK, ATOLL_CHECK_FAILED, ATOLL_CHECK_SKIPPED, ATOLL_CHECK_RESULT_COUNT };
const char *atoll_check_result_name(enum atoll_check_result result); /* "ok" "failed" "skipped" */

struct atoll_check_step {
    const char
        *subject;      /* the endpoint's name, or what the client calls the gateway; borrowed for the call */
    const char *name;  /* "connect" ... */
    const char *model; /* the configuration's or the client's name of it; "" where the step is of none */
    enum atoll_check_result result;
    double elapsed_s;
    char text[512]; /* one line: what was found, or what is wrong and the remedy */
};
typedef void atoll_check_sink(void *context, const struct atoll_check_step *step);

struct atoll_check_settings {
    double deadline_s; /* of each step, default 30 */
    int has_no_call; /* 1: nothing that costs money; the calls here ask for a token or few, and are not booked */
};
void atoll_check_defaults(struct atoll_check_settings *settings);

/* Every endpoint of a configuration.  Failed steps are counted, they are no error.  -1: it could not begin (MEMORY ...). */
int atoll_check_endpoints(const struct atoll_gateway_config *config,
                          const struct atoll_check_settings *settings, atoll_check_sink *sink, void *context,
                          unsigned *ret_failed, struct atoll_err *err);
/* What a gateway offers, asked for as a client, within deadline_s.  Errors: NOTFOUND, a recording, a spool that nobody offers anything
 * in, or nobody answers; PROTOCOL; DENIED (the token) ... */
int atoll_check_offer(const char *where, const char *token_file, double deadline_s,
                      struct atoll_offer *ret_offer, struct atoll_err *err);
/* A gateway as a client sees it: where and token_file as of client.h.  model: NULL or "": no call. */
int atoll_check_gateway(const char *where, const char *token_file, const char *model,
                        const struct atoll_check_settings *settings, atoll_check_sink *sink, void *context,
                        unsigned *ret_failed, struct atoll_err *err);

#endif
