/* suite_writer.h - a task's folder in a suite, out of what the inspection of a problem answered.
 * Layer: scheduler.  The answer comes from a process that ran somebody's text: only texts of it are written, to names of ours,
 * and the folder counts once atoll_task_load has read it. */
#ifndef ATOLL_SCHEDULER_IMPORT_SUITE_WRITER_H
#define ATOLL_SCHEDULER_IMPORT_SUITE_WRITER_H

#include <jansson.h>

#include "base/err.h"
#include "scheduler/import/problem_list.h"

struct atoll_suite_task {
    const char *suite;   /* folder */
    const char *origin;  /* name of the benchmark */
    const char *hash;    /* of the problem's text, hex */
    const char *no_seed; /* why it has no seed for a GPU; "": it has */
    const struct atoll_problem *problem;
};

/* Writes SUITE/<task> in one step: its folder is there whole or not at all.  answer: with "task", "source", "seeds".  ret_seeded: 1
 * when a plain seed for the GPU is part of it.  Errors: INPUT (no task can be made of the answer), those of writing. */
int atoll_suite_write_task(const struct atoll_suite_task *task, const json_t *answer, int *ret_seeded,
                           struct atoll_err *err);
/* Removes what a killed import left behind. */
void atoll_suite_sweep(const char *suite);

#endif
