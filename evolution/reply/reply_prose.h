/* reply_prose.h - what a model says beside its kernels: the thought of an attempt, told again in the next one's prompt.
 * Layer: evolution, pure.  The text is hostile; what comes out is clean (reply_text.h), not quoted. */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_PROSE_H
#define ATOLL_EVOLUTION_REPLY_REPLY_PROSE_H

#include "base/arena.h"

/* The prose of an answer, without fences, edits and thoughts in tags, lines in their order and at most one of them empty in a row;
 * cut between characters at limit bytes.  In arena; "" when there is none.  NULL: MEMORY or LIMIT of arena. */
const char *atoll_reply_prose(const char *text, size_t length, size_t limit, struct atoll_arena *arena,
                              struct atoll_err *err);

#endif
