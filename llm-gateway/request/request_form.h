/* request_form.h - what a request may be, whoever made it.
 * Layer: llm-gateway, private. */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_REQUEST_FORM_H
#define ATOLL_LLM_GATEWAY_REQUEST_REQUEST_FORM_H

#include <jansson.h>

#include "llm-gateway/request/request.h"

#define REQUEST_VALUE_LIMIT 100000 /* JSON values of a request, its schema among them */

/* Limits, ranges and UTF-8 of all members.  INPUT, which names the member as its JSON does. */
int atoll_llm_request_check(const struct atoll_llm_request *request, struct atoll_err *err);
/* The schema as an object.  INPUT, MEMORY. */
json_t *atoll_llm_schema_load(const char *schema, struct atoll_err *err);

#endif
