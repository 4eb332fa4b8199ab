/* broker_state.h - what the sources behind broker.h share.  Private to them.
 * Layer: llm-gateway.
 *
 *   waiter   one callback; it leaves its call at its own deadline or when it is cancelled
 *   call     one request, whoever waits for it; its states and events are a table in broker_step.c
 *   booking  one reservation of the ledger; it covers one try that may cost something
 *   try      one HTTP exchange
 *   lane     one endpoint: key, breaker, throttle, and the pools of calls that wait for it
 *   pool     one model of an endpoint: its buckets, and a heap of waiting calls by arrival
 *
 * Nothing calls a waiter back but atoll_broker_turn (and destroy). */
#ifndef ATOLL_LLM_GATEWAY_BROKER_BROKER_STATE_H
#define ATOLL_LLM_GATEWAY_BROKER_BROKER_STATE_H

#include "base/random.h"
#include "llm-gateway/config/config.h"
#include "llm-gateway/http/transfer.h"
#include "llm-gateway/provider/provider.h"
#include "llm-gateway/broker/breaker.h"
#include "llm-gateway/broker/broker.h"
#include "llm-gateway/broker/bucket.h"
#include "llm-gateway/broker/throttle.h"

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
    struct atoll_id request;          /* of the call */
    enum atoll_llm_status left_as;    /* CANCELLED or TIMEOUT, once it left */
    struct atoll_waiter *next;        /* of its call, or of those that left */
    struct atoll_waiter *next_in_row; /* of the index */
};

struct atoll_booking {
    int is_held;
    uint64_t number; /* 0: there is no ledger */
    unsigned model;  /* of the configuration */
    atoll_nanousd money;
    uint64_t tokens;
};

struct atoll_try {
    struct atoll_broker *broker;
    struct atoll_call *call; /* NULL: it is being stopped, nobody wants what it says */
    struct atoll_booking booking;
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
    ATOLL_CALL_STARVED,  /* other holders of the ledger may give something back */
    ATOLL_CALL_RESERVED, /* its booking is not committed yet; then it is queued */
    ATOLL_CALL_PLACED, /* it has a place at its endpoint, its booking is not committed yet; then it is sent */
    ATOLL_CALL_PAUSED, /* backoff */
    ATOLL_CALL_QUEUED, /* in the heap of a pool */
    ATOLL_CALL_SENT,
    ATOLL_CALL_ENDED, /* waits for the commit, then for its callbacks */
    ATOLL_CALL_STATE_COUNT
};

enum atoll_call_event {
    ATOLL_CALL_FED,       /* the ledger may have something now */
    ATOLL_CALL_COMMITTED, /* the booking is */
    ATOLL_CALL_RESUMED,   /* the backoff is over */
    ATOLL_CALL_ADMITTED,  /* its turn in the queue */
    ATOLL_CALL_ANSWERED,  /* call->outcome says how the last try ended */
    ATOLL_CALL_ABANDONED, /* nobody waits any more; call->abandoned_as says why */
    ATOLL_CALL_EVENT_COUNT
};

struct atoll_call_list {
    struct atoll_call *first, *last;
};

struct atoll_call {
    struct atoll_broker *broker;
    enum atoll_call_state state;
    struct atoll_llm_request request; /* its texts lie behind the call */
    struct atoll_id id;
    uint64_t arrival; /* calls that wait are served in this order */
    struct atoll_waiter *waiters;
    /* ---- which model ---- */
    unsigned model;
    /* ---- money ---- */
    struct atoll_booking booking; /* for the next try */
    atoll_nanousd spent;          /* by the tries that are settled */
    /* ---- tries ---- */
    struct atoll_try *attempt; /* in flight */
    struct atoll_llm_outcome outcome;
    enum atoll_llm_status abandoned_as;
    uint32_t try_count;
    int64_t started_unix_ns;
    double started_ns;
    struct atoll_reply_headers headers; /* of the last try */
    uint64_t last_reservation;          /* that covered it */
    double arrived_ns;
    uint64_t timer; /* of a pause */
    /* ---- where it stands ---- */
    size_t place;                 /* in the heap of its pool */
    struct atoll_call_list *list; /* NULL: in none */
    struct atoll_call *next, *previous;
    struct atoll_call *next_of_id, *next_of_key;
    int is_indexed;
    int is_unkept; /* ended, and its exchange found no room in the store */
};

