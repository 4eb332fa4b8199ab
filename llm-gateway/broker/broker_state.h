/* broker_state.h - what the sources behind broker.h share.  Private to them.
 * Layer: llm-gateway.
 *
 *   waiter       one callback; it leaves its call at its own deadline or when it is cancelled
 *   call         one request, whoever waits for it; its states and events are a table in broker_call.c
 *   reservation  money and tokens set aside in the budget; it covers one try that may cost something
 *   try          one HTTP exchange
 *   endpoint     one of the configuration: key, breaker, throttle, and the queues of calls that wait for it
 *   queue        one model of an endpoint: its buckets, and a heap of waiting calls by arrival
 *
 * broker.c (turns) tells calls what happened; broker_call.c (states) uses broker_send.c (tries and what they cost) and
 * broker_queue.c (who may go next), which tell nobody: they leave word in the lists of the broker, for its next turn. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BROKER_STATE_H
#define ATOLL_LLM_GATEWAY_BROKER_BROKER_STATE_H

#include "base/array.h"
#include "llm-gateway/broker/broker.h"
#include "llm-gateway/broker/endpoint_limits.h"
#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/exchange_store.h"
#include "llm-gateway/budget/spending.h"
#include "llm-gateway/http/secret.h"
#include "llm-gateway/http/transfer.h"
#include "llm-gateway/provider/provider.h"

#define ATOLL_NS_PER_S 1e9

struct atoll_call;

struct atoll_waiter {
    uint64_t number;
    struct atoll_call *call; /* NULL: it left */
    atoll_broker_done *done;
    void *context;
    double deadline_ns;
    uint64_t timer;
    struct atoll_broker *broker;
    struct atoll_id request;       /* of the call */
    enum atoll_llm_status left_as; /* CANCELLED or TIMEOUT, once it leaves or left */
    int is_leaving;                /* in the broker's list, for its next turn */
    struct atoll_waiter *next;     /* of its call, or of those that left */
    struct atoll_waiter *next_leaving;
    struct atoll_waiter *next_in_row; /* of the index */
};

struct atoll_reservation {
    int is_held;
    uint64_t number; /* 0: there is no budget */
    unsigned model;  /* of the configuration */
    atoll_nanousd money;
    uint64_t tokens;
};

struct atoll_try {
    struct atoll_broker *broker;
    struct atoll_call *call; /* NULL: it is being stopped, nobody wants what it says */
    struct atoll_reservation reservation;
    struct atoll_reply_reader *reader;
    struct atoll_reply_headers headers;
    uint64_t transfer;
    double sent_ns, first_byte_ns; /* of the loop's clock; 0: none came */
    double token_estimate;
    int http_status;
    int is_refused; /* the reader wanted no more */
    int is_crowded; /* all replies together hold too much */
    size_t received_bytes;
};

enum atoll_call_state {
    ATOLL_CALL_NEW,
    ATOLL_CALL_QUEUED,         /* for a place at its endpoint */
    ATOLL_CALL_RESERVED,       /* it has a place and a reservation, which is not committed yet */
    ATOLL_CALL_WAITING_BUDGET, /* for what calls in flight may give back */
    ATOLL_CALL_SENT,
    ATOLL_CALL_PAUSED, /* before another try */
    ATOLL_CALL_ENDED,  /* waits for the commit, then for its callbacks */
    ATOLL_CALL_STATE_COUNT
};

enum atoll_call_event {
    ATOLL_CALL_NOTHING,
    ATOLL_CALL_ASKED,            /* a model has to be asked */
    ATOLL_CALL_KNOWN,            /* the store has the answer, or holds none and nobody may be asked */
    ATOLL_CALL_ADMITTED,         /* it has a place at its endpoint */
    ATOLL_CALL_BUDGET_MISSING,   /* for now */
    ATOLL_CALL_BUDGET_AVAILABLE, /* it has a reservation */
    ATOLL_CALL_COMMITTED,        /* the reservation is */
    ATOLL_CALL_WORTH_RETRY,      /* its try is over, and another one is worth it */
    ATOLL_CALL_RESUMED,          /* its pause is over */
    ATOLL_CALL_FINISHED,         /* call->outcome says how */
    ATOLL_CALL_ABANDONED,        /* nobody waits any more; call->abandoned_as says why */
    ATOLL_CALL_EVENT_COUNT
};

struct atoll_call_list {
    struct atoll_call *first, *last;
};

struct atoll_call {
    struct atoll_broker *broker;
    enum atoll_call_state state, before; /* before: the last event */
    struct atoll_llm_request request;    /* its texts lie behind the call, but for: */
    struct atoll_arena *states; /* what providers want back, found again in the store; NULL nothing */
    struct atoll_id id;
    uint64_t arrival; /* calls that wait are served in this order */
    unsigned model;
    struct atoll_provider_model traits; /* of the model, with what the request's role says */
    double token_estimate;              /* of a try */
    struct atoll_waiter *waiters;
    /* ---- money ---- */
    struct atoll_reservation reservation; /* for the next try */
    atoll_nanousd spent;                  /* by the tries that are settled */
    uint64_t last_reservation;            /* that covered a try */
    /* ---- tries ---- */
    struct atoll_try *attempt; /* in flight */
    struct atoll_llm_outcome outcome;
    enum atoll_llm_status abandoned_as;
    uint32_t try_count;
    int64_t started_unix_ns;
    double started_ns;
    struct atoll_reply_headers headers; /* of the last try */
    uint64_t timer;                     /* of a pause */
    double wait_s;                      /* before another try */
    /* ---- where it stands ---- */
    size_t place;                 /* in the heap of its queue */
    struct atoll_call_list *list; /* NULL: in none */
    struct atoll_call *next, *previous;
    struct atoll_call *next_of_id, *next_of_key;
    int is_indexed;
    int is_kept; /* ended, and its exchange is committed or needs none */
};

