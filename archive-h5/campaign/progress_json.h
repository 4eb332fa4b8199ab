/* progress_json.h - progress.json beside campaign.yaml: what rank 0 last said about how far it is (docs/spec/progress.md).
 * Layer: archive-h5.  Lifetime: init (all zero) / fini.  A hint beside the journal, never the truth: it is replaced in one
 * step and not synced, may be late, missing, or of an attempt that lost the campaign. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_PROGRESS_JSON_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_PROGRESS_JSON_H

#include "archive-h5/campaign/campaign.h"

#define ATOLL_CAMPAIGN_PROGRESS_FILE "progress.json"

/* A task on one device model. */
struct atoll_campaign_progress_task {
    char name[64];
    char model[96];              /* "" where all devices are alike */
    uint64_t evaluated, correct; /* as the search counts them */
    double baseline_ns, best_ns; /* 0 while unknown */
    double final_ratio;          /* baseline / best of the final comparison, 0 before it */
    int is_done;
};

struct atoll_campaign_progress_asks {
    uint64_t open, answered, failed, tokens;
    double cost_usd;
};

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
    char reason[32];                          /* why it stops, "none" before */
    int has_asks;                             /* a language model is asked */
    struct atoll_campaign_progress_asks asks; /* of this attempt */
    size_t task_count;
    struct atoll_campaign_progress_task *tasks; /* owned */
};

void atoll_progress_json_fini(struct atoll_progress_json *hint);

/* Replaces DIR/progress.json.  The temporary file is in the attempt's folder, so that two writers never share one.  Not
 * synced.  Errors: FULL, DENIED, IO, LIMIT, MEMORY, INTERNAL (a number that is none). */
int atoll_progress_json_write(const char *dir, const struct atoll_progress_json *hint,
                              const struct atoll_file_ops *ops, struct atoll_err *err);

/* 1: ret_hint, to be fini'ed; it is about this campaign and its tasks, every number is within its range, and no text has
 * control characters.  0: there is none, or it is torn, foreign, of another version or out of range: not worth an error. */
int atoll_progress_json_read(const struct atoll_campaign *campaign, struct atoll_progress_json *ret_hint);

#endif
