/* request_decode.c - JSON from clients into a request.  One table says which member is read by whom; null is as unsaid;
 * what the table does not know is ignored. */
#include "llm-gateway/request/request.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "llm-gateway/request/request_form.h"

/* Texts whose every byte is escaped as \u00XX, and all else. */
#define BODY_BYTES (6 * ATOLL_LLM_TEXT_BYTES + ((size_t)1 << 20))

struct decoder {
    struct atoll_arena *arena;
    struct atoll_llm_request request;
    struct atoll_err *err;
};

/* A member of the body, or of its object "atoll". */
struct member {
    const char *key;
    int (*read)(struct decoder *d, const char *path, const json_t *value);
};

static int expected(struct decoder *d, const char *path, const char *what)
{
    return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: %s is expected", path, what);
}

static int read_members(struct decoder *d, const json_t *object, const char *prefix,
                        const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        const json_t *value = json_object_get(object, members[i].key);
        snprintf(path, sizeof path, "%s%s", prefix, members[i].key);
        if (value && !json_is_null(value) && members[i].read(d, path, value)) {
            return -1;
        }
    }
    return 0;
}

/* ---- values ---- */

static int take_text(struct decoder *d, const char *path, const json_t *value, const char **ret_text)
{
    if (!json_is_string(value)) {
        return expected(d, path, "a text");
    }
    const char *copy =
        atoll_arena_text(d->arena, json_string_value(value), json_string_length(value), d->err);
    *ret_text = copy ? copy : *ret_text;
    return copy ? 0 : -1;
}

static int take_integer(struct decoder *d, const char *path, const json_t *value, int64_t low, int64_t high,
                        int64_t *ret_value)
{
    if (!json_is_integer(value) || json_integer_value(value) < low || json_integer_value(value) > high) {
        return atoll_err_set(d->err, ATOLL_E_INPUT, "%s: an integer from %lld to %lld is expected", path,
                             (long long)low, (long long)high);
    }
    *ret_value = json_integer_value(value);
    return 0;
}

static int take_count(struct decoder *d, const char *path, const json_t *value, int64_t low, uint32_t *ret)
{
    int64_t v = 0;
    if (take_integer(d, path, value, low, UINT32_MAX, &v)) {
        return -1;
    }
    *ret = (uint32_t)v;
    return 0;
}

static int take_real(struct decoder *d, const char *path, const json_t *value, double *ret_value)
{
    if (!json_is_number(value)) {
        return expected(d, path, "a number");
    }
    *ret_value = json_number_value(value);
    return 0;
}

/* ---- messages ---- */

static int is_marked(const json_t *holder)
{
    return json_is_object(json_object_get(holder, "cache_control"));
}

/* The texts of all parts, one behind the other. */
static int join_parts(struct decoder *d, const char *path, const json_t *parts, struct atoll_llm_message *m,
                      struct atoll_buffer *text)
{
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        const json_t *words = json_object_get(part, "text");
        if (strcmp(atoll_json_member(part, "type"), "text") != 0 || !json_is_string(words)) {
            return atoll_err_set(d->err, ATOLL_E_INPUT, "%s[%zu]: only parts of type text can be read", path,
                                 i);
        }
        atoll_buffer_put_bytes(text, json_string_value(words), json_string_length(words));
        m->is_cacheable |= is_marked(part);
    }
    if (atoll_buffer_check(text, d->err)) {
        return -1;
    }
    m->text = atoll_arena_text(d->arena, text->length ? (const char *)text->data : "", text->length, d->err);
    return m->text ? 0 : -1;
}

static int read_content(struct decoder *d, const char *path, const json_t *value, struct atoll_llm_message *m)
{
    if (!json_is_array(value)) {
        return json_is_string(value) ? take_text(d, path, value, &m->text)
                                     : expected(d, path, "a text, or a list of parts,");
    }
    struct atoll_buffer text;
    atoll_buffer_init(&text, ATOLL_LLM_TEXT_BYTES);
    int status = join_parts(d, path, value, m, &text);
    atoll_buffer_fini(&text);
    return status;
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
    return expected(d, path, "system, developer, user or assistant");
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
    if (check_count(d, path, value)) {
        return -1;
    }
    json_array_foreach(value, i, one)
    {
        char place[64];
        struct atoll_llm_message *m = &d->request.messages[i];
        snprintf(place, sizeof place, "%s[%zu].role", path, i);
        if (read_role(d, place, atoll_json_member(one, "role"), &m->role)) {
            return -1;
        }
        snprintf(place, sizeof place, "%s[%zu].content", path, i);
        m->is_cacheable = is_marked(one);
        if (read_content(d, place, json_object_get(one, "content"), m)) {
            return -1;
        }
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
    if (check_count(d, path, value)) {
        return -1;
    }
    json_array_foreach(value, i, one)
    {
        char place[64];
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        d->request.messages[i].role = ATOLL_LLM_USER;
        if (take_text(d, place, one, &d->request.messages[i].text)) {
            return -1;
        }
    }
    d->request.message_count = i;
    return 0;
}

/* ---- members of the body ---- */

static int read_model(struct decoder *d, const char *path, const json_t *value)
{
    return take_text(d, path, value, &d->request.model);
}

static int read_limit(struct decoder *d, const char *path, const json_t *value)
{
    return take_count(d, path, value, 1, &d->request.max_output_tokens);
}

static int read_temperature(struct decoder *d, const char *path, const json_t *value)
{
    return take_real(d, path, value, &d->request.temperature);
}

static int read_top_p(struct decoder *d, const char *path, const json_t *value)
{
    return take_real(d, path, value, &d->request.top_p);
}

static int read_seed(struct decoder *d, const char *path, const json_t *value)
{
    return take_integer(d, path, value, -1, INT64_MAX, &d->request.seed);
}

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
    for (size_t i = 0; word && i < sizeof efforts / sizeof *efforts; i++) {
        if (strcmp(word, efforts[i].word) == 0) {
            d->request.effort = efforts[i].effort;
            return 0;
        }
    }
    return expected(d, path, "minimal, low, medium or high");
}

