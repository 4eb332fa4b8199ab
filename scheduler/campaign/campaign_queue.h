/* campaign_queue.h - the user's campaigns that want jobs: one small file each in a folder of the user's.
 * Layer: scheduler.  There is no daemon: whoever has a reason (submit, resume, watch, a job that ends) looks through the
 * queue and puts jobs into Slurm's as far as limits allow (job_submitter.h).
 *
 * The folder is ATOLL_QUEUE, else $XDG_DATA_HOME/atoll/queue, else ~/.local/share/atoll/queue. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_QUEUE_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_QUEUE_AFTER_LIMIT 64

/* A campaign that wants jobs.  Texts are owned by the list. */
struct atoll_campaign_queue_entry {
    char *id;        /* of the campaign */
    char *campaign;  /* absolute path of its folder */
    double priority; /* the higher ones first; default 0 */
    double share;    /* among those of one priority: jobs at once in this ratio; default 1 */
    char **after;    /* folders of campaigns that must be done before */
    size_t after_count;
    int64_t added_unix_s;
};
struct atoll_campaign_queue {
    char *dir;
    struct atoll_campaign_queue_entry *entries; /* by priority, then by time */
    size_t count;
};

/* Its path.  Errors: MISSING (no home directory), LIMIT. */
int atoll_campaign_queue_folder(char *ret_path, size_t bytes, struct atoll_err *err);
/* Reads all entries; a file that cannot be read is named in a warning and left alone.  Makes the folder where it is not
 * there.  Errors: DENIED, IO, MISSING (no home directory), MEMORY. */
int atoll_campaign_queue_load(struct atoll_campaign_queue *ret_queue, struct atoll_err *err);
void atoll_campaign_queue_fini(struct atoll_campaign_queue *queue);
/* The entry of a campaign's id; NULL when it is not queued. */
const struct atoll_campaign_queue_entry *atoll_campaign_queue_find(const struct atoll_campaign_queue *queue,
                                                                   const char *id);

/* Writes an entry in one step: adds it, or replaces the one of the same id. */
int atoll_campaign_queue_put(const struct atoll_campaign_queue_entry *entry, struct atoll_err *err);
/* Takes a campaign out; one that is not there is fine. */
int atoll_campaign_queue_remove(const char *id, struct atoll_err *err);

#endif
