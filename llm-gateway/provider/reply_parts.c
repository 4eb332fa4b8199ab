/* reply_parts.c - what all dialects' replies have in common, and the one table of error classes (docs/spec/providers.md):
 * what a provider calls its errors, and what follows for a call. */
#include "llm-gateway/provider/provider_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/utf8.h"

#define TOKENS_ABSURD 1e9 /* no context of any model is near it */

void atoll_reply_parts_init(struct atoll_reply_parts *parts)
{
    memset(parts, 0, sizeof(*parts));
    atoll_buffer_init(&parts->text, ATOLL_OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&parts->reasoning, ATOLL_OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&parts->refusal, ATOLL_OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&parts->signature, ATOLL_LLM_STATE_BYTES + 1);
}

void atoll_reply_parts_fini(struct atoll_reply_parts *parts)
{
    atoll_buffer_fini(&parts->text);
    atoll_buffer_fini(&parts->reasoning);
    atoll_buffer_fini(&parts->refusal);
    atoll_buffer_fini(&parts->signature);
    for (size_t i = 0; i < parts->call_count; i++) {
        atoll_buffer_fini(&parts->calls[i].arguments);
        json_decref(parts->calls[i].extra);
    }
    json_decref(parts->state);
    atoll_reply_parts_init(parts);
}

int atoll_reply_parts_failed(const struct atoll_reply_parts *parts, const char **ret_what,
                             size_t *ret_limit_bytes)
{
    *ret_what = "text";
    *ret_limit_bytes = ATOLL_OUTCOME_TEXT_BYTES;
    if (parts->has_no_memory)
        return ATOLL_E_MEMORY;
    if (parts->text.failed)
        return parts->text.failed;
    for (size_t i = 0; i < parts->call_count; i++) {
        if (!parts->calls[i].arguments.failed)
            continue;
        *ret_what = "arguments of a call";
        *ret_limit_bytes = ATOLL_LLM_ARGUMENT_BYTES;
        return parts->calls[i].arguments.failed;
    }
    return parts->reasoning.failed ? parts->reasoning.failed : parts->refusal.failed;
}

void atoll_reply_add(struct atoll_buffer *text, const json_t *string)
{
    const char *from = json_string_value(string);
    size_t left = json_string_length(string);
    while (from && left) {
        const char *nul = memchr(from, 0, left);
        size_t length = nul ? (size_t)(nul - from) : left;
        atoll_outcome_text_put(text, from, length);
        if (nul) {
            atoll_outcome_text_put(text, "\xef\xbf\xbd", 3);
            length++;
        }
        from += length;
        left -= length;
    }
}

void atoll_reply_count(struct atoll_reply_parts *parts, const json_t *object, const char *key,
                       uint64_t *ret_count)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return;
    double v = json_is_number(value) ? json_number_value(value) : -1;
    if (!(v >= 0 && v <= TOKENS_ABSURD) || v != floor(v)) {
        parts->is_usage_wrong = 1;
        return;
    }
    *ret_count = (uint64_t)v;
}

void atoll_reply_name(char *ret_name, size_t name_bytes, const json_t *value)
{
    if (json_is_string(value) && json_string_length(value))
        atoll_utf8_line(ret_name, name_bytes, json_string_value(value), json_string_length(value));
    else if (json_is_number(value))
        snprintf(ret_name, name_bytes, "%.0f", json_number_value(value));
}

void atoll_reply_error(struct atoll_reply_parts *parts, const json_t *error)
{
    const json_t *message = json_is_object(error) ? json_object_get(error, "message") : error;
    parts->has_error = 1;
    atoll_reply_name(parts->error_type, sizeof(parts->error_type), json_object_get(error, "type"));
    atoll_reply_name(parts->error_code, sizeof(parts->error_code), json_object_get(error, "code"));
    if (!message)
        message = json_object_get(error, "detail");
    atoll_reply_name(parts->error_message, sizeof(parts->error_message), message);
}

int atoll_reply_read_error(struct atoll_reply_parts *parts, const json_t *object)
{
    const json_t *error = json_object_get(object, "error");
    if (json_is_object(error) || (json_is_string(error) && json_string_length(error))) {
        atoll_reply_error(parts, error);
        return 1;
    }
    if (strcmp(atoll_json_member(object, "object"), "error") == 0 ||
        strcmp(atoll_json_member(object, "type"), "error") == 0) {
        atoll_reply_error(parts, object);
        return 1;
    }
    return 0;
}