static int read_schema(struct decoder *d, const char *path, const json_t *schema)
{
    struct atoll_buffer text;
    atoll_buffer_init(&text, ATOLL_LLM_TEXT_BYTES);
    int status = json_is_object(schema) ? atoll_json_put(&text, schema, d->err)
                                        : expected(d, "response_format.json_schema.schema", "an object");
    if (!status) {
        d->request.schema = atoll_arena_text(d->arena, (const char *)text.data, text.length, d->err);
        status = d->request.schema ? 0 : -1;
    }
    atoll_buffer_fini(&text);
    return status;
}

static int read_format(struct decoder *d, const char *path, const json_t *value)
{
    const char *type = atoll_json_member(value, "type");
    if (strcmp(type, "text") == 0) {
        return 0;
    }
    if (strcmp(type, "json_schema") != 0) {
        return expected(d, path, "type text or json_schema");
    }
    return read_schema(d, path, json_object_get(json_object_get(value, "json_schema"), "schema"));
}

static int read_stream(struct decoder *d, const char *path, const json_t *value)
{
    return json_is_false(value) ? 0
                                : atoll_err_set(d->err, ATOLL_E_INPUT,
                                                "%s: the gateway answers in one piece; send false", path);
}

static int read_answer_count(struct decoder *d, const char *path, const json_t *value)
{
    int64_t one;
    return take_integer(d, path, value, 1, 1, &one);
}

/* ---- members of "atoll" ---- */

static int read_sample(struct decoder *d, const char *path, const json_t *value)
{
    int64_t v = 0;
    int status = take_integer(d, path, value, 0, INT64_MAX, &v);
    d->request.sample = (uint64_t)v;
    return status;
}

static int read_key(struct decoder *d, const char *path, const json_t *value)
{
    return take_text(d, path, value, &d->request.key);
}

static int read_campaign(struct decoder *d, const char *path, const json_t *value)
{
    return take_text(d, path, value, &d->request.campaign);
}

static int read_task(struct decoder *d, const char *path, const json_t *value)
{
    return take_text(d, path, value, &d->request.task);
}

static int read_purpose(struct decoder *d, const char *path, const json_t *value)
{
    return take_text(d, path, value, &d->request.purpose);
}

static int read_generation(struct decoder *d, const char *path, const json_t *value)
{
    return take_count(d, path, value, 0, &d->request.generation);
}

static int read_deadline(struct decoder *d, const char *path, const json_t *value)
{
    return take_real(d, path, value, &d->request.deadline_s);
}

static const struct member atoll_members[] = {
    {"sample", read_sample},       {"key", read_key},         {"campaign", read_campaign},
    {"task", read_task},           {"purpose", read_purpose}, {"generation", read_generation},
    {"deadline_s", read_deadline},
};

static int read_atoll(struct decoder *d, const char *path, const json_t *value)
{
    if (!json_is_object(value)) {
        return expected(d, path, "an object");
    }
    return read_members(d, value, "atoll.", atoll_members, sizeof atoll_members / sizeof *atoll_members);
}

/* "input" stands before "messages": a body with both is a chat. */
static const struct member members[] = {
    {"model", read_model},
    {"input", read_input},
    {"messages", read_messages},
    {"max_tokens", read_limit},
    {"max_completion_tokens", read_limit},
    {"temperature", read_temperature},
    {"top_p", read_top_p},
    {"seed", read_seed},
    {"reasoning_effort", read_effort},
    {"response_format", read_format},
    {"stream", read_stream},
    {"n", read_answer_count},
    {"atoll", read_atoll},
};

static int read_body(struct decoder *d, const json_t *body)
{
    if (!json_is_object(body)) {
        return expected(d, "request", "an object");
    }
    if (read_members(d, body, "", members, sizeof members / sizeof *members)) {
        return -1;
    }
    return atoll_llm_request_check(&d->request, d->err);
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
    json_t *body = atoll_json_load(bytes, length, REQUEST_VALUE_LIMIT, JSON_REJECT_DUPLICATES, &why);
    if (!body) {
        return atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT, "request: %s",
                             why.text);
    }
    atoll_llm_request_init(&d.request);
    int status = read_body(&d, body);
    json_decref(body);
    if (!status) {
        *ret_request = d.request;
    }
    return status;
}
