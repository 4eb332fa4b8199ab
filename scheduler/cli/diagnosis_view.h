/* diagnosis_view.h - what commands show of a diagnosis (core/diagnosis.h).  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_DIAGNOSIS_VIEW_H
#define ATOLL_SCHEDULER_CLI_DIAGNOSIS_VIEW_H

#include <jansson.h>

#include "archive-h5/table/table.h"

/* An object with every value and the sentences; null where nothing is known. */
json_t *atoll_diagnosis_view_json(const struct atoll_row_evaluation *evaluation);
/* The sentences, and the few words of a table, "" where nothing is known; returns text. */
const char *atoll_diagnosis_view_text(const struct atoll_row_evaluation *evaluation, char *ret_text,
                                      size_t bytes);
const char *atoll_diagnosis_view_label(const struct atoll_row_evaluation *evaluation, char *ret_text,
                                       size_t bytes);

#endif
