/* outcome.h - what became of a request: always exactly one typed outcome.
 * Layer: llm-gateway.  Lifetime: init/fini; texts are owned. */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_OUTCOME_H
#define ATOLL_LLM_GATEWAY_REQUEST_OUTCOME_H

#include "base/buffer.h"
#include "base/id.h"
#include "llm-gateway/request/tool_call.h"

#define ATOLL_OUTCOME_TEXT_BYTES ((size_t)4 << 20)
#define ATOLL_OUTCOME_RAW_BYTES  ((size_t)64 << 20)

/* The order is the order in stores: new ones go before COUNT. */
enum atoll_llm_status {
    ATOLL_LLM_OK,
    ATOLL_LLM_TRUNCATED, /* the output limit or the context ended it; the text is what there is */
    ATOLL_LLM_EMPTY,    /* answered without any text; what the reasoning channel alone held is in reasoning */
    ATOLL_LLM_REFUSED,  /* by the model or a content filter; text: its words, if any */
    ATOLL_LLM_INVALID,  /* 400, 422 and the like: the request itself is wrong */
    ATOLL_LLM_DENIED,   /* 401, 403 */
    ATOLL_LLM_NOTFOUND, /* 404: no such model or path */
    ATOLL_LLM_TOO_LARGE,  /* 413, or the context is too small for it */
    ATOLL_LLM_QUOTA,      /* the account's money or quota is spent */
    ATOLL_LLM_RATE,       /* 429 */
    ATOLL_LLM_OVERLOADED, /* 5xx, 529, 408, 409 */
    ATOLL_LLM_STREAM,     /* an error event inside a 200 stream, or a stream that ended before its end */
    ATOLL_LLM_NETWORK,    /* names, connections, TLS, resets */
    ATOLL_LLM_PROTOCOL, /* not what the provider's protocol says: no JSON, no UTF-8, too large, a redirect */
    ATOLL_LLM_TIMEOUT,  /* the deadline of the call */
    ATOLL_LLM_CANCELLED,
    ATOLL_LLM_BUDGET,  /* a limit of ours does not allow it */
    ATOLL_LLM_MISS,    /* replay: the store does not hold it */
    ATOLL_LLM_UNKNOWN, /* it was in flight when a gateway was killed: counts as spent */
    ATOLL_LLM_TOOL_CALLS, /* it wants tools called before it goes on; text: what it said beside, perhaps nothing */
    ATOLL_LLM_STATUS_COUNT
};
const char *atoll_llm_status_name(enum atoll_llm_status status); /* "ok" ... */
/* Whether there is an answer to work with (OK, TRUNCATED, TOOL_CALLS). */
int atoll_llm_status_is_answer(enum atoll_llm_status status);
/* What asking again would only repeat: an answer, REFUSED, EMPTY. */
int atoll_llm_status_is_final(enum atoll_llm_status status);

/* Tokens.  input counts all of them, cached_input and cache_write are parts of it; output counts all of them, reasoning
 * is a part of it. */
struct atoll_llm_usage {
    uint64_t input, cached_input, cache_write, output, reasoning;
    int is_estimated; /* the reply did not say: the reservation's bound is used */
};

struct atoll_llm_outcome {
    enum atoll_llm_status status;
    int http_status;          /* of the last try, 0 none */
    char detail[512];         /* one line, printable; why it is not OK */
    char model[128];          /* who answered, as the provider says it */
    char name[64];            /* the configuration's name of that model */
    char endpoint[64];        /* of the configuration */
    char finish[32];          /* the provider's word for why it ended */
    struct atoll_buffer text; /* UTF-8 with a NUL behind it that does not count; data is NULL while empty */
    struct atoll_buffer reasoning;          /* the same */
    struct atoll_buffer raw;                /* the reply's bytes as they came: the last try's body */
    size_t tool_call_count;                 /* of TOOL_CALLS: 1 to ATOLL_LLM_TOOL_CALL_LIMIT; else 0 */
    struct atoll_llm_tool_call *tool_calls; /* owned, one block; ids are unique, names are valid */
    struct atoll_buffer
        provider_state; /* of TOOL_CALLS: for the message's member of the same name; empty: none */
    struct atoll_llm_usage usage;
    double cost_usd;
    uint32_t tries;          /* HTTP exchanges it took */
    int64_t started_unix_ns; /* of the first try */
    double first_byte_s, elapsed_s;
    int is_from_store;
    struct atoll_id request; /* atoll_llm_request_id */
};

void atoll_llm_outcome_init(struct atoll_llm_outcome *outcome);
void atoll_llm_outcome_fini(struct atoll_llm_outcome *outcome);
/* Copies; -1 MEMORY. */
int atoll_llm_outcome_copy(const struct atoll_llm_outcome *from, struct atoll_llm_outcome *ret_outcome,
                           struct atoll_err *err);
/* Takes a copy in place of what it had; 0 calls: none.  -1 MEMORY. */
int atoll_llm_outcome_set_calls(struct atoll_llm_outcome *outcome, const struct atoll_llm_tool_call *calls,
                                size_t count, struct atoll_err *err);
/* Nothing could be called: an outcome of TOOL_CALLS becomes the answer that its text is, or EMPTY. */
void atoll_llm_outcome_drop_calls(struct atoll_llm_outcome *outcome);
/* Sets status and a printable detail. */
void atoll_llm_outcome_set(struct atoll_llm_outcome *outcome, enum atoll_llm_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));
/* For stores and the wire, all fields. */
void atoll_llm_outcome_encode(const struct atoll_llm_outcome *outcome, struct atoll_buffer *out);
int atoll_llm_outcome_decode(const void *bytes, size_t length, struct atoll_llm_outcome *outcome,
                             struct atoll_err *err);
/* As JSON: an OpenAI chat.completion object (or error object) with the object "atoll" beside it, without raw; what the
 * HTTP server answers and what a spool's reply file holds.  atoll_reply_parse (provider.h) reads it. */
int atoll_llm_outcome_json(const struct atoll_llm_outcome *outcome, struct atoll_buffer *out,
                           struct atoll_err *err);
/* Appends UTF-8 to one of its texts and keeps a NUL behind the end, which does not count; the limit leaves room for it. */
void atoll_outcome_text_put(struct atoll_buffer *text, const void *bytes, size_t length);

#endif
