/* sse.h - server-sent events from bytes in pieces of any size (WHATWG HTML 9.2.6): CR, LF and CRLF end lines, a leading
 * byte order mark is skipped, comments and unknown fields too.
 * Layer: llm-gateway, pure.  Lifetime: init/fini. */
#ifndef ATOLL_LLM_GATEWAY_PROVIDER_SSE_H
#define ATOLL_LLM_GATEWAY_PROVIDER_SSE_H

#include "base/buffer.h"

struct atoll_sse {
    struct atoll_buffer line, data;
    char event[64]; /* of the event being read; cut */
    int state;      /* private */
    int has_data;   /* of an event that has not ended */
    int failed;     /* sticky: an event beyond its limit, or no memory */
};

/* event, data: borrowed for the call, NUL-ended; event "" where the stream names none.  Not 0: stop. */
typedef int atoll_sse_sink(void *context, const char *event, const char *data, size_t length);

void atoll_sse_init(struct atoll_sse *sse, size_t event_limit_bytes);
void atoll_sse_fini(struct atoll_sse *sse);
/* 0, or -1: failed or the sink said stop. */
int atoll_sse_feed(struct atoll_sse *sse, const void *bytes, size_t length, atoll_sse_sink *sink,
                   void *context);

#endif
