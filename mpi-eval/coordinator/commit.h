/* commit.h - the engine and its journal as one thing: nothing reaches the engine that is not durable, and
 * what it decides is written down (DESIGN.md 3). Layer: mpi-eval.  Lifetime: create/destroy.  Single owner.
 */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_COMMIT_H
#define ATOLL_MPI_EVAL_COORDINATOR_COMMIT_H

#include "archive-h5/journal/journal.h"
#include "evolution/engine/engine.h"

#define ATOLL_COMMIT_ROUND_LIMIT ATOLL_JOURNAL_UNDECIDED_LIMIT /* events in one round */

/* A snapshot is due after so many events or bytes of journal, and not before the journal has grown by
 * ATOLL_SNAPSHOT_SHARE times the size of the last one: snapshots stay below about a quarter of a journal. */
#define ATOLL_SNAPSHOT_EVENTS 2000
#define ATOLL_SNAPSHOT_BYTES  ((uint64_t)8 << 20)
#define ATOLL_SNAPSHOT_SHARE  4

/* How far the journals have come since the last snapshot, or since the start. */
struct atoll_snapshot_age {
    uint64_t events, bytes;  /* bytes: of records */
    uint64_t snapshot_bytes; /* of the last one, 0 without one */
};
int atoll_snapshot_is_due(const struct atoll_snapshot_age *age, uint64_t every_events);

struct atoll_commit;

struct atoll_commit_hooks {
    void *context;
    /* Before something is written, and before what was written is acknowledged: -1 = another process does both now. */
    int (*may_write)(void *context, struct atoll_err *err);
    /* The disk is full: 0 = try again, -1 = give up (the events of the round are lost, nothing was
     * acknowledged). */
    int (*no_space)(void *context, const struct atoll_err *why);
    /* All events of the round are durable; called before the engine sees the first. */
    void (*durable)(void *context, const struct atoll_event *events, size_t count);
    /* Every decision, once, after its event's step; then `settled` for the event. */
    int (*decided)(void *context, const struct atoll_decision *decision, struct atoll_err *err);
    void (*settled)(void *context, const struct atoll_event *event);
};

/* engine and journal: taken, also on failure.  hooks: copied; each function may be NULL. */
struct atoll_commit *atoll_commit_create(struct atoll_engine *engine, struct atoll_journal *journal,
                                         const struct atoll_commit_hooks *hooks, struct atoll_err *err);
void atoll_commit_destroy(struct atoll_commit *ledger);
struct atoll_engine *atoll_commit_engine(struct atoll_commit *ledger);
struct atoll_journal *atoll_commit_journal(struct atoll_commit *ledger);

/* Adds an event to the round.  The event's evaluation is moved out of it; what it borrows must live until
 * commit. ATOLL_E_LIMIT when the round is full: commit first. */
int atoll_commit_add(struct atoll_commit *ledger, struct atoll_event *event, struct atoll_err *err);
size_t atoll_commit_round_count(const struct atoll_commit *ledger);
/* every_events: instead of ATOLL_SNAPSHOT_EVENTS; 0 = that.  age: what former attempts left. */
void atoll_commit_snapshots(struct atoll_commit *ledger, uint64_t every_events,
                            const struct atoll_snapshot_age *age);
/* One sync for the round, then one step for each of its events, then a snapshot where one is due.
 * Nothing to do without events. */
int atoll_commit_now(struct atoll_commit *ledger, struct atoll_err *err);
/* Writes the CLOSE record and syncs. */
int atoll_commit_close(struct atoll_commit *ledger, int64_t unix_ns, const char *reason,
                       struct atoll_err *err);

#endif
