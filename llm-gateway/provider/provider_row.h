/* provider_row.h - what a dialect is, one row of functions, and what its reader collects from a reply.  reply_parts.c is the one
 * place where a finished reply gets its status.
 * Layer: llm-gateway, private, pure. */
#ifndef ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_ROW_H
#define ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_ROW_H

#include <jansson.h>

#include "llm-gateway/provider/provider.h"

/* ---- reply_parts.c; lifetime: init/fini ---- */

/* A call of a tool while it is read; reply_calls.c makes it sound when the reply is whole. */
struct atoll_reply_call {
    long index; /* as the provider counts its parts */
    char id[ATOLL_LLM_CALL_ID_BYTES], name[ATOLL_LLM_TOOL_NAME_BYTES];
    struct atoll_buffer arguments;
    json_t *extra; /* what it wants back with the call, NULL nothing */
};

struct atoll_reply_parts {
    struct atoll_buffer text, reasoning, refusal;
    char model[128], finish[32];
    int is_ended;                       /* the stream's terminator, or a whole object */
    int is_embedded;                    /* an embedding is there */
    size_t call_count, lost_call_count; /* lost: beyond the limit */
    struct atoll_reply_call calls[ATOLL_LLM_TOOL_CALL_LIMIT];
    json_t *state;     /* a list of what the provider wants back with its calls, NULL nothing */
    int is_state_lost; /* more of it than any reply has */
    int has_no_memory; /* for the state */
    const char
        *reasoning_member; /* the provider wants its reasoning back under this name; NULL: it does not */
    size_t block_text, block_reasoning; /* Anthropic: where the open block began in these texts */
    struct atoll_buffer signature;      /* Anthropic: of the open block */
    /* what an error object said */
    int has_error;
    char error_type[64], error_code[64], error_message[384];
    /* usage as it was said last; wrong: negative, absurd, no numbers, or contradicting itself */
    int has_usage, is_usage_wrong;
    struct atoll_llm_usage usage;
};

void atoll_reply_parts_init(struct atoll_reply_parts *parts);
void atoll_reply_parts_fini(struct atoll_reply_parts *parts);
/* 0; or MEMORY, or LIMIT when a text is beyond its limit: then what it is, and the limit. */
int atoll_reply_parts_failed(const struct atoll_reply_parts *parts, const char **ret_what,
                             size_t *ret_limit_bytes);

/* A string's bytes; a NUL inside becomes U+FFFD.  What is no string is nothing. */
void atoll_reply_add(struct atoll_buffer *text, const json_t *string);
/* A member as one printable line into a fixed array, where it is a string that is not empty, or a number. */
void atoll_reply_name(char *ret_name, size_t name_bytes, const json_t *value);
/* An error object in any of the forms seen: {type, code, message}, a text, or FastAPI's {detail}. */
void atoll_reply_error(struct atoll_reply_parts *parts, const json_t *error);
/* An object that is, or holds, an error in any of these forms, "error" in front of others.  1: it was one and parts has it. */
int atoll_reply_read_error(struct atoll_reply_parts *parts, const json_t *object);
/* A number of tokens; absent or null: *ret_count stays.  What cannot be one marks the usage as wrong. */
void atoll_reply_count(struct atoll_reply_parts *parts, const json_t *object, const char *key,
                       uint64_t *ret_count);

/* ---- reply_calls.c ---- */

/* The call of that index, made where it is new; NULL beyond the limit. */
struct atoll_reply_call *atoll_reply_call_at(struct atoll_reply_parts *parts, long index);
/* id and name, where they are texts. */
void atoll_reply_call_name(struct atoll_reply_call *call, const json_t *id, const json_t *name);
/* A piece of the arguments, or all of them as an object. */
void atoll_reply_call_add(struct atoll_reply_call *call, const json_t *arguments);
/* Something for the list of what the provider wants back; value is taken, NULL: there was no memory for it. */
void atoll_reply_keep_state(struct atoll_reply_parts *parts, json_t *value);
/* Behind atoll_reply_conclude: an outcome of status TOOL_CALLS gets all calls and the state. */
void atoll_reply_give_calls(struct atoll_reply_parts *parts, struct atoll_llm_outcome *outcome);

/* An exchange as it ended. */
struct atoll_reply_end {
    int http_status;
    int is_whole;
    int is_embedding;
    const char *terminator; /* of the dialect's stream, for the detail */
    const char *fault;      /* what is against the protocol, NULL nothing */
};
/* Status, detail, texts, usage, model and finish; the texts move to the outcome. */
void atoll_reply_conclude(struct atoll_reply_parts *parts, const struct atoll_reply_end *end,
                          struct atoll_llm_outcome *outcome);

/* ---- provider*.c ---- */

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
/* A message's provider_state as the list it was kept as; NULL: there is none, or nothing that one could be.  -1: no memory. */
int atoll_provider_state(const struct atoll_llm_message *message, json_t **ret_state);
/* A tool's schema of its arguments; NULL: no memory. */
json_t *atoll_provider_tool_schema(const struct atoll_llm_tool *tool);
/* NaN: nobody says one, or the model takes none. */
double atoll_provider_temperature(const struct atoll_llm_request *request,
                                  const struct atoll_provider_model *model);
double atoll_provider_top_p(const struct atoll_llm_request *request,
                            const struct atoll_provider_model *model);
/* temperature and top_p, where they are not NaN.  Not 0: no memory. */
int atoll_provider_set_sampling(json_t *body, double temperature, double top_p);
/* A name for the part of a prompt that comes again, the same for all requests that share it: "prompt_cache_key".  Not 0: no
 * memory. */
int atoll_provider_set_cache_key(json_t *body, const struct atoll_llm_request *request);

#endif
