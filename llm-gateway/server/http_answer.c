/* http_answer.c - what the door says: completions, errors in OpenAI's form, server-sent events. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/server/http_server_state.h"
#include "base/utf8.h"

#define JSON         "application/json"
#define ANSWER_BYTES ((size_t)96 << 20)
#define VALUE_LIMIT  1000000

/* The gateway has tried again where that helps: nothing here asks a client to do so but a full door. */
static const struct {
    short http_status;
    short is_error;
} rows[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = {200, 0},
    [ATOLL_LLM_TRUNCATED] = {200, 0},
    [ATOLL_LLM_EMPTY] = {200, 0},
    [ATOLL_LLM_REFUSED] = {200, 0},
    [ATOLL_LLM_INVALID] = {400, 1},
    [ATOLL_LLM_DENIED] = {502, 1}, /* the gateway's key, not the client's token */
    [ATOLL_LLM_NOTFOUND] = {404, 1},
    [ATOLL_LLM_TOO_LARGE] = {413, 1},
    [ATOLL_LLM_QUOTA] = {402, 1},
    [ATOLL_LLM_RATE] = {429, 1},
    [ATOLL_LLM_OVERLOADED] = {503, 1},
    [ATOLL_LLM_STREAM] = {502, 1},
    [ATOLL_LLM_NETWORK] = {502, 1},
    [ATOLL_LLM_PROTOCOL] = {502, 1},
    [ATOLL_LLM_TIMEOUT] = {504, 1},
    [ATOLL_LLM_CANCELLED] = {503, 1},
    [ATOLL_LLM_BUDGET] = {402, 1},
    [ATOLL_LLM_MISS] = {404, 1},
    [ATOLL_LLM_UNKNOWN] = {500, 1},
};

void atoll_answer_init(struct atoll_answer *answer)
{
    *answer = (struct atoll_answer){.http_status = 200, .type = JSON};
    atoll_buffer_init(&answer->out, ANSWER_BYTES);
}

void atoll_answer_fini(struct atoll_answer *answer)
{
    atoll_buffer_fini(&answer->out);
}

int atoll_answer_is_error(enum atoll_llm_status status)
{
    return status >= ATOLL_LLM_STATUS_COUNT || rows[status].is_error;
}

void atoll_answer_refuse(struct atoll_answer *answer, int http_status, const char *kind, const char *code,
                         const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES], line[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    atoll_utf8_line(line, sizeof line, text, strlen(text));
    json_t *document =
        json_pack("{s:{s:s,s:s,s:n,s:s?}}", "error", "message", line, "type", kind, "param", "code", code);
    atoll_buffer_clear(&answer->out);
    answer->http_status = http_status;
    answer->type = JSON;
    if (atoll_json_put(&answer->out, document, NULL))
        atoll_buffer_clear(&answer->out); /* no memory: the status alone */
    json_decref(document);
}

void atoll_answer_outcome(struct atoll_answer *answer, const struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_clear(&answer->out);
    answer->type = JSON;
    answer->http_status = outcome->status < ATOLL_LLM_STATUS_COUNT ? rows[outcome->status].http_status : 500;
    if (outcome->status == ATOLL_LLM_RATE || outcome->status == ATOLL_LLM_OVERLOADED)
        answer->retry_after_s = 10;
    else if (outcome->status == ATOLL_LLM_CANCELLED) /* by a gateway that ends: there will be another */
        answer->retry_after_s = 1;
    if (atoll_llm_outcome_json(outcome, &answer->out, &err) || atoll_buffer_check(&answer->out, &err))
        atoll_answer_refuse(answer, 500, "server_error", NULL, "%s", err.text);
}

/* ---- server-sent events ---- */

static void put_event(struct atoll_buffer *out, const json_t *document)
{
    size_t length = out->length;
    atoll_buffer_put_bytes(out, "data: ", 6);
    if (atoll_json_put(out, document, NULL)) { /* no memory: as if it had not begun */
        out->length = length;
        return;
    }
    atoll_buffer_put_bytes(out, "\n\n", 2);
}

/* delta: stolen; finish NULL: it goes on. */
static void put_chunk(struct atoll_buffer *out, json_t *head, json_t *delta, const char *finish)
{
    json_object_set_new(head, "choices",
                        json_pack("[{s:i,s:o,s:s?}]", "index", 0, "delta", delta, "finish_reason", finish));
    put_event(out, head);
}

