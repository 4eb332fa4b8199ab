/* outcome_text.h - limits of an outcome's texts, and how they grow.
 * Layer: llm-gateway, private. */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_OUTCOME_TEXT_H
#define ATOLL_LLM_GATEWAY_REQUEST_OUTCOME_TEXT_H

#include "base/buffer.h"

#define OUTCOME_TEXT_BYTES ((size_t)4 << 20)
#define OUTCOME_RAW_BYTES  ((size_t)64 << 20)

/* Appends and keeps a NUL behind the end, which does not count; the buffer's limit leaves room for it.  bytes: UTF-8. */
void atoll_outcome_text_put(struct atoll_buffer *text, const void *bytes, size_t length);

#endif
