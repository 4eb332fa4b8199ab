/* submission.h - a campaign before it is one: its parts, its batch script, and the folder made of them.
 * Layer: scheduler.  plan/fini; make in between.
 *
 * The folder is made whole under the name DIR.new-<digits> and renamed into place: there is a campaign or there is none. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_SUBMISSION_H
#define ATOLL_SCHEDULER_CAMPAIGN_SUBMISSION_H

#include <limits.h>

#include "base/buffer.h"
#include "base/id.h"
#include "core/search.h"
#include "scheduler/campaign/campaign_plan.h"
#include "scheduler/site/site.h"
#include "scheduler/campaign/sweep.h"

/* The options as given; borrowed from argv.  Zero and NULL are what is not given. */
struct atoll_submission_settings {
    struct atoll_plan_settings plan; /* first: the rows of atoll_plan_options */
    const char *out, *site, *partition, *account, *qos, *constraint;
    long long nodes, gpus_per_node, evaluators_per_node, jobs, tasks_per_part, max_queued;
    double time_s, priority, share, lease_time_s;
    struct atoll_option_list after, eval_words;
    int is_quiet;
};

struct atoll_submission {
    struct atoll_submission_settings *settings; /* borrowed */
    struct atoll_campaign_plan plan;
    struct atoll_site *site;
    struct atoll_sweep sweep; /* as it will be written */
    struct atoll_id id;
    char out[PATH_MAX]; /* absolute */
    struct atoll_buffer script;
    struct atoll_arena *arena;
};

/* Reads tasks and site, and refuses what would fail later; makes nothing.  fini also after a failure.  Errors: USAGE, NOTFOUND
 * (--after), LIMIT, those of atoll_campaign_plan_make and of the site's profile. */
int atoll_submission_plan(struct atoll_submission *ret_submission, struct atoll_submission_settings *settings,
                          const char *const *suites, size_t count, struct atoll_err *err);
void atoll_submission_fini(struct atoll_submission *submission);
/* The part of that number, whose first task is `first` of the plan's. */
struct atoll_plan_part atoll_submission_part(const struct atoll_submission *submission, size_t number,
                                             size_t first);
/* Makes the folder.  Errors: EXISTS when something is there, and those of writing; what was begun is named, and can be removed. */
int atoll_submission_make(struct atoll_submission *submission, struct atoll_err *err);

/* Part `number` of `parts` has tasks first..first+count-1 of `tasks`; `jobs` work at once. */
struct atoll_budget_share {
    size_t number, parts;
    size_t first, count, tasks;
    size_t jobs;
};

/* Limits that are counted (evaluations, tokens) must give each part at least one: 0 would be no limit.  Errors: USAGE with the
 * limit's option and the remedy. */
int atoll_budget_share_check(const struct atoll_search *whole, size_t parts, struct atoll_err *err);
/* The part's search: of what is counted and of money and device time its tasks' share, so that all parts together have what
 * the whole has, to the last evaluation; of the clock its share of the jobs' time; a seed of its own. */
struct atoll_search atoll_budget_share_of(const struct atoll_search *whole,
                                          const struct atoll_budget_share *share);

#endif
