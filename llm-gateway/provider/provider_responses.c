/* provider_responses.c - OpenAI's Responses: typed events, and at their end the whole response once more. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/provider/provider_row.h"

/* ---- what is sent ---- */

static int set_format(json_t *body, const json_t *schema)
{
    if (!schema)
        return 0;
    json_t *format = json_pack("{s:s,s:s,s:b}", "type", "json_schema", "name", "answer", "strict", 1);
    if (json_object_set_new(format, "schema", json_deep_copy(schema))) {
        json_decref(format);
        return -1;
    }
    return json_object_set_new(body, "text", json_pack("{s:o}", "format", format));
}

/* What was kept comes first, then the words, then the calls: the order they came in. */
static int add_turn(json_t *input, const struct atoll_llm_message *m)
{
    size_t i;
    json_t *kept, *state = NULL;
    int failed = m->tool_call_count ? atoll_provider_state(m, &state) : 0;
    json_array_foreach(state, i, kept)
    {
        if (strcmp(atoll_json_member(kept, "type"), "reasoning") == 0)
            failed |= json_array_append(input, kept);
    }
    json_decref(state);
    if (m->role == ATOLL_LLM_TOOL) {
        return json_array_append_new(input, json_pack("{s:s,s:s,s:s}", "type", "function_call_output",
                                                      "call_id", m->tool_call_id, "output", m->text));
    }
    if (!m->tool_call_count || *m->text) {
        failed |= json_array_append_new(
            input, json_pack("{s:s,s:s}", "role", atoll_llm_role_name(m->role), "content", m->text));
    }
    for (size_t k = 0; k < m->tool_call_count; k++) {
        const struct atoll_llm_tool_call *call = &m->tool_calls[k];
        failed |= json_array_append_new(input, json_pack("{s:s,s:s,s:s,s:s}", "type", "function_call",
                                                         "call_id", call->id, "name", call->name, "arguments",
                                                         call->arguments));
    }
    return failed;
}

static json_t *input_json(const struct atoll_llm_request *request)
{
    json_t *input = json_array();
    for (size_t i = 0; i < request->message_count; i++) {
        if (add_turn(input, &request->messages[i])) {
            json_decref(input);
            return NULL;
        }
    }
    return input;
}

/* Not strict: a strict schema must name every argument as required.  A model that reasons goes on with its reasoning, which it
 * gives sealed where nothing is stored; one that does not refuses to be asked for it. */
static int set_tools(json_t *body, const struct atoll_llm_request *request, int does_reason)
{
    json_t *list = request->tool_count ? json_array() : NULL;
    int failed = 0;
    for (size_t i = 0; i < request->tool_count && !failed; i++) {
        const struct atoll_llm_tool *tool = &request->tools[i];
        failed = json_array_append_new(
            list, json_pack("{s:s,s:s,s:s,s:o,s:b}", "type", "function", "name", tool->name, "description",
                            tool->description, "parameters", atoll_provider_tool_schema(tool), "strict", 0));
    }
    failed = failed || (request->tool_count && json_object_set(body, "tools", list)) ||
             (request->tool_count && request->is_tool_free &&
              json_object_set_new(body, "tool_choice", json_string("none"))) ||
             (request->tool_count && does_reason &&
              json_object_set_new(body, "include", json_pack("[s]", "reasoning.encrypted_content")));
    json_decref(list);
    return failed;
}

/* store: nothing of a campaign is kept at the provider. */
static json_t *responses_body(const struct atoll_llm_request *request,
                              const struct atoll_provider_model *model, const json_t *schema)
{
    enum atoll_llm_effort effort = atoll_provider_effort(request, model);
    json_t *body = json_pack("{s:s,s:b,s:b,s:I}", "model", model->model, "stream", 1, "store", 0,
                             "max_output_tokens", (json_int_t)atoll_provider_limit(request, model));
    if (json_object_set_new(body, "input", input_json(request)) ||
        set_tools(body, request, effort != ATOLL_LLM_EFFORT_UNSAID) ||
        (effort && json_object_set_new(body, "reasoning",
                                       json_pack("{s:s}", "effort", atoll_llm_effort_name(effort)))) ||
        atoll_provider_set_sampling(body, atoll_provider_temperature(request, model),
                                    atoll_provider_top_p(request, model)) ||
        set_format(body, schema) || atoll_provider_set_cache_key(body, request)) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* ---- what is read ---- */

static void read_usage(struct atoll_reply_parts *parts, const json_t *usage)
{
    struct atoll_llm_usage u = {.input = 0};
    const json_t *in = json_object_get(usage, "input_tokens_details");
    if (!json_is_object(usage))
        return;
    parts->is_usage_wrong = 0;
    atoll_reply_count(parts, usage, "input_tokens", &u.input);
    atoll_reply_count(parts, usage, "output_tokens", &u.output);
    atoll_reply_count(parts, in, "cached_tokens", &u.cached_input);
    atoll_reply_count(parts, in, "cache_write_tokens", &u.cache_write);
    atoll_reply_count(parts, json_object_get(usage, "output_tokens_details"), "reasoning_tokens",
                      &u.reasoning);
    parts->usage = u;
    parts->has_usage = json_object_get(usage, "input_tokens") != NULL;
}

static void read_texts(struct atoll_buffer *text, const json_t *list, const char *member)
{
    size_t i;
    json_t *part;
    json_array_foreach(list, i, part)
    {
        atoll_reply_add(text, json_object_get(part, member));
    }
}

/* A call that is whole, or reasoning that has to come back with the calls. */
static void read_call_item(struct atoll_reply_parts *parts, json_t *item)
{
    const char *type = atoll_json_member(item, "type");
    if (strcmp(type, "reasoning") == 0 && json_is_string(json_object_get(item, "encrypted_content"))) {
        atoll_reply_keep_state(parts, json_incref(item));
    } else if (strcmp(type, "function_call") == 0) {
        struct atoll_reply_call *call = atoll_reply_call_at(parts, (long)parts->call_count);
        if (!call)
            return;
        atoll_reply_call_name(call, json_object_get(item, "call_id"), json_object_get(item, "name"));
        atoll_reply_call_add(call, json_object_get(item, "arguments"));
    }
}

/* All output items; only where no delta said it before. */
static void read_output(struct atoll_reply_parts *parts, const json_t *response)
{
    size_t i;
    json_t *item;
    int is_said = parts->text.length || parts->reasoning.length || parts->refusal.length;
    int is_called = parts->call_count || parts->state;
    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        if (!is_called)
            read_call_item(parts, item);
    }
    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        const json_t *content = json_object_get(item, "content");
        int is_reasoning = strcmp(atoll_json_member(item, "type"), "reasoning") == 0;
        if (is_said)
            break;
        read_texts(is_reasoning ? &parts->reasoning : &parts->text, content, "text");
        read_texts(&parts->refusal, content, "refusal");
        read_texts(&parts->reasoning, json_object_get(item, "summary"), "text");
    }
}

