/* campaign_progress.h - how far a campaign is, in a millisecond however long its journals are; and progress.json beside
 * campaign.yaml: what rank 0 last wrote about it (docs/spec/progress.md).
 * Layer: archive-h5.  Lifetime: read/fini.  Needs no lock; safe while others write.
 *
 * progress.json is a hint beside the journal, never the truth: it is replaced in one step and not synced, may be late, missing,
 * or of an attempt that lost the campaign.  How many results there are and whether the campaign has ended come from the
 * journals: progress.json says what was counted up to some byte of one of them, and what lies behind is counted here
 * (journal_tally.h).  Where it is of no use everything is counted.  Times of kernels, shares and what was spent are as old
 * as it is. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_PROGRESS_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_CAMPAIGN_PROGRESS_H

#include "archive-h5/campaign/campaign.h"
#include "core/device_time.h"

#define ATOLL_CAMPAIGN_PROGRESS_FILE "progress.json"

/* A task on one device model. */
struct atoll_campaign_progress_task {
    char name[64];
    char model[96];              /* "" where all devices are alike */
    uint64_t evaluated, correct; /* as the search counts them */
    double baseline_ns, best_ns; /* 0 while unknown */
    double final_ratio;          /* baseline / best of the final comparison, 0 before it */
    int is_done;
    /* "" where the file is of before they were told: why it is done, as atoll_reason_name says it; the first digits of the best
     * candidate's id ("" without one, too). */
    char reason[32], best[17];
    /* The fastest rival as the search has it: its name, its time, its time over the best's from their final comparison; "" and 0
     * without one, and in files of before rivals. */
    char rival[64];
    double rival_ns, rival_ratio;
    /* While its baseline's times are unstable: rounds in which it was tried again, of so many at most; 0 and 0 else, and in files
     * of before. */
    uint64_t unstable_rounds, unstable_limit;
    /* 95 % intervals of both times, and of both ratios of final comparisons; 0 and 0 where they are not known, and in files of
     * before. */
    double baseline_lo_ns, baseline_hi_ns, best_lo_ns, best_hi_ns;
    double final_lo, final_hi, rival_lo, rival_hi;
    /* That of rival_ns, and the pairs of both final comparisons; 0 where they are not known, and in files of before. */
    double rival_lo_ns, rival_hi_ns;
    uint64_t final_pairs, rival_pairs;
};

/* A speedup as a person is told it. */
struct atoll_progress_speedup {
    double ratio;        /* 0 = unknown */
    int is_final;        /* from a final comparison; else the quotient of two medians */
    double lo, hi;       /* its 95 % interval, 0 = not known */
    uint64_t pair_count; /* of the final comparison, 0 = not known */
};
/* Over the task's rival, and over its baseline. */
struct atoll_progress_speedup atoll_progress_over_rival(const struct atoll_campaign_progress_task *task);
struct atoll_progress_speedup atoll_progress_over_seed(const struct atoll_campaign_progress_task *task);

struct atoll_campaign_progress_asks {
    uint64_t open, answered, failed, tokens;
    double cost_usd;
};

/* Where the time of a device went in this attempt; "" and 0 where nobody says. */
struct atoll_campaign_progress_device {
    char key[17]; /* in hexadecimal digits: the same device in another campaign has the same */
    char node[64], model[96];
    double part_s[ATOLL_TIME_PART_COUNT];
};
struct atoll_device_time
atoll_campaign_progress_device_time(const struct atoll_campaign_progress_device *device);

struct atoll_progress_json {
    struct atoll_id campaign;
    char attempt[ATOLL_ATTEMPT_NAME_BYTES];
    /* Up to here its journal was durable and is counted in evaluated and duelled: a record starts or the file ends there.
     * The CLOSE record lies behind it. */
    uint64_t journal_bytes;
    uint64_t evaluated, duelled; /* results in the journals of the campaign up to there */
    uint64_t correct;            /* of those that the search took: of all tasks */
    int64_t written_unix_ns;
    double campaign_s, elapsed_s; /* elapsed: of the attempt */
    double device_s;              /* of the campaign */
    double busy, candidate_share; /* of the evaluators' time in this attempt, 0..1 */
    uint64_t evaluators;          /* that answered then */
    int is_finishing, is_stopped;
    /* Budgets as they hold after extensions, 0 = no limit; in files of before, and without a file, as the campaign began; and what
     * the campaign spent on models, 0 then. */
    uint64_t evaluation_budget, token_budget, tokens;
    double wall_budget_s, device_budget_s, money_budget_usd, cost_usd;
    char reason[32];                          /* why it stops, "none" before */
    int has_asks;                             /* a language model is asked */
    struct atoll_campaign_progress_asks asks; /* of this attempt */
    size_t task_count;
    struct atoll_campaign_progress_task *tasks;     /* owned */
    size_t device_count;                            /* 0 in files of earlier versions, too */
    struct atoll_campaign_progress_device *devices; /* owned */
};

void atoll_progress_json_fini(struct atoll_progress_json *hint);

/* Replaces DIR/progress.json.  The temporary file is in the attempt's folder, so that two writers never share one.  Not
 * synced.  Errors: FULL, DENIED, IO, LIMIT, MEMORY, INTERNAL (a number that is none). */
int atoll_progress_json_write(const char *dir, const struct atoll_progress_json *hint,
                              const struct atoll_file_ops *ops, struct atoll_err *err);

/* 1: ret_hint, to be fini'ed; it is about this campaign and its tasks, every number is within its range, and no text has
 * control characters.  0: there is none, or it is torn, foreign, of another version or out of range: not worth an error. */
int atoll_progress_json_read(const struct atoll_campaign *campaign, struct atoll_progress_json *ret_hint);

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
    uint64_t evaluation_budget; /* 0 = no limit; without a hint as the campaign began */
    int has_hint;               /* 0: in hint only the tasks' names count */
    struct atoll_progress_json hint;
};

/* dir: the campaign's folder.  Errors: NOTFOUND (no campaign.yaml), INPUT, CORRUPT (a journal is damaged or missing; what
 * lies in sealed or old records is not checked), SCHEMA, IO, MEMORY. */
int atoll_campaign_progress_read(const char *dir, struct atoll_campaign_progress *ret_progress,
                                 struct atoll_err *err);
/* The same for a campaign that is open. */
int atoll_campaign_progress_of(const struct atoll_campaign *campaign,
                               struct atoll_campaign_progress *ret_progress, struct atoll_err *err);
void atoll_campaign_progress_fini(struct atoll_campaign_progress *progress);

#endif
