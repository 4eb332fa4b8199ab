/* campaign_plan.h - what a new campaign is to be: its options, tasks and search, before any folder of it exists.
 * Layer: scheduler.  make/fini; `atoll run` makes one folder of a plan, `atoll submit` one for each part. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PLAN_H
#define ATOLL_SCHEDULER_CAMPAIGN_CAMPAIGN_PLAN_H

#include "base/buffer.h"
#include "base/id.h"
#include "core/knowledge/pack.h"
#include "core/task/task.h"
#include "mpi-eval/coordinator/setup.h"
#include "scheduler/campaign/model_options.h"
#include "scheduler/campaign/run_tasks.h"
#include "scheduler/campaign/search_options.h"

/* ---- what it takes over from earlier campaigns (reuse.c) ----
 * For the same tasks on the same backend the times of templates' instances as HINT events, and the best sources that are no
 * seeds as SOURCE events; for tasks that compute the same on other shapes the sources alone.  create/destroy.  Earlier campaigns are only read; what they hold is hostile input. */

#define ATOLL_REUSE_HINT_LIMIT   4096 /* per template */
#define ATOLL_REUSE_SOURCE_LIMIT 8    /* per task */

struct atoll_reuse;

/* tasks: of the new run, in the order of their numbers, borrowed.  model: its device model; "" = not known: then results
 * of the model that has most of them are preferred.  except: names of tasks, "a,b", for which nothing is taken over; borrowed. */
struct atoll_reuse *atoll_reuse_create(struct atoll_task *const *tasks, size_t task_count,
                                       const char *backend, const char *model, const char *except,
                                       struct atoll_err *err);
void atoll_reuse_destroy(struct atoll_reuse *reuse); /* NULL is fine */

/* Reads one campaign's journals.  One of another backend or other tasks adds nothing.  Errors: those of opening and
 * reading it. */
int atoll_reuse_add(struct atoll_reuse *reuse, const char *dir, struct atoll_err *err);

struct atoll_reuse_counts {
    size_t tasks, hints, sources; /* tasks: of the new run for which there is anything */
    size_t other_models; /* of those, tasks for which only results of another device model were there */
    size_t
        like_tasks; /* of those, tasks for which there were only sources of one that computes the same on other shapes */
};
/* The events as prior.atl holds them (archive-h5/campaign/prior.h), sources first. */
int atoll_reuse_write(struct atoll_reuse *reuse, struct atoll_buffer *out,
                      struct atoll_reuse_counts *ret_counts, struct atoll_err *err);

/* What the devices of this machine call themselves; "" where nothing says so. */
void atoll_reuse_model(const char *backend, char *ret_model, size_t bytes);

/* ---- the plan ---- */

/* The options of a campaign as given; borrowed from argv.  First member of the settings of each command that makes one. */
struct atoll_plan_settings {
    struct atoll_search_options search;
    struct atoll_model_options model;
    struct atoll_option_list only, reuse, experience, knowledge, knowledge_except;
    const char *backend, *compiler, *flags, *compile_memory, *include_path, *python, *timing, *counters,
        *sanitize;
    long long threads;
    double sample_seconds, counters_ratio, counters_budget, sanitize_seconds;
    const char *site_knowledge; /* set by the command: a folder of the site's; NULL none */
    double default_seconds;     /* set by the command: wall-clock budget where none is given; 0 = 120 */
};
extern const struct atoll_option
    atoll_plan_options[]; /* offsets from the beginning of struct atoll_plan_settings */

struct atoll_campaign_plan {
    struct atoll_plan_settings *settings; /* borrowed; its model is completed and owned by the plan */
    struct atoll_search search;
    struct atoll_setup setup;
    struct atoll_run_tasks tasks;
    struct atoll_reuse_counts reused;         /* by all folders made so far */
    struct atoll_buffer suites, command_line; /* as given, for a shell: texts that end with NUL */
    struct atoll_buffer knowledge;            /* bytes of knowledge.json; empty: nobody is told of any */
    struct atoll_buffer except,
        seedless; /* families that are left out, and the tasks that are of one; texts that end with NUL */
};

/* ---- what its models are told of (knowledge.c) ---- */

/* Folders of the installation, the site, the user and those given, with hints of the given files merged in and the kernels that first
 * drafts may be shown, as knowledge.json holds them, into the plan; and the families and tasks that are left out of it.  Says on
 * standard error what takes the place of ours, unless is_quiet.  Errors: those of reading them, with the file; LIMIT; USAGE (no such
 * family). */
int atoll_plan_knowledge_write(struct atoll_campaign_plan *plan, int is_quiet, struct atoll_err *err);
/* What of the folders still reaches a model without their entries (setting knowledge 0), a sentence on how to leave it out, too; NULL:
 * nothing, or entries are told. */
const char *atoll_plan_knowledge_left(const struct atoll_search *search);
/* Seeds of the installed suites and what was best in the campaigns of --reuse, in the languages that the plan evolves (kernels.c). */
int atoll_plan_kernels_put(const struct atoll_campaign_plan *plan, struct atoll_knowledge_pack *pack,
                           struct atoll_err *err);

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
/* What --sample-seconds 0 stands for; wall_budget_ns 0: without a limit.  Pure. */
double atoll_plan_sample_seconds(const char *backend, double wall_budget_ns, size_t task_count,
                                 unsigned ranks);
/* Makes the campaign folder dir and the folders above it.  Errors: those of atoll_campaign_create and of --reuse. */
int atoll_campaign_plan_create(struct atoll_campaign_plan *plan, const struct atoll_plan_part *part,
                               const char *dir, struct atoll_err *err);
/* A line on standard error on what was taken over from earlier campaigns; nothing without --reuse. */
void atoll_campaign_plan_log_reuse(const struct atoll_campaign_plan *plan);

#endif
