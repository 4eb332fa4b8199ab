/* endpoint_limits.c
 *
 * Breaker: CLOSED -failures-> OPEN -time-> PROBING -answer-> CLOSED, or -failure-> OPEN for twice as long.  A call that was sent
 * before the breaker opened may still end while it is open: its answer closes it, its failure says nothing new.
 * Bucket: the level is brought up to date whenever it is looked at; it may fall below zero, by calls that were larger than the
 * bucket or than their estimate.
 * Throttle: a window that grows by one a round trip while it is used, and halves when the endpoint groans often. */
#include "llm-gateway/broker/endpoint_limits.h"

#include <math.h>

#define NS_PER_S        1e9
#define NS_PER_MINUTE   60e9
#define DEFICIT_RATIO   0.05 /* less is too little to tell a rate from: resets are rounded, some to seconds */
#define MINUTES_PER_DAY 1440.0 /* the longest window there is */
#define SHORTEST_EPOCH  20.0
#define TOLERATED       0.1 /* of an epoch's answers */
#define DEVIATIONS      2.0

/* What an outcome says of its endpoint: whether it spoke at all, whatever it said, and whether it can do more. */
enum life { SILENT, ALIVE, FAILED };
enum load { NO_LOAD, SERVED, REJECTED };
static const struct {
    enum life life;
    enum load load;
} meanings[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = {ALIVE, SERVED},         [ATOLL_LLM_TRUNCATED] = {ALIVE, SERVED},
    [ATOLL_LLM_EMPTY] = {ALIVE, SERVED},      [ATOLL_LLM_REFUSED] = {ALIVE, SERVED},
    [ATOLL_LLM_INVALID] = {ALIVE, NO_LOAD},   [ATOLL_LLM_DENIED] = {ALIVE, NO_LOAD},
    [ATOLL_LLM_NOTFOUND] = {ALIVE, NO_LOAD},  [ATOLL_LLM_TOO_LARGE] = {ALIVE, NO_LOAD},
    [ATOLL_LLM_QUOTA] = {ALIVE, NO_LOAD},     [ATOLL_LLM_RATE] = {ALIVE, REJECTED},
    [ATOLL_LLM_PROTOCOL] = {ALIVE, NO_LOAD},  [ATOLL_LLM_OVERLOADED] = {FAILED, REJECTED},
    [ATOLL_LLM_STREAM] = {FAILED, NO_LOAD},   [ATOLL_LLM_NETWORK] = {FAILED, NO_LOAD},
    [ATOLL_LLM_TIMEOUT] = {FAILED, REJECTED}, [ATOLL_LLM_CANCELLED] = {SILENT, NO_LOAD},
    [ATOLL_LLM_BUDGET] = {SILENT, NO_LOAD},   [ATOLL_LLM_MISS] = {SILENT, NO_LOAD},
    [ATOLL_LLM_UNKNOWN] = {SILENT, NO_LOAD},  [ATOLL_LLM_TOOL_CALLS] = {ALIVE, SERVED},
};

/* ---- breaker ---- */

void atoll_breaker_init(struct atoll_breaker *breaker)
{
    *breaker = (struct atoll_breaker){
        .state = ATOLL_BREAKER_CLOSED, .limit = 5, .open_s = 5.0, .first_s = 5.0, .longest_s = 120.0};
}

int atoll_breaker_admit(struct atoll_breaker *breaker, double now_ns, double *ret_when_ns)
{
    if (breaker->state == ATOLL_BREAKER_CLOSED)
        return 1;
    if (now_ns >= breaker->until_ns) {
        breaker->state = ATOLL_BREAKER_PROBING;
        breaker->until_ns =
            now_ns + breaker->longest_s * NS_PER_S; /* a probe of which nobody hears is lost */
        return 1;
    }
    if (breaker->state == ATOLL_BREAKER_PROBING) /* it may end at any moment: look again soon */
        *ret_when_ns = fmin(breaker->until_ns, now_ns + breaker->first_s * NS_PER_S);
    else
        *ret_when_ns = breaker->until_ns;
    return 0;
}

static void open_for(struct atoll_breaker *breaker, double open_s, double now_ns)
{
    breaker->state = ATOLL_BREAKER_OPEN;
    breaker->open_s = fmin(open_s, breaker->longest_s);
    breaker->until_ns = now_ns + breaker->open_s * NS_PER_S;
}

static void fail(struct atoll_breaker *breaker, double now_ns)
{
    switch (breaker->state) {
    case ATOLL_BREAKER_CLOSED:
        if (++breaker->failures >= breaker->limit)
            open_for(breaker, breaker->first_s, now_ns);
        break;
    case ATOLL_BREAKER_PROBING: open_for(breaker, 2.0 * breaker->open_s, now_ns); break;
    case ATOLL_BREAKER_OPEN: break;
    }
}

void atoll_breaker_note(struct atoll_breaker *breaker, enum atoll_llm_status status, double now_ns)
{
    enum life life = status < ATOLL_LLM_STATUS_COUNT ? meanings[status].life : SILENT;
    if (life == FAILED) {
        fail(breaker, now_ns);
    } else if (life == ALIVE) {
        breaker->state = ATOLL_BREAKER_CLOSED;
        breaker->failures = 0;
        breaker->open_s = breaker->first_s;
    } else if (breaker->state ==
               ATOLL_BREAKER_PROBING) { /* the probe is given back: another may go at once */
        breaker->state = ATOLL_BREAKER_OPEN;
        breaker->until_ns = now_ns;
    }
}

