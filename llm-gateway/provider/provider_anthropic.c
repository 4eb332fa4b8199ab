/* provider_anthropic.c - Anthropic's Messages: system apart from the turns, marks for its prompt cache, content in typed
 * blocks.  Its input_tokens leave out what was read from or written to the cache; here input counts all. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/provider/provider_row.h"

#define CACHE_MARK_LIMIT    4    /* per request, the API's */
#define THINKING_TOKENS_LOW 1024 /* the API's least */

/* ---- what is sent ---- */

/* The last ones of the marked messages: a mark covers everything before it, so the earliest are the least loss. */
static void choose_marks(const struct atoll_llm_request *request, int ret_marked[ATOLL_LLM_MESSAGE_LIMIT])
{
    int left = CACHE_MARK_LIMIT;
    memset(ret_marked, 0, ATOLL_LLM_MESSAGE_LIMIT * sizeof(*ret_marked));
    for (int pass = 0; pass < 2; pass++) { /* in the body the turns stand behind all of system */
        for (size_t i = request->message_count; i-- > 0;) {
            const struct atoll_llm_message *m = &request->messages[i];
            int is_system = m->role == ATOLL_LLM_SYSTEM;
            if (is_system == pass && m->is_cacheable && *m->text && left) {
                ret_marked[i] = 1;
                left--;
            }
        }
    }
}

static json_t *block(const char *text, int is_marked)
{
    return is_marked ? json_pack("{s:s,s:s,s:{s:s}}", "type", "text", "text", text, "cache_control", "type",
                                 "ephemeral")
                     : json_pack("{s:s,s:s}", "type", "text", "text", text);
}

/* Empty texts are left out: the API refuses empty blocks. */
static int set_messages(json_t *body, const struct atoll_llm_request *request)
{
    int marked[ATOLL_LLM_MESSAGE_LIMIT], failed = 0;
    json_t *system = json_array(), *turns = json_array();
    choose_marks(request, marked);
    for (size_t i = 0; i < request->message_count && !failed; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        if (!*m->text)
            continue;
        json_t *one = block(m->text, marked[i]);
        if (m->role == ATOLL_LLM_SYSTEM) {
            failed = json_array_append_new(system, one);
        } else {
            failed = json_array_append_new(
                turns, json_pack("{s:s,s:[o]}", "role", atoll_llm_role_name(m->role), "content", one));
        }
    }
    failed = failed || !system || json_object_set(body, "messages", turns) ||
             (json_array_size(system) && json_object_set(body, "system", system));
    json_decref(system);
    json_decref(turns);
    return failed ? -1 : 0;
}

/* What is known of a model decides between a budget (up to Claude 4.5) and an effort (from 4.6).  *ret_thinks: sampling
 * must not be said. */
static int set_effort(json_t *body, json_t *config, const struct atoll_llm_request *request,
                      const struct atoll_provider_model *model, int *ret_thinks)
{
    enum atoll_llm_effort effort = atoll_provider_effort(request, model);
    /* Half of the output limit for high, a quarter for medium, an eighth for low. */
    uint32_t limit = atoll_provider_limit(request, model);
    uint32_t thinking = limit >> (1 + ATOLL_LLM_EFFORT_HIGH - effort);
    thinking = thinking > THINKING_TOKENS_LOW ? thinking : THINKING_TOKENS_LOW;
    const char *word = effort == ATOLL_LLM_EFFORT_MINIMAL ? "low" : atoll_llm_effort_name(effort);
    *ret_thinks = effort > ATOLL_LLM_EFFORT_MINIMAL;
    if (!effort)
        return 0;
    if (!model->has_old_limit) {
        return json_object_set_new(config, "effort", json_string(word)) ||
               (*ret_thinks && json_object_set_new(body, "thinking", json_pack("{s:s}", "type", "adaptive")));
    }
    *ret_thinks = *ret_thinks && thinking < limit;
    return *ret_thinks && json_object_set_new(body, "thinking",
                                              json_pack("{s:s,s:I}", "type", "enabled", "budget_tokens",
                                                        (json_int_t)thinking));
}

