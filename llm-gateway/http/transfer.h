/* transfer.h - HTTP exchanges, many at once: the only user of libcurl.
 * Layer: llm-gateway.  Lifetime: create/destroy; a transfer lives from start until its done callback, which comes exactly
 * once, never inside start, also after cancel and at destroy. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_TRANSFER_H
#define ATOLL_LLM_GATEWAY_HTTP_TRANSFER_H

#include "llm-gateway/http/loop.h"
#include "llm-gateway/request/outcome.h"

struct atoll_transfers;

struct atoll_transfer_site {
    const char *proxy;       /* URL; NULL: as the environment says (HTTPS_PROXY, NO_PROXY); "": none */
    const char *ca_file;     /* PEM; NULL: the system's */
    const char *unix_socket; /* path, NULL: TCP */
    double connect_s;        /* default 10 */
    double silence_s;        /* without a byte after the request was sent; default 300; both end as NETWORK */
};

struct atoll_transfer_end {
    enum atoll_llm_status
        status; /* OK: the exchange ended as HTTP says, whatever its status; else NETWORK, TIMEOUT,
                                     CANCELLED, PROTOCOL (body too large, a redirect, stopped by on_data) */
    int http_status;
    char detail[256];
    double connected_s, first_byte_s, elapsed_s;
    int is_reused; /* connection */
    int is_sent;   /* bytes of the request went out: whatever came of it, the server may have worked on it */
};

struct atoll_transfer {
    const char *method; /* "POST" */
    const char *url;
    const char *const *headers; /* "Name: value", copied; those with keys are wiped after use */
    size_t header_count;
    const void *body; /* copied */
    size_t body_length;
    const struct atoll_transfer_site *site; /* copied; NULL: defaults */
    double deadline_ns;                     /* of the loop's clock; the transfer never outlives it */
    size_t body_limit_bytes;                /* of the reply; 0: 64 MiB */
    /* any may be NULL but on_done */
    void (*on_header)(void *context, const char *name,
                      const char *value); /* lower-case name; of the final status */
    int (*on_data)(void *context, int http_status, const void *bytes, size_t length); /* not 0: stop */
    void (*on_done)(void *context, const struct atoll_transfer_end *end);
    void *context;
};

/* A POST is never sent again by libcurl itself: what broke on a connection used before is NETWORK.  HTTP/2 is offered where
 * libcurl is 8.7 or newer.  SIGPIPE is ignored from the first create on, unless it has a handler.
 * Redirects are never followed, only http and https are spoken, cookies and .netrc never used; TLS is verified always.
 * connection_limit: open at once per host, 0 = 1024. */
struct atoll_transfers *atoll_transfers_create(struct atoll_loop *loop, unsigned connection_limit,
                                               struct atoll_err *err);
void atoll_transfers_destroy(struct atoll_transfers *transfers);
int atoll_transfers_start(struct atoll_transfers *transfers, const struct atoll_transfer *transfer,
                          uint64_t *ret_number, struct atoll_err *err);
/* Ends it as CANCELLED; its callback comes from the loop.  Unknown numbers: nothing. */
void atoll_transfers_cancel(struct atoll_transfers *transfers, uint64_t number);
unsigned atoll_transfers_count(const struct atoll_transfers *transfers); /* in flight */

#endif
