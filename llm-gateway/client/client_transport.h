/* client_transport.h - how a client's calls travel: one table of functions per form of address.
 * Layer: llm-gateway, private.  Transports never call the caller's functions: they conclude calls, and client.c delivers them. */
#ifndef ATOLL_LLM_GATEWAY_CLIENT_CLIENT_TRANSPORT_H
#define ATOLL_LLM_GATEWAY_CLIENT_CLIENT_TRANSPORT_H

#include "llm-gateway/client/client.h"
#include "llm-gateway/http/retry.h"
#include "llm-gateway/spool/spool.h"

struct atoll_client_clock {
    double (*now_ns)(void *context); /* monotonic */
    void *context;
};

struct atoll_client_call {
    uint64_t number;
    atoll_client_done *done;
    void *context;
    double deadline_ns;
    struct atoll_id id; /* of the request */
    enum atoll_llm_operation operation;
    int may_call;                     /* tools */
    struct atoll_buffer body;         /* the request's JSON */
    int is_concluded;                 /* its outcome is filled; client.c delivers it */
    struct atoll_llm_outcome outcome; /* once it is concluded; until then its detail is the last trouble */
    /* ---- the transport's ---- */
    void *transport;
    unsigned tries;
    uint64_t transfer, timer;           /* http: 0 none */
    void *flight;                       /* http: NULL none */
    struct atoll_buffer reply;          /* http */
    struct atoll_reply_headers headers; /* http */
    char name[ATOLL_SPOOL_NAME_BYTES];  /* spool */
    double look_ns, pause_ns;           /* spool: next look, and how long after it */
};

struct atoll_client_transport {
    const char *prefix; /* of the address */
    void *(*create)(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                    struct atoll_err *err);
    void (*destroy)(void *transport);
    /* The call stays where it is until it was concluded or stopped.  request: for this call alone. */
    int (*start)(void *transport, struct atoll_client_call *call, const struct atoll_llm_request *request,
                 struct atoll_err *err);
    void (*stop)(void *transport, struct atoll_client_call *call); /* nobody waits any more */
    int (*turn)(void *transport, struct atoll_client_call *const *calls, size_t count, struct atoll_err *err);
    void (*settle)(void *transport, const char *name); /* NULL: nothing to forget */
    int (*fd)(const void *transport);                  /* NULL: -1 */
    void (*arm)(void *transport,
                double next_ns); /* NULL; fd is readable then at the latest, of the clock's time */
};
extern const struct atoll_client_transport atoll_client_http, atoll_client_https, atoll_client_unix,
    atoll_client_spool;

/* create with another clock, for tests. */
struct atoll_client *atoll_client_create_at(const char *where, const char *token_file,
                                            const struct atoll_client_clock *clock, struct atoll_err *err);

#endif
