/* reply_text.h - a reply as text: clean lines, prose and fenced blocks, edits.
 * Layer: evolution, private to reply*.c.  Texts live in the caller's working arena; every step is linear in the reply,
 * but for edits, which are bounded in number. */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_TEXT_H
#define ATOLL_EVOLUTION_REPLY_REPLY_TEXT_H

#include <stddef.h>

#include "base/arena.h"

#define ATOLL_REPLY_BLOCK_LIMIT 1024 /* of one reply; what follows the last is not looked at */
#define ATOLL_REPLY_EDIT_LIMIT  128  /* of one kernel */

/* Borrowed, not terminated. */
struct atoll_reply_span {
    const char *text;
    size_t length;
};

enum atoll_reply_block_kind { ATOLL_REPLY_PROSE, ATOLL_REPLY_FENCED };

struct atoll_reply_block {
    enum atoll_reply_block_kind kind;
    struct atoll_reply_span text; /* whole lines, without the fences */
    struct atoll_reply_span info; /* what stands behind an opening fence */
    int is_open;                  /* the fence was never closed */
};

/* The next line of text from *at, without its end; 0 when there is none. */
int atoll_reply_line(struct atoll_reply_span text, size_t *at, struct atoll_reply_span *ret_line);
struct atoll_reply_span atoll_reply_trim(struct atoll_reply_span span); /* blanks on both sides */
/* Bytes before the first occurrence of part, or the span's length. */
size_t atoll_reply_find(struct atoll_reply_span span, const char *part);

/* Terminated copy with "\n" at ends of lines; NULs, controls and broken UTF-8 become '?', thoughts are gone. */
int atoll_reply_clean(struct atoll_arena *arena, const char *text, size_t length,
                      struct atoll_reply_span *ret_text, struct atoll_err *err);

/* Cuts text into prose and fenced blocks, in order; ret_blocks has room for ATOLL_REPLY_BLOCK_LIMIT. */
size_t atoll_reply_blocks(struct atoll_reply_span text, struct atoll_reply_block *ret_blocks);

/* Edits in text: whether any begins; and their application to source.  What keeps them from being applied is a sentence in
 * ret_why, which names the edit by its number; then NULL is returned, as for an error, which has an empty ret_why. */
int atoll_reply_has_edits(struct atoll_reply_span text);
const char *atoll_reply_apply(struct atoll_arena *arena, struct atoll_reply_span text, const char *source,
                              char *ret_why, size_t why_bytes, struct atoll_err *err);

#endif
