/* request.h - one question to a language model, as a client says it: what is asked, and whose question it is.
 * Layer: llm-gateway.  Plain value; texts are borrowed from whoever made it, or owned by an arena after decoding.
 * Its JSON is that of OpenAI's Chat Completions with one more object, "atoll", for what belongs to no model: the body of
 * POST /v1/chat/completions at the gateway and the contents of a spool file are the same text (docs/spec/gateway.md). */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_REQUEST_H
#define ATOLL_LLM_GATEWAY_REQUEST_REQUEST_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/id.h"

#define ATOLL_LLM_MESSAGE_LIMIT 64
#define ATOLL_LLM_TEXT_BYTES    ((size_t)8 << 20) /* of a request, all texts together */

enum atoll_llm_operation {
    ATOLL_LLM_CHAT,
    ATOLL_LLM_EMBED, /* messages: the texts, whatever their role */
    ATOLL_LLM_OPERATION_COUNT
};

enum atoll_llm_role { ATOLL_LLM_SYSTEM, ATOLL_LLM_USER, ATOLL_LLM_ASSISTANT, ATOLL_LLM_ROLE_COUNT };

enum atoll_llm_effort {
    ATOLL_LLM_EFFORT_UNSAID,
    ATOLL_LLM_EFFORT_MINIMAL,
    ATOLL_LLM_EFFORT_LOW,
    ATOLL_LLM_EFFORT_MEDIUM,
    ATOLL_LLM_EFFORT_HIGH,
    ATOLL_LLM_EFFORT_COUNT
};

struct atoll_llm_message {
    enum atoll_llm_role role;
    const char *text;
    int is_cacheable; /* a mark for prompt caches: everything up to here comes again in other requests */
};

struct atoll_llm_request {
    /* ---- what is asked: the identity of the request ---- */
    enum atoll_llm_operation operation;
    const char *model; /* a model or an ensemble of the gateway's configuration */
    size_t message_count;
    struct atoll_llm_message messages[ATOLL_LLM_MESSAGE_LIMIT];
    uint32_t max_output_tokens; /* with reasoning; 0: what the configuration says of the model */
    double temperature, top_p;  /* NaN: unsaid */
    int64_t seed;               /* -1: unsaid */
    enum atoll_llm_effort effort;
    const char *schema; /* JSON schema of the answer, NULL: none */
    uint64_t sample;    /* tells requests of the same text apart: 0, 1, ... give independent samples */
    /* ---- whose it is ---- */
    const char *key;      /* idempotency: a request of the same key is the same request; "" none */
    const char *campaign; /* "" none; limits and grants are by these three */
    const char *task;
    const char *purpose; /* "universal" */
    uint32_t generation; /* of the asking island: ensembles schedule by it */
    double deadline_s;   /* from its arrival at whoever holds it; 0: the configuration's */
};

const char *atoll_llm_role_name(enum atoll_llm_role role);       /* "system" ... */
const char *atoll_llm_effort_name(enum atoll_llm_effort effort); /* "" "minimal" ... */

void atoll_llm_request_init(struct atoll_llm_request *request); /* everything unsaid, texts "" */
/* Canonical: equal requests give equal bytes. */
int atoll_llm_request_encode(const struct atoll_llm_request *request, struct atoll_buffer *out,
                             struct atoll_err *err);
/* Hostile input; texts go into arena.  Accepts what OpenAI's clients send (content as a text or as parts of type text,
 * max_tokens or max_completion_tokens, reasoning_effort, response_format of type json_schema, role "developer" as system);
 * members it does not know are ignored, what it knows must fit.  Errors: INPUT, which names the member. */
int atoll_llm_request_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                             struct atoll_llm_request *ret_request, struct atoll_err *err);
/* BLAKE2b over the canonical identity: the first group of fields alone. */
struct atoll_id atoll_llm_request_id(const struct atoll_llm_request *request);
/* Upper bound of the input's tokens, for reservations: a token is at least one byte of UTF-8, and providers add some per
 * message; so no tokenizer can exceed it. */
uint64_t atoll_llm_request_input_bound(const struct atoll_llm_request *request);
/* A likely count (bytes / 3), for rate buckets only. */
uint64_t atoll_llm_request_input_estimate(const struct atoll_llm_request *request);

#define ATOLL_LLM_REQUEST_VALUES 100000 /* JSON values of a request, its schema among them */
/* Limits, ranges and UTF-8 of all members.  INPUT, which names the member as its JSON does. */
int atoll_llm_request_check(const struct atoll_llm_request *request, struct atoll_err *err);
/* The schema as an object.  INPUT, MEMORY. */
json_t *atoll_llm_schema_load(const char *schema, struct atoll_err *err);

#endif
