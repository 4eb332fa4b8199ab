/* campaign_state.h - the inside of a campaign, shared by campaign.c, attempt.c, replay.c, campaign_claim.c
 * and campaign_progress.c.
 * Layer: archive-h5, private. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_STATE_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_STATE_H

#include "archive-h5/campaign/campaign.h"

/* What the last complete replay found while this process held the campaign.  What another one writes in spite of that comes
 * behind it, and behind the seal that is made of it. */
struct atoll_campaign_seen {
    int valid;
    struct atoll_replay_report report;
};

struct atoll_campaign {
    const struct atoll_file_ops *ops;
    struct atoll_arena *arena;
    const char *dir;           /* without trailing slash */
    int lock_fd;               /* -1 while not locked */
    struct atoll_lease *lease; /* NULL while not claimed */
    void (*alive)(void *context);
    void *alive_context;
    struct atoll_config config;
    struct atoll_campaign_seen *seen;
};

/* DIR/name into ret_path. */
int atoll_campaign_path(const struct atoll_campaign *c, char *ret_path, size_t bytes, const char *name,
                        struct atoll_err *err);
/* DIR/jobs/<attempt>/journal.atl. */
int atoll_campaign_journal_path(const struct atoll_campaign *c, char *ret_path, size_t bytes,
                                const char *attempt, struct atoll_err *err);
/* Whether an attempt has a segment: those are made only of closed journals, so one beside a journal that does not end
 * in order, or has no header, proves that the journal lost what it had. */
int atoll_campaign_has_segment(const struct atoll_campaign *c, const char *attempt);
/* BLAKE2b of the first `length` bytes of a file; -1 with CORRUPT when it is shorter. */
int atoll_campaign_digest(const char *path, uint64_t length, struct atoll_id *ret_digest,
                          struct atoll_err *err);
/* Indices of the attempts that count, the newest first, into chain (room for count).  attempts: as
 * atoll_campaign_attempts orders them.  CORRUPT when one continues a journal that is not there. */
int atoll_campaign_chain(const struct atoll_campaign *c, const struct atoll_attempt *attempts, size_t count,
                         long *chain, long *ret_length, struct atoll_err *err);
/* Fills err with CORRUPT: what is wrong with the attempt's journal. */
int atoll_campaign_corrupt(const struct atoll_campaign *c, const char *attempt, const char *what,
                           struct atoll_err *err);
/* CORRUPT when the attempt's journal was written for another campaign or in another folder. */
int atoll_campaign_own(const struct atoll_campaign *c, const struct atoll_attempt *attempt,
                       struct atoll_err *err);

static inline void atoll_campaign_show_life(const struct atoll_campaign *c)
{
    if (c->alive)
        c->alive(c->alive_context);
}
int atoll_campaign_is_held(const struct atoll_campaign *c);
/* Whether a lock failed because the file system has none. */
int atoll_campaign_has_no_locks(const struct atoll_err *err);
/* For the one who makes a campaign. */
int atoll_campaign_hold_new(struct atoll_campaign *c, struct atoll_err *err);
void atoll_campaign_let_go(struct atoll_campaign *c);

#endif