/* Of a choice's message one chunk for each text that is there, in the order in which it was thought. */
static void put_texts(struct atoll_buffer *out, json_t *head, const json_t *message)
{
    static const char *const members[] = {"reasoning_content", "content", "refusal"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *text = json_object_get(message, members[i]);
        if (json_string_length(text) > 0)
            put_chunk(out, head, json_pack("{s:O}", members[i], text), NULL);
    }
}

static void put_completion(struct atoll_buffer *out, const json_t *completion, int wants_usage)
{
    const json_t *choice = json_array_get(json_object_get(completion, "choices"), 0);
    const char *finish = json_string_value(json_object_get(choice, "finish_reason"));
    json_t *usage = json_object_get(completion, "usage"), *about = json_object_get(completion, "atoll");
    json_t *head = json_pack("{s:O?,s:s,s:O?,s:O?}", "id", json_object_get(completion, "id"), "object",
                             "chat.completion.chunk", "created", json_object_get(completion, "created"),
                             "model", json_object_get(completion, "model"));
    put_chunk(out, head, json_pack("{s:s,s:s}", "role", "assistant", "content", ""), NULL);
    put_texts(out, head, json_object_get(choice, "message"));
    json_object_set(head, "atoll", about); /* beside the last choice, as in the whole answer */
    put_chunk(out, head, json_object(), finish ? finish : "stop");
    json_object_del(head, "atoll");
    if (wants_usage && usage) {
        json_object_set_new(head, "choices", json_array());
        json_object_set(head, "usage", usage);
        put_event(out, head);
    }
    json_decref(head);
}

void atoll_answer_events(struct atoll_answer *answer, const struct atoll_llm_outcome *outcome,
                         int wants_usage)
{
    static const char last[] = "data: [DONE]\n\n";
    struct atoll_answer whole;
    atoll_answer_init(&whole);
    atoll_answer_outcome(&whole, outcome);
    json_t *document = atoll_json_load(whole.out.data, whole.out.length, VALUE_LIMIT, 0, NULL);
    atoll_answer_fini(&whole);
    answer->http_status = 200;
    answer->type = "text/event-stream";
    if (json_is_array(json_object_get(document, "choices")))
        put_completion(&answer->out, document, wants_usage);
    else if (document)
        put_event(&answer->out, document);
    json_decref(document);
    atoll_buffer_put_bytes(&answer->out, last, sizeof last - 1);
}

/* ---- what the door has ---- */

static json_t *model_json(const char *name, const char *owner)
{
    return json_pack("{s:s,s:s,s:i,s:s}", "id", name, "object", "model", "created", 0, "owned_by", owner);
}

void atoll_answer_models(struct atoll_answer *answer, const struct atoll_gateway_config *config)
{
    json_t *list = json_array();
    for (size_t i = 0; i < config->ensemble_count; i++)
        json_array_append_new(list, model_json(config->ensembles[i].name, "ensemble"));
    for (size_t i = 0; i < config->model_count; i++)
        json_array_append_new(
            list, model_json(config->models[i].name, config->endpoints[config->models[i].endpoint].name));
    json_t *document = json_pack("{s:s,s:o}", "object", "list", "data", list);
    if (atoll_json_put(&answer->out, document, NULL))
        atoll_answer_refuse(answer, 503, "server_error", NULL, "no memory for the list of models");
    json_decref(document);
}

/* ---- the response ---- */

static void add_headers(struct MHD_Response *response, const struct atoll_answer *answer)
{
    char seconds[16];
    MHD_add_response_header(response, "Content-Type", answer->type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (answer->http_status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->allow)
        MHD_add_response_header(response, "Allow", answer->allow);
    if (answer->retry_after_s) {
        snprintf(seconds, sizeof seconds, "%u", answer->retry_after_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    } else if (answer->http_status >= 400) {
        MHD_add_response_header(response, "x-should-retry", "false");
    }
}

struct MHD_Response *atoll_answer_response(struct atoll_answer *answer)
{
    struct atoll_buffer *out = &answer->out;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        out->length, out->data, out->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    out->data = NULL;
    out->length = out->capacity = 0;
    add_headers(response, answer);
    return response;
}
