/* outcome.c - the value; its bytes for stores: u8 version, then the fields in the header's order; and its JSON for clients: a
 * chat.completion, an embeddings' list, or an error object, each with the object "atoll" that says what theirs cannot.
 * Decoding builds an outcome aside and hands it over when all of it holds. */
#include "llm-gateway/request/outcome.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define NS_PER_S     1000000000
#define VERSION      2u /* with calls of tools; an outcome without any is written as version 1, as ever */
#define LONGEST_S    1e9
#define DEAREST_USD  1e9
#define HTTP_HIGHEST 999u
#define VALUE_LIMIT  1000000 /* JSON values of an embeddings' list */

static const char *const status_names[ATOLL_LLM_STATUS_COUNT] = {
    "ok",        "truncated", "empty",  "refused",    "invalid", "denied",    "notfound",
    "too_large", "quota",     "rate",   "overloaded", "stream",  "network",   "protocol",
    "timeout",   "cancelled", "budget", "miss",       "unknown", "tool_calls"};

const char *atoll_llm_status_name(enum atoll_llm_status status)
{
    return (unsigned)status < ATOLL_LLM_STATUS_COUNT ? status_names[status] : "?";
}

int atoll_llm_status_is_answer(enum atoll_llm_status status)
{
    return status == ATOLL_LLM_OK || status == ATOLL_LLM_TRUNCATED || status == ATOLL_LLM_TOOL_CALLS;
}

int atoll_llm_status_is_final(enum atoll_llm_status status)
{
    return atoll_llm_status_is_answer(status) || status == ATOLL_LLM_REFUSED || status == ATOLL_LLM_EMPTY;
}

void atoll_llm_outcome_init(struct atoll_llm_outcome *outcome)
{
    memset(outcome, 0, sizeof(*outcome));
    atoll_buffer_init(&outcome->text, ATOLL_OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&outcome->reasoning, ATOLL_OUTCOME_TEXT_BYTES + 1);
    atoll_buffer_init(&outcome->raw, ATOLL_OUTCOME_RAW_BYTES);
    atoll_buffer_init(&outcome->provider_state, ATOLL_LLM_STATE_BYTES + 1);
}

void atoll_llm_outcome_fini(struct atoll_llm_outcome *outcome)
{
    atoll_buffer_fini(&outcome->text);
    atoll_buffer_fini(&outcome->reasoning);
    atoll_buffer_fini(&outcome->raw);
    atoll_buffer_fini(&outcome->provider_state);
    free(outcome->tool_calls);
    atoll_llm_outcome_init(outcome);
}

int atoll_llm_outcome_set_calls(struct atoll_llm_outcome *outcome, const struct atoll_llm_tool_call *calls,
                                size_t count, struct atoll_err *err)
{
    struct atoll_llm_tool_call *copy = count ? atoll_llm_tool_calls_copy(calls, count, err) : NULL;
    if (count && !copy)
        return -1;
    free(outcome->tool_calls);
    outcome->tool_calls = copy;
    outcome->tool_call_count = count;
    return 0;
}

void atoll_outcome_text_put(struct atoll_buffer *text, const void *bytes, size_t length)
{
    size_t before = text->length;
    if (length >= text->limit_bytes - before)
        text->failed = text->failed ? text->failed : ATOLL_E_LIMIT;
    atoll_buffer_put_bytes(text, bytes, length);
    atoll_buffer_put_u8(text, 0);
    text->length = text->failed ? before : text->length - 1;
    if (text->failed && text->data)
        text->data[before] = 0;
}

void atoll_llm_outcome_drop_calls(struct atoll_llm_outcome *outcome)
{
    const char *text = outcome->text.length ? (const char *)outcome->text.data : "";
    if (outcome->status != ATOLL_LLM_TOOL_CALLS)
        return;
    atoll_llm_outcome_set(outcome, text[strspn(text, " \t\r\n")] ? ATOLL_LLM_OK : ATOLL_LLM_EMPTY,
                          "it called '%s', and no tool may be called here", outcome->tool_calls[0].name);
    atoll_llm_outcome_set_calls(outcome, NULL, 0, NULL);
    atoll_buffer_fini(&outcome->provider_state);
}

