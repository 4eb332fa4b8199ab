/* campaign.h - the campaign directory: frozen settings, copies of the tasks, one folder per attempt, one
 * lock. Layer: archive-h5.  Lifetime: create or open / close; single owner.
 *
 *   DIR/campaign.yaml          frozen settings (config.h)
 *   DIR/lease/                 who may write (lease.h)
 *   DIR/campaign.lock          held by that process too, where the file system has locks
 *   DIR/tasks/<task>/          copies of the task's files
 *   DIR/knowledge.json         what models are told of (knowledge.h), where any is asked; of parts in ../..
 *   DIR/prior.atl              what was taken over from earlier campaigns (prior.h), if anything was
 *   DIR/jobs/<job>.<n>/        journal.atl, segment-NNNN.h5, log
 *   DIR/progress.json          how far it is: a hint (campaign_progress.h)
 *   DIR/archive.h5, report.html
 */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_H

#include "archive-h5/campaign/config.h"
#include "archive-h5/journal/journal.h"
#include "archive-h5/journal/journal_reader.h"
#include "base/lease.h"

struct atoll_campaign;

/* Makes DIR (which may exist when it is empty or holds only what a killed create left), copies the tasks, and
 * last of all writes campaign.yaml: with it the campaign exists, before it nothing does.  config is copied.
 * The result is locked. Errors: EXISTS (a campaign or foreign files are there; remedy in the text), BUSY,
 * DENIED, FULL, IO, NOTFOUND (a task folder), LIMIT (a task with too many or too large files). */
struct atoll_campaign *atoll_campaign_create(const char *dir, const struct atoll_config *config,
                                             const struct atoll_file_ops *ops, struct atoll_err *err);
/* Opens for reading; claim it before writing.  Errors: NOTFOUND (no campaign.yaml), INPUT, SCHEMA, IO.
 */
struct atoll_campaign *atoll_campaign_open(const char *dir, const struct atoll_file_ops *ops,
                                           struct atoll_err *err);
void atoll_campaign_close(struct atoll_campaign *campaign); /* releases lock and lease; NULL is fine */

/* How a claimed campaign is held. */
enum atoll_campaign_hold {
    ATOLL_HOLD_LOCKED,     /* lease and lock */
    ATOLL_HOLD_NO_LOCKS,   /* the file system has no locks: the lease alone */
    ATOLL_HOLD_PASSED_OVER /* the lock is still with the holder whose lease was taken over */
};
/* Claims the lease, above all numbers of attempts, and then the lock.  silent_epoch: as in atoll_lease_claim.  ret_hold may be
 * NULL.  Errors: BUSY names pid and host of the holder; those of atoll_lease_claim and of a list of attempts. */
int atoll_campaign_claim(struct atoll_campaign *campaign, const struct atoll_lease_holder *self,
                         uint32_t silent_epoch, enum atoll_campaign_hold *ret_hold, struct atoll_err *err);
/* NULL when it is not claimed; borrowed until close. */
struct atoll_lease *atoll_campaign_lease(const struct atoll_campaign *campaign);
/* Called for every record that is read and for every part of a file that is written, so that long work shows life. */
void atoll_campaign_on_life(struct atoll_campaign *campaign, void (*alive)(void *context), void *context);

/* The lock alone, for tools that write and start no attempt of a job.  Held until close or death (also by SIGKILL).  ATOLL_E_BUSY names pid and
 * host of the holder.  An open file description lock: a child forked afterwards without exec would keep it,
 * so fork before. */
int atoll_campaign_lock(struct atoll_campaign *campaign, struct atoll_err *err);

/* Borrowed until close. */
const struct atoll_config *atoll_campaign_config(const struct atoll_campaign *campaign);
const char *atoll_campaign_dir(const struct atoll_campaign *campaign);
const char *atoll_campaign_option(const struct atoll_campaign *campaign,
                                  const char *key); /* NULL when not there */

/* One folder below jobs/, as its journal says. */
struct atoll_attempt {
    char name[ATOLL_ATTEMPT_NAME_BYTES];
    int has_journal; /* 0: killed before its header was durable; the fields below are zero */
    struct atoll_journal_header header;
};

/* All attempts by header.attempt, stillborn ones last.  ret_attempts: owned array, free() it. */
int atoll_campaign_attempts(const struct atoll_campaign *campaign, struct atoll_attempt **ret_attempts,
                            size_t *ret_count, struct atoll_err *err);

/* Starts the next attempt: reads the journals, seals the last one where its good records end, makes
 * jobs/<job>.<n>/ and its journal.  job: "local" or a scheduler's job id.  The campaign must be claimed or locked (else
 * ATOLL_E_INTERNAL); claimed, the attempt's number is the lease's epoch (BUSY when a newer one has begun). ret_dir: the attempt's folder, borrowed until the campaign closes; may be NULL. */
struct atoll_journal *atoll_campaign_start_attempt(struct atoll_campaign *campaign, const char *job,
                                                   uint32_t engine_version, int64_t now_unix_ns,
                                                   const char **ret_dir, struct atoll_err *err);

#define ATOLL_QUARANTINED_LIMIT 4 /* attempts that are reported by name */

/* Where the tail of a replay stands. */
struct atoll_replay_report {
    uint64_t attempt_count, stillborn_count;
    uint64_t event_count;   /* also the number of the next event */
    uint64_t decided_count; /* events that have their decisions; less than event_count when the last round
                               lacks them */
    uint64_t decision_count;
    uint64_t torn_bytes;          /* lost tails, never acknowledged */
    uint64_t quarantined_records; /* written by an attempt after another took over: counted, never merged */
    uint64_t quarantined_bytes;
    struct atoll_quarantined {
        char attempt[ATOLL_ATTEMPT_NAME_BYTES];
        uint64_t records;
    } quarantined[ATOLL_QUARANTINED_LIMIT]; /* the first ones that wrote such; the sums above are of all */
    size_t quarantined_count;
    enum atoll_journal_ending ending;    /* of the last attempt; STILLBORN when there is none */
    char reason[128];                    /* of its CLOSE record */
    char last[ATOLL_ATTEMPT_NAME_BYTES]; /* the last attempt that counts, "" for none */
    uint64_t last_good_bytes;
};

/* Called for every record in order; the record is borrowed for the call.  0 = go on, -1 with err filled =
 * stop. */
typedef int atoll_replay_visitor(void *context, const struct atoll_attempt *attempt,
                                 const struct atoll_record *record, struct atoll_err *err);

/* All records of all attempts, in order, each predecessor up to the offset its successor sealed (whose digest
 * is checked). visit may be NULL (only the report).  ret_report may be NULL. */
int atoll_campaign_replay(const struct atoll_campaign *campaign, atoll_replay_visitor *visit, void *context,
                          struct atoll_replay_report *ret_report, struct atoll_err *err);

/* The newest snapshot written by this engine version: its event number and bytes (replace what out, which is
 * init'ed, holds). 1 found, 0 none, -1 error. */
int atoll_campaign_last_snapshot(const struct atoll_campaign *campaign, uint32_t engine_version,
                                 uint64_t *ret_event, struct atoll_buffer *out, struct atoll_err *err);

#endif