/* ---- classes of errors ---- */

struct word {
    const char *word;
    enum atoll_llm_status status;
};

/* Codes and types that mean one thing, whatever the HTTP status. */
static const struct word strong[] = {
    {"insufficient_quota", ATOLL_LLM_QUOTA},
    {"quota_exceeded", ATOLL_LLM_QUOTA},
    {"exceeded_current_quota_error", ATOLL_LLM_QUOTA},
    {"billing_hard_limit_reached", ATOLL_LLM_QUOTA},
    {"billing_not_active", ATOLL_LLM_QUOTA},
    {"billing_error", ATOLL_LLM_QUOTA},
    {"insufficient_balance", ATOLL_LLM_QUOTA},
    {"insufficient_user_quota", ATOLL_LLM_QUOTA},
    {"access_terminated", ATOLL_LLM_DENIED},
    {"context_length_exceeded", ATOLL_LLM_TOO_LARGE},
    {"context_window_exceeded", ATOLL_LLM_TOO_LARGE},
    {"exceed_context_size_error", ATOLL_LLM_TOO_LARGE},
    {"string_above_max_length", ATOLL_LLM_TOO_LARGE},
    {"request_too_large", ATOLL_LLM_TOO_LARGE},
    {"rate_limit_exceeded", ATOLL_LLM_RATE},
    {"rate_limit_error", ATOLL_LLM_RATE},
    {"rate_limit_reached_error", ATOLL_LLM_RATE},
    {"too_many_requests", ATOLL_LLM_RATE},
    {"overloaded_error", ATOLL_LLM_OVERLOADED},
    {"engine_overloaded_error", ATOLL_LLM_OVERLOADED},
    {"server_is_overloaded", ATOLL_LLM_OVERLOADED},
    {"server_overloaded", ATOLL_LLM_OVERLOADED},
    {"slow_down", ATOLL_LLM_OVERLOADED},
    {"timeout_error", ATOLL_LLM_OVERLOADED},
    {"unavailable_error", ATOLL_LLM_OVERLOADED},
    {"service_unavailable", ATOLL_LLM_OVERLOADED},
    {"invalid_api_key", ATOLL_LLM_DENIED},
    {"authentication_error", ATOLL_LLM_DENIED},
    {"permission_error", ATOLL_LLM_DENIED},
    {"permission_denied", ATOLL_LLM_DENIED},
    {"account_deactivated", ATOLL_LLM_DENIED},
    {"unsupported_country_region_territory", ATOLL_LLM_DENIED},
    {"model_not_found", ATOLL_LLM_NOTFOUND},
    {"not_found_error", ATOLL_LLM_NOTFOUND},
    {"NotFoundError", ATOLL_LLM_NOTFOUND},
    {"content_filter", ATOLL_LLM_REFUSED},
    {"content_policy_violation", ATOLL_LLM_REFUSED},
    {"ResponsibleAIPolicyViolation", ATOLL_LLM_REFUSED},
    {"unsupported_parameter", ATOLL_LLM_INVALID},
    {"unsupported_value", ATOLL_LLM_INVALID},
    {"invalid_prompt", ATOLL_LLM_INVALID},
};

/* What providers say in prose alone, under a type that means anything. */
static const struct word phrases[] = {
    {"maximum context length", ATOLL_LLM_TOO_LARGE}, /* vLLM, SGLang */
    {"prompt is too long", ATOLL_LLM_TOO_LARGE},     /* Anthropic */
    {"exceeds the available context size", ATOLL_LLM_TOO_LARGE},
    {"exceed context limit", ATOLL_LLM_TOO_LARGE},
    {"credit balance is too low", ATOLL_LLM_QUOTA}, /* Anthropic, as a 400 */
};

/* Words for whole families: only where the HTTP status says nothing, inside a 200 stream. */
static const struct word weak[] = {
    {"invalid_request_error", ATOLL_LLM_INVALID}, {"BadRequestError", ATOLL_LLM_INVALID},
    {"server_error", ATOLL_LLM_OVERLOADED},       {"api_error", ATOLL_LLM_OVERLOADED},
    {"internal_error", ATOLL_LLM_OVERLOADED},     {"internal_server_error", ATOLL_LLM_OVERLOADED},
    {"InternalServerError", ATOLL_LLM_OVERLOADED}};