int atoll_llm_outcome_copy(const struct atoll_llm_outcome *from, struct atoll_llm_outcome *ret_outcome,
                           struct atoll_err *err)
{
    struct atoll_llm_outcome copy = *from;
    copy.tool_calls = NULL;
    atoll_buffer_init(&copy.provider_state, from->provider_state.limit_bytes);
    atoll_buffer_init(&copy.text, from->text.limit_bytes);
    atoll_buffer_init(&copy.reasoning, from->reasoning.limit_bytes);
    atoll_buffer_init(&copy.raw, from->raw.limit_bytes);
    if (from->text.data)
        atoll_outcome_text_put(&copy.text, from->text.data, from->text.length);
    if (from->reasoning.data)
        atoll_outcome_text_put(&copy.reasoning, from->reasoning.data, from->reasoning.length);
    if (from->provider_state.data)
        atoll_outcome_text_put(&copy.provider_state, from->provider_state.data, from->provider_state.length);
    atoll_buffer_put_bytes(&copy.raw, from->raw.data, from->raw.length);
    if (atoll_llm_outcome_set_calls(&copy, from->tool_calls, from->tool_call_count, err) ||
        atoll_buffer_check(&copy.text, err) || atoll_buffer_check(&copy.reasoning, err) ||
        atoll_buffer_check(&copy.raw, err) || atoll_buffer_check(&copy.provider_state, err)) {
        atoll_llm_outcome_fini(&copy);
        return -1;
    }
    atoll_llm_outcome_fini(ret_outcome);
    *ret_outcome = copy;
    return 0;
}

void atoll_llm_outcome_set(struct atoll_llm_outcome *outcome, enum atoll_llm_status status,
                           const char *format, ...)
{
    char text[2 * sizeof(outcome->detail)]; /* longer than what is kept: no cut character gets there */
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    outcome->status = status;
    atoll_utf8_line(outcome->detail, sizeof(outcome->detail), text, length < 0 ? 0 : strlen(text));
}

/* ---- bytes ---- */

/* What decode would refuse must not get into a store: a clock that went back is no reason to lose an answer. */
static double sane(double v, double high)
{
    return !(v > 0) ? 0 : v < high ? v : high;
}

void atoll_llm_outcome_encode(const struct atoll_llm_outcome *o, struct atoll_buffer *out)
{
    int has_tools = o->status == ATOLL_LLM_TOOL_CALLS;
    assert((unsigned)o->status < ATOLL_LLM_STATUS_COUNT);
    atoll_buffer_put_u8(out, has_tools ? VERSION : 1);
    atoll_buffer_put_u8(out, (uint8_t)o->status);
    atoll_buffer_put_u32(out, (unsigned)o->http_status > HTTP_HIGHEST ? 0 : (uint32_t)o->http_status);
    atoll_buffer_put_text(out, o->detail);
    atoll_buffer_put_text(out, o->model);
    atoll_buffer_put_text(out, o->name);
    atoll_buffer_put_text(out, o->endpoint);
    atoll_buffer_put_text(out, o->finish);
    atoll_buffer_put_blob(out, o->text.data, o->text.length);
    atoll_buffer_put_blob(out, o->reasoning.data, o->reasoning.length);
    atoll_buffer_put_blob(out, o->raw.data, o->raw.length);
    atoll_buffer_put_u64(out, o->usage.input);
    atoll_buffer_put_u64(out, o->usage.cached_input);
    atoll_buffer_put_u64(out, o->usage.cache_write);
    atoll_buffer_put_u64(out, o->usage.output);
    atoll_buffer_put_u64(out, o->usage.reasoning);
    atoll_buffer_put_u8(out, o->usage.is_estimated != 0);
    atoll_buffer_put_f64(out, sane(o->cost_usd, DEAREST_USD));
    atoll_buffer_put_u32(out, o->tries);
    atoll_buffer_put_i64(out, o->started_unix_ns);
    atoll_buffer_put_f64(out, sane(o->first_byte_s, LONGEST_S));
    atoll_buffer_put_f64(out, sane(o->elapsed_s, LONGEST_S));
    atoll_buffer_put_u8(out, o->is_from_store != 0);
    atoll_buffer_put_bytes(out, o->request.bytes, sizeof(o->request.bytes));
    if (!has_tools)
        return;
    atoll_buffer_put_u8(out, (uint8_t)o->tool_call_count);
    for (size_t i = 0; i < o->tool_call_count; i++) {
        atoll_buffer_put_text(out, o->tool_calls[i].id);
        atoll_buffer_put_text(out, o->tool_calls[i].name);
        atoll_buffer_put_text(out, o->tool_calls[i].arguments);
    }
    atoll_buffer_put_blob(out, o->provider_state.data, o->provider_state.length);
}

