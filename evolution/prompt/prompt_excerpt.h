/* prompt_excerpt.h - which part of a source that is too long is shown.
 * Layer: evolution, private to prompt*.c. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_EXCERPT_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_EXCERPT_H

#include <stddef.h>

#include "base/buffer.h"

/* Appends at most about keep bytes of a source or a diff of length bytes, in their order, with a mark in each gap; what a mark takes is
 * not counted.  A source is cut by functions: what the plan's first path launches and what that calls come first, the longest
 * before the others, then the plan, what stands between functions, and at last functions of other paths.  A
 * function that does not fit is shown from its longest loop on.  A diff keeps the hunks with the most lines.  Returns the bytes
 * that are left out; 0 and nothing appended: it has neither functions nor hunks to choose from, or
 * those would fill less than half of the room. */
size_t atoll_prompt_excerpt(const char *text, size_t length, size_t keep, struct atoll_buffer *out);
/* Appends a source without its functions that none of these functions calls, with a mark in each gap.  Returns the bytes that are left
 * out; 0 and nothing appended: none is, or it cannot be told. */
size_t atoll_prompt_excerpt_reached(const char *text, size_t length, const char *const *names, size_t count,
                                    struct atoll_buffer *out);
/* Where a text that may have at most keep of its length bytes ends best: behind the last whole sentence or line, if more than half of
 * it is left so; else keep. */
size_t atoll_prompt_sentence_end(const char *text, size_t length, size_t keep);

#endif
