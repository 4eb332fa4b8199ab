/* provider.c - the table of dialects, and what all of them share. */
#include "llm-gateway/provider/provider.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"
#include "base/json.h"
#include "llm-gateway/provider/provider_row.h"
#include "base/utf8.h"

#define LIST_VALUE_LIMIT 1000000 /* JSON values of a list of models */

static const struct atoll_provider_row *const rows[ATOLL_PROVIDER_COUNT] = {
    [ATOLL_PROVIDER_CHAT] = &atoll_provider_chat,
    [ATOLL_PROVIDER_RESPONSES] = &atoll_provider_responses,
    [ATOLL_PROVIDER_ANTHROPIC] = &atoll_provider_anthropic,
};

const struct atoll_provider_row *atoll_provider_row(enum atoll_provider provider)
{
    return rows[(unsigned)provider < ATOLL_PROVIDER_COUNT ? provider : ATOLL_PROVIDER_CHAT];
}

const char *atoll_provider_name(enum atoll_provider provider)
{
    return (unsigned)provider < ATOLL_PROVIDER_COUNT ? rows[provider]->name : "?";
}

const char *atoll_provider_path(enum atoll_provider provider, enum atoll_llm_operation operation)
{
    return (unsigned)operation < ATOLL_LLM_OPERATION_COUNT ? atoll_provider_row(provider)->paths[operation]
                                                           : NULL;
}

const char *atoll_provider_models_path(enum atoll_provider provider)
{
    return atoll_provider_row(provider)->models_path;
}

static void put_line(struct atoll_buffer *out, const char *before, const char *value)
{
    atoll_buffer_put_bytes(out, before, strlen(before));
    atoll_buffer_put_bytes(out, value, strlen(value) + 1);
}

int atoll_provider_headers(enum atoll_provider provider, const char *key, struct atoll_buffer *out,
                           struct atoll_err *err)
{
    const struct atoll_provider_row *row = atoll_provider_row(provider);
    for (const char *c = key ? key : ""; *c; c++) {
        if (*c < 0x21 || *c > 0x7e) {
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "the key holds a byte that no header may; is there more than the key in its place?");
        }
    }
    if (key)
        put_line(out, row->key_header, key);
    if (row->version_header)
        put_line(out, row->version_header, "");
    return atoll_buffer_check(out, err);
}

/* ---- bodies ---- */

uint32_t atoll_provider_limit(const struct atoll_llm_request *request,
                              const struct atoll_provider_model *model)
{
    return request->max_output_tokens ? request->max_output_tokens : model->max_output_tokens;
}

enum atoll_llm_effort atoll_provider_effort(const struct atoll_llm_request *request,
                                            const struct atoll_provider_model *model)
{
    return request->effort ? request->effort : model->effort;
}

int atoll_provider_state(const struct atoll_llm_message *message, json_t **ret_state)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    const char *text = message->provider_state ? message->provider_state : "";
    json_t *state =
        *text ? atoll_json_load(text, strlen(text), ATOLL_LLM_REQUEST_VALUES, JSON_REJECT_DUPLICATES, &why)
              : NULL;
    *ret_state = json_is_array(state) ? state : NULL;
    if (!*ret_state)
        json_decref(state);
    return why.code == ATOLL_E_MEMORY ? -1 : 0;
}

json_t *atoll_provider_tool_schema(const struct atoll_llm_tool *tool)
{
    return atoll_llm_schema_load(tool->schema, NULL);
}

static double sampled(double asked, int has_own, double own, const struct atoll_provider_model *model)
{
    if (model->has_no_sampling)
        return NAN;
    return isnan(asked) && has_own ? own : asked;
}

double atoll_provider_temperature(const struct atoll_llm_request *request,
                                  const struct atoll_provider_model *model)
{
    return sampled(request->temperature, model->has_temperature, model->temperature, model);
}

double atoll_provider_top_p(const struct atoll_llm_request *request, const struct atoll_provider_model *model)
{
    return sampled(request->top_p, model->has_top_p, model->top_p, model);
}

int atoll_provider_set_sampling(json_t *body, double temperature, double top_p)
{
    return (!isnan(temperature) && json_object_set_new(body, "temperature", json_real(temperature))) ||
           (!isnan(top_p) && json_object_set_new(body, "top_p", json_real(top_p)));
}