static json_t *anthropic_body(const struct atoll_llm_request *request,
                              const struct atoll_provider_model *model, const json_t *schema)
{
    int thinks = 0;
    struct atoll_llm_request sampling = *request;
    if (!isnan(
            sampling.temperature)) { /* newer models take one of the two, none beyond 1; there is no seed */
        sampling.temperature = fmin(sampling.temperature, 1.0);
        sampling.top_p = NAN;
    }
    json_t *body = json_pack("{s:s,s:b,s:I}", "model", model->model, "stream", 1, "max_tokens",
                             (json_int_t)atoll_provider_limit(request, model));
    json_t *config = json_object();
    json_t *copy = schema ? json_deep_copy(schema) : NULL;
    json_t *format = copy ? json_pack("{s:s,s:O}", "type", "json_schema", "schema", copy) : NULL;
    int failed = !config || (schema && !format) || set_messages(body, request) ||
                 set_effort(body, config, request, model, &thinks) ||
                 (!thinks && atoll_provider_set_sampling(body, &sampling, model)) ||
                 (format && json_object_set(config, "format", format)) ||
                 (json_object_size(config) && json_object_set(body, "output_config", config));
    json_decref(format);
    json_decref(copy);
    json_decref(config);
    if (failed) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* ---- what is read ---- */

/* message_start says the input and a first output; message_delta the output so far, and what changed of the input. */
static void read_usage(struct atoll_reply_parts *parts, const json_t *usage, int is_last)
{
    struct atoll_llm_usage *u = &parts->usage;
    uint64_t fresh = u->input - u->cached_input - u->cache_write;
    if (!json_is_object(usage))
        return;
    atoll_reply_count(parts, usage, "input_tokens", &fresh);
    atoll_reply_count(parts, usage, "cache_read_input_tokens", &u->cached_input);
    atoll_reply_count(parts, usage, "cache_creation_input_tokens", &u->cache_write);
    atoll_reply_count(parts, usage, "output_tokens", &u->output);
    atoll_reply_count(parts, json_object_get(usage, "output_tokens_details"), "thinking_tokens",
                      &u->reasoning);
    u->input = fresh + u->cached_input + u->cache_write;
    parts->has_usage |= is_last && json_object_get(usage, "output_tokens");
}

/* A block as it begins, one whole, or a delta: members are named alike. */
static void read_block(struct atoll_reply_parts *parts, const json_t *block)
{
    atoll_reply_add(&parts->text, json_object_get(block, "text"));
    atoll_reply_add(&parts->reasoning, json_object_get(block, "thinking"));
}

/* stop_reason, and for a refusal its category. */
static void read_stop(struct atoll_reply_parts *parts, const json_t *holder)
{
    const json_t *details = json_object_get(holder, "stop_details");
    atoll_reply_name(parts->finish, sizeof(parts->finish), json_object_get(holder, "stop_reason"));
    atoll_reply_name(parts->error_message, sizeof(parts->error_message),
                     json_object_get(details, "category"));
}

static void on_start(struct atoll_reply_parts *parts, const json_t *event)
{
    const json_t *message = json_object_get(event, "message");
    atoll_reply_name(parts->model, sizeof(parts->model), json_object_get(message, "model"));
    read_usage(parts, json_object_get(message, "usage"), 0);
}

static void on_block(struct atoll_reply_parts *parts, const json_t *event)
{
    read_block(parts, json_object_get(event, "content_block"));
}

static void on_delta(struct atoll_reply_parts *parts, const json_t *event)
{
    read_block(parts, json_object_get(event, "delta"));
}

static void on_message_delta(struct atoll_reply_parts *parts, const json_t *event)
{
    read_stop(parts, json_object_get(event, "delta"));
    read_usage(parts, json_object_get(event, "usage"), 1);
}

static void on_stop(struct atoll_reply_parts *parts, const json_t *event)
{
    parts->is_ended = 1;
}

static const struct {
    const char *type;
    void (*read)(struct atoll_reply_parts *parts, const json_t *event);
} events[] = {
    {"message_start", on_start},         {"content_block_start", on_block}, {"content_block_delta", on_delta},
    {"message_delta", on_message_delta}, {"message_stop", on_stop},
};

static void anthropic_event(struct atoll_reply_parts *parts, const json_t *event)
{
    const char *type = atoll_json_member(event, "type");
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        if (strcmp(type, events[i].type) == 0) {
            events[i].read(parts, event);
            return;
        }
    }
}

static void anthropic_object(struct atoll_reply_parts *parts, const json_t *reply)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(reply, "content"), i, one)
    {
        read_block(parts, one);
    }
    atoll_reply_name(parts->model, sizeof(parts->model), json_object_get(reply, "model"));
    read_stop(parts, reply);
    read_usage(parts, json_object_get(reply, "usage"), 1);
    parts->is_ended = 1;
}

static int is_anthropic(const json_t *object)
{
    return strcmp(atoll_json_member(object, "type"), "message") == 0 &&
           json_is_array(json_object_get(object, "content"));
}

const struct atoll_provider_row atoll_provider_anthropic = {
    .name = "anthropic",
    .paths = {[ATOLL_LLM_CHAT] = "/messages"},
    .models_path = "/models?limit=1000",
    .key_header = "x-api-key: ",
    .version_header = "anthropic-version: 2023-06-01",
    .terminator = "message_stop",
    .needs_turn = 1,
    .body = anthropic_body,
    .event = anthropic_event,
    .object = anthropic_object,
    .is_reply = is_anthropic,
};
