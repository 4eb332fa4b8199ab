/* client.h - what rank 0 holds: asynchronous questions to a gateway, over HTTP, a spool, or from a recording.
 * Layer: llm-gateway.  Lifetime: create/destroy.  One thread; nothing blocks but the writes of a spool. */
#ifndef ATOLL_LLM_GATEWAY_CLIENT_CLIENT_H
#define ATOLL_LLM_GATEWAY_CLIENT_CLIENT_H

#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"

struct atoll_client;

/* where: "http://HOST:PORT", "https://...", "unix:PATH", "spool:DIR", "replay:FILE".  token_file: of HTTP and unix, NULL: the
 * environment's ATOLL_GATEWAY_TOKEN_FILE, if set.  Errors: USAGE (no such form), NOTFOUND, DENIED ... Nothing is sent: a
 * gateway that is not there yet is no error, calls wait for it until their deadlines. */
struct atoll_client *atoll_client_create(const char *where, const char *token_file, struct atoll_err *err);
/* Calls every open callback with CANCELLED.  What lies in a spool stays there, as after a kill: asking again finds it. */
void atoll_client_destroy(struct atoll_client *client);

typedef void atoll_client_done(void *context, const struct atoll_llm_outcome *outcome);
/* The callback comes exactly once, from atoll_client_turn, at the request's deadline at the latest (TIMEOUT; default 900 s
 * where the request has none).  *ret_call > 0. */
int atoll_client_ask(struct atoll_client *client, const struct atoll_llm_request *request,
                     atoll_client_done *done, void *context, uint64_t *ret_call, struct atoll_err *err);
/* Callback with CANCELLED from the next turn; a gateway that works for this call alone learns of it.  Unknown: nothing. */
void atoll_client_cancel(struct atoll_client *client, uint64_t call);
/* The answer is durable where the caller keeps it: the spool may forget it.  For HTTP nothing. */
void atoll_client_settled(struct atoll_client *client, uint64_t call);
/* Does what can be done now without waiting. */
int atoll_client_turn(struct atoll_client *client, struct atoll_err *err);
int atoll_client_fd(
    const struct atoll_client *client); /* readable when a turn is due; -1: poll by time (spool: 20 ms) */

#endif
