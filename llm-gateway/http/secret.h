/* secret.h - keys of providers and tokens of clients: read once, locked in memory, wiped.
 * Layer: llm-gateway.  Lifetime: create/destroy; destroy wipes.  Never logged, never encoded, never in an error's text. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_SECRET_H
#define ATOLL_LLM_GATEWAY_HTTP_SECRET_H

#include <stddef.h>

#include "base/err.h"
#include "llm-gateway/request/outcome.h"

#define ATOLL_SECRET_LIMIT_BYTES 4096

struct atoll_secret;
/* The file's first line.  Errors: DENIED when it is not a regular file owned by this user (or root) with no permission for
 * group and others, naming the chmod that helps; INPUT when it is empty, too long or not printable ASCII. */
struct atoll_secret *atoll_secret_of_file(const char *path, struct atoll_err *err);
/* Takes a variable of this process's environment, and removes it from there, bytes wiped (also from what /proc shows).
 * NOTFOUND. */
struct atoll_secret *atoll_secret_of_environment(const char *name, struct atoll_err *err);
void atoll_secret_destroy(struct atoll_secret *secret);
const char *atoll_secret_text(const struct atoll_secret *secret); /* borrowed; do not copy beyond a call */
/* Constant time in the length of given. */
int atoll_secret_matches(const struct atoll_secret *secret, const char *given, size_t length);
/* Writes over every place where the secret stands in the bytes, as it is or escaped as JSON (also a JSON text inside another)
 * and URLs do it; how many there were.  One of fewer than 8 bytes is a word that others use too: nothing is done.  secret: NULL
 * none. */
size_t atoll_secret_scrub(const struct atoll_secret *secret, void *bytes, size_t length);
/* The same for a text that may have been cut: what stands at its end of the secret, 8 bytes or more, goes as well. */
void atoll_secret_scrub_line(const struct atoll_secret *secret, char *line);
/* All of an outcome.  A raw reply that holds the secret in pieces (deltas of a stream) is dropped. */
void atoll_secret_scrub_outcome(const struct atoll_secret *secret, struct atoll_llm_outcome *outcome);
/* No core dumps, not traceable, not inherited: for processes that hold secrets.  -1 with DENIED is worth a warning. */
int atoll_secret_harden(struct atoll_err *err);

#endif
