/* reply_error.c - the one table of error classes (docs/spec/providers.md): what a provider calls its errors, and what
 * follows for a call.  A code says more than a type, both more than the HTTP status: a spent quota comes as 429. */
#include "llm-gateway/provider/reply_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/utf8.h"

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

static int find_phrase(const char *message, enum atoll_llm_status *ret_status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        if (strcasestr(message, phrases[i].word)) {
            *ret_status = phrases[i].status;
            return 1;
        }
    }
    return 0;
}

static enum atoll_llm_status of_http(int status)
{
    if (status == 409) {
        return ATOLL_LLM_OVERLOADED;
    }
    for (size_t i = 0; i < sizeof http / sizeof *http; i++) {
        if (status >= http[i].from) {
            return http[i].status;
        }
    }
    return ATOLL_LLM_PROTOCOL;
}

/* Servers that relay others give their HTTP status as the code. */
static int status_in(const char *code)
{
    char *end;
    long v = strtol(code, &end, 10);
    return *code && !*end && v >= 400 && v <= 599 ? (int)v : 0;
}

enum atoll_llm_status atoll_reply_classify(const struct atoll_reply_parts *parts, int http_status)
{
    enum atoll_llm_status status;
    int is_failed = http_status < 200 || http_status >= 300;
    int relayed = status_in(parts->error_code);
    const size_t strong_count = sizeof strong / sizeof *strong, weak_count = sizeof weak / sizeof *weak;
    if (find(strong, strong_count, parts->error_code, &status) ||
        find(strong, strong_count, parts->error_type, &status) ||
        find_phrase(parts->error_message, &status)) {
        return status;
    }
    if (is_failed || relayed) {
        return of_http(is_failed ? http_status : relayed);
    }
    if (find(weak, weak_count, parts->error_code, &status) ||
        find(weak, weak_count, parts->error_type, &status)) {
        return status;
    }
    return ATOLL_LLM_STREAM;
}

void atoll_reply_name(char *ret_name, size_t name_bytes, const json_t *value)
{
    if (json_is_string(value) && json_string_length(value)) {
        atoll_utf8_line(ret_name, name_bytes, json_string_value(value), json_string_length(value));
    } else if (json_is_number(value)) {
        snprintf(ret_name, name_bytes, "%.0f", json_number_value(value));
    }
}

void atoll_reply_error(struct atoll_reply_parts *parts, const json_t *error)
{
    const json_t *message = json_is_object(error) ? json_object_get(error, "message") : error;
    parts->has_error = 1;
    atoll_reply_name(parts->error_type, sizeof parts->error_type, json_object_get(error, "type"));
    atoll_reply_name(parts->error_code, sizeof parts->error_code, json_object_get(error, "code"));
    if (!message) {
        message = json_object_get(error, "detail");
    }
    atoll_reply_name(parts->error_message, sizeof parts->error_message, message);
}
