/* campaign_plan.h - what a new campaign is to be: its options, tasks and search, before any folder of it exists.
 * Layer: scheduler.  make/fini; `atoll run` makes one folder of a plan, `atoll submit` one for each part. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PLAN_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PLAN_H

#include "base/id.h"
#include "mpi-eval/coordinator/setup.h"
#include "scheduler/campaign/model_options.h"
#include "scheduler/campaign/reuse.h"
#include "scheduler/campaign/run_tasks.h"
#include "scheduler/campaign/search_options.h"

/* The options of a campaign as given; borrowed from argv.  First member of the settings of each command that makes one. */
struct atoll_plan_settings {
    struct atoll_search_options search;
    struct atoll_model_options model;
    struct atoll_option_list only, reuse;
    const char *backend, *compiler, *flags, *include_path, *timing, *counters, *sanitize;
    long long threads;
    double sample_seconds, counters_ratio, sanitize_seconds;
    double default_seconds; /* set by the command: wall-clock budget where none is given; 0 = 120 */
};
extern const struct atoll_option
    atoll_plan_options[]; /* offsets from the beginning of struct atoll_plan_settings */

struct atoll_campaign_plan {
    struct atoll_plan_settings *settings; /* borrowed; its model is completed and owned by the plan */
    struct atoll_search search;
    struct atoll_setup setup;
    struct atoll_run_tasks tasks;
    struct atoll_reuse_counts reused; /* by all folders made so far */
};

/* What the search is where nothing is given; its seed is drawn later. */
void atoll_plan_search_defaults(const struct atoll_plan_settings *settings, struct atoll_search *ret_search);
/* Checks everything that evaluators would refuse later.  evaluators: at once, for what is left out of short runs (said on
 * standard error unless is_quiet).  fini also after a failure.  Errors: USAGE, and those of reading tasks. */
int atoll_campaign_plan_make(struct atoll_campaign_plan *ret_plan, struct atoll_plan_settings *settings,
                             const char *const *suites, size_t suite_count, double evaluators, int is_quiet,
                             struct atoll_err *err);
void atoll_campaign_plan_fini(struct atoll_campaign_plan *plan);

/* A folder of the plan's tasks first..first+count-1. */
struct atoll_plan_part {
    size_t first, count;
    struct atoll_search search;
    unsigned ranks;
    const struct atoll_id *sweep; /* the campaign it is a part of, whose limits of money hold; NULL none */
};
/* All tasks with the plan's own search. */
struct atoll_plan_part atoll_campaign_plan_whole(const struct atoll_campaign_plan *plan, unsigned ranks);
/* Makes the campaign folder dir and the folders above it.  Errors: those of atoll_campaign_create and of --reuse. */
int atoll_campaign_plan_create(struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                               const char *dir, struct atoll_err *err);
/* A line on standard error on what was taken over from earlier campaigns; nothing without --reuse. */
void atoll_campaign_plan_log_reuse(const struct atoll_campaign_plan *plan);

#endif
