/* time_account.h - an account of where the wall time of one device goes, by part and task: at any moment all of it since the
 * account was opened is in exactly one part (core/device_time.h).
 * Layer: mpi-eval, referee.  Lifetime: create/destroy.  One thread works on the device and says at what it is; another may read, and
 * say whether orders are in hand.  Without an account (NULL) the functions of the working thread do nothing. */
#ifndef ATOLL_MPI_EVAL_REFEREE_TIME_ACCOUNT_H
#define ATOLL_MPI_EVAL_REFEREE_TIME_ACCOUNT_H

#include "core/device_time.h"

struct atoll_time_account;

typedef double atoll_time_account_clock(void *context); /* ns */

/* Opened now, in the part START, for no task.  clock: NULL = the monotonic one. */
struct atoll_time_account *atoll_time_account_create(atoll_time_account_clock *clock, void *context,
                                                     struct atoll_err *err);
void atoll_time_account_destroy(struct atoll_time_account *account);

/* ---- the thread that works on the device ---- */

/* From now on it is at this part; the part before is returned, to go back to. */
enum atoll_time_part atoll_time_account_enter(struct atoll_time_account *account, enum atoll_time_part part);
/* The same for a task. */
void atoll_time_account_begin(struct atoll_time_account *account, enum atoll_time_part part, uint32_t task);
/* It has nothing to do: IDLE, or COMPILING where orders are in hand; of no task. */
void atoll_time_account_wait(struct atoll_time_account *account);
/* What a sample takes is known at its end: until then it is in no part, and left out of what is read.  parts: of the time between
 * the two calls; what is left of it is of the part that the sample is in, and what is too much is taken off all of them in
 * proportion. */
void atoll_time_account_sample_begin(struct atoll_time_account *account);
void atoll_time_account_sample_end(struct atoll_time_account *account, const struct atoll_device_time *parts);

/* ---- any thread ---- */

void atoll_time_account_orders(struct atoll_time_account *account, int are_in_hand);
/* Tasks whose time has grown since the last call, or (is_all) every one; ret_report->times: owned by the caller, free() it. */
int atoll_time_account_report(struct atoll_time_account *account, int is_all,
                              struct atoll_time_report *ret_report, struct atoll_err *err);

#endif