/* First row from its status up to the next one's. */
static const struct {
    int from;
    enum atoll_llm_status status;
} http[] = {{500, ATOLL_LLM_OVERLOADED}, {452, ATOLL_LLM_INVALID},  {451, ATOLL_LLM_DENIED},
            {430, ATOLL_LLM_INVALID},    {429, ATOLL_LLM_RATE},     {426, ATOLL_LLM_INVALID},
            {425, ATOLL_LLM_OVERLOADED}, {414, ATOLL_LLM_INVALID},  {413, ATOLL_LLM_TOO_LARGE},
            {411, ATOLL_LLM_INVALID},    {410, ATOLL_LLM_NOTFOUND}, {408, ATOLL_LLM_OVERLOADED},
            {405, ATOLL_LLM_INVALID},    {404, ATOLL_LLM_NOTFOUND}, {403, ATOLL_LLM_DENIED},
            {402, ATOLL_LLM_QUOTA},      {401, ATOLL_LLM_DENIED},   {400, ATOLL_LLM_INVALID}};

static int find(const struct word *words, size_t count, const char *word, enum atoll_llm_status *ret_status)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(words[i].word, word) == 0) {
            *ret_status = words[i].status;
            return 1;
        }
    }
    return 0;
}

static enum atoll_llm_status of_http(int status)
{
    if (status == 409)
        return ATOLL_LLM_OVERLOADED;
    for (size_t i = 0; i < sizeof(http) / sizeof(*http); i++)
        if (status >= http[i].from)
            return http[i].status;
    return ATOLL_LLM_PROTOCOL;
}

/* A code says more than a type, both more than the HTTP status: a spent quota comes as 429. */
static enum atoll_llm_status classify(const struct atoll_reply_parts *parts, int http_status)
{
    enum atoll_llm_status status;
    int is_failed = http_status < 200 || http_status >= 300;
    const size_t strong_count = sizeof(strong) / sizeof(*strong), weak_count = sizeof(weak) / sizeof(*weak);
    char *end;
    if (find(strong, strong_count, parts->error_code, &status) ||
        find(strong, strong_count, parts->error_type, &status)) {
        return status;
    }
    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
        if (strcasestr(parts->error_message, phrases[i].word))
            return phrases[i].status;
    /* Servers that relay others give their HTTP status as the code. */
    long relayed = strtol(parts->error_code, &end, 10);
    if (is_failed || (*parts->error_code && !*end && relayed >= 400 && relayed <= 599))
        return of_http(is_failed ? http_status : (int)relayed);
    if (find(weak, weak_count, parts->error_code, &status) ||
        find(weak, weak_count, parts->error_type, &status)) {
        return status;
    }
    return ATOLL_LLM_STREAM;
}

/* ---- what became of it ---- */

/* How an answer ended, in the words of all dialects; what is not here ended as it should. */
static const struct {
    const char *finish;
    enum atoll_llm_status status;
} finishes[] = {
    {"length", ATOLL_LLM_TRUNCATED},
    {"max_tokens", ATOLL_LLM_TRUNCATED},
    {"max_output_tokens", ATOLL_LLM_TRUNCATED},
    {"model_length", ATOLL_LLM_TRUNCATED},
    {"model_context_window_exceeded", ATOLL_LLM_TRUNCATED},
    {"pause_turn", ATOLL_LLM_TRUNCATED},
    {"incomplete", ATOLL_LLM_TRUNCATED},
    {"content_filter", ATOLL_LLM_REFUSED},
    {"refusal", ATOLL_LLM_REFUSED},
    {"safety", ATOLL_LLM_REFUSED},
    {"recitation", ATOLL_LLM_REFUSED},
    {"error", ATOLL_LLM_STREAM},
    {"abort", ATOLL_LLM_STREAM},
    {"failed", ATOLL_LLM_STREAM},
    {"cancelled", ATOLL_LLM_STREAM},
    {"insufficient_system_resource", ATOLL_LLM_OVERLOADED},
};

static int is_blank(const struct atoll_buffer *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (!text->data[i] || !strchr(" \t\r\n", text->data[i]))
            return 0;
    return 1;
}

static void swap(struct atoll_buffer *a, struct atoll_buffer *b)
{
    struct atoll_buffer was = *a;
    *a = *b;
    *b = was;
}

