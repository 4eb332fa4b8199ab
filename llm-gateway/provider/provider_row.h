/* provider_row.h - what a dialect is: one row of functions.
 * Layer: llm-gateway, private, pure. */
#ifndef ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_ROW_H
#define ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_ROW_H

#include "llm-gateway/provider/provider.h"
#include "llm-gateway/provider/reply_parts.h"

struct atoll_provider_row {
    const char *name;
    const char *paths[ATOLL_LLM_OPERATION_COUNT];
    const char *models_path;
    const char *key_header;     /* what stands before the key */
    const char *version_header; /* NULL none */
    const char *terminator;     /* what ends a stream, for a detail */
    int needs_turn;             /* 1: a request of system texts alone cannot be said */
    /* The body of a chat; NULL: no memory.  schema: parsed, borrowed, NULL none. */
    json_t *(*body)(const struct atoll_llm_request *request, const struct atoll_provider_model *model,
                    const json_t *schema);
    /* One event of a stream. */
    void (*event)(struct atoll_reply_parts *parts, const json_t *event);
    /* A whole reply in one object. */
    void (*object)(struct atoll_reply_parts *parts, const json_t *reply);
    /* Whether an object is a reply of this dialect. */
    int (*is_reply)(const json_t *object);
};

extern const struct atoll_provider_row atoll_provider_chat;
extern const struct atoll_provider_row atoll_provider_responses;
extern const struct atoll_provider_row atoll_provider_anthropic;
const struct atoll_provider_row *atoll_provider_row(enum atoll_provider provider);

/* Sets what a request or, where it says nothing, its model's configuration says. */
uint32_t atoll_provider_limit(const struct atoll_llm_request *request,
                              const struct atoll_provider_model *model);
enum atoll_llm_effort atoll_provider_effort(const struct atoll_llm_request *request,
                                            const struct atoll_provider_model *model);
/* The messages as a list of role and content; NULL: no memory. */
json_t *atoll_provider_turns(const struct atoll_llm_request *request);
/* temperature and top_p, where they are said and the model takes them.  Not 0: no memory. */
int atoll_provider_set_sampling(json_t *body, const struct atoll_llm_request *request,
                                const struct atoll_provider_model *model);
/* A name for the part of a prompt that comes again, the same for all requests that share it: "prompt_cache_key".  Not 0: no
 * memory. */
int atoll_provider_set_cache_key(json_t *body, const struct atoll_llm_request *request);

#endif
