/* reply_items.h - from what a planner, an analyser, an orderer, a summarizer or a distiller wrote to the items of a reply.
 * Layer: evolution, pure.  The text is hostile: bounded in everything, never executed, never trusted.
 *
 * The shapes are those of docs/spec/answers.md: JSON in a fence, of several the last one that fits; also without a fence, with
 * prose around it, broken off, and with the errors that models make (reply_json.h). */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_ITEMS_H
#define ATOLL_EVOLUTION_REPLY_REPLY_ITEMS_H

#include "base/arena.h"
#include "core/ask.h"

#define ATOLL_REPLY_TITLE_BYTES     200  /* of an item's title */
#define ATOLL_REPLY_ITEM_TEXT_BYTES 4096 /* of each of its other texts; what is longer is cut */

/* kind: what was asked, not WRITE.  text: length bytes, any.  Fills items, plan_count, issues and order of ret_reply
 * (texts in arena) and nothing else of it; at most ATOLL_REPLY_ITEM_LIMIT items, the first ones.  *ret_usable: 1 when the
 * answer says something: items, an order, or that there is nothing ("No optimization found", an empty list of issues or
 * hints); then there may be no items.  HINT: the title is a trigger as core/experience/hint.h writes it ("limiter dram").  Errors: INTERNAL (another kind), MEMORY, LIMIT of arena. */
int atoll_reply_read_items(enum atoll_ask_kind kind, const char *text, size_t length,
                           struct atoll_arena *arena, struct atoll_reply *ret_reply, int *ret_usable,
                           struct atoll_err *err);

#endif
