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

static json_t *chat_body(const struct atoll_llm_request *request, const struct atoll_provider_model *model,
                         const json_t *schema)
{
    enum atoll_llm_effort effort = atoll_provider_effort(request, model);
    int has_seed = request->seed >= 0 && !model->has_no_sampling;
    /* Samples of one text differ where a server draws from the seed alone. */
    uint64_t seed = ((uint64_t)request->seed + request->sample) & INT64_MAX;
    json_t *body = json_pack("{s:s,s:b,s:{s:b}}", "model", model->model, "stream", 1, "stream_options",
                             "include_usage", 1);
    if (json_object_set_new(body, "messages", atoll_provider_turns(request)) ||
        json_object_set_new(body, model->has_old_limit ? "max_tokens" : "max_completion_tokens",
                            json_integer(atoll_provider_limit(request, model))) ||
        (effort &&
         json_object_set_new(body, "reasoning_effort", json_string(atoll_llm_effort_name(effort)))) ||
        atoll_provider_set_sampling(body, request, model) ||
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
