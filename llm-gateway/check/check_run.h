/* check_run.h - what check.c and check_gateway.c share: a run of steps about one subject, and one HTTP exchange.
 * Layer: llm-gateway, private to check*.c. */
#ifndef ATOLL_LLM_GATEWAY_CHECK_CHECK_RUN_H
#define ATOLL_LLM_GATEWAY_CHECK_CHECK_RUN_H

#include "llm-gateway/check/check.h"

struct atoll_check_run {
    const struct atoll_check_settings *settings;
    atoll_check_sink *sink;
    void *context;
    unsigned failed;
    struct atoll_loop *loop;
    struct atoll_transfers *transfers;
    /* of the subject */
    const char *subject;
    const char *url; /* without a slash at the end */
    const struct atoll_transfer_site *site;
    struct atoll_secret *secret; /* key or token, which no report shows; borrowed, NULL none */
    double step_ns;              /* when the step began */
};

/* One exchange and what came of it. */
struct atoll_check_reply {
    struct atoll_transfer_end end;
    struct atoll_buffer body;
    struct atoll_reply_headers headers;
    int is_done;
};

int atoll_check_run_open(struct atoll_check_run *run, struct atoll_err *err);
void atoll_check_run_close(struct atoll_check_run *run);

/* A step begins; it is reported with the time since then. */
void atoll_check_begin(struct atoll_check_run *run);
void atoll_check_report(struct atoll_check_run *run, const char *name, const char *model,
                        enum atoll_check_result result, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* headers: NUL-separated lines, as atoll_provider_headers gives them.  ret_reply: its body is to be freed, always. */
void atoll_check_exchange(struct atoll_check_run *run, const char *path, const struct atoll_buffer *headers,
                          const struct atoll_buffer *body, struct atoll_check_reply *ret_reply);
/* From the first exchange: the steps "connect" and "tls"; 0: there was a reply. */
int atoll_check_connected(struct atoll_check_run *run, const struct atoll_check_reply *reply);

#endif
