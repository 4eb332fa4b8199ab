#include "llm-gateway/server/http_response.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define JSON           "application/json"
#define RESPONSE_BYTES ((size_t)96 << 20)

/* What is not here: 500. */
static const short http_statuses[ATOLL_LLM_STATUS_COUNT] = {
    [ATOLL_LLM_OK] = 200,         [ATOLL_LLM_TRUNCATED] = 200,
    [ATOLL_LLM_EMPTY] = 200,      [ATOLL_LLM_REFUSED] = 200,
    [ATOLL_LLM_INVALID] = 400,    [ATOLL_LLM_DENIED] = 502, /* the gateway's key */
    [ATOLL_LLM_NOTFOUND] = 404,   [ATOLL_LLM_TOO_LARGE] = 413,
    [ATOLL_LLM_QUOTA] = 402,      [ATOLL_LLM_RATE] = 429,
    [ATOLL_LLM_OVERLOADED] = 503, [ATOLL_LLM_STREAM] = 502,
    [ATOLL_LLM_NETWORK] = 502,    [ATOLL_LLM_PROTOCOL] = 502,
    [ATOLL_LLM_TIMEOUT] = 504,    [ATOLL_LLM_CANCELLED] = 503,
    [ATOLL_LLM_BUDGET] = 402,     [ATOLL_LLM_MISS] = 404,
    [ATOLL_LLM_UNKNOWN] = 500,
};

void atoll_http_response_init(struct atoll_http_response *response)
{
    *response = (struct atoll_http_response){.http_status = 200, .type = JSON};
    atoll_buffer_init(&response->out, RESPONSE_BYTES);
}

void atoll_http_response_fini(struct atoll_http_response *response)
{
    atoll_buffer_fini(&response->out);
}

void atoll_http_response_refuse(struct atoll_http_response *response, int http_status, const char *code,
                                const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES], line[ATOLL_ERR_TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    atoll_utf8_line(line, sizeof(line), text, strlen(text));
    json_t *document =
        json_pack("{s:{s:s,s:s,s:n,s:s?}}", "error", "message", line, "type",
                  http_status >= 500 ? "server_error" : "invalid_request_error", "param", "code", code);
    atoll_buffer_clear(&response->out);
    response->http_status = http_status;
    response->type = JSON;
    if (atoll_json_put(&response->out, document, NULL) != 0)
        atoll_buffer_clear(&response->out); /* no memory: the status alone */
    json_decref(document);
}

/* The gateway has tried again where that helps: only a full or an ending one asks its client to do so. */
void atoll_http_response_outcome(struct atoll_http_response *response,
                                 const struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    response->http_status = outcome->status < ATOLL_LLM_STATUS_COUNT ? http_statuses[outcome->status] : 500;
    if (outcome->status == ATOLL_LLM_RATE || outcome->status == ATOLL_LLM_OVERLOADED)
        response->retry_after_s = 10;
    else if (outcome->status == ATOLL_LLM_CANCELLED) /* by a gateway that ends: there will be another */
        response->retry_after_s = 1;
    if (atoll_llm_outcome_json(outcome, &response->out, &err) || atoll_buffer_check(&response->out, &err))
        atoll_http_response_refuse(response, 500, NULL, "%s", err.text);
}

static json_t *model_json(const char *name, const char *owner)
{
    return json_pack("{s:s,s:s,s:i,s:s}", "id", name, "object", "model", "created", 0, "owned_by", owner);
}

void atoll_http_response_models(struct atoll_http_response *response,
                                const struct atoll_gateway_config *config)
{
    json_t *list = json_array();
    for (size_t i = 0; i < config->ensemble_count; i++)
        json_array_append_new(list, model_json(config->ensembles[i].name, "ensemble"));
    for (size_t i = 0; i < config->model_count; i++) {
        json_array_append_new(
            list, model_json(config->models[i].name, config->endpoints[config->models[i].endpoint].name));
    }
    json_t *document = json_pack("{s:s,s:o}", "object", "list", "data", list);
    if (atoll_json_put(&response->out, document, NULL) != 0)
        atoll_http_response_refuse(response, 503, NULL, "no memory for the list of models");
    json_decref(document);
}

struct MHD_Response *atoll_http_response_finish(struct atoll_http_response *response)
{
    char seconds[16];
    struct atoll_buffer *out = &response->out;
    struct MHD_Response *finished = MHD_create_response_from_buffer(
        out->length, out->data, out->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!finished)
        return NULL;
    out->data = NULL;
    out->length = out->capacity = 0;
    MHD_add_response_header(finished, "Content-Type", response->type);
    MHD_add_response_header(finished, "Cache-Control", "no-store");
    if (response->http_status == 401)
        MHD_add_response_header(finished, "WWW-Authenticate", "Bearer");
    if (response->allow)
        MHD_add_response_header(finished, "Allow", response->allow);
    if (response->retry_after_s) {
        snprintf(seconds, sizeof(seconds), "%u", response->retry_after_s);
        MHD_add_response_header(finished, "Retry-After", seconds);
    } else if (response->http_status >= 400) {
        MHD_add_response_header(finished, "x-should-retry", "false");
    }
    return finished;
}
