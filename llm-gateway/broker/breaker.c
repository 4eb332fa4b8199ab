/* breaker.c - CLOSED -failures-> OPEN -time-> PROBING -answer-> CLOSED, or -failure-> OPEN for twice as long.
 * A call that was sent before the breaker opened may still end while it is open: its answer closes it, its failure says
 * nothing new. */
#include "llm-gateway/broker/breaker.h"

#include <math.h>

#define NS_PER_S 1e9

enum meaning {
    NOTHING, /* no word from the endpoint */
    ALIVE,   /* it spoke, whatever it said */
    FAILED
};

static const enum meaning meanings[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = ALIVE,          [ATOLL_LLM_TRUNCATED] = ALIVE, [ATOLL_LLM_EMPTY] = ALIVE,
    [ATOLL_LLM_REFUSED] = ALIVE,     [ATOLL_LLM_INVALID] = ALIVE,   [ATOLL_LLM_DENIED] = ALIVE,
    [ATOLL_LLM_NOTFOUND] = ALIVE,    [ATOLL_LLM_TOO_LARGE] = ALIVE, [ATOLL_LLM_QUOTA] = ALIVE,
    [ATOLL_LLM_RATE] = ALIVE,        [ATOLL_LLM_PROTOCOL] = ALIVE,  [ATOLL_LLM_OVERLOADED] = FAILED,
    [ATOLL_LLM_STREAM] = FAILED,     [ATOLL_LLM_NETWORK] = FAILED,  [ATOLL_LLM_TIMEOUT] = FAILED,
    [ATOLL_LLM_CANCELLED] = NOTHING, [ATOLL_LLM_BUDGET] = NOTHING,  [ATOLL_LLM_MISS] = NOTHING,
    [ATOLL_LLM_UNKNOWN] = NOTHING,
};

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
    enum meaning meaning = status < ATOLL_LLM_STATUS_COUNT ? meanings[status] : NOTHING;
    if (meaning == FAILED) {
        fail(breaker, now_ns);
    } else if (meaning == ALIVE) {
        breaker->state = ATOLL_BREAKER_CLOSED;
        breaker->failures = 0;
        breaker->open_s = breaker->first_s;
    } else if (breaker->state ==
               ATOLL_BREAKER_PROBING) { /* the probe is given back: another may go at once */
        breaker->state = ATOLL_BREAKER_OPEN;
        breaker->until_ns = now_ns;
    }
}
