/* retry.c - what each outcome means for another try, and what headers say of it. */
#include "llm-gateway/http/retry.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/units.h"

/* ---- moments as servers write them: every form is a pattern over one set of fields; what is behind the pattern's end is an
 * error ---- */

struct fields {
    struct tm at; /* its year and month as people count them */
    int is_short_year;
    double fraction, offset_s;
};

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* Exactly count digits. */
static int read_digits(const char **text, int count, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < count; i++, ++*text) {
        if (!isdigit((unsigned char)**text))
            return -1;
        value = value * 10 + (**text - '0');
    }
    *ret_value = value;
    return 0;
}

/* W a name of a day, b a month's name, Y y m d e H M S numbers as in strftime; anything else is itself. */
static int read_field(const char **text, char kind, struct fields *f)
{
    int digits;
    switch (kind) {
    case 'W':
        if (!isalpha((unsigned char)**text))
            return -1;
        while (isalpha((unsigned char)**text))
            ++*text;
        return 0;
    case 'b':
        for (f->at.tm_mon = 1; f->at.tm_mon <= 12; f->at.tm_mon++) {
            if (strncmp(*text, month_names + 3 * (f->at.tm_mon - 1), 3) == 0) {
                *text += 3;
                return 0;
            }
        }
        return -1;
    case 'Y': return read_digits(text, 4, &f->at.tm_year);
    case 'y': f->is_short_year = 1; return read_digits(text, 2, &f->at.tm_year);
    case 'm': return read_digits(text, 2, &f->at.tm_mon);
    case 'd': return read_digits(text, 2, &f->at.tm_mday);
    case 'e': /* a day of the month after a space instead of its leading zero (asctime) */
        digits = **text == ' ' ? 1 : 2;
        *text += digits == 1;
        return read_digits(text, digits, &f->at.tm_mday);
    case 'H': return read_digits(text, 2, &f->at.tm_hour);
    case 'M': return read_digits(text, 2, &f->at.tm_min);
    case 'S': return read_digits(text, 2, &f->at.tm_sec);
    default: return -1;
    }
}

/* 0 and *text behind what matched. */
static int match(const char **text, const char *pattern, struct fields *f)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%') {
            if (read_field(text, *++pattern, f) != 0)
                return -1;
        } else if (*(*text)++ != *pattern) {
            return -1;
        }
    }
    return 0;
}

static int to_unix(const struct fields *f, double *ret_unix_s)
{
    struct tm at = f->at;
    if (at.tm_year < 1 || at.tm_mon < 1 || at.tm_mon > 12 || at.tm_hour > 23 || at.tm_min > 59 ||
        at.tm_sec > 60)
        return -1;
    at.tm_year -= 1900;
    at.tm_mon--;
    int month = at.tm_mon, is_leap_second = at.tm_sec == 60;
    at.tm_sec -= is_leap_second;
    time_t unix_s = timegm(&at);
    if (at.tm_mon != month || at.tm_mday != f->at.tm_mday) /* no month has that day */
        return -1;
    *ret_unix_s = (double)unix_s + is_leap_second + f->fraction - f->offset_s;
    return 0;
}

int atoll_instant_of_http(const char *text, double unix_s, double *ret_unix_s)
{
    static const char *const patterns[] = {"%W, %d %b %Y %H:%M:%S GMT", "%W, %d-%b-%y %H:%M:%S GMT",
                                           "%W %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        struct fields f = {0};
        const char *at = text;
        if (match(&at, patterns[i], &f) != 0 || *at)
            continue;
        if (f.is_short_year) {
            int now = 1970 + (int)(unix_s / (365.2425 * 86400.0));
            f.at.tm_year += now / 100 * 100;
            f.at.tm_year += f.at.tm_year > now + 50 ? -100 : f.at.tm_year <= now - 50 ? 100 : 0;
        }
        return to_unix(&f, ret_unix_s);
    }
    return -1;
}