struct atoll_pool {
    struct atoll_bucket requests, tokens; /* learned */
    struct atoll_call **heap;
    size_t count, capacity;
    double blocked_ns; /* the head is not admitted before */
};

struct atoll_lane {
    struct atoll_broker *broker;
    const struct atoll_endpoint *endpoint;
    struct atoll_secret *key; /* NULL: none */
    struct atoll_breaker breaker;
    struct atoll_throttle throttle;
    struct atoll_bucket requests, tokens; /* configured */
    uint64_t timer;
    double timer_ns;
    int is_pumping;
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
    struct atoll_spending *spending; /* NULL: no ledger */
    struct atoll_store *store;       /* NULL: live */
    struct atoll_syncer *syncer;     /* NULL: there is nothing to sync */
    struct atoll_lane *lanes;        /* one per endpoint */
    struct atoll_pool *pools;        /* one per model; models that are one at the provider share theirs */
    unsigned *pool_of;               /* by model */
    struct atoll_broker_index index;
    struct atoll_call_list starved, reserved, ended;
    struct atoll_waiter *left, **left_end; /* in the order they left */
    unsigned waiter_count, call_count;
    size_t received_bytes; /* of all tries in flight */
    uint64_t next_number, next_arrival;
    uint64_t wake_timer, feed_timer;
    double feed_ns;
    uint64_t sync_timer;
    double sync_begun_ns;
    int is_sync_due;
    int is_crowded; /* an exchange found no room among those that wait for the disk: the next commit syncs */
    int is_turning, is_closing, is_ending; /* closing: nothing new comes in; ending: nothing goes out */
    struct atoll_buffer body, headers;     /* of the try being sent */
};

/* ---- broker_index.c ---- */
int atoll_broker_index_init(struct atoll_broker_index *index, unsigned limit, struct atoll_err *err);
void atoll_broker_index_fini(struct atoll_broker_index *index);
void atoll_broker_index_add_waiter(struct atoll_broker_index *index, struct atoll_waiter *waiter);
void atoll_broker_index_remove_waiter(struct atoll_broker_index *index, const struct atoll_waiter *waiter);
struct atoll_waiter *atoll_broker_index_waiter(const struct atoll_broker_index *index, uint64_t number);
void atoll_broker_index_add_call(struct atoll_broker_index *index, struct atoll_call *call);
void atoll_broker_index_remove_call(struct atoll_broker_index *index, struct atoll_call *call);
/* A call of the same key, or, where by_id says so, of the same id. */
struct atoll_call *atoll_broker_index_call(const struct atoll_broker_index *index, const char *key,
                                           const struct atoll_id *id, int by_id);

/* ---- broker_waiter.c ---- */
/* Takes a place at the call until deadline_ns. */
struct atoll_waiter *atoll_waiter_create(struct atoll_call *call, double deadline_ns, atoll_broker_done *done,
                                         void *context, struct atoll_err *err);
/* Leaves its call, which ends when it was the last one. */
void atoll_waiter_leave(struct atoll_waiter *waiter, enum atoll_llm_status why);
/* Calls back those that left, and those of a call that is over; they are freed. */
void atoll_waiters_answer_left(struct atoll_broker *broker);
void atoll_waiters_answer(struct atoll_call *call);

/* ---- broker_call.c: one call as a value ---- */
struct atoll_call *atoll_call_create(struct atoll_broker *broker, const struct atoll_llm_request *request,
                                     const struct atoll_id *id, struct atoll_err *err);
void atoll_call_destroy(struct atoll_call *call);
/* Its exchange into the store, kept by the next commit.  1: it found no room and waits for that commit, or it has to
 * be committed; 0: nothing is left to wait for. */
int atoll_call_keep(struct atoll_call *call);
/* The latest deadline of those who wait. */
double atoll_call_deadline_ns(const struct atoll_call *call);
void atoll_call_list_append(struct atoll_call_list *list, struct atoll_call *call);
void atoll_call_list_leave(struct atoll_call *call); /* whichever it is in */

