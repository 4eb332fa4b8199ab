/* reply_part.h - the parts of reading an answer: clean text, fences, edits, plans.
 * Layer: evolution, private to answer*.c.  Texts live in the caller's working arena; every step is linear in the answer,
 * but for edits, which are bounded in number. */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_PART_H
#define ATOLL_EVOLUTION_REPLY_REPLY_PART_H

#include <stddef.h>

#include "base/arena.h"

#define ATOLL_ANSWER_BLOCK_LIMIT 1024 /* of one answer; what follows the last is not looked at */
#define ATOLL_ANSWER_EDIT_LIMIT  128  /* of one kernel */

/* Borrowed, not terminated. */
struct atoll_answer_span {
    const char *text;
    size_t length;
};

enum atoll_answer_block_kind { ATOLL_ANSWER_PROSE, ATOLL_ANSWER_FENCED };

struct atoll_answer_block {
    enum atoll_answer_block_kind kind;
    struct atoll_answer_span text; /* whole lines, without the fences */
    struct atoll_answer_span info; /* what stands behind an opening fence */
    int is_open;                   /* the fence was never closed */
};

/* The next line of text from *at, without its end; 0 when there is none. */
int atoll_answer_line(struct atoll_answer_span text, size_t *at, struct atoll_answer_span *ret_line);
struct atoll_answer_span atoll_answer_trim(struct atoll_answer_span span); /* blanks on both sides */
/* Bytes before the first occurrence of part, or the span's length. */
size_t atoll_answer_find(struct atoll_answer_span span, const char *part);

/* Terminated copy with "\n" at ends of lines; NULs, controls and broken UTF-8 become '?', thoughts are gone. */
int atoll_answer_clean(struct atoll_arena *arena, const char *text, size_t length,
                       struct atoll_answer_span *ret_text, struct atoll_err *err);

/* Cuts text into prose and fenced blocks, in order; ret_blocks has room for ATOLL_ANSWER_BLOCK_LIMIT. */
size_t atoll_answer_blocks(struct atoll_answer_span text, struct atoll_answer_block *ret_blocks);

/* Edits in text: whether any begins; and their application to source.  What keeps them from being applied is a sentence in
 * ret_why, which names the edit by its number; then NULL is returned, as for an error, which has an empty ret_why. */
int atoll_answer_has_edits(struct atoll_answer_span text);
const char *atoll_answer_apply(struct atoll_arena *arena, struct atoll_answer_span text, const char *source,
                               char *ret_why, size_t why_bytes, struct atoll_err *err);

/* The plan comment's place in a source: length 0 when there is none. */
struct atoll_answer_span atoll_answer_plan_comment(struct atoll_answer_span source);
/* Whether a block is a plan as bare JSON. */
int atoll_answer_is_plan(struct atoll_answer_span block);
/* source with the plan in front: its own comment moved there, or json (length 0: none) made one, in its place. */
const char *atoll_answer_join(struct atoll_arena *arena, struct atoll_answer_span json,
                              struct atoll_answer_span source, struct atoll_err *err);
/* Both: 1, 0, or -1 and err; source has at most ATOLL_SOURCE_LIMIT bytes.
 * Whether every kernel that the parent's plan launches stands in source with the same types of parameters. */
int atoll_answer_plan_fits(const char *parent, struct atoll_answer_span source, struct atoll_arena *arena,
                           struct atoll_err *err);
/* Whether every brace that source opens is closed, and every comment. */
int atoll_answer_is_balanced(struct atoll_answer_span source, struct atoll_arena *arena,
                             struct atoll_err *err);

#endif
