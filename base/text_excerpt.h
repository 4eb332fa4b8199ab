/* text_excerpt.h - the lines of a text that somebody looks for, with their numbers and the lines beside them.
 * Layer: base, pure. */
#ifndef ATOLL_BASE_TEXT_EXCERPT_H
#define ATOLL_BASE_TEXT_EXCERPT_H

#include "base/buffer.h"
#include "base/pattern.h"
#include "base/text_index.h"

/* What a line must have: match the pattern, or (pattern NULL) one of the words; the more of them the better. */
struct atoll_text_wanted {
    const struct atoll_text_query *query;
    const struct atoll_pattern *pattern;
    uint64_t *work; /* of patterns: atoll_pattern_matches */
};

/* Appends the best lines, at most line_limit (and 32) of them, and `beside` lines before and behind each, a long one cut.  Returns how many
 * lines of the text are wanted; 0: nothing is appended. */
size_t atoll_text_excerpt(const char *text, size_t length, const struct atoll_text_wanted *wanted,
                          size_t line_limit, size_t beside, struct atoll_buffer *out);

#endif