static int read_u8_in(struct atoll_reader *r, uint8_t limit)
{
    uint8_t v = atoll_reader_u8(r);
    if (v >= limit)
        r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
    return r->failed ? 0 : v;
}

/* is_text: UTF-8 without a NUL inside, with one behind. */
static void read_bytes(struct atoll_reader *r, struct atoll_buffer *out, int is_text)
{
    size_t length;
    const void *bytes = atoll_reader_blob(r, &length);
    if (r->failed || !length)
        return;
    if (is_text && (memchr(bytes, 0, length) || atoll_utf8_valid_bytes(bytes, length) < length))
        r->failed = ATOLL_E_PROTOCOL;
    else if (is_text)
        atoll_outcome_text_put(out, bytes, length);
    else
        atoll_buffer_put_bytes(out, bytes, length);
    r->failed = out->failed ? out->failed : r->failed;
}

/* Appends a text of fewer than limit bytes with a NUL behind it; where it begins. */
static size_t read_text(struct atoll_reader *r, size_t limit, struct atoll_buffer *texts)
{
    size_t length, at = texts->length;
    const void *bytes = atoll_reader_blob(r, &length);
    if (r->failed)
        return 0;
    if (length >= limit ||
        (length && (memchr(bytes, 0, length) || atoll_utf8_valid_bytes(bytes, length) < length))) {
        r->failed = ATOLL_E_PROTOCOL;
        return 0;
    }
    atoll_buffer_put_bytes(texts, bytes, length);
    atoll_buffer_put_u8(texts, 0);
    r->failed = texts->failed;
    return at;
}

/* What no reply could hold is no outcome: whoever calls the tools relies on names and ids. */
static int calls_are_sound(const struct atoll_llm_tool_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!*calls[i].id || !atoll_llm_tool_name_is_valid(calls[i].name))
            return 0;
        for (size_t k = 0; k < i; k++)
            if (strcmp(calls[i].id, calls[k].id) == 0)
                return 0;
    }
    return 1;
}

static void read_calls(struct atoll_reader *r, struct atoll_llm_outcome *o)
{
    struct atoll_llm_tool_call calls[ATOLL_LLM_TOOL_CALL_LIMIT];
    size_t at[3 * ATOLL_LLM_TOOL_CALL_LIMIT] = {0},
                  count = (size_t)read_u8_in(r, ATOLL_LLM_TOOL_CALL_LIMIT + 1);
    struct atoll_buffer texts;
    atoll_buffer_init(&texts, ATOLL_LLM_TOOL_CALL_LIMIT * (ATOLL_LLM_ARGUMENT_BYTES + 256));
    for (size_t i = 0; i < count && !r->failed; i++) {
        at[3 * i] = read_text(r, ATOLL_LLM_CALL_ID_BYTES, &texts);
        at[3 * i + 1] = read_text(r, ATOLL_LLM_TOOL_NAME_BYTES, &texts);
        at[3 * i + 2] = read_text(r, ATOLL_LLM_ARGUMENT_BYTES + 1, &texts);
    }
    if (!r->failed && (o->status == ATOLL_LLM_TOOL_CALLS) != (count > 0))
        r->failed = ATOLL_E_PROTOCOL;
    if (!r->failed && count && texts.data) {
        const char *base = (const char *)texts.data;
        for (size_t i = 0; i < count; i++)
            calls[i] =
                (struct atoll_llm_tool_call){base + at[3 * i], base + at[3 * i + 1], base + at[3 * i + 2]};
        if (!calls_are_sound(calls, count))
            r->failed = ATOLL_E_PROTOCOL;
        else if (atoll_llm_outcome_set_calls(o, calls, count, NULL))
            r->failed = ATOLL_E_MEMORY;
    }
    atoll_buffer_fini(&texts);
    read_bytes(r, &o->provider_state, 1);
}

