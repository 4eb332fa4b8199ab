/* text_limit.h - texts of models and libraries as bytes of a record, no longer than their kind may be.
 * Layer: core, pure. */
#ifndef ATOLL_CORE_TEXT_LIMIT_H
#define ATOLL_CORE_TEXT_LIMIT_H

#include "base/arena.h"
#include "base/buffer.h"

/* Cut between characters where it is longer than limit bytes, so that what is written always reads back; NULL = "". */
void atoll_text_put(struct atoll_buffer *out, const char *text, size_t limit_bytes);
/* Copied into arena; longer than limit bytes is a failure of the reader. */
const char *atoll_text_take(struct atoll_reader *reader, struct atoll_arena *arena, size_t limit_bytes);

#endif
