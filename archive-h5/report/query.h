/* query.h - which rows of an archive belong together: what all questions to it are made of.
 * Layer: archive-h5, pure.  Lifetime: create/destroy; the tables are borrowed and must not change meanwhile.
 */
#ifndef ATOLL_ARCHIVE_H5_REPORT_QUERY_H
#define ATOLL_ARCHIVE_H5_REPORT_QUERY_H

#include "archive-h5/table/table.h"

struct atoll_query;

struct atoll_query *atoll_query_create(const struct atoll_tables *tables, struct atoll_err *err);
void atoll_query_destroy(struct atoll_query *query); /* NULL is fine */
const struct atoll_tables *atoll_query_tables(const struct atoll_query *query);

/* Row of the candidate with this id; -1 when there is none. */
int64_t atoll_query_candidate(const struct atoll_query *query, uint32_t campaign, const struct atoll_id *id);
/* Row of the candidate that brought a source: the first that is no tuned instance of it and no control; -1 when there is none. */
int64_t atoll_query_writer(const struct atoll_query *query, uint32_t campaign, const struct atoll_id *source);
/* Row in tasks of a campaign's task on a device model, else on its first; -1 where there is none. */
int64_t atoll_query_task_row(const struct atoll_query *query, uint32_t campaign, uint32_t task,
                             uint32_t model);
/* Rows of a table that belong to something, in order, as a borrowed array of row numbers. */
struct atoll_rows {
    const uint32_t *rows;
    size_t count;
};
struct atoll_rows atoll_query_evaluations(const struct atoll_query *query, uint64_t candidate_row);
struct atoll_rows atoll_query_task_evaluations(const struct atoll_query *query, uint64_t task_row);
struct atoll_rows atoll_query_task_rivals(const struct atoll_query *query, uint64_t task_row);
struct atoll_rows atoll_query_task_decisions(const struct atoll_query *query, uint64_t task_row);
struct atoll_rows atoll_query_task_duels(const struct atoll_query *query, uint64_t task_row);
struct atoll_rows atoll_query_task_asks(const struct atoll_query *query, uint64_t task_row);
struct atoll_rows atoll_query_timings(const struct atoll_query *query, uint64_t evaluation_row);
struct atoll_rows atoll_query_samples(const struct atoll_query *query, uint64_t evaluation_row);
/* Row in profiles of an evaluation; -1 when nothing is known of its binary and counters. */
int64_t atoll_query_profile(const struct atoll_query *query, uint64_t evaluation_row);
/* The diagnosis of an evaluation, with what follows from its profile and its device. */
void atoll_query_diagnosis(const struct atoll_query *query, uint64_t evaluation_row,
                           struct atoll_diagnosis *ret_diagnosis);
/* Why a judge had a candidate discarded: 1 and the row; 0: it is not. */
int atoll_query_discarded(const struct atoll_query *query, const struct atoll_row_candidate *candidate,
                          struct atoll_row_judgement *ret_judgement);
/* The last that a judge said of its source: 1 and the row; 0: nobody was asked, or has answered. */
int atoll_query_judgement(const struct atoll_query *query, const struct atoll_row_candidate *candidate,
                          struct atoll_row_judgement *ret_judgement);
#define ATOLL_QUERY_ANY_MODEL UINT32_MAX
/* The profile that says most of a candidate on a device model: the highest tier, of its fastest evaluation; -1 when
 * there is none. ret_evaluation: the evaluation it is of. */
int64_t atoll_query_candidate_profile(const struct atoll_query *query, uint64_t candidate_row, uint32_t model,
                                      uint64_t *ret_evaluation);
/* The evaluation that counts on a device model: correct before others, the fastest of them; -1 when there is none. */
int64_t atoll_query_best_evaluation(const struct atoll_query *query, uint64_t candidate_row, uint32_t model);

/* From the candidate through its parents to the first; at most limit rows.  Cycles end it. */
size_t atoll_query_lineage(const struct atoll_query *query, uint64_t candidate_row, uint64_t *ret_rows,
                           size_t limit);

#endif
