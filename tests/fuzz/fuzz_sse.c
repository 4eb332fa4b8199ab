/* fuzz_sse.c - any bytes as a stream of events: what comes in pieces is what comes at once. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/provider/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENT_BYTES 64 /* small, so that mutations get past it */

struct seen {
    struct atoll_buffer events;
    unsigned count, stop_at;
};

static int note(void *context, const char *event, const char *data, size_t length)
{
    struct seen *seen = context;
    if (data[length] || length >= EVENT_BYTES)
        abort();
    atoll_buffer_put_text(&seen->events, event);
    atoll_buffer_put_blob(&seen->events, data, length);
    return ++seen->count == seen->stop_at;
}

static int feed(const uint8_t *data, size_t size, int is_whole, unsigned seed, struct seen *seen,
                int *ret_left)
{
    struct atoll_sse sse;
    int status = 0;
    size_t at = 0;
    atoll_buffer_init(&seen->events, (size_t)1 << 28);
    atoll_sse_init(&sse, EVENT_BYTES);
    while (at < size && !status) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = is_whole ? size : 1 + (seed >> 16) % 9;
        piece = piece < size - at ? piece : size - at;
        status = atoll_sse_feed(&sse, data + at, piece, note, seen);
        at += piece;
    }
    *ret_left = sse.line.length || sse.has_data;
    atoll_sse_fini(&sse);
    return status;
}

/* A line beyond the limit fails in pieces before its end came; at once, when it is whole, it may be a comment. */
static void compare(const struct seen *whole, int whole_status, const struct seen *pieces, int pieces_status)
{
    size_t shorter =
        whole->events.length < pieces->events.length ? whole->events.length : pieces->events.length;
    if (shorter && memcmp(whole->events.data, pieces->events.data, shorter) != 0)
        abort();
    if (!whole_status && !pieces_status && whole->events.length != pieces->events.length)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned tail = size ? data[size - 1] : 0;
    struct seen whole = {.stop_at = tail % 8}, pieces = {.stop_at = tail % 8};
    int whole_left, pieces_left;
    int whole_status = feed(data, size, 1, 0, &whole, &whole_left);
    int pieces_status = feed(data, size, 0, tail, &pieces, &pieces_left);
    compare(&whole, whole_status, &pieces, pieces_status);
    if (!whole_status && !pieces_status && whole_left != pieces_left)
        abort();
    atoll_buffer_fini(&whole.events);
    atoll_buffer_fini(&pieces.events);
    return 0;
}
