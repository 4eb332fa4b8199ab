/* store.h - every exchange with a model, append-only: record and replay.
 * Layer: llm-gateway.  Lifetime: open/close.  One writer (a lock; another one is BUSY), any number of readers.  A torn end,
 * left by a kill, is cut by the next writer; readers stop before it.  Records are frames (base/frame.h), the index is
 * rebuilt when it is opened; texts stay in the file.  docs/spec/gateway.md */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_STORE_H
#define ATOLL_LLM_GATEWAY_BUDGET_STORE_H

#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"

enum atoll_store_mode { ATOLL_STORE_READ, ATOLL_STORE_WRITE };

struct atoll_store;
/* READ: the file must be there; what is appended later is not seen.  WRITE: made when it is not.  Errors: NOTFOUND, BUSY, CORRUPT (a checksum before the end,
 * with the offset), SCHEMA (newer), IO ... */
struct atoll_store *atoll_store_open(const char *path, enum atoll_store_mode mode, struct atoll_err *err);
/* The same through other calls: for tests.  ops: borrowed, NULL = the real ones. */
struct atoll_frame_file_ops;
struct atoll_store *atoll_store_open_through(const char *path, enum atoll_store_mode mode,
                                             const struct atoll_frame_file_ops *ops, struct atoll_err *err);
void atoll_store_close(struct atoll_store *store);

/* Appends to memory, found at once.  request: its JSON is kept; reservation: of the ledger, 0 none.
 * Errors: LIMIT (request and outcome together beyond 64 MiB), MEMORY; then nothing was appended. */
int atoll_store_append(struct atoll_store *store, const struct atoll_llm_request *request,
                       const struct atoll_llm_outcome *outcome, uint64_t reservation, struct atoll_err *err);
/* Three ways to make it last; -1: nothing is lost from memory, the same call may be repeated.
 * write: the end of this process cannot undo it; sync: nor can the end of the machine; sync_begin: write now, the rest is
 * done by syncer (borrowed until the store is closed).  sync_end looks whether it has ended: 1 nothing is under way. */
struct atoll_syncer;
int atoll_store_write(struct atoll_store *store, struct atoll_err *err);
int atoll_store_sync_begin(struct atoll_store *store, struct atoll_syncer *syncer, struct atoll_err *err);
int atoll_store_sync_end(struct atoll_store *store);
int atoll_store_is_synced(const struct atoll_store *store);
int atoll_store_sync(struct atoll_store *store, struct atoll_err *err);
int atoll_store_is_dirty(const struct atoll_store *store); /* something has to be written */

/* The newest answer (status is_answer, REFUSED or EMPTY: what asking again would only repeat) of a request: by its key where it has one and the
 * store knows it, else by its id.  1 found: ret_outcome (init'ed) is filled; 0 not there; -1 trouble. */
int atoll_store_find(struct atoll_store *store, const struct atoll_llm_request *request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err);

struct atoll_store_entry {
    uint64_t offset, reservation;
    struct atoll_id request;
    const char *key; /* borrowed until the next call */
};
size_t atoll_store_count(const struct atoll_store *store);
/* index < count.  Reads the file; where that fails everything but offset and reservation is zero and "". */
void atoll_store_at(const struct atoll_store *store, size_t index, struct atoll_store_entry *ret_entry);
/* The whole exchange: request JSON and outcome. */
int atoll_store_read(struct atoll_store *store, size_t index, struct atoll_buffer *ret_request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err);
/* 1 when an exchange of that reservation is there: the ledger settles what a kill left open. */
int atoll_store_find_reservation(const struct atoll_store *store, uint64_t reservation, size_t *ret_index);

#endif
