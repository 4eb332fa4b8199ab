/* transfer_reply.c - the head and body of a reply, as curl hands them over piece by piece.
 * A head is a status line, header lines and an empty line; 1xx heads come before the one that counts, trailers after the
 * body: neither is passed on.  Returning another count than was given makes curl end the exchange. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "llm-gateway/http/transfer_state.h"

#define HEAD_LIMIT_BYTES ((size_t)256 << 10)
#define LINE_LIMIT_BYTES ((size_t)16 << 10)

static void make_printable(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
            *text = '?';
    }
}

void atoll_exchange_decide(struct atoll_exchange *exchange, enum atoll_llm_status status, const char *format,
                           ...)
{
    if (exchange->is_ended)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(exchange->detail, sizeof exchange->detail, format, args);
    va_end(args);
    make_printable(exchange->detail);
    exchange->status = status;
    exchange->is_ended = 1;
}

static void heard(struct atoll_exchange *exchange)
{
    exchange->heard_ns = atoll_loop_now_ns(exchange->transfers->loop);
    if (exchange->first_byte_ns <= 0)
        exchange->first_byte_ns = exchange->heard_ns;
}

static int is_redirect(int status)
{
    return status >= 300 && status < 400 && status != 304;
}

/* Lower-case name and value without blanks around it, in the copy. */
static int line_split(char *line, char **ret_name, char **ret_value)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return -1;
    for (char *c = line; c < colon; c++)
        *c = (char)tolower((unsigned char)*c);
    *colon = '\0';
    char *value = colon + 1, *end = value + strlen(value);
    while (*value == ' ' || *value == '\t')
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    *ret_name = line;
    *ret_value = value;
    return 0;
}

static void header_line(struct atoll_exchange *exchange, const char *bytes, size_t length)
{
    char line[LINE_LIMIT_BYTES] = "", *name, *value;
    if (length >= sizeof line) {
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "a header line of the reply has %zu bytes",
                              length);
        return;
    }
    memcpy(line, bytes, length);
    line[length] = '\0';
    if (line_split(line, &name, &value))
        return;
    if (is_redirect(exchange->http_status) && strcmp(name, "location") == 0) {
        atoll_exchange_decide(
            exchange, ATOLL_LLM_PROTOCOL,
            "HTTP %d: a redirect to '%.120s', which is never followed: give the endpoint's final "
            "url",
            exchange->http_status, value);
    } else if (exchange->on_header) {
        exchange->on_header(exchange->context, name, value);
    }
}

static void head_ends(struct atoll_exchange *exchange)
{
    if (exchange->http_status < 200)
        return;
    exchange->is_head_done = 1;
    if (is_redirect(exchange->http_status))
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL,
                              "HTTP %d: a redirect, which is never followed: give the endpoint's final url",
                              exchange->http_status);
}

size_t atoll_exchange_head(char *line, size_t size, size_t count, void *context)
{
    struct atoll_exchange *exchange = context;
    size_t length = size * count;
    int status;
    heard(exchange);
    exchange->head_bytes += length;
    if (exchange->head_bytes > HEAD_LIMIT_BYTES)
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply's headers are larger than %zu bytes",
                              HEAD_LIMIT_BYTES);
    else if (exchange->is_head_done)
        return exchange->is_ended ? 0 : length; /* a trailer */
    else if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
        char text[32];
        snprintf(text, sizeof text, "%.*s", (int)(length < 31 ? length : 31), line);
        exchange->http_status = sscanf(text, "HTTP/%*[0-9.] %d", &status) == 1 ? status : 0;
    } else if (length > 0 && (line[0] == '\r' || line[0] == '\n'))
        head_ends(exchange);
    else if (exchange->http_status >= 200)
        header_line(exchange, line, length);
    return exchange->is_ended ? 0 : length;
}

size_t atoll_exchange_data(char *bytes, size_t size, size_t count, void *context)
{
    struct atoll_exchange *exchange = context;
    size_t length = size * count;
    heard(exchange);
    if (exchange->is_ended)
        return 0;
    if (length > exchange->reply_limit_bytes - exchange->reply_bytes) {
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply is larger than %zu bytes",
                              exchange->reply_limit_bytes);
        return 0;
    }
    exchange->reply_bytes += length;
    if (exchange->on_data && exchange->on_data(exchange->context, exchange->http_status, bytes, length))
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply was given up while it came");
    return exchange->is_ended ? 0 : length;
}
