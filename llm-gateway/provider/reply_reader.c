/* reply_reader.c - a reply's bytes to an outcome: a provider's as they come, or a whole one of anybody.  The first byte that is no space tells one JSON object from server-sent
 * events; an object is read when it is whole, events as they come.  What is wrong stops the reading and is reported by finish. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/provider/provider_row.h"
#include "llm-gateway/provider/sse.h"
#include "base/utf8.h"

#define EVENT_BYTES ((size_t)16 << 20)
#define VALUE_LIMIT 1000000 /* JSON values of an event or object */
#define SHOWN_BYTES 160u    /* of an error page, in a detail */
#define LOAD_FLAGS  JSON_ALLOW_NUL
#define LONGEST_S   1e9
#define DEAREST_USD 1e9

enum form { FORM_UNKNOWN, FORM_OBJECT, FORM_EVENTS };

struct atoll_reply_reader {
    const struct atoll_provider_row *row;
    enum atoll_llm_operation operation;
    enum form form;
    size_t event_count;
    struct atoll_sse sse;
    struct atoll_reply_parts parts;
    struct atoll_buffer raw;
    int is_failed;
    char fault[256];
};

struct atoll_reply_reader *atoll_reply_reader_create(enum atoll_provider provider,
                                                     enum atoll_llm_operation operation,
                                                     struct atoll_err *err)
{
    struct atoll_reply_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to read a reply");
        return NULL;
    }
    reader->row = atoll_provider_row(provider);
    reader->operation = operation;
    atoll_sse_init(&reader->sse, EVENT_BYTES);
    atoll_reply_parts_init(&reader->parts);
    atoll_buffer_init(&reader->raw, ATOLL_OUTCOME_RAW_BYTES);
    return reader;
}

void atoll_reply_reader_destroy(struct atoll_reply_reader *reader)
{
    if (!reader)
        return;
    atoll_sse_fini(&reader->sse);
    atoll_reply_parts_fini(&reader->parts);
    atoll_buffer_fini(&reader->raw);
    free(reader);
}

/* The first fault is the one that is reported. */
static int fail(struct atoll_reply_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(struct atoll_reply_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!reader->is_failed)
        vsnprintf(reader->fault, sizeof(reader->fault), format, args);
    va_end(args);
    reader->is_failed = 1;
    return -1;
}

static int fail_full(struct atoll_reply_reader *reader, int code, const char *what, size_t limit_bytes)
{
    return code == ATOLL_E_LIMIT ? fail(reader, "%s beyond the limit of %zu bytes", what, limit_bytes)
                                 : fail(reader, "no memory to read the reply");
}

static int check_texts(struct atoll_reply_reader *reader)
{
    const char *what;
    size_t limit_bytes;
    int code = atoll_reply_parts_failed(&reader->parts, &what, &limit_bytes);
    return code ? fail_full(reader, code, what, limit_bytes) : 0;
}

static int on_event(void *context, const char *name, const char *data, size_t length)
{
    struct atoll_reply_reader *reader = context;
    struct atoll_err why = ATOLL_ERR_INIT;
    reader->event_count++;
    if (!length || reader->parts.is_ended)
        return 0;
    if (strcmp(data, "[DONE]") == 0) {
        reader->parts.is_ended = reader->row == &atoll_provider_chat;
        return 0;
    }
    json_t *event = atoll_json_load(data, length, VALUE_LIMIT, LOAD_FLAGS, &why);
    int status = 0;
    if (!event) {
        status = fail(reader, "event %zu: %.200s", reader->event_count, why.text);
    } else if (!json_is_object(event)) {
        status = fail(reader, "event %zu is no JSON object", reader->event_count);
    } else {
        if (!atoll_reply_read_error(&reader->parts, event) && strcmp(name, "error") == 0)
            atoll_reply_error(&reader->parts, event);
        reader->row->event(&reader->parts, event);
        status = check_texts(reader);
    }
    json_decref(event);
    return status;
}

static enum form form_of(const struct atoll_buffer *raw)
{
    for (size_t i = 0; i < raw->length; i++) {
        unsigned char c = raw->data[i];
        if (c == '{' || c == '[')
            return FORM_OBJECT;
        if (!c || !strchr(" \t\r\n\xef\xbb\xbf", (char)c))
            return FORM_EVENTS;
    }
    return FORM_UNKNOWN;
}

