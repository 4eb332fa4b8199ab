/* sse.c - lines out of bytes, events out of lines.  A line is kept only while it is not whole; a CR ends a line at once, and
 * the LF that may follow it, perhaps in the next piece, ends none. */
#include "llm-gateway/provider/sse.h"

#include <string.h>

enum { STATE_START = 1, STATE_AFTER_CR = 2 };
enum { FAILED_STOPPED = -1 };

void atoll_sse_init(struct atoll_sse *sse, size_t event_limit_bytes)
{
    memset(sse, 0, sizeof(*sse));
    atoll_buffer_init(&sse->line, event_limit_bytes);
    atoll_buffer_init(&sse->data, event_limit_bytes);
    sse->state = STATE_START;
}

void atoll_sse_fini(struct atoll_sse *sse)
{
    atoll_buffer_fini(&sse->line);
    atoll_buffer_fini(&sse->data);
}

/* The empty line: an event with data goes out, one without is forgotten. */
static void dispatch(struct atoll_sse *sse, atoll_sse_sink *sink, void *context)
{
    if (sse->has_data) {
        atoll_buffer_put_u8(&sse->data, 0);
        if (sse->data.failed) {
            sse->failed = sse->data.failed;
            return;
        }
        if (sink(context, sse->event, (const char *)sse->data.data, sse->data.length - 1))
            sse->failed = FAILED_STOPPED;
    }
    atoll_buffer_clear(&sse->data);
    sse->has_data = 0;
    sse->event[0] = '\0';
}

/* "field: value"; a colon at the start is a comment, one space behind a colon is no part of the value. */
static void take_line(struct atoll_sse *sse, const char *line, size_t length, atoll_sse_sink *sink,
                      void *context)
{
    if (sse->state & STATE_START && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        length -= 3;
    }
    sse->state &= ~STATE_START;
    if (!length) {
        dispatch(sse, sink, context);
        return;
    }
    const char *colon = memchr(line, ':', length);
    size_t name_bytes = colon ? (size_t)(colon - line) : length;
    const char *value = colon ? colon + 1 : line + length;
    size_t value_bytes = length - (size_t)(value - line);
    if (value_bytes && *value == ' ') {
        value++;
        value_bytes--;
    }
    if (name_bytes == 4 && memcmp(line, "data", 4) == 0) {
        if (sse->has_data)
            atoll_buffer_put_u8(&sse->data, '\n');
        atoll_buffer_put_bytes(&sse->data, value, value_bytes);
        sse->has_data = 1;
        sse->failed = sse->data.failed;
    } else if (name_bytes == 5 && memcmp(line, "event", 5) == 0) {
        value_bytes = value_bytes < sizeof(sse->event) - 1 ? value_bytes : sizeof(sse->event) - 1;
        memcpy(sse->event, value, value_bytes);
        sse->event[value_bytes] = '\0';
    }
}

/* One line, whole: joined with what came of it before, where something did. */
static void end_line(struct atoll_sse *sse, const char *p, size_t length, atoll_sse_sink *sink, void *context)
{
    if (!sse->line.length) {
        take_line(sse, p, length, sink, context);
        return;
    }
    atoll_buffer_put_bytes(&sse->line, p, length);
    if (sse->line.failed) {
        sse->failed = sse->line.failed;
        return;
    }
    take_line(sse, (const char *)sse->line.data, sse->line.length, sink, context);
    atoll_buffer_clear(&sse->line);
}

int atoll_sse_feed(struct atoll_sse *sse, const void *bytes, size_t length, atoll_sse_sink *sink,
                   void *context)
{
    const char *p = bytes, *limit = p + length;
    while (p < limit && !sse->failed) {
        if (sse->state & STATE_AFTER_CR) {
            sse->state &= ~STATE_AFTER_CR;
            if (*p == '\n') {
                p++;
                continue;
            }
        }
        const char *lf = memchr(p, '\n', (size_t)(limit - p));
        const char *cr = memchr(p, '\r', (size_t)((lf ? lf : limit) - p));
        const char *end = cr ? cr : lf ? lf : limit; /* of the line that p begins */
        if (end == limit) {
            atoll_buffer_put_bytes(&sse->line, p, (size_t)(limit - p));
            sse->failed = sse->line.failed;
            break;
        }
        if (*end == '\r')
            sse->state |= STATE_AFTER_CR;
        end_line(sse, p, (size_t)(end - p), sink, context);
        p = end + 1;
    }
    return sse->failed ? -1 : 0;
}
