/* run_tasks.h - the tasks of a run: those of its suites that were asked for and that its backend can evolve.
 * Layer: scheduler.  Plain value; collect/fini. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_RUN_TASKS_H
#define ATOLL_SCHEDULER_CAMPAIGN_RUN_TASKS_H

#include "base/option.h"
#include "core/search.h"
#include "core/task/task.h"

struct atoll_run_tasks {
    const char *backend;                  /* as given */
    enum atoll_triton triton;             /* the search's setting */
    int are_written;                      /* kernels come from elsewhere, too: a model, another campaign */
    const struct atoll_option_list *only; /* names; empty: all */
    struct atoll_task **tasks;            /* owned, as their folders */
    char **dirs;
    char *names[256]; /* owned: of tasks that were not asked for, to suggest one of them */
    size_t name_count;
    size_t count, skipped; /* skipped: left out, each with a warning on standard error */
    uint32_t capacity;
};

/* The folder that a user means by a suite's or task's name: the path itself where it is there, else what was installed with
 * the program ("starter", "suites/starter"); what is nowhere comes back as it is.  ATOLL_E_LIMIT. */
int atoll_run_tasks_find_suite(const char *name, char *ret_dir, size_t bytes, struct atoll_err *err);

/* suites: folders of tasks or of one task, or names of installed ones; at least one.  Both arguments are borrowed until fini, which is for a failure
 * too.  Errors: those of reading a task; INPUT (two tasks of one name, a task that was named and does not suit the
 * backend, no task that does), NOTFOUND (no task, or none of that name). */
int atoll_run_tasks_collect(struct atoll_run_tasks *ret_tasks, const char *const *suites, size_t suite_count,
                            const struct atoll_option_list *only, const char *backend,
                            enum atoll_triton triton, int are_written, struct atoll_err *err);
void atoll_run_tasks_fini(struct atoll_run_tasks *tasks);

/* 1 when the task can be evolved with a backend ("cpu", "cuda") and a search's setting triton; 0 with a clause on what is
 * missing and what to do.  A task without a seed in the backend's languages can where it has a rival and are_written says that
 * kernels come from elsewhere, too. */
int atoll_task_fits_backend(const struct atoll_task *task, const char *backend, enum atoll_triton triton,
                            int are_written, char *ret_why, size_t why_bytes);

#endif