/* Nothing stands in the text. */
static void set_empty(const struct atoll_reply_parts *p, int is_cut, struct atoll_llm_outcome *o)
{
    const char *finish = *p->finish ? p->finish : "no finish reason";
    if (p->call_count) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "ended inside its call of a tool, before any text (%s)",
                              finish);
    } else if (!p->reasoning.length) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "answered without any text (%s)", finish);
    } else if (is_cut) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY,
                              "ended inside its reasoning, %zu bytes of it, before any text (%s)",
                              p->reasoning.length, finish);
    } else {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "%zu bytes in the reasoning channel, none in the text (%s)",
                              p->reasoning.length, finish);
    }
}

static void set_answer(struct atoll_reply_parts *p, const struct atoll_reply_end *end,
                       struct atoll_llm_outcome *o)
{
    enum atoll_llm_status status = ATOLL_LLM_OK;
    for (size_t i = 0; i < sizeof(finishes) / sizeof(*finishes); i++)
        if (strcasecmp(finishes[i].finish, p->finish) == 0)
            status = finishes[i].status;
    if (end->is_embedding) {
        int is_there = p->is_embedded;
        atoll_llm_outcome_set(o, is_there ? ATOLL_LLM_OK : ATOLL_LLM_PROTOCOL, "%s",
                              is_there ? "" : "no embeddings in the reply");
    } else if (!p->is_ended) {
        atoll_llm_outcome_set(o, ATOLL_LLM_STREAM,
                              "the stream ended before its %s, after %zu bytes of text%s", end->terminator,
                              p->text.length, end->is_whole ? "" : " (connection lost)");
    } else if (status == ATOLL_LLM_REFUSED || p->refusal.length) {
        int has_words = !is_blank(&p->refusal);
        atoll_llm_outcome_set(o, ATOLL_LLM_REFUSED, "refused (%s)%s%s",
                              *p->finish ? p->finish : "no reason said", *p->error_message ? ": " : "",
                              p->error_message);
        if (is_blank(&p->text) && has_words)
            swap(&p->text, &p->refusal);
    } else if (status == ATOLL_LLM_STREAM || status == ATOLL_LLM_OVERLOADED) {
        atoll_llm_outcome_set(o, status, "the provider ended it as '%s'", p->finish);
    } else if (p->call_count && status == ATOLL_LLM_OK) {
        atoll_llm_outcome_set(o, ATOLL_LLM_TOOL_CALLS, "%s", "");
    } else if (is_blank(&p->text)) {
        set_empty(p, status == ATOLL_LLM_TRUNCATED, o);
    } else if (status == ATOLL_LLM_TRUNCATED) {
        atoll_llm_outcome_set(o, status, "ended by a limit (%s)", p->finish);
    } else {
        atoll_llm_outcome_set(o, ATOLL_LLM_OK, "%s", "");
    }
}

void atoll_reply_conclude(struct atoll_reply_parts *p, const struct atoll_reply_end *end,
                          struct atoll_llm_outcome *o)
{
    int is_failed = end->http_status && (end->http_status < 200 || end->http_status >= 300);
    o->http_status = end->http_status;
    if (p->has_error || is_failed) {
        char place[32] = "error inside the reply";
        if (is_failed)
            snprintf(place, sizeof(place), "HTTP %d", end->http_status);
        atoll_llm_outcome_set(o, classify(p, end->http_status ? end->http_status : 200), "%s%s%s%s%s%s%s",
                              place, *p->error_type ? ": " : "", p->error_type, *p->error_code ? ": " : "",
                              p->error_code, *p->error_message ? ": " : "", p->error_message);
    } else if (end->fault) {
        atoll_llm_outcome_set(o, ATOLL_LLM_PROTOCOL, "%s", end->fault);
    } else {
        set_answer(p, end, o);
    }
    /* A count that contradicts another one, or a text that cost nothing, is no usage. */
    const struct atoll_llm_usage *u = &p->usage;
    int has_output = p->text.length || p->reasoning.length || p->refusal.length || p->call_count;
    int is_sound = p->has_usage && !p->is_usage_wrong && u->cached_input <= u->input &&
                   u->cache_write <= u->input - u->cached_input && u->reasoning <= u->output &&
                   (u->output || !has_output || end->is_embedding);
    o->usage = is_sound ? p->usage : (struct atoll_llm_usage){.is_estimated = 1};
    p->text.failed = p->reasoning.failed = 0; /* what is there is whole up to its limit */
    swap(&o->text, &p->text);
    swap(&o->reasoning, &p->reasoning);
    snprintf(o->model, sizeof(o->model), "%s", p->model);
    snprintf(o->finish, sizeof(o->finish), "%s", p->finish);
}