int atoll_provider_set_cache_key(json_t *body, const struct atoll_llm_request *request)
{
    struct atoll_id chain = {{0}};
    struct {
        struct atoll_id before, text;
    } link;
    char hex[ATOLL_ID_HEX];
    size_t end = request->message_count;
    while (end && !request->messages[end - 1].is_cacheable)
        end--;
    for (size_t i = 0; i < end; i++) {
        link.before = chain;
        link.text = atoll_id_of(request->messages[i].text, strlen(request->messages[i].text));
        chain = atoll_id_of(&link, sizeof(link));
    }
    atoll_id_hex(&chain, hex);
    hex[32] = '\0'; /* 64 characters are allowed; half of them tell all prompts apart */
    return end ? json_object_set_new(body, "prompt_cache_key", json_string(hex)) : 0;
}

static int check_body(const struct atoll_provider_row *row, const struct atoll_llm_request *request,
                      const struct atoll_provider_model *model, struct atoll_err *err)
{
    size_t length = strlen(model->model);
    int has_turn = 0;
    for (size_t i = 0; i < request->message_count && i < ATOLL_LLM_MESSAGE_LIMIT; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        has_turn |= m->role != ATOLL_LLM_SYSTEM && m->text && *m->text;
    }
    if (atoll_llm_request_check(request, err))
        return -1;
    if (!length || atoll_utf8_valid_bytes(model->model, length) < length) {
        return atoll_err_set(err, ATOLL_E_INPUT, "model '%s': no name that %s could carry", model->model,
                             row->name);
    }
    if (!row->paths[request->operation])
        return atoll_err_set(err, ATOLL_E_INPUT, "model '%s': %s has no embeddings", model->model, row->name);
    if (request->operation == ATOLL_LLM_CHAT && !atoll_provider_limit(request, model)) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "model '%s': no max_output_tokens, neither asked nor configured", model->model);
    }
    if (request->operation == ATOLL_LLM_CHAT && model->has_no_tools &&
        atoll_llm_request_first_call(request) < request->message_count) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "messages: tools were called, and model '%s' can call none (tools: no)",
                             model->model);
    }
    if (request->operation == ATOLL_LLM_CHAT && row->needs_turn && !has_turn) {
        return atoll_err_set(err, ATOLL_E_INPUT, "messages: %s needs one of role user with a text",
                             row->name);
    }
    return 0;
}

int atoll_provider_body(enum atoll_provider provider, const struct atoll_llm_request *request,
                        const struct atoll_provider_model *model, struct atoll_buffer *out,
                        struct atoll_err *err)
{
    const struct atoll_provider_row *row = atoll_provider_row(provider);
    struct atoll_llm_request bare;
    json_t *schema = NULL;
    if (check_body(row, request, model, err))
        return -1;
    if (model->has_no_tools && request->tool_count) {
        bare = *request;
        bare.tool_count = 0;
        request = &bare;
    }
    if (request->schema && !(schema = atoll_llm_answer_schema_load(request->schema, err)))
        return -1;
    json_t *body, *input = NULL;
    if (request->operation == ATOLL_LLM_EMBED) { /* the same for all who embed */
        input = json_array();
        for (size_t i = 0; i < request->message_count; i++)
            json_array_append_new(input, json_string(request->messages[i].text));
        body = json_array_size(input) == request->message_count
                   ? json_pack("{s:s,s:s,s:O}", "model", model->model, "encoding_format", "float", "input",
                               input)
                   : NULL;
    } else {
        body = row->body(request, model, schema);
    }
    int status = atoll_json_put(out, body, err);
    json_decref(input);
    json_decref(schema);
    json_decref(body);
    return status;
}

/* ---- what all replies share ---- */

int atoll_provider_models(enum atoll_provider provider, const void *bytes, size_t length,
                          void (*sink)(void *context, const char *id), void *context, struct atoll_err *err)
{
    size_t i;
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *one, *document = atoll_json_load(bytes, length, LIST_VALUE_LIMIT, JSON_ALLOW_NUL, &why);
    const json_t *list = json_is_array(document) ? document : json_object_get(document, "data");
    if (!json_is_array(list)) {
        json_decref(document);
        return atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_PROTOCOL,
                             "list of models: %s", document ? "no list 'data' in the reply" : why.text);
    }
    json_array_foreach(list, i, one)
    {
        char id[256] = "";
        atoll_reply_name(id, sizeof(id), json_object_get(one, "id"));
        if (*id)
            sink(context, id);
    }
    json_decref(document);
    return 0;
}
