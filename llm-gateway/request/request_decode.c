/* request_decode.c - JSON from clients into a request.  One table says which member is read by whom; null is as unsaid;
 * what the table does not know is ignored. */
#include "llm-gateway/request/request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* Texts whose every byte is escaped as \u00XX, and all else. */
#define BODY_BYTES (6 * ATOLL_LLM_TEXT_BYTES + ((size_t)1 << 20))

struct decoder {
    struct atoll_arena *arena;
    struct atoll_llm_request request;
    struct atoll_err *err;
};

/* A member of the body, or of its object "atoll": a text, a real or an integer for the request's field at offset, or what its
 * own function makes of it. */
enum kind { TEXT, REAL, COUNT32, COUNT64, OWN };
struct member {
    const char *key;
    enum kind kind;
    size_t offset;
    int64_t low, high;
    int (*read)(struct decoder *d, const char *path, const json_t *value);
};

static int expected(struct decoder *d, const char *path, const char *what)
{
    return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: %s is expected", path, what);
}

static int take_text(struct decoder *d, const char *path, const json_t *value, const char **ret_text)
{
    if (!json_is_string(value))
        return expected(d, path, "a text");
    const char *copy =
        atoll_arena_text(d->arena, json_string_value(value), json_string_length(value), d->err);
    *ret_text = copy ? copy : *ret_text;
    return copy ? 0 : -1;
}

static int take_member(struct decoder *d, const struct member *m, const char *path, const json_t *value)
{
    void *field = (char *)&d->request + m->offset;
    json_int_t v = json_integer_value(value);
    switch (m->kind) {
    case OWN: return m->read(d, path, value);
    case TEXT: return take_text(d, path, value, field);
    case REAL:
        if (!json_is_number(value))
            return expected(d, path, "a number");
        *(double *)field = json_number_value(value);
        return 0;
    case COUNT32:
    case COUNT64: break;
    }
    if (!json_is_integer(value) || v < m->low || v > m->high) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: an integer from %lld to %lld is expected", path,
                             (long long)m->low, (long long)m->high);
    }
    if (m->kind == COUNT32)
        *(uint32_t *)field = (uint32_t)v;
    else
        *(int64_t *)field = v;
    return 0;
}

static int read_members(struct decoder *d, const json_t *object, const char *prefix,
                        const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        const json_t *value = json_object_get(object, members[i].key);
        snprintf(path, sizeof(path), "%s%s", prefix, members[i].key);
        if (value && !json_is_null(value) && take_member(d, &members[i], path, value) != 0)
            return -1;
    }
    return 0;
}

/* ---- messages ---- */

static int is_marked(const json_t *holder)
{
    return json_is_object(json_object_get(holder, "cache_control"));
}

/* A text, or parts: the texts of all, one behind the other. */
static int read_content(struct decoder *d, const char *path, const json_t *value, struct atoll_llm_message *m)
{
    size_t i;
    json_t *part;
    struct atoll_buffer text;
    int failed = 0;
    if (!json_is_array(value)) {
        return json_is_string(value) ? take_text(d, path, value, &m->text)
                                     : expected(d, path, "a text, or a list of parts,");
    }
    m->text = NULL;
    atoll_buffer_init(&text, ATOLL_LLM_TEXT_BYTES);
    json_array_foreach(value, i, part)
    {
        const json_t *words = json_object_get(part, "text");
        if (strcmp(atoll_json_member(part, "type"), "text") != 0 || !json_is_string(words)) {
            failed =
                atoll_err_set(d->err, ATOLL_E_INPUT, "%s[%zu]: only parts of type text can be read", path, i);
            break;
        }
        atoll_buffer_put_bytes(&text, json_string_value(words), json_string_length(words));
        m->is_cacheable |= is_marked(part);
    }
    if (!failed && atoll_buffer_check(&text, d->err) == 0)
        m->text = atoll_arena_text(d->arena, text.length ? (const char *)text.data : "", text.length, d->err);
    atoll_buffer_fini(&text);
    return m->text ? 0 : -1;
}

