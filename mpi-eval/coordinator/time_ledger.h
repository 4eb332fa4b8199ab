/* time_ledger.h - where the time of the campaign's devices went in this attempt: what evaluators report of theirs, added up by
 * device, and what of it the journal does not hold yet.
 * Layer: mpi-eval, part of the coordinator.  Lifetime: create/destroy.  Single owner.
 *
 * An evaluator's reports are cumulative: a later one replaces what an earlier one said of the same task.  One that is made anew
 * begins an account of its own beside the old one; the time in which nobody worked on the device (before the first account, and
 * between two of the same peer) is of the part START. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_TIME_LEDGER_H
#define ATOLL_MPI_EVAL_COORDINATOR_TIME_LEDGER_H

#include "core/event.h"
#include "core/message.h"

struct atoll_time_ledger;

/* now_ns: by rank 0's clock, as in all that follows; the attempt begins. */
struct atoll_time_ledger *atoll_time_ledger_create(double now_ns, struct atoll_err *err);
void atoll_time_ledger_destroy(struct atoll_time_ledger *ledger);

/* report: only read; the first of an account is of all its tasks.  PROTOCOL: a task that the campaign does not have, or a time that
 * no attempt lasts. */
int atoll_time_ledger_take(struct atoll_time_ledger *ledger, unsigned peer, double now_ns,
                           uint32_t task_count, const struct atoll_time_report *report,
                           struct atoll_err *err);
/* The device of the peer's account, and of those that follow: it said HELLO.  What has none is not journaled. */
int atoll_time_ledger_device(struct atoll_time_ledger *ledger, unsigned peer,
                             const struct atoll_device_info *device, struct atoll_err *err);

/* The attempt ends: what the peer has not told of its device is of this part. */
void atoll_time_ledger_end(struct atoll_time_ledger *ledger, unsigned peer, double now_ns,
                           enum atoll_time_part part);

/* What of the next device that has something new is not journaled yet, and counts as journaled from now on: 1, ret_times->times is
 * owned by the caller; 0 when all were looked at, and the first is the next one again; -1. */
int atoll_time_ledger_next(struct atoll_time_ledger *ledger, struct atoll_device_times *ret_times,
                           struct atoll_err *err);

/* What one device took for all its tasks; node and model: borrowed from the ledger. */
struct atoll_time_sum {
    uint64_t key;
    const char *node, *model;
    struct atoll_device_time time;
};
/* Devices in the order in which they said HELLO; 0 beyond the last. */
int atoll_time_ledger_sum(const struct atoll_time_ledger *ledger, size_t index,
                          struct atoll_time_sum *ret_sum);

/* Of all devices together, the shares of MEASUREMENT.md 9; 0 while nobody has told anything. */
int atoll_time_ledger_shares(const struct atoll_time_ledger *ledger, double *ret_occupied,
                             double *ret_candidates);

#endif
