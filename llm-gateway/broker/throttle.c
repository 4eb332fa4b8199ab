/* throttle.c - a window that grows by one a round trip while it is used, and halves when the endpoint groans often. */
#include "llm-gateway/broker/throttle.h"

#include <math.h>

#define SHORTEST_EPOCH 20.0
#define TOLERATED      0.1 /* of an epoch's answers */
#define DEVIATIONS     2.0

enum meaning { NOTHING, SERVED, REJECTED };

static const enum meaning meanings[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = SERVED,        [ATOLL_LLM_TRUNCATED] = SERVED, [ATOLL_LLM_EMPTY] = SERVED,
    [ATOLL_LLM_REFUSED] = SERVED,   [ATOLL_LLM_RATE] = REJECTED,    [ATOLL_LLM_OVERLOADED] = REJECTED,
    [ATOLL_LLM_TIMEOUT] = REJECTED,
};

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
static int count(struct atoll_throttle *throttle, enum meaning meaning)
{
    double length = fmax(fmin(throttle->window, throttle->most_in_flight), SHORTEST_EPOCH);
    double allowed = length * TOLERATED + DEVIATIONS * sqrt(length * TOLERATED * (1.0 - TOLERATED));
    throttle->answers++;
    throttle->rejections += meaning == REJECTED;
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
    enum meaning meaning = status < ATOLL_LLM_STATUS_COUNT ? meanings[status] : NOTHING;
    if (meaning == NOTHING || started_ns <= throttle->lowered_ns)
        return;
    if (count(throttle, meaning)) {
        throttle->window = fmax(throttle->floor, throttle->window / 2.0);
        throttle->lowered_ns = now_ns; /* what was sent before it met the old window */
        begin_epoch(throttle);
    } else if (meaning == SERVED && is_used) {
        throttle->window = fmin(throttle->ceiling, throttle->window + 1.0 / throttle->window);
    }
}
