/* outcome_parse.c - whatever answers a request in a file: our own JSON, a reply of any dialect copied there as it came, or
 * the plain words of a person. */
#include "llm-gateway/request/outcome.h"

#include <string.h>

#include "base/json.h"
#include "llm-gateway/request/outcome_text.h"
#include "llm-gateway/provider/provider_row.h"
#include "base/utf8.h"

#define VALUE_LIMIT 1000000
#define LONGEST_S   1e9
#define DEAREST_USD 1e9

/* ---- the object "atoll": it is believed where it can be ---- */

static double number_in(const json_t *object, const char *key, double high)
{
    double v = json_number_value(json_object_get(object, key));
    return v > 0 && v <= high ? v : 0;
}

static void take_line(char *ret_text, size_t text_bytes, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        atoll_utf8_line(ret_text, text_bytes, json_string_value(value), json_string_length(value));
    }
}

static int find_status(const char *name, enum atoll_llm_status *ret_status)
{
    for (int i = 0; i < ATOLL_LLM_STATUS_COUNT; i++) {
        if (strcmp(name, atoll_llm_status_name((enum atoll_llm_status)i)) == 0) {
            *ret_status = (enum atoll_llm_status)i;
            return 1;
        }
    }
    return 0;
}

static void take_usage(struct atoll_llm_outcome *o, const json_t *usage)
{
    struct atoll_reply_parts p = {.has_usage = 0};
    if (!json_is_object(usage)) {
        return;
    }
    atoll_reply_count(&p, usage, "input", &p.usage.input);
    atoll_reply_count(&p, usage, "cached_input", &p.usage.cached_input);
    atoll_reply_count(&p, usage, "cache_write", &p.usage.cache_write);
    atoll_reply_count(&p, usage, "output", &p.usage.output);
    atoll_reply_count(&p, usage, "reasoning", &p.usage.reasoning);
    p.usage.is_estimated = p.is_usage_wrong || json_is_true(json_object_get(usage, "is_estimated"));
    o->usage = p.usage;
}

static void take_atoll(struct atoll_llm_outcome *o, const json_t *about)
{
    struct atoll_id id;
    find_status(atoll_json_member(about, "status"), &o->status);
    take_line(o->detail, sizeof o->detail, about, "detail");
    take_line(o->model, sizeof o->model, about, "model");
    take_line(o->name, sizeof o->name, about, "name");
    take_line(o->endpoint, sizeof o->endpoint, about, "endpoint");
    take_line(o->finish, sizeof o->finish, about, "finish");
    take_usage(o, json_object_get(about, "usage"));
    o->http_status = (int)number_in(about, "http_status", 999);
    o->cost_usd = number_in(about, "cost_usd", DEAREST_USD);
    o->tries = (uint32_t)number_in(about, "tries", UINT32_MAX);
    o->started_unix_ns = json_integer_value(json_object_get(about, "started_unix_ns"));
    o->first_byte_s = number_in(about, "first_byte_s", LONGEST_S);
    o->elapsed_s = number_in(about, "elapsed_s", LONGEST_S);
    o->is_from_store = json_is_true(json_object_get(about, "is_from_store"));
    if (!atoll_id_parse(atoll_json_member(about, "request"), &id, NULL)) {
        o->request = id;
    }
}

/* What a failed call left of an answer. */
static void take_texts(struct atoll_reply_parts *parts, const json_t *about)
{
    atoll_reply_add(&parts->text, json_object_get(about, "text"));
    atoll_reply_add(&parts->reasoning, json_object_get(about, "reasoning"));
}

/* ---- forms ---- */

static int is_embeddings(const json_t *document)
{
    return json_is_array(json_object_get(document, "data"));
}

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
    return atoll_provider_read_error(parts, document);
}

static int read_document(struct atoll_llm_outcome *o, const json_t *document, struct atoll_err *err)
{
    struct atoll_reply_parts parts;
    const json_t *about = json_object_get(document, "atoll");
    struct atoll_reply_end end = {
        .is_whole = 1, .terminator = "end", .is_embedding = is_embeddings(document)};
    int status = 0;
    atoll_reply_parts_init(&parts);
    int is_read = read_forms(&parts, document);
    take_texts(&parts, about);
    int code = atoll_reply_parts_failed(&parts);
    if (code) {
        status = atoll_err_set(err, (enum atoll_code)code,
                               "reply: a text beyond %zu bytes, or no memory for it", OUTCOME_TEXT_BYTES);
    } else if (!is_read) {
        status = atoll_err_set(err, ATOLL_E_INPUT,
                               "reply: an object that is neither a chat.completion, a response, "
                               "a message nor an error");
    } else {
        atoll_reply_conclude(&parts, &end, o);
        if (json_is_object(about)) {
            take_atoll(o, about);
        }
        if (atoll_llm_status_is_answer(o->status) && !o->text.length && !end.is_embedding) {
            atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "a reply that says '%s' and holds no text",
                                  atoll_json_member(about, "status"));
        }
    }
    atoll_reply_parts_fini(&parts);
    return status;
}

static int read_json(struct atoll_llm_outcome *o, const char *bytes, size_t length, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document = atoll_json_load(bytes, length, VALUE_LIMIT, JSON_ALLOW_NUL, &why);
    if (!document) {
        return atoll_err_set(err, why.code, "reply: it begins with a brace, but %s", why.text);
    }
    int status = read_document(o, document, err);
    json_decref(document);
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
    if (atoll_buffer_check(&o->text, err)) {
        return -1;
    }
    o->usage.is_estimated = 1;
    if (strspn((const char *)o->text.data, " \t\r\n") == o->text.length) {
        atoll_llm_outcome_set(o, ATOLL_LLM_EMPTY, "a reply without any text");
    }
    return 0;
}

int atoll_llm_outcome_parse(const void *bytes, size_t length, struct atoll_llm_outcome *outcome,
                            struct atoll_err *err)
{
    struct atoll_llm_outcome o;
    const char *text = length ? bytes : "";
    size_t start = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, first = start;
    while (first < length && text[first] && strchr(" \t\r\n", text[first])) {
        first++;
    }
    int is_json = first < length && text[first] == '{';
    atoll_llm_outcome_init(&o);
    int status = is_json ? read_json(&o, text + first, length - first, err)
                         : read_words(&o, text + start, length - start, err);
    if (!status) {
        atoll_buffer_put_bytes(&o.raw, text, length);
        status = atoll_buffer_check(&o.raw, err);
    }
    if (status) {
        atoll_llm_outcome_fini(&o);
        return -1;
    }
    atoll_llm_outcome_fini(outcome);
    *outcome = o;
    return 0;
}