/* ---- bucket ---- */

void atoll_bucket_init(struct atoll_bucket *bucket, double per_minute, double now_ns)
{
    double rate = per_minute > 0.0 ? per_minute : 0.0;
    *bucket = (struct atoll_bucket){
        .per_minute = rate, .size = rate, .level = rate, .filled_ns = now_ns, .configured = rate};
}

static void fill(struct atoll_bucket *bucket, double now_ns)
{
    if (now_ns <= bucket->filled_ns)
        return;
    double came = (now_ns - bucket->filled_ns) / NS_PER_MINUTE * bucket->per_minute;
    bucket->level = fmin(bucket->size, bucket->level + came);
    bucket->filled_ns = now_ns;
}

int atoll_bucket_take(struct atoll_bucket *bucket, double amount, double now_ns, double *ret_when_ns)
{
    if (bucket->per_minute <= 0.0)
        return 1;
    fill(bucket, now_ns);
    double missing = fmin(amount, bucket->size) - bucket->level;
    /* What a rounded waiting time leaves open must not make another wait. */
    if (missing > 1e-6 * bucket->size) {
        *ret_when_ns = now_ns + missing / bucket->per_minute * NS_PER_MINUTE;
        return 0;
    }
    bucket->level -= amount;
    return 1;
}

void atoll_bucket_return(struct atoll_bucket *bucket, double amount)
{
    if (bucket->per_minute > 0.0)
        bucket->level = fmin(bucket->size, bucket->level + amount);
}

static void learn_limit(struct atoll_bucket *bucket, double limit)
{
    int is_new = bucket->per_minute <= 0.0;
    double size = bucket->configured > 0.0 ? fmin(bucket->configured, limit) : limit;
    if (size != bucket->size)
        bucket->per_minute = size; /* until resets say otherwise */
    bucket->size = size;
    bucket->level = is_new ? size : fmin(bucket->level, size);
}

static void learn_rate(struct atoll_bucket *bucket, double limit, double left, double reset_s)
{
    if (!(reset_s > 0.0) || !(limit - left >= DEFICIT_RATIO * limit))
        return;
    double rate = fmax((limit - left) / reset_s * 60.0, limit / MINUTES_PER_DAY);
    bucket->per_minute = bucket->configured > 0.0 ? fmin(bucket->configured, rate) : rate;
}

void atoll_bucket_learn(struct atoll_bucket *bucket, double limit, double left, double reset_s, double now_ns)
{
    if (isfinite(limit) && limit > 0.0) {
        if (bucket->per_minute <= 0.0)
            bucket->filled_ns = now_ns;
        fill(bucket, now_ns);
        learn_limit(bucket, limit);
        learn_rate(bucket, limit, left, reset_s);
    }
    if (bucket->per_minute > 0.0 && isfinite(left) && left >= 0.0) {
        fill(bucket, now_ns);
        bucket->level = fmin(bucket->level, left);
    }
}

/* ---- throttle ---- */

void atoll_throttle_init(struct atoll_throttle *throttle, unsigned start, unsigned ceiling)
{
    double top = ceiling > 1 ? ceiling : 1.0;
    *throttle = (struct atoll_throttle){
        .window = fmin(start > 1 ? start : 1.0, top), .floor = 1.0, .ceiling = top, .lowered_ns = -INFINITY};
}

int atoll_throttle_admit(struct atoll_throttle *throttle)
{
    if (throttle->in_flight + 1.0 > throttle->window)
        return 0;
    if (++throttle->in_flight > throttle->most_in_flight)
        throttle->most_in_flight = throttle->in_flight;
    return 1;
}

static void begin_epoch(struct atoll_throttle *throttle)
{
    throttle->answers = throttle->rejections = 0;
    throttle->most_in_flight = throttle->in_flight;
}

/* 1: they are too many.  By what is in flight, not by the window: a wide one that few use would listen to hundreds. */
static int count_answer(struct atoll_throttle *throttle, enum load load)
{
    double length = fmax(fmin(throttle->window, throttle->most_in_flight), SHORTEST_EPOCH);
    double allowed = length * TOLERATED + DEVIATIONS * sqrt(length * TOLERATED * (1.0 - TOLERATED));
    throttle->answers++;
    throttle->rejections += load == REJECTED;
    if (throttle->rejections > allowed)
        return 1;
    if (throttle->answers >= length)
        begin_epoch(throttle);
    return 0;
}

void atoll_throttle_note(struct atoll_throttle *throttle, enum atoll_llm_status status, double started_ns,
                         double now_ns)
{
    /* A window that nobody fills says nothing about a larger one. */
    int is_used = throttle->in_flight + 1.0 >= throttle->window;
    if (throttle->in_flight > 0)
        throttle->in_flight--;
    enum load load = status < ATOLL_LLM_STATUS_COUNT ? meanings[status].load : NO_LOAD;
    if (load == NO_LOAD || started_ns <= throttle->lowered_ns)
        return;
    if (count_answer(throttle, load)) {
        throttle->window = fmax(throttle->floor, throttle->window / 2.0);
        throttle->lowered_ns = now_ns; /* what was sent before it met the old window */
        begin_epoch(throttle);
    } else if (load == SERVED && is_used) {
        throttle->window = fmin(throttle->ceiling, throttle->window + 1.0 / throttle->window);
    }
}