/* Arguments of a call: a text, as providers write them, or an object, as people do. */
static int read_arguments(struct decoder *d, const char *path, const json_t *value, const char **ret_text)
{
    struct atoll_buffer text;
    if (!json_is_object(value))
        return take_text(d, path, value, ret_text);
    atoll_buffer_init(&text, ATOLL_LLM_TEXT_BYTES);
    const char *copy = atoll_json_put(&text, value, d->err) == 0
                           ? atoll_arena_text(d->arena, (const char *)text.data, text.length, d->err)
                           : NULL;
    atoll_buffer_fini(&text);
    *ret_text = copy;
    return copy ? 0 : -1;
}

static int read_call(struct decoder *d, const char *place, const json_t *value,
                     struct atoll_llm_tool_call *ret_call)
{
    char path[128];
    const json_t *function = json_object_get(value, "function");
    snprintf(path, sizeof(path), "%s.id", place);
    if (take_text(d, path, json_object_get(value, "id"), &ret_call->id))
        return -1;
    snprintf(path, sizeof(path), "%s.function.name", place);
    if (take_text(d, path, json_object_get(function, "name"), &ret_call->name))
        return -1;
    snprintf(path, sizeof(path), "%s.function.arguments", place);
    return read_arguments(d, path, json_object_get(function, "arguments"), &ret_call->arguments);
}

/* What an assistant called beside its text; an empty list is none. */
static int read_calls(struct decoder *d, const char *path, const json_t *list, struct atoll_llm_message *m)
{
    char place[80];
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > ATOLL_LLM_TOOL_CALL_LIMIT) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: a list of up to %d is expected", path,
                             ATOLL_LLM_TOOL_CALL_LIMIT);
    }
    struct atoll_llm_tool_call *calls =
        count ? atoll_arena_alloc(d->arena, count * sizeof(*calls), d->err) : NULL;
    if (count && !calls)
        return -1;
    for (size_t i = 0; i < count; i++) {
        snprintf(place, sizeof(place), "%s[%zu]", path, i);
        if (read_call(d, place, json_array_get(list, i), &calls[i]))
            return -1;
    }
    m->tool_calls = calls;
    m->tool_call_count = count;
    return 0;
}

/* The members that only some roles have. */
static int read_turn(struct decoder *d, size_t i, const json_t *one, struct atoll_llm_message *m)
{
    char place[64];
    const json_t *calls = json_object_get(one, "tool_calls"), *state = json_object_get(one, "provider_state");
    snprintf(place, sizeof(place), "messages[%zu].tool_calls", i);
    if (m->role == ATOLL_LLM_ASSISTANT && calls && !json_is_null(calls) && read_calls(d, place, calls, m))
        return -1;
    snprintf(place, sizeof(place), "messages[%zu].provider_state", i);
    if (m->tool_call_count && state && !json_is_null(state) && take_text(d, place, state, &m->provider_state))
        return -1;
    if (m->role != ATOLL_LLM_TOOL)
        return 0;
    m->is_error = json_is_true(json_object_get(one, "is_error"));
    snprintf(place, sizeof(place), "messages[%zu].tool_call_id", i);
    return take_text(d, place, json_object_get(one, "tool_call_id"), &m->tool_call_id);
}

static int read_role(struct decoder *d, const char *path, const char *name, enum atoll_llm_role *ret_role)
{
    for (int i = 0; i < ATOLL_LLM_ROLE_COUNT; i++) {
        if (strcmp(name, atoll_llm_role_name((enum atoll_llm_role)i)) == 0) {
            *ret_role = (enum atoll_llm_role)i;
            return 0;
        }
    }
    if (strcmp(name, "developer") == 0) {
        *ret_role = ATOLL_LLM_SYSTEM;
        return 0;
    }
    return expected(d, path, "system, developer, user, assistant or tool");
}

static int check_count(struct decoder *d, const char *path, const json_t *value)
{
    if (!json_is_array(value) || !json_array_size(value) ||
        json_array_size(value) > ATOLL_LLM_MESSAGE_LIMIT) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: a list of 1 to %d is expected", path,
                             ATOLL_LLM_MESSAGE_LIMIT);
    }
    return 0;
}

