/* campaign_progress.h - how far a campaign is, in a millisecond however long its journals are.
 * Layer: archive-h5.  Lifetime: read/fini.  Needs no lock; safe while others write.
 *
 * How many results there are and whether the campaign has ended come from the journals: progress.json (standing_hint.h)
 * says what was counted up to some byte of one of them, and what lies behind is counted here (journal_tally.h).  Where the
 * hint is of no use everything is counted.  Times of kernels, shares and what was spent are as old as the hint. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_PROGRESS_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_PROGRESS_H

#include "archive-h5/campaign/progress_json.h"

enum atoll_campaign_progress_phase {
    ATOLL_CAMPAIGN_PROGRESS_FRESH, /* no attempt began */
    ATOLL_CAMPAIGN_PROGRESS_OPEN,  /* begun; whether somebody works on it is the lease's matter (lease.h) */
    ATOLL_CAMPAIGN_PROGRESS_ENDED  /* as a resume would say: atoll_journal_is_final */
};

struct atoll_campaign_progress {
    enum atoll_campaign_progress_phase phase;
    uint64_t attempt_count;                 /* that began, with those that do not count */
    char attempt[ATOLL_ATTEMPT_NAME_BYTES]; /* the newest; "" without one */
    uint32_t attempt_number;
    uint64_t evaluated,
        duelled;       /* EVALUATED and DUELLED events of the attempts that count, up to their seals */
    double campaign_s; /* of the last event */
    int64_t
        last_unix_ns; /* when it came, or when the hint was written if nothing came later; 0 without both */
    char reason[128]; /* of the newest attempt's CLOSE record; "" where it has none */
    uint64_t lost_bytes;        /* torn end of the newest journal: never acknowledged */
    uint64_t walked_bytes;      /* of journals, to find this out */
    uint64_t evaluation_budget; /* of the campaign, 0 = no limit */
    int has_hint;               /* 0: in hint only the tasks' names count */
    struct atoll_progress_json hint;
};

/* dir: the campaign's folder.  Errors: NOTFOUND (no campaign.yaml), INPUT, CORRUPT (a journal is damaged or missing; what
 * lies in sealed or old records is not checked), SCHEMA, IO, MEMORY. */
int atoll_campaign_progress_read(const char *dir, struct atoll_campaign_progress *ret_standing,
                                 struct atoll_err *err);
/* The same for a campaign that is open. */
int atoll_campaign_progress_of(const struct atoll_campaign *campaign,
                               struct atoll_campaign_progress *ret_standing, struct atoll_err *err);
void atoll_campaign_progress_fini(struct atoll_campaign_progress *standing);

#endif
