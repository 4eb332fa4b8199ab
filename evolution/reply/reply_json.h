/* reply_json.h - the JSON that a model wrote, wherever it stands: in fences or in prose, and written as models write it.
 * Layer: evolution, private to reply*.c.
 *
 * What is taken beside strict JSON: line ends and tabs in strings, escapes that JSON does not know (left as they stand), quotes
 * inside of strings that nobody escaped where what follows shows it, comments, commas in front of a closing bracket, and
 * a text that breaks off, of which the values that were complete are kept. */
#ifndef ATOLL_EVOLUTION_REPLY_REPLY_JSON_H
#define ATOLL_EVOLUTION_REPLY_REPLY_JSON_H

#include "base/json.h"
#include "evolution/reply/reply_text.h"

/* 1: this document is what was looked for; 0: it is not; -1: err. Borrowed. */
typedef int atoll_reply_json_taker(void *context, const json_t *document, struct atoll_err *err);

/* Shows documents to take until it takes one: fenced blocks from the last to the first, then objects and arrays of the
 * text as a whole in the same order.  Bounded: in the depth and the number of values of a document, and in how many places
 * are tried.  1: one was taken; 0: none; -1: MEMORY, LIMIT of work, or what take says. */
int atoll_reply_json_find(struct atoll_reply_span text, struct atoll_arena *work,
                          atoll_reply_json_taker *take, void *context, struct atoll_err *err);

#endif
