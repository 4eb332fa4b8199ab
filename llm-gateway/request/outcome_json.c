/* outcome_json.c - an outcome as the HTTP server and the spool give it: a chat.completion, an embeddings' list, or an error object,
 * each with the object "atoll" that says what theirs cannot. */
#include "llm-gateway/request/outcome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define NS_PER_S        1000000000
#define RAW_VALUE_LIMIT 1000000

/* In the words of OpenAI's finish reasons. */
static const char *finish_of(enum atoll_llm_status status)
{
    return status == ATOLL_LLM_TRUNCATED ? "length" : status == ATOLL_LLM_REFUSED ? "content_filter" : "stop";
}

/* Texts of fixed length come from configurations and providers: made fit for JSON rather than refused. */
static json_t *line(const char *text)
{
    char clean[sizeof((struct atoll_llm_outcome *)0)->detail];
    atoll_utf8_line(clean, sizeof clean, text, strlen(text));
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

static double sane(double v)
{
    return v > 0 && v < 1e300 ? v : 0;
}

static json_t *usage_json(const struct atoll_llm_usage *u)
{
    return json_pack("{s:o,s:o,s:o,s:{s:o},s:{s:o}}", "prompt_tokens", count(u->input), "completion_tokens",
                     count(u->output), "total_tokens", count(u->input + u->output), "prompt_tokens_details",
                     "cached_tokens", count(u->cached_input), "completion_tokens_details", "reasoning_tokens",
                     count(u->reasoning));
}

static json_t *own_usage_json(const struct atoll_llm_usage *u)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "input", count(u->input), "cached_input",
                     count(u->cached_input), "cache_write", count(u->cache_write), "output", count(u->output),
                     "reasoning", count(u->reasoning), "is_estimated", u->is_estimated != 0);
}

static json_t *atoll_json(const struct atoll_llm_outcome *o, const char *id)
{
    return json_pack("{s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:I,s:I,s:f,s:f,s:b,s:s}", "status",
                     atoll_llm_status_name(o->status), "http_status", o->http_status, "detail",
                     line(o->detail), "model", line(o->model), "name", line(o->name), "endpoint",
                     line(o->endpoint), "finish", line(o->finish), "usage", own_usage_json(&o->usage),
                     "cost_usd", sane(o->cost_usd), "tries", (json_int_t)o->tries, "started_unix_ns",
                     (json_int_t)o->started_unix_ns, "first_byte_s", sane(o->first_byte_s), "elapsed_s",
                     sane(o->elapsed_s), "is_from_store", o->is_from_store != 0, "request", id);
}

/* A refusal's words stand where OpenAI's clients look for them. */
static json_t *message_json(const struct atoll_llm_outcome *o)
{
    int is_refusal = o->status == ATOLL_LLM_REFUSED && o->text.length;
    json_t *message = json_pack("{s:s,s:o}", "role", "assistant", "content",
                                is_refusal ? json_null() : long_text(&o->text));
    if ((o->reasoning.length &&
         json_object_set_new(message, "reasoning_content", long_text(&o->reasoning))) ||
        (is_refusal && json_object_set_new(message, "refusal", long_text(&o->text)))) {
        json_decref(message);
        return NULL;
    }
    return message;
}

static json_t *completion_json(const struct atoll_llm_outcome *o, const char *id)
{
    char name[48];
    snprintf(name, sizeof name, "chatcmpl-%.24s", id);
    return json_pack("{s:s,s:s,s:I,s:o,s:[{s:i,s:o,s:s}],s:o}", "id", name, "object", "chat.completion",
                     "created", (json_int_t)(o->started_unix_ns / NS_PER_S), "model",
                     line(*o->name ? o->name : o->model), "choices", "index", 0, "message", message_json(o),
                     "finish_reason", finish_of(o->status), "usage", usage_json(&o->usage));
}

/* What a failed call left of an answer goes into "atoll". */
static json_t *error_json(const struct atoll_llm_outcome *o)
{
    const char *name = atoll_llm_status_name(o->status);
    return json_pack("{s:{s:o,s:s,s:s,s:n}}", "error", "message", line(o->detail), "type", name, "code", name,
                     "param");
}

static int has_answer_form(enum atoll_llm_status status)
{
    return status <= ATOLL_LLM_REFUSED;
}

/* Embeddings have no text; their numbers are in the raw reply alone. */
static json_t *list_json(const struct atoll_llm_outcome *o)
{
    int is_list = o->status == ATOLL_LLM_OK && !o->text.length && o->raw.length && o->raw.data[0] == '{';
    json_t *list =
        is_list ? atoll_json_load(o->raw.data, o->raw.length, RAW_VALUE_LIMIT, JSON_REJECT_DUPLICATES, NULL)
                : NULL;
    if (list && json_is_array(json_object_get(list, "data"))) {
        return list;
    }
    json_decref(list);
    return NULL;
}

static int check_texts(const struct atoll_llm_outcome *o, struct atoll_err *err)
{
    if (atoll_utf8_valid_bytes(o->text.data, o->text.length) < o->text.length ||
        atoll_utf8_valid_bytes(o->reasoning.data, o->reasoning.length) < o->reasoning.length) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "outcome: a text that is not UTF-8");
    }
    return 0;
}

int atoll_llm_outcome_json(const struct atoll_llm_outcome *o, struct atoll_buffer *out, struct atoll_err *err)
{
    char id[ATOLL_ID_HEX];
    if (check_texts(o, err)) {
        return -1;
    }
    atoll_id_hex(&o->request, id);
    int is_answer = has_answer_form(o->status);
    json_t *document = list_json(o), *about = atoll_json(o, id);
    if (!document) {
        document = is_answer ? completion_json(o, id) : error_json(o);
    }
    if ((!is_answer && o->text.length && json_object_set_new(about, "text", long_text(&o->text))) ||
        (!is_answer && o->reasoning.length &&
         json_object_set_new(about, "reasoning", long_text(&o->reasoning))) ||
        !about || json_object_set(document, "atoll", about)) {
        json_decref(document);
        document = NULL;
    }
    json_decref(about);
    int status = atoll_json_put(out, document, err);
    json_decref(document);
    return status;
}