/* The object "response" in its last state. */
static void read_response(struct atoll_reply_parts *parts, const json_t *response)
{
    const json_t *error = json_object_get(response, "error");
    const json_t *why = json_object_get(json_object_get(response, "incomplete_details"), "reason");
    atoll_reply_name(parts->model, sizeof(parts->model), json_object_get(response, "model"));
    atoll_reply_name(parts->finish, sizeof(parts->finish), json_object_get(response, "status"));
    atoll_reply_name(parts->finish, sizeof(parts->finish), why);
    read_output(parts, response);
    read_usage(parts, json_object_get(response, "usage"));
    if (json_is_object(error))
        atoll_reply_error(parts, error);
    parts->is_ended = 1;
}

static void on_text(struct atoll_reply_parts *parts, const json_t *event)
{
    atoll_reply_add(&parts->text, json_object_get(event, "delta"));
}

static void on_refusal(struct atoll_reply_parts *parts, const json_t *event)
{
    atoll_reply_add(&parts->refusal, json_object_get(event, "delta"));
}

static void on_reasoning(struct atoll_reply_parts *parts, const json_t *event)
{
    atoll_reply_add(&parts->reasoning, json_object_get(event, "delta"));
}

/* Summaries come in parts that are paragraphs. */
static void on_reasoning_part(struct atoll_reply_parts *parts, const json_t *event)
{
    if (parts->reasoning.length)
        atoll_outcome_text_put(&parts->reasoning, "\n\n", 2);
}

static void on_item(struct atoll_reply_parts *parts, const json_t *event)
{
    read_call_item(parts, json_object_get(event, "item"));
}

static void on_created(struct atoll_reply_parts *parts, const json_t *event)
{
    atoll_reply_name(parts->model, sizeof(parts->model),
                     json_object_get(json_object_get(event, "response"), "model"));
}

static void on_end(struct atoll_reply_parts *parts, const json_t *event)
{
    read_response(parts, json_object_get(event, "response"));
}

static const struct {
    const char *type;
    void (*read)(struct atoll_reply_parts *parts, const json_t *event);
} events[] = {
    {"response.output_text.delta", on_text},
    {"response.refusal.delta", on_refusal},
    {"response.reasoning_text.delta", on_reasoning},
    {"response.reasoning_summary_text.delta", on_reasoning},
    {"response.reasoning_summary_part.added", on_reasoning_part},
    {"response.output_item.done", on_item},
    {"response.created", on_created},
    {"response.completed", on_end},
    {"response.incomplete", on_end},
    {"response.failed", on_end},
    {"response.cancelled", on_end},
};

static void responses_event(struct atoll_reply_parts *parts, const json_t *event)
{
    const char *type = atoll_json_member(event, "type");
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        if (strcmp(type, events[i].type) == 0) {
            events[i].read(parts, event);
            return;
        }
    }
}

static void responses_object(struct atoll_reply_parts *parts, const json_t *reply)
{
    if (json_is_array(json_object_get(reply, "data"))) {
        atoll_provider_chat.object(parts, reply); /* embeddings are one endpoint for both */
        return;
    }
    read_response(parts, reply);
}

static int is_responses(const json_t *object)
{
    return strcmp(atoll_json_member(object, "object"), "response") == 0 ||
           json_is_array(json_object_get(object, "output"));
}

const struct atoll_provider_row atoll_provider_responses = {
    .name = "responses",
    .paths = {[ATOLL_LLM_CHAT] = "/responses", [ATOLL_LLM_EMBED] = "/embeddings"},
    .models_path = "/models",
    .key_header = "Authorization: Bearer ",
    .terminator = "response.completed",
    .body = responses_body,
    .event = responses_event,
    .object = responses_object,
    .is_reply = is_responses,
};