static int feed_events(struct atoll_reply_reader *reader, const void *bytes, size_t length)
{
    if (!atoll_sse_feed(&reader->sse, bytes, length, on_event, reader))
        return 0;
    return reader->is_failed ? -1 : fail_full(reader, reader->sse.failed, "an event", EVENT_BYTES);
}

int atoll_reply_reader_feed(struct atoll_reply_reader *reader, const void *bytes, size_t length)
{
    if (reader->is_failed)
        return -1;
    atoll_buffer_put_bytes(&reader->raw, bytes, length);
    if (reader->raw.failed)
        return fail_full(reader, reader->raw.failed, "reply", ATOLL_OUTCOME_RAW_BYTES);
    if (reader->form == FORM_EVENTS)
        return feed_events(reader, bytes, length);
    if (reader->form == FORM_UNKNOWN)
        reader->form = form_of(&reader->raw);
    return reader->form == FORM_EVENTS ? feed_events(reader, reader->raw.data, reader->raw.length) : 0;
}

/* ---- the end ---- */

/* Pages of proxies and the like: their beginning is all there is to say. */
static void show_page(struct atoll_reply_reader *reader)
{
    size_t length = reader->raw.length < SHOWN_BYTES ? reader->raw.length : SHOWN_BYTES;
    if (!reader->parts.has_error && length) {
        atoll_utf8_line(reader->parts.error_message, sizeof(reader->parts.error_message),
                        (const char *)reader->raw.data, length);
    }
}

static void finish_object(struct atoll_reply_reader *reader, int is_error, int is_whole)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_reply_parts *parts = &reader->parts;
    json_t *document = atoll_json_load(reader->raw.data, reader->raw.length, VALUE_LIMIT, LOAD_FLAGS, &why);
    /* some gateways put an error into a list of one */
    const json_t *object = json_is_array(document) ? json_array_get(document, 0) : document;
    int is_reply = reader->row->is_reply(object) || reader->operation == ATOLL_LLM_EMBED;
    if (!json_is_object(object)) {
        if (is_error)
            show_page(reader);
        else if (document || is_whole)
            fail(reader, "the reply is no JSON object: %.200s", document ? "a list" : why.text);
        json_decref(document);
        return;
    }
    if (!atoll_reply_read_error(parts, object) && is_error)
        atoll_reply_error(parts, object);
    if (is_reply && !is_error) {
        reader->row->object(parts, object);
        check_texts(reader);
    } else if (!parts->has_error) {
        fail(reader, "a JSON object that is no reply of '%s'", reader->row->name);
    }
    json_decref(document);
}

void atoll_reply_reader_finish(struct atoll_reply_reader *reader, int http_status, int is_whole,
                               struct atoll_llm_outcome *outcome)
{
    int is_error = http_status && (http_status < 200 || http_status >= 300);
    if (reader->form == FORM_OBJECT && !reader->is_failed) {
        finish_object(reader, is_error, is_whole);
    } else if (reader->form == FORM_EVENTS && !reader->is_failed) {
        if (is_error)
            show_page(reader);
        else if (!reader->event_count && is_whole)
            fail(reader, "neither JSON nor server-sent events");
    } else if (is_whole && !is_error) {
        fail(reader, "an empty reply");
    }
    struct atoll_reply_end end = {.http_status = http_status,
                                  .is_whole = is_whole,
                                  .is_embedding = reader->operation == ATOLL_LLM_EMBED,
                                  .terminator = reader->row->terminator,
                                  .fault = reader->is_failed ? reader->fault : NULL};
    atoll_reply_conclude(&reader->parts, &end, outcome);
    atoll_reply_give_calls(&reader->parts, outcome);
    struct atoll_buffer raw = outcome->raw;
    outcome->raw = reader->raw;
    outcome->raw.failed = 0;
    reader->raw = raw;
}

/* ==== a reply in a file, or one of a gateway ==== */

/* ---- the object "atoll": it is believed where it can be ---- */

static double number_in(const json_t *object, const char *key, double high)
{
    double v = json_number_value(json_object_get(object, key));
    return v > 0 && v <= high ? v : 0;
}

static void take_line(char *ret_text, size_t text_bytes, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value))
        atoll_utf8_line(ret_text, text_bytes, json_string_value(value), json_string_length(value));
}

