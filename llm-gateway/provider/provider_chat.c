/* provider_chat.c - OpenAI's Chat Completions, and what servers compatible with it do differently (docs/spec/providers.md). */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/provider/provider_row.h"

/* ---- what is sent ---- */

static int set_format(json_t *body, const json_t *schema)
{
    if (!schema)
        return 0;
    json_t *named = json_pack("{s:s,s:b}", "name", "answer", "strict", 1);
    if (json_object_set_new(named, "schema", json_deep_copy(schema))) {
        json_decref(named);
        return -1;
    }
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s,s:o}", "type", "json_schema", "json_schema", named));
}

/* Back to where they came from: the reasoning under its name, and what stood beside single calls. */
static int set_state(json_t *one, json_t *calls, const struct atoll_llm_message *m)
{
    size_t i;
    json_t *kept, *state;
    int failed = atoll_provider_state(m, &state);
    json_array_foreach(state, i, kept)
    {
        json_t *reasoning = json_object_get(kept, "reasoning_content");
        json_t *extra = json_object_get(kept, "extra_content");
        const json_t *place = json_object_get(kept, "call");
        json_int_t at = json_is_integer(place) ? json_integer_value(place) : -1;
        if (json_is_string(reasoning))
            failed |= json_object_set(one, "reasoning_content", reasoning);
        if (json_is_object(extra) && at >= 0 && (size_t)at < json_array_size(calls))
            failed |= json_object_set(json_array_get(calls, (size_t)at), "extra_content", extra);
    }
    json_decref(state);
    return failed;
}