static void read_fields(struct atoll_reader *r, struct atoll_llm_outcome *o)
{
    o->status = (enum atoll_llm_status)read_u8_in(r, ATOLL_LLM_STATUS_COUNT);
    o->http_status = (int)atoll_reader_u32_in(r, 0, HTTP_HIGHEST);
    atoll_reader_fixed_text(r, o->detail, sizeof(o->detail));
    atoll_reader_fixed_text(r, o->model, sizeof(o->model));
    atoll_reader_fixed_text(r, o->name, sizeof(o->name));
    atoll_reader_fixed_text(r, o->endpoint, sizeof(o->endpoint));
    atoll_reader_fixed_text(r, o->finish, sizeof(o->finish));
    read_bytes(r, &o->text, 1);
    read_bytes(r, &o->reasoning, 1);
    read_bytes(r, &o->raw, 0);
    o->usage.input = atoll_reader_u64(r);
    o->usage.cached_input = atoll_reader_u64(r);
    o->usage.cache_write = atoll_reader_u64(r);
    o->usage.output = atoll_reader_u64(r);
    o->usage.reasoning = atoll_reader_u64(r);
    o->usage.is_estimated = read_u8_in(r, 2);
    o->cost_usd = atoll_reader_f64_in(r, 0, DEAREST_USD);
    o->tries = atoll_reader_u32(r);
    o->started_unix_ns = atoll_reader_i64(r);
    o->first_byte_s = atoll_reader_f64_in(r, 0, LONGEST_S);
    o->elapsed_s = atoll_reader_f64_in(r, 0, LONGEST_S);
    o->is_from_store = read_u8_in(r, 2);
    atoll_reader_bytes(r, o->request.bytes, sizeof(o->request.bytes));
}

int atoll_llm_outcome_decode(const void *bytes, size_t length, struct atoll_llm_outcome *outcome,
                             struct atoll_err *err)
{
    struct atoll_reader r;
    struct atoll_llm_outcome o;
    atoll_reader_init(&r, bytes, length);
    uint8_t version = atoll_reader_u8(&r);
    if (!r.failed && version > VERSION) {
        return atoll_err_set(err, ATOLL_E_SCHEMA, "outcome of version %u: this program reads up to %u",
                             version, VERSION);
    }
    if (!r.failed && version == 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "outcome of version 0");
    atoll_llm_outcome_init(&o);
    read_fields(&r, &o);
    if (version > 1)
        read_calls(&r, &o);
    else if (o.status == ATOLL_LLM_TOOL_CALLS)
        r.failed = ATOLL_E_PROTOCOL;
    if (atoll_reader_finish(&r, "outcome", err)) {
        atoll_llm_outcome_fini(&o);
        return -1;
    }
    atoll_llm_outcome_fini(outcome);
    *outcome = o;
    return 0;
}

/* ---- JSON ---- */

/* Texts of fixed length come from configurations and providers: made fit for JSON rather than refused. */
static json_t *line(const char *text)
{
    char clean[sizeof(((struct atoll_llm_outcome *)0)->detail)];
    atoll_utf8_line(clean, sizeof(clean), text, strlen(text));
    return json_string(clean);
}

static json_t *long_text(const struct atoll_buffer *text)
{
    return text->length ? json_stringn((const char *)text->data, text->length) : json_string("");
}

static json_t *count(uint64_t v)
{
    return json_integer((json_int_t)(v < INT64_MAX ? v : INT64_MAX));
}

static json_t *atoll_json(const struct atoll_llm_outcome *o, const char *id)
{
    const struct atoll_llm_usage *u = &o->usage;
    json_t *usage =
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "input", count(u->input), "cached_input",
                  count(u->cached_input), "cache_write", count(u->cache_write), "output", count(u->output),
                  "reasoning", count(u->reasoning), "is_estimated", u->is_estimated != 0);
    return json_pack(
        "{s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:I,s:I,s:f,s:f,s:b,s:s}", "status",
        atoll_llm_status_name(o->status), "http_status", o->http_status, "detail", line(o->detail), "model",
        line(o->model), "name", line(o->name), "endpoint", line(o->endpoint), "finish", line(o->finish),
        "usage", usage, "cost_usd", sane(o->cost_usd, 1e300), "tries", (json_int_t)o->tries,
        "started_unix_ns", (json_int_t)o->started_unix_ns, "first_byte_s", sane(o->first_byte_s, 1e300),
        "elapsed_s", sane(o->elapsed_s, 1e300), "is_from_store", o->is_from_store != 0, "request", id);
}

