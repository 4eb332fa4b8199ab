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
#include "llm-gateway/request/tool_call.h"

#define ATOLL_LLM_MESSAGE_LIMIT 64
#define ATOLL_LLM_BY_ROLE       "roles"           /* in place of a model: that of the request's role */
#define ATOLL_LLM_TEXT_BYTES    ((size_t)8 << 20) /* of a request, all texts together */

enum atoll_llm_operation {
    ATOLL_LLM_CHAT,
    ATOLL_LLM_EMBED, /* messages: the texts, whatever their role */
    ATOLL_LLM_OPERATION_COUNT
};

enum atoll_llm_role {
    ATOLL_LLM_SYSTEM,
    ATOLL_LLM_USER,
    ATOLL_LLM_ASSISTANT,
    ATOLL_LLM_TOOL, /* the result of a call */
    ATOLL_LLM_ROLE_COUNT
};

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
    /* ASSISTANT: what it called beside its text, at most ATOLL_LLM_TOOL_CALL_LIMIT.  The messages behind it are the results, one
     * of role TOOL for each call and nothing in between. */
    size_t tool_call_count;
    const struct atoll_llm_tool_call *tool_calls;
    /* ASSISTANT: what the outcome of that reply had under this name, or NULL.  Not part of the identity: a request without it is
     * the same question, and the model then goes on without what it thought before. */
    const char *provider_state;
    const char *tool_call_id; /* TOOL: of the call whose result the text is; NULL else */
    int is_error;             /* TOOL: the call failed */
};

struct atoll_llm_request {
    /* ---- what is asked: the identity of the request ---- */
    enum atoll_llm_operation operation;
    const char *
        model; /* a model or an ensemble of the gateway's configuration; "" or ATOLL_LLM_BY_ROLE: that of its role there (purpose) */
    size_t message_count;
    struct atoll_llm_message messages[ATOLL_LLM_MESSAGE_LIMIT];
    uint32_t max_output_tokens; /* with reasoning; 0: what the configuration says of the model */
    double temperature, top_p;  /* NaN: unsaid */
    int64_t seed;               /* -1: unsaid */
    enum atoll_llm_effort effort;
    const char *schema; /* JSON schema of the answer, NULL: none */
    uint64_t sample;    /* tells requests of the same text apart: 0, 1, ... give independent samples */
    size_t tool_count;  /* CHAT: what the model may call */
    struct atoll_llm_tool tools[ATOLL_LLM_TOOL_LIMIT];
    int is_tool_free; /* 1: the tools stay told, for calls that were made, and none is to be called any more */
    /* ---- whose it is ---- */
    const char *key;      /* idempotency: a request of the same key is the same request; "" none */
    const char *campaign; /* "" none; limits and grants are by these three */
    const char *task;
    const char *purpose; /* a role (core/model_role.h), or any other word; "" none */
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
 * max_tokens or max_completion_tokens, reasoning_effort, response_format of type json_schema, role "developer" as system,
 * tools of type function, tool_choice auto or none);
 * members it does not know are ignored, what it knows must fit.  Errors: INPUT, which names the member. */
int atoll_llm_request_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                             struct atoll_llm_request *ret_request, struct atoll_err *err);
/* BLAKE2b over the canonical identity: the first group of fields alone. */
struct atoll_id atoll_llm_request_id(const struct atoll_llm_request *request);
/* The same for all turns of a conversation with tools: what was asked before the first call.  Where no tool is in the request
 * it is atoll_llm_request_id. */
struct atoll_id atoll_llm_request_conversation(const struct atoll_llm_request *request);
/* 1: it names no model, and its purpose chooses one. */
int atoll_llm_request_is_by_role(const struct atoll_llm_request *request);
/* 1: the model may call tools. */
int atoll_llm_request_may_call(const struct atoll_llm_request *request);
/* Index of the first message that calls tools; message_count: none does. */
size_t atoll_llm_request_first_call(const struct atoll_llm_request *request);
/* Bytes that a copy needs beside the value itself, and the copy: room is aligned for pointers. */
size_t atoll_llm_request_copy_bytes(const struct atoll_llm_request *request);
void atoll_llm_request_copy(const struct atoll_llm_request *request, void *room,
                            struct atoll_llm_request *ret_request);
/* Upper bound of the input's tokens, for reservations: a token is at least one byte of UTF-8, and providers add some per
 * message; so no tokenizer can exceed it. */
uint64_t atoll_llm_request_input_bound(const struct atoll_llm_request *request);
/* A likely count (bytes / 3), for rate buckets only. */
uint64_t atoll_llm_request_input_estimate(const struct atoll_llm_request *request);

/* Limits, ranges and UTF-8 of all members.  INPUT, which names the member as its JSON does. */
int atoll_llm_request_check(const struct atoll_llm_request *request, struct atoll_err *err);
/* The schema of the answer as an object: the error names its member. */
json_t *atoll_llm_answer_schema_load(const char *schema, struct atoll_err *err);

#endif