/* ---- broker_step.c: the table of its states ---- */
/* The first step, once somebody waits for it: look into the store, else reserve. */
void atoll_call_start(struct atoll_call *call);
/* One step of the table; an event that a state does not know is reported. */
void atoll_call_tell(struct atoll_call *call, enum atoll_call_event event);
/* Something was settled: calls that starve may have it. */
void atoll_broker_feed(struct atoll_broker *broker);

/* ---- broker_booking.c ---- */
uint64_t atoll_booking_output_limit(const struct atoll_broker *broker,
                                    const struct atoll_llm_request *request, unsigned model);
/* 0: held, good after the next commit; -1 as atoll_spending_reserve says. */
int atoll_booking_reserve(struct atoll_call *call, struct atoll_booking *booking, struct atoll_err *err);
/* What a try cost, from what its reply said; fills usage and returns the money. */
atoll_nanousd atoll_booking_cost(const struct atoll_call *call, const struct atoll_booking *booking,
                                 int may_be_billed, struct atoll_llm_outcome *outcome);
/* Books it, ends the booking, adds to what the call spent. */
void atoll_booking_settle(struct atoll_call *call, struct atoll_booking *booking, atoll_nanousd money,
                          uint64_t tokens);
/* Nothing came of it: it costs nothing; or everything, where nobody can know. */
void atoll_booking_drop(struct atoll_call *call, struct atoll_booking *booking);
void atoll_booking_lose(struct atoll_call *call, struct atoll_booking *booking);
/* Exchanges that were stored and not settled when the last life ended. */
int atoll_bookings_recover(struct atoll_broker *broker, struct atoll_err *err);

/* ---- broker_queue.c ---- */
int atoll_queue_push(struct atoll_call *call, struct atoll_err *err);
void atoll_queue_remove(struct atoll_call *call);
/* Sends what may go now, oldest first, and sets the lane's alarm for the rest. */
void atoll_lane_pump(struct atoll_lane *lane);
struct atoll_lane *atoll_lane_of(const struct atoll_broker *broker, unsigned model);
struct atoll_pool *atoll_pool_of(const struct atoll_broker *broker, unsigned model);
/* How one that was admitted ended: gives back what was not used. */
void atoll_lane_note(struct atoll_lane *lane, struct atoll_pool *pool, enum atoll_llm_status status,
                     double sent_ns, double tokens_not_used);

/* ---- broker_send.c ---- */
/* Counts one more exchange, and the time of the first. */
void atoll_call_count_try(struct atoll_call *call);
double atoll_try_token_estimate(const struct atoll_call *call, unsigned model);
/* An admitted call's try; -1: nothing was sent and nothing is owed, err says why. */
int atoll_try_send(struct atoll_call *call, struct atoll_err *err);
/* Nobody waits for it any more.  It counts as billed: what outcome's usage says, or without one at its worst. */
void atoll_try_stop(struct atoll_try *it, enum atoll_llm_status why, struct atoll_llm_outcome *outcome);
/* A server that echoes what it was sent must not bring the lane's key into stores, logs and archives. */
void atoll_lane_scrub(const struct atoll_lane *lane, struct atoll_llm_outcome *outcome);
/* What came of the reply so far, as an outcome. */
void atoll_try_read(struct atoll_try *it, int is_whole, struct atoll_llm_outcome *outcome);

/* ---- broker_commit.c ---- */
int atoll_broker_open_syncer(struct atoll_broker *broker, struct atoll_err *err);
void atoll_broker_close_syncer(struct atoll_broker *broker);
/* Everything since the last one is written, and will be synced soon.  FULL: it may be repeated. */
int atoll_broker_commit(struct atoll_broker *broker, struct atoll_err *err);
/* Everything is durable. */
int atoll_broker_sync(struct atoll_broker *broker, struct atoll_err *err);

/* ---- broker_open.c ---- */
int atoll_broker_open(struct atoll_broker *broker, struct atoll_err *err);
void atoll_broker_close(struct atoll_broker *broker);
int64_t atoll_broker_unix_ns(void);

/* ---- broker.c ---- */
/* Makes the loop come back at once, for a turn. */
void atoll_broker_wake(struct atoll_broker *broker);

#endif
