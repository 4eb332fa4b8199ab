/* retry.c - what each outcome means for another try. */
#include "llm-gateway/http/retry.h"

#include <math.h>

enum again {
    NEVER,   /* whatever a header says */
    NO,      /* unless the server asks for it */
    YES,     /* unless the server forbids it */
    NOT_SENT /* no reply of a server: its headers say nothing of this one */
};

static const enum again rows[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = NEVER,           [ATOLL_LLM_TRUNCATED] = NEVER,
    [ATOLL_LLM_EMPTY] = NEVER,        [ATOLL_LLM_REFUSED] = NEVER,
    [ATOLL_LLM_INVALID] = NO,     /* 400, 422 */
    [ATOLL_LLM_DENIED] = NO,      /* 401, 403 */
    [ATOLL_LLM_NOTFOUND] = NO,    /* 404 */
    [ATOLL_LLM_TOO_LARGE] = NO,   /* 413 */
    [ATOLL_LLM_QUOTA] = NEVER,    /* no server gives money by being asked again */
    [ATOLL_LLM_RATE] = YES,       /* 429 */
    [ATOLL_LLM_OVERLOADED] = YES, /* 408, 409, 5xx, 529 */
    [ATOLL_LLM_STREAM] = YES,     /* the headers were those of a 200 */
    [ATOLL_LLM_NETWORK] = YES,        [ATOLL_LLM_PROTOCOL] = NO,
    [ATOLL_LLM_TIMEOUT] = YES, /* of one try; when it was the call's, no time is left */
    [ATOLL_LLM_CANCELLED] = NOT_SENT, [ATOLL_LLM_BUDGET] = NOT_SENT,
    [ATOLL_LLM_MISS] = NOT_SENT,      [ATOLL_LLM_UNKNOWN] = NOT_SENT,
};

void atoll_retry_defaults(struct atoll_retry_settings *settings)
{
    *settings = (struct atoll_retry_settings){.try_limit = 6, .first_s = 0.5, .longest_s = 30.0};
}

static int is_worth(const struct atoll_llm_outcome *outcome, const struct atoll_reply_headers *headers)
{
    enum again again = rows[outcome->status];
    if (again == NEVER || again == NOT_SENT)
        return 0;
    if (headers && outcome->http_status > 0 && headers->should_retry >= 0)
        return headers->should_retry;
    return again == YES;
}

int atoll_retry_decide(const struct atoll_retry_settings *settings, const struct atoll_llm_outcome *outcome,
                       const struct atoll_reply_headers *headers, unsigned tries, double left_s, double unit,
                       double *ret_wait_s)
{
    if (outcome->status >= ATOLL_LLM_STATUS_COUNT || tries < 1 || tries >= settings->try_limit ||
        !is_worth(outcome, headers))
        return 0;
    int doublings = tries - 1 < 1000 ? (int)tries - 1 : 1000; /* of ldexp: beyond it all is infinite */
    double wait_s = unit * fmin(settings->longest_s, ldexp(settings->first_s, doublings));
    if (headers && !isnan(headers->retry_after_s))
        wait_s += headers->retry_after_s;
    if (!(wait_s < left_s))
        return 0;
    *ret_wait_s = wait_s;
    return 1;
}
