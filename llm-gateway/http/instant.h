/* instant.h - moments as servers write them.
 * Layer: llm-gateway, pure: no locale, no time zone of this machine. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_INSTANT_H
#define ATOLL_LLM_GATEWAY_HTTP_INSTANT_H

/* An HTTP date (RFC 9110, 5.6.7) in any of its three forms:
 *   Sun, 06 Nov 1994 08:49:37 GMT     Sunday, 06-Nov-94 08:49:37 GMT     Sun Nov  6 08:49:37 1994
 * unix_s: now; two digits of a year mean the one that is not more than 50 years ahead of it.  0, or -1: it is none. */
int atoll_instant_of_http(const char *text, double unix_s, double *ret_unix_s);
/* RFC 3339: 2026-01-31T12:00:00Z, with a fraction, with an offset. */
int atoll_instant_of_rfc3339(const char *text, double *ret_unix_s);

#endif