static void take_atoll(struct atoll_llm_outcome *o, const json_t *about)
{
    struct atoll_id id;
    struct atoll_reply_parts p = {.has_usage = 0};
    const json_t *usage = json_object_get(about, "usage");
    for (int i = 0; i < ATOLL_LLM_STATUS_COUNT; i++)
        if (strcmp(atoll_json_member(about, "status"), atoll_llm_status_name((enum atoll_llm_status)i)) == 0)
            o->status = (enum atoll_llm_status)i;
    take_line(o->detail, sizeof(o->detail), about, "detail");
    take_line(o->model, sizeof(o->model), about, "model");
    take_line(o->name, sizeof(o->name), about, "name");
    take_line(o->endpoint, sizeof(o->endpoint), about, "endpoint");
    take_line(o->finish, sizeof(o->finish), about, "finish");
    if (json_is_object(usage)) {
        atoll_reply_count(&p, usage, "input", &p.usage.input);
        atoll_reply_count(&p, usage, "cached_input", &p.usage.cached_input);
        atoll_reply_count(&p, usage, "cache_write", &p.usage.cache_write);
        atoll_reply_count(&p, usage, "output", &p.usage.output);
        atoll_reply_count(&p, usage, "reasoning", &p.usage.reasoning);
        p.usage.is_estimated = p.is_usage_wrong || json_is_true(json_object_get(usage, "is_estimated"));
        o->usage = p.usage;
    }
    o->http_status = (int)number_in(about, "http_status", 999);
    o->cost_usd = number_in(about, "cost_usd", DEAREST_USD);
    o->tries = (uint32_t)number_in(about, "tries", UINT32_MAX);
    o->started_unix_ns = json_integer_value(json_object_get(about, "started_unix_ns"));
    o->first_byte_s = number_in(about, "first_byte_s", LONGEST_S);
    o->elapsed_s = number_in(about, "elapsed_s", LONGEST_S);
    o->is_from_store = json_is_true(json_object_get(about, "is_from_store"));
    if (!atoll_id_parse(atoll_json_member(about, "request"), &id, NULL))
        o->request = id;
    const json_t *state = json_object_get(about, "provider_state");
    atoll_buffer_fini(&o->provider_state); /* the gateway's, not what a reader makes of its form */
    if (o->tool_call_count && json_is_string(state)) {
        atoll_reply_add(&o->provider_state, state);
        if (o->provider_state.failed != ATOLL_E_MEMORY)
            o->provider_state.failed = 0; /* too much: without it */
    }
}

/* ---- forms ---- */

/* 1: parts has it. */
static int read_forms(struct atoll_reply_parts *parts, const json_t *document)
{
    for (int i = 0; i < ATOLL_PROVIDER_COUNT; i++) {
        const struct atoll_provider_row *row = atoll_provider_row((enum atoll_provider)i);
        if (row->is_reply(document)) {
            row->object(parts, document);
            return 1;
        }
    }
    return atoll_reply_read_error(parts, document);
}

/* Calls and the status that says so go together, whatever "atoll" says. */
static void settle_calls(struct atoll_llm_outcome *o)
{
    if (o->status == ATOLL_LLM_TOOL_CALLS && !o->tool_call_count) {
        atoll_llm_outcome_set(o, ATOLL_LLM_OK, "%s", "");
    } else if (o->status != ATOLL_LLM_TOOL_CALLS && o->tool_call_count) {
        atoll_llm_outcome_set_calls(o, NULL, 0, NULL);
        atoll_buffer_fini(&o->provider_state);
    }
}

