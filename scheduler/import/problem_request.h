/* problem_request.h - what a torch process is asked about a problem of a benchmark: its texts, as they lie in the checkout.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_IMPORT_PROBLEM_REQUEST_H
#define ATOLL_SCHEDULER_IMPORT_PROBLEM_REQUEST_H

#include <jansson.h>

#include "scheduler/import/problem_list.h"

/* ret_request: a new reference; a specification in YAML is in it as JSON, which is what Python reads.  ret_hash: ATOLL_ID_HEX
 * bytes, of all texts as they are.  Errors: those of atoll_file_read, INPUT (a specification), LIMIT, MEMORY. */
int atoll_problem_request(const char *format, const struct atoll_problem *problem, json_t **ret_request,
                          char *ret_hash, struct atoll_err *err);

#endif