static json_t *turn_json(const struct atoll_llm_message *m)
{
    int is_silent = m->tool_call_count && !*m->text;
    json_t *one = json_object();
    json_t *calls = m->tool_call_count ? atoll_llm_tool_calls_json(m->tool_calls, m->tool_call_count) : NULL;
    int failed = (m->tool_call_count && !calls) ||
                 json_object_set_new(one, "role", json_string(atoll_llm_role_name(m->role))) ||
                 (m->role == ATOLL_LLM_TOOL &&
                  json_object_set_new(one, "tool_call_id", json_string(m->tool_call_id))) ||
                 json_object_set_new(one, "content", is_silent ? json_null() : json_string(m->text)) ||
                 (calls && json_object_set(one, "tool_calls", calls)) || (calls && set_state(one, calls, m));
    json_decref(calls);
    if (failed) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static json_t *turns_json(const struct atoll_llm_request *request)
{
    json_t *list = json_array();
    for (size_t i = 0; i < request->message_count; i++) {
        if (json_array_append_new(list, turn_json(&request->messages[i]))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int set_tools(json_t *body, const struct atoll_llm_request *request)
{
    return request->tool_count &&
           (json_object_set_new(body, "tools", atoll_llm_tools_json(request->tools, request->tool_count)) ||
            (request->is_tool_free && json_object_set_new(body, "tool_choice", json_string("none"))));
}

static json_t *chat_body(const struct atoll_llm_request *request, const struct atoll_provider_model *model,
                         const json_t *schema)
{
    enum atoll_llm_effort effort = atoll_provider_effort(request, model);
    int has_seed = request->seed >= 0 && !model->has_no_sampling;
    /* Samples of one text differ where a server draws from the seed alone. */
    uint64_t seed = ((uint64_t)request->seed + request->sample) & INT64_MAX;
    json_t *body = json_pack("{s:s,s:b,s:{s:b}}", "model", model->model, "stream", 1, "stream_options",
                             "include_usage", 1);
    if (json_object_set_new(body, "messages", turns_json(request)) || set_tools(body, request) ||
        json_object_set_new(body, model->has_old_limit ? "max_tokens" : "max_completion_tokens",
                            json_integer(atoll_provider_limit(request, model))) ||
        (effort &&
         json_object_set_new(body, "reasoning_effort", json_string(atoll_llm_effort_name(effort)))) ||
        atoll_provider_set_sampling(body, atoll_provider_temperature(request, model),
                                    atoll_provider_top_p(request, model)) ||
        (has_seed && json_object_set_new(body, "seed", json_integer((json_int_t)seed))) ||
        set_format(body, schema) || atoll_provider_set_cache_key(body, request)) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* ---- what is read ---- */

/* A text, or parts of type text and thinking. */
static void read_content(struct atoll_reply_parts *parts, const json_t *content)
{
    size_t i, k;
    json_t *part, *thought;
    atoll_reply_add(&parts->text, content);
    json_array_foreach(content, i, part)
    {
        const json_t *thoughts = json_object_get(part, "thinking");
        atoll_reply_add(&parts->text, json_object_get(part, "text"));
        atoll_reply_add(&parts->reasoning, thoughts);
        json_array_foreach(thoughts, k, thought)
        {
            atoll_reply_add(&parts->reasoning, json_object_get(thought, "text"));
        }
    }
}

/* Pieces of calls, told apart by their index; servers without one send each call whole, or name it by its id.  is_whole: the
 * list of a reply in one object. */
static void read_calls(struct atoll_reply_parts *parts, const json_t *list, int is_whole)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const json_t *function = json_object_get(one, "function"), *id = json_object_get(one, "id");
        const json_t *said = json_object_get(one, "index");
        json_t *extra = json_object_get(one, "extra_content");
        const char *name = json_is_string(id) ? json_string_value(id) : "";
        long index = (long)parts->call_count;
        if (!is_whole && json_is_integer(said)) {
            index = (long)json_integer_value(said);
        } else if (!is_whole) {
            for (size_t k = 0; k < parts->call_count; k++)
                if (!*name ? k + 1 == parts->call_count : strcmp(parts->calls[k].id, name) == 0)
                    index = parts->calls[k].index;
        }
        struct atoll_reply_call *call = atoll_reply_call_at(parts, index);
        if (!call)
            continue;
        atoll_reply_call_name(call, id, json_object_get(function, "name"));
        atoll_reply_call_add(call, json_object_get(function, "arguments"));
        if (json_is_object(extra)) {
            json_decref(call->extra);
            call->extra = json_incref(extra);
        }
    }
}

static void read_usage(struct atoll_reply_parts *parts, const json_t *usage)
{
    struct atoll_llm_usage u = {.input = 0};
    uint64_t total = 0;
    if (!json_is_object(usage))
        return;
    const json_t *input = json_object_get(usage, "prompt_tokens_details");
    const json_t *output = json_object_get(usage, "completion_tokens_details");
    parts->is_usage_wrong = 0;
    atoll_reply_count(parts, usage, "prompt_tokens", &u.input);
    atoll_reply_count(parts, usage, "completion_tokens", &u.output);
    atoll_reply_count(parts, usage, "total_tokens", &total);
    atoll_reply_count(parts, usage, "cached_tokens", &u.cached_input);
    atoll_reply_count(parts, usage, "prompt_cache_hit_tokens", &u.cached_input);
    atoll_reply_count(parts, input, "cached_tokens", &u.cached_input);
    atoll_reply_count(parts, input, "cache_write_tokens", &u.cache_write);
    atoll_reply_count(parts, output, "reasoning_tokens", &u.reasoning);
    if (u.reasoning && total == u.input + u.output + u.reasoning)
        u.output += u.reasoning; /* some servers count the reasoning beside the output; the total tells */
    parts->usage = u;
    parts->has_usage = json_object_get(usage, "prompt_tokens") != NULL;
}

/* member: "delta" of a chunk, or "message" of a whole reply.  Only the first choice is asked for.  Servers that have both
 * names for the reasoning channel say the same in both. */
static void read_choice(struct atoll_reply_parts *parts, const json_t *chunk, const char *member)
{
    const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
    const json_t *message = json_object_get(choice, member);
    const json_t *reasoning = json_object_get(message, "reasoning_content");
    read_content(parts, json_object_get(message, "content"));
    atoll_reply_add(&parts->reasoning,
                    json_is_string(reasoning) ? reasoning : json_object_get(message, "reasoning"));
    if (json_is_string(reasoning))
        parts->reasoning_member = "reasoning_content";
    read_calls(parts, json_object_get(message, "tool_calls"), strcmp(member, "message") == 0);
    atoll_reply_add(&parts->refusal, json_object_get(message, "refusal"));
    atoll_reply_name(parts->finish, sizeof(parts->finish), json_object_get(choice, "finish_reason"));
    atoll_reply_name(parts->model, sizeof(parts->model), json_object_get(chunk, "model"));
    read_usage(parts, json_object_get(choice, "usage"));
    read_usage(parts, json_object_get(chunk, "usage"));
}

static void chat_event(struct atoll_reply_parts *parts, const json_t *event)
{
    read_choice(parts, event, "delta");
}

static void chat_object(struct atoll_reply_parts *parts, const json_t *reply)
{
    const json_t *first = json_array_get(json_object_get(reply, "data"), 0);
    read_choice(parts, reply, "message");
    parts->is_embedded = json_is_array(json_object_get(first, "embedding"));
    parts->is_ended = 1;
}

static int is_chat(const json_t *object)
{
    return json_is_array(json_object_get(object, "choices")) ||
           strcmp(atoll_json_member(object, "object"), "list") == 0;
}

const struct atoll_provider_row atoll_provider_chat = {
    .name = "chat",
    .paths = {[ATOLL_LLM_CHAT] = "/chat/completions", [ATOLL_LLM_EMBED] = "/embeddings"},
    .models_path = "/models",
    .key_header = "Authorization: Bearer ",
    .terminator = "[DONE]",
    .body = chat_body,
    .event = chat_event,
    .object = chat_object,
    .is_reply = is_chat,
};
