/* problem_list.h - the problems of a public benchmark in somebody's checkout; nothing of them is executed here.
 * Layer: scheduler.  Lifetime: collect/fini. */
#ifndef ATOLL_SCHEDULER_IMPORT_PROBLEM_LIST_H
#define ATOLL_SCHEDULER_IMPORT_PROBLEM_LIST_H

#include <stddef.h>

#include "base/err.h"

#define ATOLL_PROBLEM_FILE_LIMIT 2
#define ATOLL_PROBLEM_LIMIT      4096
#define ATOLL_PROBLEM_NAME_BYTES 256

struct atoll_problem {
    char name[ATOLL_PROBLEM_NAME_BYTES]; /* in its benchmark: "level1/1_Square_matrix_multiplication_" */
    char task[64];                       /* name of the task that it becomes */
    unsigned level, number;              /* 0: it has none */
    int is_backward;
    size_t file_count;
    struct {
        const char
            *label; /* what problem_form.py calls it: "source", "config", "spec", "definition", "workload" */
        char *path; /* owned */
    } files[ATOLL_PROBLEM_FILE_LIMIT];
};

struct atoll_problem_list {
    const char *format, *path; /* borrowed */
    unsigned levels; /* bit n: level n is wanted; 0: all that the format takes without being asked */
    struct atoll_problem *problems;
    size_t count, capacity;
};

/* Names of the formats, "a, b, c". */
const char *atoll_problem_formats(void);
/* In the order of their numbers, or of their names.  Fields format, path and levels are set before; fini is for a failure, too.
 * Errors: USAGE (no such format), NOTFOUND (no problem there), LIMIT, IO. */
int atoll_problem_list_collect(struct atoll_problem_list *list, struct atoll_err *err);
void atoll_problem_list_fini(struct atoll_problem_list *list);

/* Subsets of benchmarks that papers report on; what each is, and its source, stands in name_lists.c. */
struct atoll_name_list;
/* Their names, "a, b, c". */
const char *atoll_name_lists(void);
/* NULL with a suggestion: USAGE. */
const struct atoll_name_list *atoll_name_list_find(const char *name, struct atoll_err *err);
int atoll_name_list_has(const struct atoll_name_list *list, const struct atoll_problem *problem);

#endif
