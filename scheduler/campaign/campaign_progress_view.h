/* campaign_progress_view.h - how far the parts of a campaign are, for people and as JSON.
 * Layer: scheduler.  Pure but for what it prints. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PROGRESS_VIEW_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PROGRESS_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "archive-h5/campaign/campaign_progress.h"

/* A part.  All borrowed. */
struct atoll_campaign_progress_row {
    const char *name; /* "0000"; the folder's name where there is one part only */
    const struct atoll_campaign_progress *progress; /* NULL: it cannot be read, and trouble says why */
    const char *trouble;
    int is_held;        /* somebody works on it: its lease is held */
    const char *holder; /* the job that does; NULL = not known */
};

enum atoll_campaign_progress_state {
    ATOLL_STATE_FRESH,   /* nobody has begun */
    ATOLL_STATE_RUNNING, /* held */
    ATOLL_STATE_WAITING, /* begun, nobody works on it, not ended */
    ATOLL_STATE_ENDED,
    ATOLL_STATE_UNREADABLE,
    ATOLL_STATE_COUNT
};
enum atoll_campaign_progress_state
atoll_campaign_progress_row_state(const struct atoll_campaign_progress_row *row);
const char *atoll_campaign_progress_state_name(enum atoll_campaign_progress_state state); /* "fresh" ... */

/* One line a part, or (by_task) one a task and device model, and the sums.  now_unix_ns: for the age of what is told. */
void atoll_campaign_progress_view_print(FILE *out, const struct atoll_campaign_progress_row *rows,
                                        size_t count, int by_task, int64_t now_unix_ns);

/* {"parts": [{"part", "state", "attempt", "attempts", "evaluated", "duelled", "correct", "evaluation_budget", "wall_budget_s", "device_budget_s", "token_budget", "money_budget_usd", "tokens", "cost_usd", "campaign_s",
 *   "device_s", "busy", "evaluators", "reason", "hint_age_s", "holder", "error", "asks", "devices": [{"key", "node", "model", and what device_time_json.h says}], "tasks": [{"task", "model",
 *   "evaluated", "correct", "baseline_ns", "best_ns", "ratio", "final", "ratio_over", "ratio_seed", "rival_ns", "rival", "done", "reason",
 *   "candidate", "baseline_interval_ns", "best_interval_ns", "ratio_interval", "ratio_seed_interval"}]}],
 *  "sums": {"parts", "fresh", "running", "waiting", "ended", "unreadable", "tasks", "timed", "evaluated", "duelled",
 *   "device_s", "evaluators", "geometric_mean", "geometric_mean_over", "geometric_mean_seed",
 *   "geometric_mean_interval", "geometric_mean_seed_interval"}}; an interval is [lo, hi], null where it is not known
 * What only a hint could tell is null where there is none.  New reference; NULL without memory. */
json_t *atoll_campaign_progress_view_json(const struct atoll_campaign_progress_row *rows, size_t count,
                                          int64_t now_unix_ns);

#endif