int atoll_instant_of_rfc3339(const char *text, double *ret_unix_s)
{
    struct fields f = {0}, offset = {0};
    if (match(&text, "%Y-%m-%d", &f) != 0 || !*text || !strchr("Tt ", *text))
        return -1;
    text++;
    if (match(&text, "%H:%M:%S", &f) != 0)
        return -1;
    if (*text == '.') {
        double unit = 1.0;
        if (!isdigit((unsigned char)*++text))
            return -1;
        for (; isdigit((unsigned char)*text); text++) {
            unit /= 10.0;
            f.fraction += unit * (*text - '0');
        }
    }
    char sign = *text;
    if (!sign || !strchr("Zz+-", sign))
        return -1;
    text++;
    if (sign == '+' || sign == '-') {
        if (match(&text, "%H:%M", &offset) != 0 || offset.at.tm_hour > 23 || offset.at.tm_min > 59)
            return -1;
        f.offset_s = (sign == '+' ? 1 : -1) * (offset.at.tm_hour * 3600.0 + offset.at.tm_min * 60.0);
    }
    return *text ? -1 : to_unix(&f, ret_unix_s);
}

/* ---- another try ---- */

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
    [ATOLL_LLM_TOOL_CALLS] = NEVER,
};

void atoll_retry_defaults(struct atoll_retry_settings *settings)
{
    *settings = (struct atoll_retry_settings){.try_limit = 6, .first_s = 0.5, .longest_s = 30.0};
}

