/* tool_call.h - what a model wants to have carried out before it answers: names of tools, and their arguments as it wrote them.
 * Layer: llm-gateway, pure.  Plain values; texts are borrowed from whoever made them. */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_TOOL_CALL_H
#define ATOLL_LLM_GATEWAY_REQUEST_TOOL_CALL_H

#include <jansson.h>

#include "base/err.h"

#define ATOLL_LLM_REQUEST_VALUES  100000 /* JSON values of a request, its schemas among them */
#define ATOLL_LLM_TOOL_LIMIT      16     /* that a request offers */
#define ATOLL_LLM_TOOL_CALL_LIMIT 20     /* of one message or reply */
#define ATOLL_LLM_TOOL_NAME_BYTES 65     /* with the NUL: 64 are what every provider takes */
#define ATOLL_LLM_CALL_ID_BYTES   128
#define ATOLL_LLM_ARGUMENT_BYTES  ((size_t)256 << 10) /* of one call */
#define ATOLL_LLM_STATE_BYTES     ((size_t)1 << 20) /* what a provider wants back with a message that called */

/* What may be called. */
struct atoll_llm_tool {
    const char *name;        /* [A-Za-z0-9_-]{1,64} */
    const char *description; /* "" none */
    const char *schema;      /* JSON schema of its arguments, an object */
};

struct atoll_llm_tool_call {
    const char *id; /* the provider's, unique in its message; its result names it */
    const char *name;
    const char *arguments; /* as the model wrote them: JSON of an object, where it did well */
};

/* A copy with its texts in one block, which free releases.  count > 0. */
struct atoll_llm_tool_call *atoll_llm_tool_calls_copy(const struct atoll_llm_tool_call *calls, size_t count,
                                                      struct atoll_err *err);
/* 1: [A-Za-z0-9_-]{1,64}. */
int atoll_llm_tool_name_is_valid(const char *name);
/* A schema as an object.  INPUT, MEMORY. */
json_t *atoll_llm_schema_load(const char *schema, struct atoll_err *err);
/* The list "tool_calls" of OpenAI's Chat Completions; NULL: no memory. */
json_t *atoll_llm_tool_calls_json(const struct atoll_llm_tool_call *calls, size_t count);
/* The list "tools" of the same; NULL: no memory, or a schema that is no object. */
json_t *atoll_llm_tools_json(const struct atoll_llm_tool *tools, size_t count);

#endif