static int read_messages(struct decoder *d, const char *path, const json_t *value)
{
    size_t i;
    json_t *one;
    if (check_count(d, path, value))
        return -1;
    json_array_foreach(value, i, one)
    {
        char place[64];
        struct atoll_llm_message *m = &d->request.messages[i];
        snprintf(place, sizeof(place), "%s[%zu].role", path, i);
        if (read_role(d, place, atoll_json_member(one, "role"), &m->role))
            return -1;
        m->is_cacheable = is_marked(one);
        if (read_turn(d, i, one, m))
            return -1;
        const json_t *content = json_object_get(one, "content");
        snprintf(place, sizeof(place), "%s[%zu].content", path, i);
        if (m->tool_call_count && (!content || json_is_null(content)))
            m->text = "";
        else if (read_content(d, place, content, m))
            return -1;
    }
    d->request.message_count = i;
    d->request.operation = ATOLL_LLM_CHAT;
    return 0;
}

/* What is to be embedded: a text or a list of texts. */
static int read_input(struct decoder *d, const char *path, const json_t *value)
{
    size_t i;
    json_t *one;
    d->request.operation = ATOLL_LLM_EMBED;
    if (json_is_string(value)) {
        d->request.message_count = 1;
        d->request.messages[0].role = ATOLL_LLM_USER;
        return take_text(d, path, value, &d->request.messages[0].text);
    }
    if (check_count(d, path, value))
        return -1;
    json_array_foreach(value, i, one)
    {
        char place[64];
        snprintf(place, sizeof(place), "%s[%zu]", path, i);
        d->request.messages[i].role = ATOLL_LLM_USER;
        if (take_text(d, place, one, &d->request.messages[i].text))
            return -1;
    }
    d->request.message_count = i;
    return 0;
}

/* ---- members of the body ---- */

/* Newer words stand for the nearest of ours. */
static const struct {
    const char *word;
    enum atoll_llm_effort effort;
} efforts[] = {{"none", ATOLL_LLM_EFFORT_MINIMAL}, {"minimal", ATOLL_LLM_EFFORT_MINIMAL},
               {"low", ATOLL_LLM_EFFORT_LOW},      {"medium", ATOLL_LLM_EFFORT_MEDIUM},
               {"high", ATOLL_LLM_EFFORT_HIGH},    {"xhigh", ATOLL_LLM_EFFORT_HIGH},
               {"max", ATOLL_LLM_EFFORT_HIGH}};

static int read_effort(struct decoder *d, const char *path, const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t i = 0; word && i < sizeof(efforts) / sizeof(*efforts); i++) {
        if (strcmp(word, efforts[i].word) == 0) {
            d->request.effort = efforts[i].effort;
            return 0;
        }
    }
    return expected(d, path, "minimal, low, medium or high");
}

static int read_format(struct decoder *d, const char *path, const json_t *value)
{
    const char *type = atoll_json_member(value, "type");
    const json_t *schema = json_object_get(json_object_get(value, "json_schema"), "schema");
    struct atoll_buffer text;
    if (strcmp(type, "text") == 0)
        return 0;
    if (strcmp(type, "json_schema") != 0)
        return expected(d, path, "type text or json_schema");
    if (!json_is_object(schema))
        return expected(d, "response_format.json_schema.schema", "an object");
    atoll_buffer_init(&text, ATOLL_LLM_TEXT_BYTES);
    if (atoll_json_put(&text, schema, d->err) == 0)
        d->request.schema = atoll_arena_text(d->arena, (const char *)text.data, text.length, d->err);
    atoll_buffer_fini(&text);
    return d->request.schema ? 0 : -1;
}

static int read_tool(struct decoder *d, const char *place, const json_t *value, struct atoll_llm_tool *tool)
{
    char path[64];
    const json_t *function = json_object_get(value, "function");
    const json_t *description = json_object_get(function, "description"),
                 *schema = json_object_get(function, "parameters");
    snprintf(path, sizeof(path), "%s.type", place);
    if (strcmp(atoll_json_member(value, "type"), "function") != 0)
        return expected(d, path, "function");
    snprintf(path, sizeof(path), "%s.function.name", place);
    if (take_text(d, path, json_object_get(function, "name"), &tool->name))
        return -1;
    tool->description = "";
    snprintf(path, sizeof(path), "%s.function.description", place);
    if (description && !json_is_null(description) && take_text(d, path, description, &tool->description))
        return -1;
    snprintf(path, sizeof(path), "%s.function.parameters", place);
    tool->schema = "{\"type\":\"object\",\"properties\":{}}"; /* unsaid: a call without arguments */
    if (!schema || json_is_null(schema))
        return 0;
    return json_is_object(schema) ? read_arguments(d, path, schema, &tool->schema)
                                  : expected(d, path, "an object");
}

