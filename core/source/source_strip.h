/* source_strip.h - a source as somebody reads it who must not be talked to: without comments, without what "#if 0" leaves
 * out, without characters that are not plain.
 * Layer: core, pure.  Hostile input: what goes is what the lexers of rules and compilers skip, nothing else. */
#ifndef ATOLL_CORE_SOURCE_SOURCE_STRIP_H
#define ATOLL_CORE_SOURCE_SOURCE_STRIP_H

#include "base/buffer.h"

/* Appends the tokens of source in their lines, with their indentation; lines that are empty then are left out, but for one
 * between others.  language: "triton" is Python, whose texts that stand alone as a statement go too; all others are C-like.
 * Bytes beyond plain ASCII, and controls, become '?'.  -1 with MEMORY or LIMIT. */
int atoll_source_strip(const char *language, const char *source, struct atoll_buffer *out,
                       struct atoll_err *err);

#endif
