/* json.h - JSON from others into memory, and out into buffers; the texts hold any bytes until they were read.
 * Layer: base.  Documents are jansson's, the caller's to json_decref. */
#ifndef ATOLL_BASE_JSON_H
#define ATOLL_BASE_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "base/buffer.h"

/* value_limit: values in it at most, for jansson needs up to 130 bytes for a value of two; flags: jansson's.  Integers beyond
 * 64 bits become reals.  Errors: INPUT (with line and column), LIMIT, MEMORY. */
json_t *atoll_json_load(const void *bytes, size_t length, size_t value_limit, size_t flags,
                        struct atoll_err *err);
/* Compact, members in the order in which they were set. NULL document: no memory to build it. */
int atoll_json_put(struct atoll_buffer *out, const json_t *document, struct atoll_err *err);
/* A text that is JSON, made harmless to a person's terminal as well: control characters that JSON lets pass (DEL, U+0080 to
 * U+009F) and those that turn the direction of reading are escaped; what is no UTF-8 becomes U+FFFD. */
void atoll_json_print_text(const char *text, FILE *out);
/* A document, printed so.  flags: jansson's.  -1: no memory, and nothing was written. */
int atoll_json_write(const json_t *document, size_t flags, FILE *out);
/* The same with a newline behind it.  Takes the document. */
void atoll_json_print(json_t *document, size_t flags, FILE *out);
/* A member that is a string, else "". */
const char *atoll_json_member(const json_t *object, const char *key);
/* A text from outside (a source, a compiler's message, a path) as a string.  Bytes that are not UTF-8 are taken as Latin-1, so
 * that nothing is lost; json_pack's 's' would refuse them and with them the whole object. */
json_t *atoll_json_text(const char *text);

#endif
