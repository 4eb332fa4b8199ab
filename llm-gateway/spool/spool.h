/* spool.h - requests and replies as files, where no socket can pass (docs/spec/gateway.md, which a person can follow by
 * hand).
 * Layer: llm-gateway.  Both sides are polled; no inotify, no locks: what counts is link, which NFS and Lustre give.  Files
 * are spread over 256 folders by the name's first two digits.
 *
 * What it costs: two fsync for each ask and each reply, and no file is opened that is known.  The asking side looks into a
 * folder at most every 20 ms, and 1 ms more for each folder with open requests; the answering side into those where a bell was
 * rung (client_ask does), and into every folder every 2 s. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_H

#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"

#define ATOLL_SPOOL_NAME_BYTES 80 /* with the NUL */

/* ---- the asking side ---- */
struct atoll_spool_client;
/* Makes the folder's tree where it is missing.  now_ns: a monotonic clock, NULL: the system's.  Errors: INPUT (the folder
 * holds other files), SCHEMA, IO, DENIED ... */
struct atoll_spool_client *atoll_spool_client_open(const char *folder, double (*now_ns)(void *context),
                                                   void *context, struct atoll_err *err);
void atoll_spool_client_close(struct atoll_spool_client *client);
/* The name follows from the request's key (or, without one, its id): asking again after a kill finds the reply that came
 * meanwhile.  Durable when it returns. */
int atoll_spool_client_ask(struct atoll_spool_client *client, const struct atoll_llm_request *request,
                           char ret_name[ATOLL_SPOOL_NAME_BYTES], struct atoll_err *err);
/* 1 and an outcome: the reply is there (it stays until done); what cannot be read as one is a PROTOCOL outcome.  0 not yet.
 * -1 NOTFOUND: neither request nor reply is there any more, for another client of the same request was done with it, or
 * somebody removed it: ask again.  -1 else: trouble that will not pass. */
int atoll_spool_client_look(struct atoll_spool_client *client, const char *name,
                            struct atoll_llm_outcome *ret_outcome, struct atoll_err *err);
/* Removes what there is of it and publishes the same JSON again: after NOTFOUND, or for a reply that is none. */
int atoll_spool_client_again(struct atoll_spool_client *client, const char *name, const void *json,
                             size_t length, struct atoll_err *err);
/* The reply is durable elsewhere: request and reply may go. */
int atoll_spool_client_done(struct atoll_spool_client *client, const char *name, struct atoll_err *err);
/* Nobody waits any more: the request is withdrawn.  The server learns so when it next checks; a reply that is there
 * already stays. */
void atoll_spool_client_withdraw(struct atoll_spool_client *client, const char *name);

/* ---- the answering side: one server at a time, the holder of the lease in the spool's folder ---- */
struct atoll_spool_server;
/* now_ns: a monotonic clock, NULL: the system's.  Errors: BUSY (another server on this machine has it; its process and host
 * are named), and those of the client.  Where the holder is on another machine it is watched first: scan takes nothing until
 * it has been silent for ATOLL_LEASE_TIME_S. */
struct atoll_spool_server *atoll_spool_server_open(const char *folder, double (*now_ns)(void *context),
                                                   void *context, struct atoll_err *err);
void atoll_spool_server_close(
    struct atoll_spool_server *server); /* what is not answered stays for the next */
/* Takes requests that have no reply, at most limit per call; request: decoded, borrowed for the call.  A file that does not
 * decode gets a reply that says so.  sink 0: taken; not 0: it is left for later, and the call ends.  Errors: BUSY, another
 * server has the spool: nothing more may be done with this one; others may pass. */
typedef int atoll_spool_sink(void *context, const char *name, const struct atoll_llm_request *request);
int atoll_spool_server_scan(struct atoll_spool_server *server, size_t limit, atoll_spool_sink *sink,
                            void *context, struct atoll_err *err);
/* Durable when it returns.  A reply that is there already stays as it is; a request that was withdrawn gets none. */
int atoll_spool_server_reply(struct atoll_spool_server *server, const char *name,
                             const struct atoll_llm_outcome *outcome, struct atoll_err *err);
/* Forgets what was taken and is withdrawn or answered by a person: gone is called with their names.  Looks at most once a
 * second: call it as often as you like.  BUSY as scan. */
int atoll_spool_server_check(struct atoll_spool_server *server, void (*gone)(void *context, const char *name),
                             void *context, struct atoll_err *err);
/* Removes replies nobody fetched for keep_s, and temporary files left behind for keep_s, at most 10 minutes; ages are of the
 * file system's own clock.  A call looks at 16 of the 256 folders: 16 calls look at all. */
int atoll_spool_server_clean(struct atoll_spool_server *server, double keep_s, struct atoll_err *err);

#endif
