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

/* Arguments must be an object here; what a model wrote that is none goes back as a text inside one. */
static json_t *use_block(const struct atoll_llm_tool_call *call)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *input = atoll_json_load(call->arguments, strlen(call->arguments), ATOLL_LLM_REQUEST_VALUES,
                                    JSON_REJECT_DUPLICATES, &why);
    if (why.code == ATOLL_E_MEMORY)
        return NULL;
    if (!json_is_object(input)) {
        json_decref(input);
        input = json_pack("{s:s}", "arguments", call->arguments);
    }
    return json_pack("{s:s,s:s,s:s,s:o}", "type", "tool_use", "id", call->id, "name", call->name, "input",
                     input);
}

/* Words and calls of a turn that are not in content yet. */
struct turn {
    json_t *content;
    const struct atoll_llm_message *message;
    size_t text_at, call_at;
    int is_marked, failed;
};

static void add_text(struct turn *t, size_t bytes)
{
    size_t left = strlen(t->message->text) - t->text_at;
    bytes = bytes < left ? bytes : left;
    json_t *one =
        bytes ? json_pack("{s:s,s:s%}", "type", "text", "text", t->message->text + t->text_at, bytes) : NULL;
    if (one && t->is_marked && bytes == left)
        t->failed |= json_object_set_new(one, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
    if (bytes)
        t->failed |= json_array_append_new(t->content, one);
    t->text_at += bytes;
}

static void add_use(struct turn *t)
{
    if (t->call_at < t->message->tool_call_count)
        t->failed |= json_array_append_new(t->content, use_block(&t->message->tool_calls[t->call_at++]));
}

/* A turn that called: with what was kept in the order the blocks came in, where that is known, else words, then calls. */
static json_t *call_turn(const struct atoll_llm_message *m, int is_marked)
{
    size_t i;
    json_t *kept, *state;
    struct turn t = {.message = m, .is_marked = is_marked, .failed = atoll_provider_state(m, &state)};
    t.content = json_array();
    json_array_foreach(state, i, kept)
    {
        const char *type = atoll_json_member(kept, "type");
        json_int_t bytes = json_integer_value(json_object_get(kept, "bytes"));
        if (strcmp(type, "thinking") == 0 || strcmp(type, "redacted_thinking") == 0)
            t.failed |= json_array_append(t.content, kept);
        else if (strcmp(type, "text") == 0 && bytes > 0)
            add_text(&t, (size_t)bytes);
        else if (strcmp(type, "tool_use") == 0)
            add_use(&t);
    }
    json_decref(state);
    add_text(&t, SIZE_MAX);
    while (t.call_at < m->tool_call_count)
        add_use(&t);
    if (t.failed) {
        json_decref(t.content);
        return NULL;
    }
    return t.content;
}

static json_t *result_block(const struct atoll_llm_message *m, int is_marked)
{
    json_t *one = json_pack("{s:s,s:s}", "type", "tool_result", "tool_use_id", m->tool_call_id);
    if ((*m->text && json_object_set_new(one, "content", json_string(m->text))) ||
        (m->is_error && json_object_set_new(one, "is_error", json_true())) ||
        (is_marked && json_object_set_new(one, "cache_control", json_pack("{s:s}", "type", "ephemeral")))) {
        json_decref(one);
        return NULL;
    }
    return one;
}

/* One turn, or one more result in the turn before: all results of a turn's calls stand in one. */
static int add_turn(json_t *turns, const struct atoll_llm_request *request, size_t i, int is_marked)
{
    const struct atoll_llm_message *m = &request->messages[i];
    if (m->role == ATOLL_LLM_TOOL && i && request->messages[i - 1].role == ATOLL_LLM_TOOL) {
        json_t *last = json_array_get(turns, json_array_size(turns) - 1);
        return json_array_append_new(json_object_get(last, "content"), result_block(m, is_marked));
    }
    json_t *content = m->tool_call_count          ? call_turn(m, is_marked)
                      : m->role == ATOLL_LLM_TOOL ? json_pack("[o]", result_block(m, is_marked))
                                                  : json_pack("[o]", block(m->text, is_marked));
    const char *role = m->role == ATOLL_LLM_ASSISTANT ? "assistant" : "user";
    return json_array_append_new(turns, json_pack("{s:s,s:o}", "role", role, "content", content));
}

static int set_tools(json_t *body, const struct atoll_llm_request *request)
{
    json_t *list = request->tool_count ? json_array() : NULL;
    int failed = 0;
    for (size_t i = 0; i < request->tool_count && !failed; i++) {
        const struct atoll_llm_tool *tool = &request->tools[i];
        json_t *one =
            json_pack("{s:s,s:o}", "name", tool->name, "input_schema", atoll_provider_tool_schema(tool));
        failed =
            (*tool->description && json_object_set_new(one, "description", json_string(tool->description))) ||
            json_array_append(list, one);
        json_decref(one);
    }
    failed = failed || (request->tool_count && json_object_set(body, "tools", list)) ||
             (request->tool_count && request->is_tool_free &&
              json_object_set_new(body, "tool_choice", json_pack("{s:s}", "type", "none")));
    json_decref(list);
    return failed;
}

/* Empty texts are left out: the API refuses empty blocks. */
static int set_messages(json_t *body, const struct atoll_llm_request *request)
{
    int marked[ATOLL_LLM_MESSAGE_LIMIT], failed = 0;
    json_t *system = json_array(), *turns = json_array();
    choose_marks(request, marked);
    for (size_t i = 0; i < request->message_count && !failed; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        if (!*m->text && !m->tool_call_count && m->role != ATOLL_LLM_TOOL)
            continue;
        failed = m->role == ATOLL_LLM_SYSTEM ? json_array_append_new(system, block(m->text, marked[i]))
                                             : add_turn(turns, request, i, marked[i]);
    }
    failed = failed || !system || json_object_set(body, "messages", turns) ||
             (json_array_size(system) && json_object_set(body, "system", system));
    json_decref(system);
    json_decref(turns);
    return failed ? -1 : 0;
}

/* *ret_is_lost: a turn that called is there without what was thought before it, and the API refuses to think on from there; where thinking
 * has a budget, each such turn must begin with a thought. */
static int find_lost_thoughts(const struct atoll_llm_request *request, int must_begin, int *ret_is_lost)
{
    int failed = 0;
    *ret_is_lost = 0;
    for (size_t i = 0; i < request->message_count && !failed; i++) {
        json_t *state = NULL;
        if (!request->messages[i].tool_call_count)
            continue;
        failed = atoll_provider_state(&request->messages[i], &state);
        const char *first = atoll_json_member(json_array_get(state, 0), "type");
        *ret_is_lost |= !state || (must_begin && !strstr(first, "thinking"));
        json_decref(state);
    }
    return failed;
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
    int is_lost;
    if (find_lost_thoughts(request, model->has_old_limit, &is_lost))
        return -1;
    *ret_thinks = effort > ATOLL_LLM_EFFORT_MINIMAL && !is_lost;
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
    /* Newer models take one of the two, the temperature not beyond 1; there is no seed. */
    double temperature = atoll_provider_temperature(request, model);
    double top_p = isnan(temperature) ? atoll_provider_top_p(request, model) : NAN;
    json_t *body = json_pack("{s:s,s:b,s:I}", "model", model->model, "stream", 1, "max_tokens",
                             (json_int_t)atoll_provider_limit(request, model));
    json_t *config = json_object();
    json_t *copy = schema ? json_deep_copy(schema) : NULL;
    json_t *format = copy ? json_pack("{s:s,s:O}", "type", "json_schema", "schema", copy) : NULL;
    int failed = !config || (schema && !format) || set_messages(body, request) || set_tools(body, request) ||
                 set_effort(body, config, request, model, &thinks) ||
                 (!thinks && atoll_provider_set_sampling(
                                 body, isnan(temperature) ? NAN : fmin(temperature, 1.0), top_p)) ||
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
    atoll_reply_add(&parts->signature, json_object_get(block, "signature"));
}

static long index_of(const json_t *event)
{
    return (long)json_integer_value(json_object_get(event, "index"));
}

/* A block begins: its type decides what is kept of it. */
static void begin_block(struct atoll_reply_parts *parts, json_t *block, long index)
{
    parts->block_text = parts->text.length;
    parts->block_reasoning = parts->reasoning.length;
    atoll_buffer_clear(&parts->signature);
    read_block(parts, block);
    if (strcmp(atoll_json_member(block, "type"), "tool_use") != 0)
        return;
    struct atoll_reply_call *call = atoll_reply_call_at(parts, index);
    if (call) {
        atoll_reply_call_name(call, json_object_get(block, "id"), json_object_get(block, "name"));
        atoll_reply_call_add(call, json_object_get(block, "input"));
    }
}

/* A block is whole: the order of all, and what of its thoughts is sealed, has to come back with the calls. */
static void end_block(struct atoll_reply_parts *parts, json_t *block, int is_call)
{
    const struct atoll_buffer *signature = &parts->signature;
    size_t thought = parts->reasoning.length - parts->block_reasoning,
           said = parts->text.length - parts->block_text;
    if (strcmp(atoll_json_member(block, "type"), "redacted_thinking") == 0) {
        atoll_reply_keep_state(parts, json_incref(block));
    } else if (signature->length && !signature->failed) {
        atoll_reply_keep_state(
            parts, json_pack("{s:s,s:s%,s:s%}", "type", "thinking", "thinking",
                             thought ? (const char *)parts->reasoning.data + parts->block_reasoning : "",
                             thought, "signature", (const char *)signature->data, signature->length));
    } else if (is_call) {
        atoll_reply_keep_state(parts, json_pack("{s:s}", "type", "tool_use"));
    } else if (said) {
        atoll_reply_keep_state(parts, json_pack("{s:s,s:I}", "type", "text", "bytes", (json_int_t)said));
    }
    parts->has_no_memory |= signature->failed == ATOLL_E_MEMORY;
    parts->block_text = parts->text.length;
    parts->block_reasoning = parts->reasoning.length;
    atoll_buffer_clear(&parts->signature);
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
    json_t *block = json_object_get(event, "content_block");
    begin_block(parts, block, index_of(event));
    if (strcmp(atoll_json_member(block, "type"), "redacted_thinking") == 0)
        end_block(parts, block, 0); /* it comes whole */
}

static void on_delta(struct atoll_reply_parts *parts, const json_t *event)
{
    const json_t *delta = json_object_get(event, "delta");
    if (strcmp(atoll_json_member(delta, "type"), "input_json_delta") == 0) {
        struct atoll_reply_call *call = atoll_reply_call_at(parts, index_of(event));
        if (call)
            atoll_reply_call_add(call, json_object_get(delta, "partial_json"));
    } else {
        read_block(parts, delta);
    }
}

static void on_block_end(struct atoll_reply_parts *parts, const json_t *event)
{
    long index = index_of(event);
    int is_call = 0;
    for (size_t i = 0; i < parts->call_count; i++)
        is_call |= parts->calls[i].index == index;
    end_block(parts, NULL, is_call);
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
    {"message_start", on_start},         {"content_block_start", on_block},
    {"content_block_delta", on_delta},   {"content_block_stop", on_block_end},
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
        begin_block(parts, one, (long)i);
        end_block(parts, one, strcmp(atoll_json_member(one, "type"), "tool_use") == 0);
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