static int read_tools(struct decoder *d, const char *path, const json_t *value)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count > ATOLL_LLM_TOOL_LIMIT) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: a list of up to %d is expected", path,
                             ATOLL_LLM_TOOL_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        char place[32];
        snprintf(place, sizeof(place), "%s[%zu]", path, i);
        if (read_tool(d, place, json_array_get(value, i), &d->request.tools[i]))
            return -1;
    }
    d->request.tool_count = count;
    return 0;
}

static int read_tool_choice(struct decoder *d, const char *path, const json_t *value)
{
    const char *word = json_string_value(value);
    d->request.is_tool_free = word && strcmp(word, "none") == 0;
    return d->request.is_tool_free || (word && strcmp(word, "auto") == 0) ? 0
                                                                          : expected(d, path, "auto or none");
}

static int read_answer_count(struct decoder *d, const char *path, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) == 1
               ? 0
               : expected(d, path, "an integer from 1 to 1");
}

static int read_stream(struct decoder *d, const char *path, const json_t *value)
{
    return json_is_false(value) ? 0
                                : atoll_err_set(d->err, ATOLL_E_INPUT,
                                                "%s: the gateway answers in one piece; send false", path);
}

static int read_atoll(struct decoder *d, const char *path, const json_t *value);

/* "input" stands before "messages": a body with both is a chat.  n: one answer is all there is. */
#define AT(m) offsetof(struct atoll_llm_request, m)
static const struct member members[] = {
    {.key = "model", TEXT, AT(model)},
    {.key = "input", OWN, .read = read_input},
    {.key = "messages", OWN, .read = read_messages},
    {.key = "max_tokens", COUNT32, AT(max_output_tokens), 1, UINT32_MAX},
    {.key = "max_completion_tokens", COUNT32, AT(max_output_tokens), 1, UINT32_MAX},
    {.key = "temperature", REAL, AT(temperature)},
    {.key = "top_p", REAL, AT(top_p)},
    {.key = "seed", COUNT64, AT(seed), -1, INT64_MAX},
    {.key = "reasoning_effort", OWN, .read = read_effort},
    {.key = "response_format", OWN, .read = read_format},
    {.key = "tools", OWN, .read = read_tools},
    {.key = "tool_choice", OWN, .read = read_tool_choice},
    {.key = "stream", OWN, .read = read_stream},
    {.key = "n", OWN, .read = read_answer_count},
    {.key = "atoll", OWN, .read = read_atoll},
};
static const struct member atoll_members[] = {
    {.key = "sample", COUNT64, AT(sample), 0, INT64_MAX},
    {.key = "key", TEXT, AT(key)},
    {.key = "campaign", TEXT, AT(campaign)},
    {.key = "task", TEXT, AT(task)},
    {.key = "purpose", TEXT, AT(purpose)},
    {.key = "generation", COUNT32, AT(generation), 0, UINT32_MAX},
    {.key = "deadline_s", REAL, AT(deadline_s)},
};

static int read_atoll(struct decoder *d, const char *path, const json_t *value)
{
    if (!json_is_object(value))
        return expected(d, path, "an object");
    return read_members(d, value, "atoll.", atoll_members, sizeof(atoll_members) / sizeof(*atoll_members));
}

int atoll_llm_request_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                             struct atoll_llm_request *ret_request, struct atoll_err *err)
{
    struct decoder d = {.arena = arena, .err = err};
    struct atoll_err why = ATOLL_ERR_INIT;
    if (length > BODY_BYTES) {
        return atoll_err_set(err, ATOLL_E_INPUT, "request: %zu bytes, the limit is %zu", length,
                             (size_t)BODY_BYTES);
    }
    json_t *body = atoll_json_load(bytes, length, ATOLL_LLM_REQUEST_VALUES, JSON_REJECT_DUPLICATES, &why);
    if (!body) {
        return atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT, "request: %s",
                             why.text);
    }
    atoll_llm_request_init(&d.request);
    int status = json_is_object(body)
                     ? read_members(&d, body, "", members, sizeof(members) / sizeof(*members))
                     : expected(&d, "request", "an object");
    json_decref(body);
    status = status ? status : atoll_llm_request_check(&d.request, err);
    if (!status)
        *ret_request = d.request;
    return status;
}
