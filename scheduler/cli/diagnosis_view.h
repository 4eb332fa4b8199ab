/* diagnosis_view.h - what commands show of a diagnosis (core/diagnosis.h).  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_DIAGNOSIS_VIEW_H
#define ATOLL_SCHEDULER_CLI_DIAGNOSIS_VIEW_H

#include <jansson.h>

#include "archive-h5/report/query.h"

/* An object with every value and the sentences of an evaluation; null where nothing is known, or row is -1. */
json_t *atoll_diagnosis_view_json(const struct atoll_query *query, int64_t evaluation_row);
/* The sentences, and the few words of a table, "" where nothing is known; returns text. */
const char *atoll_diagnosis_view_text(const struct atoll_query *query, uint64_t evaluation_row,
                                      char *ret_text, size_t bytes);
const char *atoll_diagnosis_view_label(const struct atoll_row_evaluation *evaluation, char *ret_text,
                                       size_t bytes);

#endif
