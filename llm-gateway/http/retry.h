/* retry.h - whether and when a call is tried again: one table by outcome, and headers that
 * overrule some rows.  Which outcome an HTTP status means is in provider/reply_parts.c.
 * Layer: llm-gateway, pure: clock and random numbers are handed in. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_RETRY_H
#define ATOLL_LLM_GATEWAY_HTTP_RETRY_H

#include "llm-gateway/request/outcome.h"

/* requests; tokens, tokens of the project, input, output */
#define ATOLL_REPLY_WINDOW_COUNT 5

/* What a reply's headers say about limits and retries; init: everything unsaid. */
struct atoll_reply_headers {
    int should_retry; /* x-should-retry: 1 true, 0 false, -1 unsaid */
    double
        retry_after_s; /* retry-after-ms, else retry-after in seconds (also with a fraction) or as an HTTP date of any of
                             the three forms; NaN unsaid, never below 0 */
    /* x-ratelimit-* and anthropic-ratelimit-*: NaN unsaid */
    double request_limit, request_left, request_reset_s;
    double token_limit, token_left, token_reset_s; /* the tightest of input, output and all tokens */
    /* private: what was said of each, as headers come in any order */
    int has_retry_after_ms;
    struct atoll_reply_window {
        double limit, left, reset_s;
    } windows[ATOLL_REPLY_WINDOW_COUNT];
};
void atoll_reply_headers_init(struct atoll_reply_headers *headers);
/* One header (lower-case name); unix_s: now, for dates.  What does not parse is as unsaid. */
void atoll_reply_headers_read(struct atoll_reply_headers *headers, const char *name, const char *value,
                              double unix_s);

struct atoll_retry_settings {
    unsigned try_limit;        /* default 6 */
    double first_s, longest_s; /* backoff before jitter: default 0.5 doubling up to 30 */
};
void atoll_retry_defaults(struct atoll_retry_settings *settings);

/* Full jitter (Brooker, "Exponential Backoff and Jitter", 2015): a uniform part of min(longest, first * 2^(tries-1)), on
 * top of what a header asks for.  tries: made so far, >= 1; unit: 0..1.  1 and ret_wait_s: try again after it; 0: do not: the
 * table says so, tries are used up, or the wait would end after left_s, the time to the deadline.  x-should-retry is
 * stronger than the table for every error that came as an HTTP reply, but for a spent quota.  headers: NULL none. */
int atoll_retry_decide(const struct atoll_retry_settings *settings, const struct atoll_llm_outcome *outcome,
                       const struct atoll_reply_headers *headers, unsigned tries, double left_s, double unit,
                       double *ret_wait_s);

/* ---- moments as servers write them: no locale, no time zone of this machine ---- */

/* An HTTP date (RFC 9110, 5.6.7) in any of its three forms:
 *   Sun, 06 Nov 1994 08:49:37 GMT     Sunday, 06-Nov-94 08:49:37 GMT     Sun Nov  6 08:49:37 1994
 * unix_s: now; two digits of a year mean the one that is not more than 50 years ahead of it.  0, or -1: it is none. */
int atoll_instant_of_http(const char *text, double unix_s, double *ret_unix_s);
/* RFC 3339: 2026-01-31T12:00:00Z, with a fraction, with an offset. */
int atoll_instant_of_rfc3339(const char *text, double *ret_unix_s);

#endif