static int read_document(struct atoll_llm_outcome *o, const json_t *document, struct atoll_err *err)
{
    struct atoll_reply_parts parts;
    const json_t *about = json_object_get(document, "atoll");
    struct atoll_reply_end end = {
        .is_whole = 1, .terminator = "end", .is_embedding = json_is_array(json_object_get(document, "data"))};
    int status = 0;
    atoll_reply_parts_init(&parts);
    int is_read = read_forms(&parts, document);
    atoll_reply_add(&parts.text, json_object_get(about, "text")); /* what a failed call left of an answer */
    atoll_reply_add(&parts.reasoning, json_object_get(about, "reasoning"));
    const char *what;
    size_t limit_bytes;
    int code = atoll_reply_parts_failed(&parts, &what, &limit_bytes);
    if (code == ATOLL_E_LIMIT) {
        status =
            atoll_err_set(err, ATOLL_E_LIMIT, "reply: %s beyond the limit of %zu bytes", what, limit_bytes);
    } else if (code) {
        status = atoll_err_set(err, (enum atoll_code)code, "reply: no memory for its %s", what);
    } else if (!is_read) {
        status = atoll_err_set(err, ATOLL_E_INPUT,
                               "reply: an object that is neither a chat.completion, a response, "
                               "a message nor an error");
    } else {
        atoll_reply_conclude(&parts, &end, o);
        atoll_reply_give_calls(&parts, o);
        if (parts.has_no_memory)
            status = atoll_err_set(err, ATOLL_E_MEMORY, "%s", o->detail);
        if (json_is_object(about))
            take_atoll(o, about);
        if (o->provider_state.failed)
            status = atoll_err_set(err, ATOLL_E_MEMORY, "reply: no memory for what its provider keeps");
        settle_calls(o);
        if (atoll_llm_status_is_answer(o->status) && !o->text.length && !o->tool_call_count &&
            !end.is_embedding) {
            atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "a reply that says '%s' and holds no text",
                                  atoll_json_member(about, "status"));
        }
    }
    atoll_reply_parts_fini(&parts);
    return status;
}

static int read_words(struct atoll_llm_outcome *o, const char *bytes, size_t length, struct atoll_err *err)
{
    size_t valid = atoll_utf8_valid_bytes(bytes, length);
    const char *nul = length ? memchr(bytes, 0, length) : NULL;
    if (valid < length || nul) {
        return atoll_err_set(err, ATOLL_E_INPUT, "reply: byte %zu is no text of UTF-8",
                             nul && (size_t)(nul - bytes) < valid ? (size_t)(nul - bytes) : valid);
    }
    atoll_outcome_text_put(&o->text, bytes, length);
    if (atoll_buffer_check(&o->text, err))
        return -1;
    o->usage.is_estimated = 1;
    if (strspn((const char *)o->text.data, " \t\r\n") == o->text.length)
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "a reply without any text");
    return 0;
}

/* 1: it says that it is a reply, or an error, of somebody; else it may be an answer that is JSON. */
static int has_mark(const json_t *document)
{
    static const char *const members[] = {"atoll", "choices", "object", "error"};
    const char *type = atoll_json_member(document, "type");
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        if (json_object_get(document, members[i]))
            return 1;
    return strcmp(type, "message") == 0 || strcmp(type, "error") == 0 ||
           json_is_array(json_object_get(document, "output"));
}

static int parse(const void *bytes, size_t length, int may_be_answer, struct atoll_llm_outcome *ret_outcome,
                 struct atoll_err *err)
{
    struct atoll_llm_outcome o;
    const char *text = length ? bytes : "";
    size_t start = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, first = start;
    while (first < length && text[first] && strchr(" \t\r\n", text[first]))
        first++;
    int is_json = first < length && text[first] == '{', status;
    atoll_llm_outcome_init(&o);
    if (is_json) {
        struct atoll_err why = ATOLL_ERR_INIT;
        json_t *document = atoll_json_load(text + first, length - first, VALUE_LIMIT, LOAD_FLAGS, &why);
        if (!document)
            status = atoll_err_set(err, why.code, "reply: it begins with a brace, but %s", why.text);
        else if (may_be_answer && !has_mark(document))
            status = read_words(&o, text + first, length - first, err);
        else
            status = read_document(&o, document, err);
        json_decref(document);
    } else {
        status = read_words(&o, text + start, length - start, err);
    }
    if (!status) {
        atoll_buffer_put_bytes(&o.raw, text, length);
        status = atoll_buffer_check(&o.raw, err);
    }
    if (status) {
        atoll_llm_outcome_fini(&o);
        return -1;
    }
    atoll_llm_outcome_fini(ret_outcome);
    *ret_outcome = o;
    return 0;
}

int atoll_reply_parse(const void *bytes, size_t length, struct atoll_llm_outcome *ret_outcome,
                      struct atoll_err *err)
{
    return parse(bytes, length, 0, ret_outcome, err);
}

int atoll_reply_parse_file(const void *bytes, size_t length, struct atoll_llm_outcome *ret_outcome,
                           struct atoll_err *err)
{
    return parse(bytes, length, 1, ret_outcome, err);
}
