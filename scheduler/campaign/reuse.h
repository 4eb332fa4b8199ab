/* reuse.h - what a new run takes over from earlier campaigns: for the same tasks on the same backend the times of
 * templates' instances as HINT events, and the best sources that are no seeds as SOURCE events.
 * Layer: scheduler.  Lifetime: create/destroy.  Earlier campaigns are only read; what they hold is hostile input. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_REUSE_H
#define ATOLL_SCHEDULER_CAMPAIGN_REUSE_H

#include "base/buffer.h"
#include "core/task/task.h"

#define ATOLL_REUSE_HINT_LIMIT   4096 /* per template */
#define ATOLL_REUSE_SOURCE_LIMIT 8    /* per task */

struct atoll_reuse;

/* tasks: of the new run, in the order of their numbers, borrowed.  model: its device model; "" = not known: then results
 * of the model that has most of them are preferred. */
struct atoll_reuse *atoll_reuse_create(struct atoll_task *const *tasks, size_t task_count,
                                       const char *backend, const char *model, struct atoll_err *err);
void atoll_reuse_destroy(struct atoll_reuse *reuse); /* NULL is fine */

/* Reads one campaign's journals.  One of another backend or other tasks adds nothing.  Errors: those of opening and
 * reading it. */
int atoll_reuse_add(struct atoll_reuse *reuse, const char *dir, struct atoll_err *err);

struct atoll_reuse_counts {
    size_t tasks, hints, sources; /* tasks: of the new run for which there is anything */
    size_t other_models; /* of those, tasks for which only results of another device model were there */
};
/* The events as prior.atl holds them (archive-h5/campaign/prior.h), sources first. */
int atoll_reuse_write(struct atoll_reuse *reuse, struct atoll_buffer *out,
                      struct atoll_reuse_counts *ret_counts, struct atoll_err *err);

/* What the devices of this machine call themselves; "" where nothing says so. */
void atoll_reuse_model(const char *backend, char *ret_model, size_t bytes);

#endif
