/* endpoint_limits.h - what keeps calls from an endpoint: its breaker, its buckets, its throttle.
 * Layer: llm-gateway, pure (state, event, time) machines.  Plain values. */
#ifndef ATOLL_LLM_GATEWAY_BROKER_ENDPOINT_LIMITS_H
#define ATOLL_LLM_GATEWAY_BROKER_ENDPOINT_LIMITS_H

#include "llm-gateway/request/outcome.h"

/* ---- circuit breaker: after failures in a row nothing is sent for a while, then one probe ---- */

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

/* ---- token bucket: requests or tokens per minute of one endpoint and model, learned from headers ---- */

struct atoll_bucket {
    double per_minute; /* how fast it fills; 0: no limit is known */
    double size;       /* most it holds */
    double level, filled_ns;
    double configured; /* per minute; 0: what there is was learned */
};
void atoll_bucket_init(struct atoll_bucket *bucket, double per_minute, double now_ns);
/* 1: amount is taken; 0: not before ret_when_ns.  An amount above the bucket's size is admitted when it is full. */
int atoll_bucket_take(struct atoll_bucket *bucket, double amount, double now_ns, double *ret_when_ns);
/* What was taken in excess comes back (estimated - used), or more is taken (negative). */
void atoll_bucket_return(struct atoll_bucket *bucket, double amount);
/* From a reply's headers; NaN where unsaid, and what is not above 0 is as unsaid (some servers send -1).  limit is the size;
 * it fills by limit a minute, or, once 5 % of it are missing, by what comes back until reset_s: so a limit per day, per hour
 * or per second is met as well.  The level only falls: what is in flight the server may not have counted.  A configured limit
 * is never raised, only lowered. */
void atoll_bucket_learn(struct atoll_bucket *bucket, double limit, double left, double reset_s,
                        double now_ns);

/* ---- throttle: how many calls may be in flight, by additive increase and multiplicative decrease ----
 * Increase by one a round trip and decrease to a half: Chiu and Jain 1989, "Analysis of the increase and decrease
 * algorithms for congestion avoidance in computer networks"; the increase only while the window is used: RFC 7661; the
 * decrease at most once a round trip: RFC 6675, section 5.
 * Unlike TCP, which takes each loss for a full queue, one rejection lowers nothing: endpoints err at random, too, and a window
 * that gains 1 / w an answer and loses w / 2 at each of a share p of errors ends near sqrt(2 / p), whatever the endpoint can
 * do (Mathis, Semke, Mahdavi and Ott 1997, "The macroscopic behavior of the TCP congestion avoidance algorithm").
 * Answers are counted in epochs of as many as were in flight, at least 20; the window is lowered as soon as an epoch holds
 * more rejections than a tenth of its answers and two standard deviations of such a binomial count: the 5th of 20, the 29th of
 * 200, the 65th of 512.  Tenth, deviations and 20 are our choice: 6 errors in 100 answers, at random, lower a window of 20
 * once in 178 epochs and one of 200 once in 96,000.  Where p of all answers fail at random a window with the ceiling 512 is
 * on average 512 for p up to 8 %, 87 for 10 %, 28 for 12 %, 9 for 20 %. */

struct atoll_throttle {
    double window;         /* now */
    double floor, ceiling; /* 1 and what the configuration says */
    double lowered_ns;
    unsigned in_flight;
    unsigned most_in_flight, answers, rejections; /* of this epoch */
};
void atoll_throttle_init(struct atoll_throttle *throttle, unsigned start, unsigned ceiling);
int atoll_throttle_admit(struct atoll_throttle *throttle); /* 1: it counts as in flight */
/* started_ns: of the call that ended so.  RATE, OVERLOADED and TIMEOUT are rejections; OK, TRUNCATED, EMPTY and REFUSED are
 * the other answers; the rest says nothing about load, nor does what was sent before the window was lowered. */
void atoll_throttle_note(struct atoll_throttle *throttle, enum atoll_llm_status status, double started_ns,
                         double now_ns);

#endif
