/* commit.h - the engine and its journal as one thing: nothing reaches the engine that is not durable, and
 * what it decides is written down (DESIGN.md 3). Layer: mpi-eval.  Lifetime: create/destroy.  Single owner.
 *
 * A round: add() its events; sync() makes all of them durable at once, from then on they may be acknowledged; step() gives
 * them to the engine one by one and returns what it decided, until it says that the round is over. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_COMMIT_H
#define ATOLL_MPI_EVAL_COORDINATOR_COMMIT_H

#include "archive-h5/journal/journal.h"
#include "evolution/engine/engine.h"
#include "mpi-eval/coordinator/lease_renewer.h"

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

/* An event that the engine has just seen, and what it decided.  Borrowed until the next call. */
struct atoll_commit_step {
    const struct atoll_event *event;
    const struct atoll_decision *decisions;
    size_t decision_count;
};

struct atoll_commit;

/* engine and journal: taken, also on failure.  lease_renewer: borrowed; NULL = without a lease. */
struct atoll_commit *atoll_commit_create(struct atoll_engine *engine, struct atoll_journal *journal,
                                         struct atoll_lease_renewer *lease_renewer, struct atoll_err *err);
void atoll_commit_destroy(struct atoll_commit *commit);
struct atoll_engine *atoll_commit_engine(struct atoll_commit *commit);
struct atoll_journal *atoll_commit_journal(struct atoll_commit *commit);
/* every_events: between snapshots, 0 = ATOLL_SNAPSHOT_EVENTS.  age: what former attempts left. */
void atoll_commit_snapshots(struct atoll_commit *commit, uint64_t every_events,
                            const struct atoll_snapshot_age *age);

/* Adds an event to the round.  The event's evaluation is moved out of it; what it borrows must live until the round is
 * over.  ATOLL_E_LIMIT when the round is full. */
int atoll_commit_add(struct atoll_commit *commit, struct atoll_event *event, struct atoll_err *err);
/* The events of the round, borrowed until it is over. */
const struct atoll_event *atoll_commit_events(const struct atoll_commit *commit, size_t *ret_count);
size_t atoll_commit_round_count(const struct atoll_commit *commit);

/* One sync for the round; no sync where there is nothing new.  -1: nothing of it may be acknowledged.  ATOLL_E_FULL: the disk
 * is full, and nothing is lost yet: call it again when there is space.  BUSY: the lease is lost. */
int atoll_commit_sync(struct atoll_commit *commit, struct atoll_err *err);
/* After sync: the engine takes the next event of the round.  1: what it decided is in ret_step and appended to the journal
 * (durable with the next sync); 0: the round is over, and a snapshot is written where one is due; -1: failed, and the
 * rest of the round is dropped. */
int atoll_commit_step(struct atoll_commit *commit, struct atoll_commit_step *ret_step, struct atoll_err *err);
/* Appends the CLOSE record; sync() makes it durable. */
int atoll_commit_close(struct atoll_commit *commit, int64_t unix_ns, const char *reason,
                       struct atoll_err *err);

#endif