/* A refusal's words stand where OpenAI's clients look for them. */
static json_t *completion_json(const struct atoll_llm_outcome *o, const char *id)
{
    const struct atoll_llm_usage *u = &o->usage;
    int is_refusal = o->status == ATOLL_LLM_REFUSED && o->text.length;
    const char *finish = o->status == ATOLL_LLM_TRUNCATED    ? "length"
                         : o->status == ATOLL_LLM_REFUSED    ? "content_filter"
                         : o->status == ATOLL_LLM_TOOL_CALLS ? "tool_calls"
                                                             : "stop";
    int is_silent = is_refusal || (o->tool_call_count && !o->text.length);
    char name[48];
    snprintf(name, sizeof(name), "chatcmpl-%.24s", id);
    json_t *message =
        json_pack("{s:s,s:o}", "role", "assistant", "content", is_silent ? json_null() : long_text(&o->text));
    if ((o->reasoning.length &&
         json_object_set_new(message, "reasoning_content", long_text(&o->reasoning))) ||
        (o->tool_call_count &&
         json_object_set_new(message, "tool_calls",
                             atoll_llm_tool_calls_json(o->tool_calls, o->tool_call_count))) ||
        (is_refusal && json_object_set_new(message, "refusal", long_text(&o->text)))) {
        json_decref(message);
        return NULL;
    }
    json_t *usage =
        json_pack("{s:o,s:o,s:o,s:{s:o},s:{s:o}}", "prompt_tokens", count(u->input), "completion_tokens",
                  count(u->output), "total_tokens", count(u->input + u->output), "prompt_tokens_details",
                  "cached_tokens", count(u->cached_input), "completion_tokens_details", "reasoning_tokens",
                  count(u->reasoning));
    return json_pack("{s:s,s:s,s:I,s:o,s:[{s:i,s:o,s:s}],s:o}", "id", name, "object", "chat.completion",
                     "created", (json_int_t)(o->started_unix_ns / NS_PER_S), "model",
                     line(*o->name ? o->name : o->model), "choices", "index", 0, "message", message,
                     "finish_reason", finish, "usage", usage);
}

/* Embeddings have no text; their numbers are in the raw reply alone.  NULL: it is none. */
static json_t *list_json(const struct atoll_llm_outcome *o)
{
    int is_list = o->status == ATOLL_LLM_OK && !o->text.length && o->raw.length && o->raw.data[0] == '{';
    json_t *list =
        is_list ? atoll_json_load(o->raw.data, o->raw.length, VALUE_LIMIT, JSON_REJECT_DUPLICATES, NULL)
                : NULL;
    if (json_is_array(json_object_get(list, "data")))
        return list;
    json_decref(list);
    return NULL;
}

int atoll_llm_outcome_json(const struct atoll_llm_outcome *o, struct atoll_buffer *out, struct atoll_err *err)
{
    char id[ATOLL_ID_HEX];
    const char *name = atoll_llm_status_name(o->status);
    int is_answer = atoll_llm_status_is_final(o->status);
    if (atoll_utf8_valid_bytes(o->text.data, o->text.length) < o->text.length ||
        atoll_utf8_valid_bytes(o->reasoning.data, o->reasoning.length) < o->reasoning.length ||
        atoll_utf8_valid_bytes(o->provider_state.data, o->provider_state.length) < o->provider_state.length) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "outcome: a text that is not UTF-8");
    }
    atoll_id_hex(&o->request, id);
    json_t *document = list_json(o), *about = atoll_json(o, id);
    if (!document) {
        document = is_answer ? completion_json(o, id)
                             : json_pack("{s:{s:o,s:s,s:s,s:n}}", "error", "message", line(o->detail), "type",
                                         name, "code", name, "param");
    }
    /* What a failed call left of an answer goes into "atoll". */
    if ((!is_answer && o->text.length && json_object_set_new(about, "text", long_text(&o->text))) ||
        (!is_answer && o->reasoning.length &&
         json_object_set_new(about, "reasoning", long_text(&o->reasoning))) ||
        (o->provider_state.length &&
         json_object_set_new(about, "provider_state", long_text(&o->provider_state))) ||
        !about || json_object_set(document, "atoll", about)) {
        json_decref(document);
        document = NULL;
    }
    json_decref(about);
    int status = atoll_json_put(out, document, err);
    json_decref(document);
    return status;
}
