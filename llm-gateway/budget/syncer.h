/* syncer.h - fdatasync behind the back of the one thread that owns everything else.
 * Layer: llm-gateway.  Lifetime: create/destroy.  All functions are for the owner's thread; the helper does nothing but the
 * call of each job, one after the other in the order they were started. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_SYNCER_H
#define ATOLL_LLM_GATEWAY_BUDGET_SYNCER_H

#include "base/err.h"

struct atoll_syncer;

struct atoll_syncer_job {
    int (*sync)(void *context, int fd); /* as fdatasync; runs in the helper's thread */
    void *context;
    int fd;
    int error;   /* errno of it, 0 none; once it is done */
    int is_done; /* the syncer's: ask atoll_syncer_is_done */
    struct atoll_syncer_job *next;
};

struct atoll_syncer *atoll_syncer_create(struct atoll_err *err); /* MEMORY, LIMIT: no thread to be had */
void atoll_syncer_destroy(struct atoll_syncer *syncer);          /* does what was started before it ends */
/* job: borrowed until it is done, with sync, context and fd filled. */
void atoll_syncer_start(struct atoll_syncer *syncer, struct atoll_syncer_job *job);
int atoll_syncer_is_done(struct atoll_syncer *syncer, const struct atoll_syncer_job *job);
void atoll_syncer_wait(struct atoll_syncer *syncer, const struct atoll_syncer_job *job);
/* Readable once a job was done, until it is quieted. */
int atoll_syncer_fd(const struct atoll_syncer *syncer);
void atoll_syncer_quiet(struct atoll_syncer *syncer);

#endif
