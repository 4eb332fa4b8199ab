/* reply.h - from what a model wrote to candidates, tolerantly: prose around it, several code blocks, missing or broken
 * fences, whole files or SEARCH/REPLACE edits of the parent, plan and source as two blocks.
 * Layer: evolution, pure.  The text is hostile: bounded in everything, never executed, never trusted.
 *
 * How a reply is read
 * - Thoughts (<think> ... </think> and the like at the beginning of a line, an end without a beginning included) are skipped.
 * - Headings "### Kernel N" cut it into parts; each part is read alone.
 * - Edits of the parent in a part, where they can all be applied, are its kernel. A SEARCH text is looked for exactly, then
 *   without blanks at ends of lines, then with one indentation added or removed, then inside of a line; the first way that
 *   finds it has to find it once.
 * - Else every fenced block that looks like a source is a kernel; without any, code in the prose is.
 * - A plan's comment that is not in front is moved there. A plan that stands alone, as JSON in a fence or as a comment in the
 *   prose, goes in front of the source before it that has none, else of the one behind it. A source that is left without
 *   gets the parent's plan when it defines every kernel that plan launches with the same types of parameters: models that
 *   were asked for a better body often write only that, and a wrong guess costs no more than the refusal would.
 * - Of more kernels than are wanted the last ones are given: models draft first and correct afterwards. A source that breaks off
 *   (a fence that is never closed around braces that are not either) is not given. */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_H
#define ATOLL_EVOLUTION_REPLY_REPLY_H

#include "base/arena.h"
#include "core/ask.h"

#define ATOLL_REPLY_LIMIT_BYTES ((size_t)4 << 20)
/* How the one source of an unusable reply begins; the complaint follows, then " *" "/". */
#define ATOLL_REPLY_UNUSABLE "/* cannot be used: "

/* text: length bytes, any.  parent: what edits refer to, NULL none.  Fills sources of ret_reply (at most count; texts in
 * arena) and nothing else of it.  a reply that holds no usable kernel gives one source all the same: a comment
 * ("cannot be used: edit 2: its SEARCH text is not in the kernel") and the reply's beginning, which every evaluator refuses
 * as bad_plan, so that the failure is archived and the next prompt shows it; *ret_usable is 0 then.  Equal sources are
 * given once; one that is the parent, byte for byte, is not given. */
int atoll_reply_read(const char *text, size_t length, const char *language, const char *parent,
                     uint32_t count, struct atoll_arena *arena, struct atoll_reply *ret_reply,
                     int *ret_usable, struct atoll_err *err);

#endif
