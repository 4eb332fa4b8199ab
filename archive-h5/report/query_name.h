/* query_name.h - candidates and tasks of an archive by what a person types, and how long ids are printed.
 * Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_QUERY_NAME_H
#define ATOLL_ARCHIVE_H5_REPORT_QUERY_NAME_H

#include "archive-h5/report/query.h"

/* Row of the candidate whose id starts with these hex digits (4 or more).  Errors: INPUT (no hex, or
 * ambiguous: the text names two), NOTFOUND. */
int atoll_query_candidate_prefix(const struct atoll_query *query, const char *prefix, uint64_t *ret_row,
                                 struct atoll_err *err);

/* Row of a task's best kernel, or of what that is compared with; -1 with NOTFOUND, which says where to look. */
int atoll_query_kernel_of_task(const struct atoll_query *query, const struct atoll_row_task *task,
                               int is_baseline, uint64_t *ret_row, struct atoll_err *err);
/* Row of a candidate by what a person types: TASK means its best kernel and TASK/baseline what that is compared with (on the
 * first of its device models), anything else the start of an id.  Errors: those of atoll_query_candidate_prefix; NOTFOUND for a
 * task without such a kernel, and with the nearest task's name where neither is meant. */
int atoll_query_find(const struct atoll_query *query, const char *word, uint64_t *ret_row,
                     struct atoll_err *err);
/* Hexadecimal digits of an id that are printed at least, as git prints them, and where the other ids are not known. */
#define ATOLL_QUERY_ID_DIGITS 7
/* How many hexadecimal digits tell all candidates of the archive apart, ATOLL_QUERY_ID_DIGITS at least: ids are printed that long.  64 without
 * memory to compare them. */
int atoll_query_id_digits(const struct atoll_query *query);

/* Name of a campaign's task, "" where there is none. */
const char *atoll_query_task_name(const struct atoll_query *query, uint32_t campaign, uint32_t task);
/* Row in tasks of the task with this name or number, the first of its device models; -1. */
int64_t atoll_query_task(const struct atoll_query *query, const char *name);
/* The same; -1 with NOTFOUND, which names the nearest one. */
int64_t atoll_query_task_named(const struct atoll_query *query, const char *name, struct atoll_err *err);

#endif
