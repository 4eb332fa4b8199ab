/* exchange_store.h - every exchange with a model, in a gateway's file or in a recording: asked before, record, replay.
 * A run that was killed gets from here the replies it paid for and had not journaled.
 * Layer: llm-gateway.  Lifetime: open/close.  docs/spec/gateway-database.md */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_EXCHANGE_STORE_H
#define ATOLL_LLM_GATEWAY_BUDGET_EXCHANGE_STORE_H

#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"

#define ATOLL_EXCHANGE_BYTES ((size_t)64 << 20) /* request and outcome together */

struct atoll_database;
struct atoll_store;

/* The exchanges of a database that is open; borrowed. */
struct atoll_store *atoll_store_of(struct atoll_database *database, struct atoll_err *err);
/* A recording: READ, one that is there and that nobody writes; RECORD, made when it is not there, in one transaction that
 * ends with finish. */
enum atoll_store_mode { ATOLL_STORE_READ, ATOLL_STORE_RECORD };
struct atoll_store *atoll_store_open(const char *path, enum atoll_store_mode mode, struct atoll_err *err);
int atoll_store_finish(struct atoll_store *store, struct atoll_err *err);
/* A recording that was not finished is without what was put. */
void atoll_store_close(struct atoll_store *store);

/* Into the transaction that is open.  reservation: 0 none; another exchange of the same one
 * is replaced.  LIMIT: larger than ATOLL_EXCHANGE_BYTES. */
int atoll_store_put(struct atoll_store *store, const struct atoll_llm_request *request,
                    const struct atoll_llm_outcome *outcome, uint64_t reservation, struct atoll_err *err);

/* The newest answer (status is_answer, REFUSED or EMPTY: what asking again would only repeat) of a request: by its key where
 * it has one and the store knows it, else by its id.  1 found: ret_outcome (init'ed) is filled; 0 not there; -1 trouble. */
int atoll_store_find(struct atoll_store *store, const struct atoll_llm_request *request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err);
/* -1 trouble. */
long atoll_store_count(struct atoll_store *store, struct atoll_err *err);

/* exchanges.atl, a recording of an earlier version.  from: exchanges.atl, left as it is; to: a recording, made when it is not there, else added to.  ret_left_bytes: at the end of
 * from, not whole; a kill left them.  After -1 nothing was added. */
int atoll_old_exchanges_convert(const char *from, const char *to, size_t *ret_count, size_t *ret_left_bytes,
                                struct atoll_err *err);

#endif
