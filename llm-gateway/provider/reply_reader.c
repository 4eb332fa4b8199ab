/* reply_reader.c - a reply's bytes to an outcome.  The first byte that is no space tells one JSON object from server-sent
 * events; an object is read when it is whole, events as they come.  What is wrong stops the reading and is said at finish. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/request/outcome_text.h"
#include "llm-gateway/provider/provider_row.h"
#include "llm-gateway/provider/sse.h"
#include "base/utf8.h"

#define EVENT_BYTES ((size_t)16 << 20)
#define VALUE_LIMIT 1000000 /* JSON values of an event or object */
#define SHOWN_BYTES 160u    /* of an error page, in a detail */
#define LOAD_FLAGS  JSON_ALLOW_NUL

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
    struct atoll_reply_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to read a reply");
        return NULL;
    }
    reader->row = atoll_provider_row(provider);
    reader->operation = operation;
    atoll_sse_init(&reader->sse, EVENT_BYTES);
    atoll_reply_parts_init(&reader->parts);
    atoll_buffer_init(&reader->raw, OUTCOME_RAW_BYTES);
    return reader;
}

void atoll_reply_reader_destroy(struct atoll_reply_reader *reader)
{
    if (!reader) {
        return;
    }
    atoll_sse_fini(&reader->sse);
    atoll_reply_parts_fini(&reader->parts);
    atoll_buffer_fini(&reader->raw);
    free(reader);
}

/* The first fault is the one that is told. */
static int fail(struct atoll_reply_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(struct atoll_reply_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!reader->is_failed) {
        vsnprintf(reader->fault, sizeof reader->fault, format, args);
    }
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
    int code = atoll_reply_parts_failed(&reader->parts);
    return code ? fail_full(reader, code, "text", OUTCOME_TEXT_BYTES) : 0;
}

static int read_event(struct atoll_reply_reader *reader, const char *name, const json_t *event)
{
    if (!json_is_object(event)) {
        return fail(reader, "event %zu is no JSON object", reader->event_count);
    }
    if (!atoll_provider_read_error(&reader->parts, event) && strcmp(name, "error") == 0) {
        atoll_reply_error(&reader->parts, event);
    }
    reader->row->event(&reader->parts, event);
    return check_texts(reader);
}

static int on_event(void *context, const char *name, const char *data, size_t length)
{
    struct atoll_reply_reader *reader = context;
    struct atoll_err why = ATOLL_ERR_INIT;
    reader->event_count++;
    if (!length || reader->parts.is_ended) {
        return 0;
    }
    if (strcmp(data, "[DONE]") == 0) {
        reader->parts.is_ended = reader->row == &atoll_provider_chat;
        return 0;
    }
    json_t *event = atoll_json_load(data, length, VALUE_LIMIT, LOAD_FLAGS, &why);
    int status = event ? read_event(reader, name, event)
                       : fail(reader, "event %zu: %.200s", reader->event_count, why.text);
    json_decref(event);
    return status;
}

static enum form form_of(const struct atoll_buffer *raw)
{
    for (size_t i = 0; i < raw->length; i++) {
        unsigned char c = raw->data[i];
        if (c == '{' || c == '[') {
            return FORM_OBJECT;
        }
        if (!c || !strchr(" \t\r\n\xef\xbb\xbf", (char)c)) {
            return FORM_EVENTS;
        }
    }
    return FORM_UNKNOWN;
}

static int feed_events(struct atoll_reply_reader *reader, const void *bytes, size_t length)
{
    if (!atoll_sse_feed(&reader->sse, bytes, length, on_event, reader)) {
        return 0;
    }
    return reader->is_failed ? -1 : fail_full(reader, reader->sse.failed, "an event", EVENT_BYTES);
}

int atoll_reply_reader_feed(struct atoll_reply_reader *reader, const void *bytes, size_t length)
{
    if (reader->is_failed) {
        return -1;
    }
    atoll_buffer_put_bytes(&reader->raw, bytes, length);
    if (reader->raw.failed) {
        return fail_full(reader, reader->raw.failed, "reply", OUTCOME_RAW_BYTES);
    }
    if (reader->form == FORM_EVENTS) {
        return feed_events(reader, bytes, length);
    }
    if (reader->form == FORM_UNKNOWN) {
        reader->form = form_of(&reader->raw);
    }
    return reader->form == FORM_EVENTS ? feed_events(reader, reader->raw.data, reader->raw.length) : 0;
}

/* ---- the end ---- */

/* Pages of proxies and the like: their beginning is all there is to say. */
static void show_page(struct atoll_reply_reader *reader)
{
    size_t length = reader->raw.length < SHOWN_BYTES ? reader->raw.length : SHOWN_BYTES;
    if (!reader->parts.has_error && length) {
        atoll_utf8_line(reader->parts.error_message, sizeof reader->parts.error_message,
                        (const char *)reader->raw.data, length);
    }
}

static void read_object(struct atoll_reply_reader *reader, const json_t *object, int is_error)
{
    struct atoll_reply_parts *parts = &reader->parts;
    int is_reply = reader->row->is_reply(object) || reader->operation == ATOLL_LLM_EMBED;
    if (!atoll_provider_read_error(parts, object) && is_error) {
        atoll_reply_error(parts, object);
    }
    if (is_reply && !is_error) {
        reader->row->object(parts, object);
        check_texts(reader);
    } else if (!parts->has_error) {
        fail(reader, "a JSON object that is no reply of '%s'", reader->row->name);
    }
}

static void finish_object(struct atoll_reply_reader *reader, int is_error, int is_whole)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document = atoll_json_load(reader->raw.data, reader->raw.length, VALUE_LIMIT, LOAD_FLAGS, &why);
    /* some gateways put an error into a list of one */
    const json_t *object = json_is_array(document) ? json_array_get(document, 0) : document;
    if (json_is_object(object)) {
        read_object(reader, object, is_error);
    } else if (is_error) {
        show_page(reader);
    } else if (document || is_whole) {
        fail(reader, "the reply is no JSON object: %.200s", document ? "a list" : why.text);
    }
    json_decref(document);
}

static void finish_events(struct atoll_reply_reader *reader, int is_error, int is_whole)
{
    if (is_error) {
        show_page(reader);
    } else if (!reader->event_count && is_whole) {
        fail(reader, "neither JSON nor server-sent events");
    }
}

void atoll_reply_reader_finish(struct atoll_reply_reader *reader, int http_status, int is_whole,
                               struct atoll_llm_outcome *outcome)
{
    int is_error = http_status && (http_status < 200 || http_status >= 300);
    if (reader->form == FORM_OBJECT && !reader->is_failed) {
        finish_object(reader, is_error, is_whole);
    } else if (reader->form == FORM_EVENTS && !reader->is_failed) {
        finish_events(reader, is_error, is_whole);
    } else if (is_whole && !is_error) {
        fail(reader, "an empty reply");
    }
    struct atoll_reply_end end = {.http_status = http_status,
                                  .is_whole = is_whole,
                                  .is_embedding = reader->operation == ATOLL_LLM_EMBED,
                                  .terminator = reader->row->terminator,
                                  .fault = reader->is_failed ? reader->fault : NULL};
    atoll_reply_conclude(&reader->parts, &end, outcome);
    struct atoll_buffer raw = outcome->raw;
    outcome->raw = reader->raw;
    outcome->raw.failed = 0;
    reader->raw = raw;
}
