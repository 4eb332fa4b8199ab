/* provider.h - the dialects of providers: a request's HTTP body, and from the reply's bytes to an outcome.  One row of
 * functions per dialect.
 * Layer: llm-gateway, pure. */
#ifndef ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_H
#define ATOLL_LLM_GATEWAY_PROVIDER_PROVIDER_H

#include "llm-gateway/request/outcome.h"
#include "llm-gateway/request/request.h"

enum atoll_provider {
    ATOLL_PROVIDER_CHAT,      /* OpenAI Chat Completions, and every server compatible with it */
    ATOLL_PROVIDER_RESPONSES, /* OpenAI Responses */
    ATOLL_PROVIDER_ANTHROPIC, /* Anthropic Messages */
    ATOLL_PROVIDER_COUNT
};
const char *atoll_provider_name(enum atoll_provider provider); /* "chat" "responses" "anthropic" */

/* How a model wants to be asked. */
struct atoll_provider_model {
    const char *model;            /* its name at the provider */
    uint32_t max_output_tokens;   /* where the request names none; > 0 */
    enum atoll_llm_effort effort; /* where the request says none */
    double temperature, top_p;    /* where the request says none; has_: they are said */
    int has_temperature, has_top_p;
    int has_no_sampling; /* 1: temperature, top_p and seed are left out (reasoning models refuse them) */
    int has_no_tools;    /* 1: requests go to it without their tools */
    int has_old_limit; /* 1: "max_tokens" instead of "max_completion_tokens" (CHAT); a budget of thinking tokens instead
                            of an effort (ANTHROPIC, models before Claude 4.6) */
};

/* Path below the endpoint's URL ("/chat/completions") for an operation; NULL where the dialect has none. */
const char *atoll_provider_path(enum atoll_provider provider, enum atoll_llm_operation operation);
const char *atoll_provider_models_path(enum atoll_provider provider);
/* "Authorization: Bearer KEY" or what the dialect uses, and its version header; NUL-separated lines into out. */
int atoll_provider_headers(enum atoll_provider provider, const char *key, struct atoll_buffer *out,
                           struct atoll_err *err);
/* Always streamed (CHAT operation).  Errors: INPUT where the dialect cannot say something (a schema for a model ...). */
int atoll_provider_body(enum atoll_provider provider, const struct atoll_llm_request *request,
                        const struct atoll_provider_model *model, struct atoll_buffer *out,
                        struct atoll_err *err);

/* Reads a reply of any status: server-sent events or one JSON object, told apart by their bytes, in pieces of any size. */
struct atoll_reply_reader;
struct atoll_reply_reader *atoll_reply_reader_create(enum atoll_provider provider,
                                                     enum atoll_llm_operation operation,
                                                     struct atoll_err *err);
void atoll_reply_reader_destroy(struct atoll_reply_reader *reader);
/* 0, or -1 when nothing more need be read: too large (limits: raw 64 MiB, text 4 MiB, an event 16 MiB) or not the protocol;
 * finish says which. */
int atoll_reply_reader_feed(struct atoll_reply_reader *reader, const void *bytes, size_t length);
/* Fills status, detail, text, reasoning, raw, usage (is_estimated where none came), model, finish of an init'ed outcome.
 * http_status: of the exchange; is_whole: the transfer ended as HTTP says.  An error object is classified by its type and
 * code before the status: a spent quota in a 429 is QUOTA. */
void atoll_reply_reader_finish(struct atoll_reply_reader *reader, int http_status, int is_whole,
                               struct atoll_llm_outcome *outcome);

/* Reads a list of models: calls sink for each id.  -1 PROTOCOL. */
int atoll_provider_models(enum atoll_provider provider, const void *bytes, size_t length,
                          void (*sink)(void *context, const char *id), void *context, struct atoll_err *err);

/* Whatever answers a request in a file or over HTTP: what atoll_llm_outcome_json writes, a chat.completion, response or
 * message of any provider as it came, or, where it does not begin with a brace, the answer's plain text (a person wrote it).
 * Outputs stay as they are on failure.  Errors: INPUT, LIMIT, MEMORY. */
int atoll_reply_parse(const void *bytes, size_t length, struct atoll_llm_outcome *ret_outcome,
                      struct atoll_err *err);
/* The same of a file that a person may have written: an object that nothing marks as a reply is the answer itself, as it stands. */
int atoll_reply_parse_file(const void *bytes, size_t length, struct atoll_llm_outcome *ret_outcome,
                           struct atoll_err *err);

#endif