struct atoll_queue {
    struct atoll_bucket requests, tokens; /* learned */
    struct atoll_call **heap;
    uint32_t count, capacity;
    double blocked_ns; /* the head is not admitted before */
};

struct atoll_broker_endpoint {
    struct atoll_broker *broker;
    const struct atoll_endpoint *config;
    struct atoll_secret *key; /* NULL: none */
    struct atoll_breaker breaker;
    struct atoll_throttle throttle;
    struct atoll_bucket requests, tokens; /* configured */
    uint64_t timer;
    double timer_ns;
    int is_due; /* something changed that may let calls go */
};

struct atoll_broker_index {
    size_t row_count; /* a power of two */
    struct atoll_waiter **by_number;
    struct atoll_call **by_id, **by_key;
};

struct atoll_broker {
    struct atoll_loop *loop;
    const struct atoll_gateway_config *config;
    struct atoll_metrics *metrics; /* NULL: none */
    struct atoll_transfers *transfers;
    struct atoll_database *database; /* NULL: nothing is kept */
    struct atoll_spending *spending; /* NULL: nothing is counted */
    struct atoll_store *store;       /* NULL: no exchanges are kept */
    struct atoll_broker_endpoint *endpoints;
    struct atoll_queue *queues; /* one per model; models that are one at the provider share theirs */
    unsigned *queue_of;         /* by model */
    struct atoll_broker_index index;
    /* finished: tries that are over; resumed: pauses that are; reserved: wait for the commit */
    struct atoll_call_list finished, resumed, waiting_budget, reserved, ended;
    struct atoll_waiter *leaving, *left, **left_end; /* left: in that order */
    unsigned waiter_count, call_count;
    size_t received_bytes; /* of all tries in flight */
    uint64_t next_number, next_arrival;
    uint64_t wake_timer, summary_timer, pace_timer;
    double commit_due_ns;    /* of the machine's clock: none before */
    struct atoll_err failed; /* of the last commit; not tried again before retry_ns */
    double retry_ns;
    int is_budget_freed; /* something was settled since calls that wait for it were looked at */
    int is_summary_due;
    int is_turning, is_closing, is_ending; /* closing: nothing new comes in; ending: nothing goes out */
    struct atoll_buffer body, headers;     /* of the try being sent */
};

/* ---- broker_call.c ---- */
struct atoll_call *atoll_call_create(struct atoll_broker *broker, const struct atoll_llm_request *request,
                                     const struct atoll_id *id, struct atoll_err *err);
void atoll_call_destroy(struct atoll_call *call);
/* The first step, once somebody waits for it. */
void atoll_call_start(struct atoll_call *call);
/* One event, and those that follow from it at once; one that its state does not know is logged. */
void atoll_call_step(struct atoll_call *call, enum atoll_call_event event);
/* What comes of a try that is over: WORTH_RETRY or FINISHED. */
enum atoll_call_event atoll_call_judge(struct atoll_call *call);
/* BUDGET_AVAILABLE, or BUDGET_MISSING where it has to go on waiting, or FINISHED: it will never get it. */
enum atoll_call_event atoll_call_reserve(struct atoll_call *call);
/* The latest deadline of those who wait. */
double atoll_call_deadline_ns(const struct atoll_call *call);

/* ---- broker_queue.c ---- */
void atoll_call_list_append(struct atoll_call_list *list, struct atoll_call *call);
void atoll_call_list_leave(struct atoll_call *call); /* whichever it is in */
/* Makes the loop come back at once, for a turn. */
void atoll_broker_wake(struct atoll_broker *broker);
struct atoll_broker_endpoint *atoll_broker_endpoint_of(const struct atoll_broker *broker, unsigned model);
struct atoll_queue *atoll_queue_of(const struct atoll_broker *broker, unsigned model);
int atoll_queue_push(struct atoll_call *call, struct atoll_err *err);
void atoll_queue_remove(struct atoll_call *call);
/* The call that may go now, out of its queue, with a place, a request and its tokens taken: of those that may go the one that
 * came first.  NULL: none; a timer is set for the next one that only time keeps. */
struct atoll_call *atoll_broker_endpoint_next(struct atoll_broker_endpoint *endpoint);
/* How one that was admitted ended: gives back what was not used. */
void atoll_broker_endpoint_note(struct atoll_broker_endpoint *endpoint, struct atoll_queue *queue,
                                enum atoll_llm_status status, double sent_ns, double tokens_not_used);

/* ---- broker_send.c ---- */
/* Of one try, for rate limits: input, and all of the output limit. */
double atoll_call_token_estimate(const struct atoll_call *call);
/* 0: call->reservation covers the next try, and may be used after the next commit; -1 as atoll_spending_reserve says. */
int atoll_reservation_make(struct atoll_call *call, struct atoll_err *err);
/* Nothing came of it: it costs nothing. */
void atoll_reservation_drop(struct atoll_call *call);
/* An admitted call's try; -1: nothing was sent and nothing is owed, err says why. */
int atoll_try_send(struct atoll_call *call, double deadline_ns, struct atoll_err *err);
/* Nobody waits for it any more.  What came of the reply so far is the call's outcome; it counts as billed: what its usage
 * says, or without one at its worst. */
void atoll_try_stop(struct atoll_try *it, enum atoll_llm_status why);

#endif