int atoll_retry_decide(const struct atoll_retry_settings *settings, const struct atoll_llm_outcome *outcome,
                       const struct atoll_reply_headers *headers, unsigned tries, double left_s, double unit,
                       double *ret_wait_s)
{
    if (outcome->status >= ATOLL_LLM_STATUS_COUNT || tries < 1 || tries >= settings->try_limit)
        return 0;
    enum again again = rows[outcome->status];
    int is_asked = headers && outcome->http_status > 0 && headers->should_retry >= 0;
    if (again == NEVER || again == NOT_SENT || !(is_asked ? headers->should_retry : again == YES))
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

/* ---- headers ---- */

/* A number of seconds above it is a date: a wait of 30 years is none. */
#define EPOCH_FLOOR_S 1e9

enum window { REQUESTS, TOKENS, PROJECT, INPUT, OUTPUT };
enum member { LIMIT, LEFT, RESET };

static const struct {
    const char *name;
    enum window window;
    enum member member;
} header_rows[] = {
    {"x-ratelimit-limit-requests", REQUESTS, LIMIT},
    {"x-ratelimit-remaining-requests", REQUESTS, LEFT},
    {"x-ratelimit-reset-requests", REQUESTS, RESET},
    {"x-ratelimit-limit-tokens", TOKENS, LIMIT},
    {"x-ratelimit-remaining-tokens", TOKENS, LEFT},
    {"x-ratelimit-reset-tokens", TOKENS, RESET},
    {"x-ratelimit-limit-project-tokens", PROJECT, LIMIT},
    {"x-ratelimit-remaining-project-tokens", PROJECT, LEFT},
    {"x-ratelimit-reset-project-tokens", PROJECT, RESET},
    {"anthropic-ratelimit-requests-limit", REQUESTS, LIMIT},
    {"anthropic-ratelimit-requests-remaining", REQUESTS, LEFT},
    {"anthropic-ratelimit-requests-reset", REQUESTS, RESET},
    {"anthropic-ratelimit-tokens-limit", TOKENS, LIMIT},
    {"anthropic-ratelimit-tokens-remaining", TOKENS, LEFT},
    {"anthropic-ratelimit-tokens-reset", TOKENS, RESET},
    {"anthropic-ratelimit-input-tokens-limit", INPUT, LIMIT},
    {"anthropic-ratelimit-input-tokens-remaining", INPUT, LEFT},
    {"anthropic-ratelimit-input-tokens-reset", INPUT, RESET},
    {"anthropic-ratelimit-output-tokens-limit", OUTPUT, LIMIT},
    {"anthropic-ratelimit-output-tokens-remaining", OUTPUT, LEFT},
    {"anthropic-ratelimit-output-tokens-reset", OUTPUT, RESET},
};

void atoll_reply_headers_init(struct atoll_reply_headers *headers)
{
    static const struct atoll_reply_window unsaid = {NAN, NAN, NAN};
    *headers = (struct atoll_reply_headers){
        .should_retry = -1,
        .retry_after_s = NAN,
        .request_limit = NAN,
        .request_left = NAN,
        .request_reset_s = NAN,
        .token_limit = NAN,
        .token_left = NAN,
        .token_reset_s = NAN,
    };
    for (size_t i = 0; i < ATOLL_REPLY_WINDOW_COUNT; i++)
        headers->windows[i] = unsaid;
}

/* "12", "1.5": seconds without a unit, or any count; NaN for anything else. */
static double read_number(const char *text)
{
    double value = NAN;
    if (text[strspn(text, "0123456789.")] || atoll_duration_parse(text, &value, NULL) != 0)
        return NAN;
    return value;
}

static double until(double instant_s, double unix_s)
{
    return fmax(instant_s - unix_s, 0.0);
}

/* Seconds to a reset, in any form. */
static double read_reset(const char *text, double unix_s)
{
    double value = NAN, instant = NAN;
    if (atoll_instant_of_rfc3339(text, &instant) == 0)
        return until(instant, unix_s);
    if (strpbrk(text, ":- ") || atoll_duration_parse(text, &value, NULL) != 0)
        return NAN;
    return value >= EPOCH_FLOOR_S ? until(value, unix_s) : value;
}

static double read_retry_after(const char *text, double unix_s)
{
    double instant = NAN;
    if (atoll_instant_of_http(text, unix_s, &instant) == 0)
        return until(instant, unix_s);
    double value = read_number(text);
    return value >= EPOCH_FLOOR_S ? until(value, unix_s) : value;
}

/* What is left, or what there can be at most. */
static double room(const struct atoll_reply_window *window)
{
    double room = isnan(window->left) ? window->limit : window->left;
    return isnan(room) ? INFINITY : room;
}

static void read_window(struct atoll_reply_headers *headers, const char *name, const char *value,
                        double unix_s)
{
    for (size_t i = 0; i < sizeof(header_rows) / sizeof(*header_rows); i++) {
        if (strcmp(header_rows[i].name, name) != 0)
            continue;
        struct atoll_reply_window *window = &headers->windows[header_rows[i].window];
        switch (header_rows[i].member) {
        case LIMIT: window->limit = read_number(value); break;
        case LEFT: window->left = read_number(value); break;
        case RESET: window->reset_s = read_reset(value, unix_s); break;
        }
        const struct atoll_reply_window *requests = &headers->windows[REQUESTS];
        const struct atoll_reply_window *tokens = &headers->windows[TOKENS]; /* the tightest of them */
        for (size_t k = PROJECT; k < ATOLL_REPLY_WINDOW_COUNT; k++)
            tokens = room(&headers->windows[k]) < room(tokens) ? &headers->windows[k] : tokens;
        headers->request_limit = requests->limit;
        headers->request_left = requests->left;
        headers->request_reset_s = requests->reset_s;
        headers->token_limit = tokens->limit;
        headers->token_left = tokens->left;
        headers->token_reset_s = tokens->reset_s;
        return;
    }
}

void atoll_reply_headers_read(struct atoll_reply_headers *headers, const char *name, const char *value,
                              double unix_s)
{
    if (strcmp(name, "x-should-retry") == 0) {
        headers->should_retry = strcasecmp(value, "true") == 0 ? 1 : strcasecmp(value, "false") == 0 ? 0 : -1;
    } else if (strcmp(name, "retry-after-ms") == 0) {
        double ms = read_number(value);
        if (!isnan(ms)) {
            headers->retry_after_s = ms / 1000.0;
            headers->has_retry_after_ms = 1;
        }
    } else if (strcmp(name, "retry-after") == 0) {
        if (!headers->has_retry_after_ms)
            headers->retry_after_s = read_retry_after(value, unix_s);
    } else {
        read_window(headers, name, value, unix_s);
    }
}
