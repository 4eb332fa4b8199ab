/* request.c - names, limits, identity and JSON of requests.  What encode lets pass, decode reads back as the same request
 * with the same id. */
#include "llm-gateway/request/request.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core/ask.h"
#include "base/json.h"
#include "base/utf8.h"

#define NAME_BYTES 256u
#define LONGEST_S  (31.0 * 86400.0)
#define MESSAGE_TOKENS                                                                                       \
    16u /* roles and separators that a chat template puts around a message; the largest seen is 8 */
#define REQUEST_TOKENS 64u /* its beginning, its end and a provider's own lines */
#define CALL_TOKENS    64u /* what stands around a tool or a call: type, id, braces */
#define TOOL_TOKENS                                                                                          \
    1024u /* the system text that a provider adds where tools are told (Anthropic documents up to 804) */

static const char *const role_names[ATOLL_LLM_ROLE_COUNT] = {"system", "user", "assistant", "tool"};
static const char *const effort_names[ATOLL_LLM_EFFORT_COUNT] = {"", "minimal", "low", "medium", "high"};

const char *atoll_llm_role_name(enum atoll_llm_role role)
{
    return (unsigned)role < ATOLL_LLM_ROLE_COUNT ? role_names[role] : "?";
}

const char *atoll_llm_effort_name(enum atoll_llm_effort effort)
{
    return (unsigned)effort < ATOLL_LLM_EFFORT_COUNT ? effort_names[effort] : "?";
}

void atoll_llm_request_init(struct atoll_llm_request *request)
{
    memset(request, 0, sizeof(*request));
    request->temperature = request->top_p = NAN;
    request->seed = -1;
    request->model = request->key = request->campaign = request->task = request->purpose = "";
}

/* ---- what it may be ---- */

static int check_text(const char *member, const char *text, size_t limit, struct atoll_err *err)
{
    if (!text)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: a text is expected", member);
    size_t length = strlen(text), valid = atoll_utf8_valid_bytes(text, length);
    if (length > limit)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %zu bytes, the limit is %zu", member, length, limit);
    if (valid < length)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: byte %zu is not UTF-8", member, valid);
    return 0;
}

static int check_names(const struct atoll_llm_request *request, struct atoll_err *err)
{
    const struct {
        const char *member, *text;
    } names[] = {{"model", request->model},
                 {"atoll.key", request->key},
                 {"atoll.campaign", request->campaign},
                 {"atoll.task", request->task},
                 {"atoll.purpose", request->purpose}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (check_text(names[i].member, names[i].text, NAME_BYTES, err))
            return -1;
    if (atoll_llm_request_is_by_role(request) && !*request->purpose)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "model: missing; name a model or an ensemble, or in atoll.purpose a role that "
                             "the gateway has a model for");
    return 0;
}

/* A text of a list's element, out of what all texts may have; the error names the place. */
static int check_part(const char *list, size_t index, const char *part, const char *text, size_t limit,
                      size_t *left, struct atoll_err *err)
{
    char place[64];
    snprintf(place, sizeof(place), "%s[%zu]%s%s", list, index, *part == '.' ? "" : ": ", part);
    if (check_text(place, text, limit < *left ? limit : *left, err))
        return -1;
    *left -= strlen(text);
    return 0;
}

static int check_calls(size_t index, const struct atoll_llm_message *m, size_t *left, struct atoll_err *err)
{
    static const char list[] = "messages";
    if (m->tool_call_count > ATOLL_LLM_TOOL_CALL_LIMIT || (m->tool_call_count && !m->tool_calls)) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s[%zu].tool_calls: %zu of them, the limit is %d", list,
                             index, m->tool_call_count, ATOLL_LLM_TOOL_CALL_LIMIT);
    }
    for (size_t i = 0; i < m->tool_call_count; i++) {
        const struct atoll_llm_tool_call *call = &m->tool_calls[i];
        if (check_part(list, index, ".tool_calls: id", call->id, ATOLL_LLM_CALL_ID_BYTES - 1, left, err) ||
            check_part(list, index, ".tool_calls: name", call->name, NAME_BYTES, left, err) ||
            check_part(list, index, ".tool_calls: arguments", call->arguments, ATOLL_LLM_ARGUMENT_BYTES, left,
                       err)) {
            return -1;
        }
        if (!*call->id || !atoll_llm_tool_name_is_valid(call->name)) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "%s[%zu].tool_calls: an id, and a name of 1 to 64 letters, digits, _ or - "
                                 "are expected",
                                 list, index);
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->tool_calls[k].id, call->id) == 0)
                return atoll_err_set(err, ATOLL_E_INPUT, "%s[%zu].tool_calls: id '%.64s' stands there twice",
                                     list, index, call->id);
    }
    return m->provider_state ? check_part(list, index, ".provider_state", m->provider_state,
                                          ATOLL_LLM_STATE_BYTES, left, err)
                             : 0;
}

/* Results stand behind the message that called, each once, and all of them: providers refuse anything else. */
static int check_results(const struct atoll_llm_request *request, struct atoll_err *err)
{
    const struct atoll_llm_message *caller = NULL;
    uint32_t open = 0; /* calls of it without a result, a bit each */
    for (size_t i = 0; i <= request->message_count; i++) {
        const struct atoll_llm_message *m = i < request->message_count ? &request->messages[i] : NULL;
        if (m && m->role == ATOLL_LLM_TOOL) {
            size_t k = 0;
            while (caller && k < caller->tool_call_count &&
                   (!(open & 1u << k) || strcmp(caller->tool_calls[k].id, m->tool_call_id) != 0))
                k++;
            if (!caller || k == caller->tool_call_count) {
                return atoll_err_set(
                    err, ATOLL_E_INPUT,
                    "messages[%zu].tool_call_id: '%.64s' is no open call of the message before", i,
                    m->tool_call_id);
            }
            open &= ~(1u << k);
            continue;
        }
        if (open) {
            return atoll_err_set(
                err, ATOLL_E_INPUT,
                "messages[%zu]: a call of a tool before it has no result; each needs a message "
                "of role tool",
                i);
        }
        caller = m;
        open = m && m->tool_call_count ? (uint32_t)((1ull << m->tool_call_count) - 1) : 0;
    }
    return 0;
}

static int check_tools(const struct atoll_llm_request *request, size_t *left, struct atoll_err *err)
{
    if (request->tool_count > ATOLL_LLM_TOOL_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "tools: %zu of them, the limit is %d", request->tool_count,
                             ATOLL_LLM_TOOL_LIMIT);
    for (size_t i = 0; i < request->tool_count; i++) {
        const struct atoll_llm_tool *tool = &request->tools[i];
        if (check_part("tools", i, ".function.name", tool->name, NAME_BYTES, left, err) ||
            check_part("tools", i, ".function.description", tool->description, *left, left, err) ||
            check_part("tools", i, ".function.parameters", tool->schema, *left, left, err)) {
            return -1;
        }
        if (!atoll_llm_tool_name_is_valid(tool->name)) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "tools[%zu].function.name: '%.64s' must be 1 to 64 letters, digits, _ or -",
                                 i, tool->name);
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(request->tools[k].name, tool->name) == 0)
                return atoll_err_set(err, ATOLL_E_INPUT, "tools[%zu].function.name: '%s' stands there twice",
                                     i, tool->name);
        struct atoll_err why = ATOLL_ERR_INIT;
        json_t *schema = atoll_llm_schema_load(tool->schema, &why);
        json_decref(schema);
        if (!schema)
            return atoll_err_set(err, why.code, "tools[%zu].function.parameters: %s", i, why.text);
    }
    return 0;
}

static int check_messages(const struct atoll_llm_request *request, struct atoll_err *err)
{
    const char *member = request->operation == ATOLL_LLM_EMBED ? "input" : "messages";
    size_t left = ATOLL_LLM_TEXT_BYTES;
    if (!request->message_count || request->message_count > ATOLL_LLM_MESSAGE_LIMIT) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %zu of them, 1 to %d are expected", member,
                             request->message_count, ATOLL_LLM_MESSAGE_LIMIT);
    }
    for (size_t i = 0; i < request->message_count; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        struct atoll_err why = ATOLL_ERR_INIT;
        if ((unsigned)m->role >= ATOLL_LLM_ROLE_COUNT)
            return atoll_err_set(err, ATOLL_E_INPUT, "%s[%zu].role: unknown", member, i);
        if (check_text("text", m->text, left, &why))
            return atoll_err_set(err, ATOLL_E_INPUT, "%s[%zu]: %s", member, i, why.text);
        left -= strlen(m->text);
        if (request->operation == ATOLL_LLM_EMBED)
            continue;
        if (m->tool_call_count && m->role != ATOLL_LLM_ASSISTANT)
            return atoll_err_set(err, ATOLL_E_INPUT, "messages[%zu].tool_calls: only an assistant calls", i);
        if (m->role == ATOLL_LLM_TOOL && !m->tool_call_id)
            return atoll_err_set(err, ATOLL_E_INPUT, "messages[%zu].tool_call_id: a text is expected", i);
        if (m->role == ATOLL_LLM_TOOL && check_part("messages", i, ".tool_call_id", m->tool_call_id,
                                                    ATOLL_LLM_CALL_ID_BYTES - 1, &left, err))
            return -1;
        if (m->tool_call_count && check_calls(i, m, &left, err))
            return -1;
    }
    if (request->operation == ATOLL_LLM_CHAT &&
        (check_results(request, err) || check_tools(request, &left, err)))
        return -1;
    return request->schema ? check_text("response_format", request->schema, left, err) : 0;
}

static int check_range(const char *member, double v, double low, double high, struct atoll_err *err)
{
    if (!isnan(v) && !(v >= low && v <= high))
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %g is not within %g and %g", member, v, low, high);
    return 0;
}

static int check_numbers(const struct atoll_llm_request *request, struct atoll_err *err)
{
    if (check_range("temperature", request->temperature, 0, 2, err) ||
        check_range("top_p", request->top_p, 0, 1, err) ||
        check_range("atoll.deadline_s", request->deadline_s, 0, LONGEST_S, err)) {
        return -1;
    }
    if (isnan(request->deadline_s))
        return atoll_err_set(err, ATOLL_E_INPUT, "atoll.deadline_s: no number");
    if (request->seed < -1)
        return atoll_err_set(err, ATOLL_E_INPUT, "seed: %lld is negative", (long long)request->seed);
    if (request->sample > INT64_MAX)
        return atoll_err_set(err, ATOLL_E_INPUT, "atoll.sample: beyond 63 bits");
    if ((unsigned)request->effort >= ATOLL_LLM_EFFORT_COUNT)
        return atoll_err_set(err, ATOLL_E_INPUT, "reasoning_effort: unknown");
    return 0;
}

int atoll_llm_request_check(const struct atoll_llm_request *request, struct atoll_err *err)
{
    if ((unsigned)request->operation >= ATOLL_LLM_OPERATION_COUNT)
        return atoll_err_set(err, ATOLL_E_INPUT, "operation %u is unknown", (unsigned)request->operation);
    return check_names(request, err) || check_messages(request, err) || check_numbers(request, err) ? -1 : 0;
}

json_t *atoll_llm_answer_schema_load(const char *schema, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document = atoll_llm_schema_load(schema, &why);
    if (!document)
        atoll_err_set(err, why.code, "response_format.json_schema.schema: %s", why.text);
    return document;
}

/* ---- JSON ---- */

/* content is null where an assistant called without a word; "provider_state" and "is_error" are ours. */
static json_t *message_json(const struct atoll_llm_message *m)
{
    json_t *one = json_object();
    int is_silent = m->tool_call_count && !*m->text;
    int failed =
        json_object_set_new(one, "role", json_string(role_names[m->role])) ||
        (m->role == ATOLL_LLM_TOOL &&
         json_object_set_new(one, "tool_call_id", json_string(m->tool_call_id))) ||
        json_object_set_new(one, "content", is_silent ? json_null() : json_string(m->text)) ||
        (m->tool_call_count &&
         json_object_set_new(one, "tool_calls",
                             atoll_llm_tool_calls_json(m->tool_calls, m->tool_call_count))) ||
        (m->tool_call_count && m->provider_state &&
         json_object_set_new(one, "provider_state", json_string(m->provider_state))) ||
        (m->role == ATOLL_LLM_TOOL && m->is_error && json_object_set_new(one, "is_error", json_true()));
    if (failed) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static json_t *messages_json(const struct atoll_llm_request *request)
{
    json_t *list = json_array();
    int failed = !list;
    for (size_t i = 0; i < request->message_count && !failed; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        json_t *one = request->operation == ATOLL_LLM_EMBED ? json_string(m->text) : message_json(m);
        failed = json_array_append_new(list, one) != 0;
        if (!failed && m->is_cacheable && request->operation == ATOLL_LLM_CHAT)
            failed = json_object_set_new(one, "cache_control", json_pack("{s:s}", "type", "ephemeral")) != 0;
    }
    if (failed) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* 0 and a member set, or nothing to say. */
static int set_text(json_t *object, const char *key, const char *text)
{
    return *text ? json_object_set_new(object, key, json_string(text)) : 0;
}

static int set_count(json_t *object, const char *key, uint64_t v)
{
    return v ? json_object_set_new(object, key, json_integer((json_int_t)v)) : 0;
}

static int set_real(json_t *object, const char *key, double v)
{
    return isnan(v) ? 0 : json_object_set_new(object, key, json_real(v));
}

static int set_tools(json_t *object, const struct atoll_llm_request *r)
{
    if (r->operation != ATOLL_LLM_CHAT || !r->tool_count)
        return 0;
    return json_object_set_new(object, "tools", atoll_llm_tools_json(r->tools, r->tool_count)) ||
           (r->is_tool_free && json_object_set_new(object, "tool_choice", json_string("none")));
}

/* schema: stolen, NULL none. */
static json_t *request_json(const struct atoll_llm_request *r, json_t *schema)
{
    json_t *o = json_object(), *about = json_object();
    json_t *format = schema ? json_pack("{s:s,s:{s:s,s:b,s:o}}", "type", "json_schema", "json_schema", "name",
                                        "answer", "strict", 1, "schema", schema)
                            : NULL;
    int failed =
        !o || !about || (schema && !format) || set_text(o, "model", r->model) ||
        json_object_set_new(o, r->operation == ATOLL_LLM_EMBED ? "input" : "messages", messages_json(r)) ||
        set_count(o, "max_completion_tokens", r->max_output_tokens) ||
        set_real(o, "temperature", r->temperature) || set_real(o, "top_p", r->top_p) ||
        (r->seed >= 0 && json_object_set_new(o, "seed", json_integer(r->seed))) ||
        set_text(o, "reasoning_effort", effort_names[r->effort]) ||
        (format && json_object_set(o, "response_format", format)) || set_tools(o, r) ||
        set_count(about, "sample", r->sample) || set_text(about, "key", r->key) ||
        set_text(about, "campaign", r->campaign) || set_text(about, "task", r->task) ||
        set_text(about, "purpose", r->purpose) || set_count(about, "generation", r->generation) ||
        (r->deadline_s > 0 && set_real(about, "deadline_s", r->deadline_s)) ||
        (json_object_size(about) && json_object_set(o, "atoll", about));
    json_decref(format);
    json_decref(about);
    if (failed) {
        json_decref(o);
        return NULL;
    }
    return o;
}

int atoll_llm_request_encode(const struct atoll_llm_request *request, struct atoll_buffer *out,
                             struct atoll_err *err)
{
    json_t *schema = NULL;
    if (atoll_llm_request_check(request, err))
        return -1;
    if (request->schema && !(schema = atoll_llm_answer_schema_load(request->schema, err)))
        return -1;
    json_t *document = request_json(request, schema);
    int status = atoll_json_put(out, document, err);
    json_decref(document);
    return status;
}

/* ---- identity ---- */

static void hash_u64(crypto_generichash_state *hash, uint64_t v)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(v >> (8 * i));
    crypto_generichash_update(hash, bytes, sizeof(bytes));
}

static void hash_text(crypto_generichash_state *hash, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    hash_u64(hash, length);
    crypto_generichash_update(hash, (const unsigned char *)text, length);
}

static void hash_real(crypto_generichash_state *hash, double v)
{
    uint64_t bits = UINT64_MAX; /* unsaid: a NaN that no arithmetic makes */
    double plain = v + 0.0;     /* -0 and 0 are one value */
    if (!isnan(v))
        memcpy(&bits, &plain, sizeof(bits));
    hash_u64(hash, bits);
}

/* The schema as encode writes it; what is no schema, or where memory lacks, as it stands. */
static void hash_schema(crypto_generichash_state *hash, const char *schema)
{
    struct atoll_buffer text;
    json_t *document = schema ? atoll_llm_schema_load(schema, NULL) : NULL;
    atoll_buffer_init(&text, 16 * ATOLL_LLM_TEXT_BYTES);
    if (document && !atoll_json_put(&text, document, NULL)) {
        hash_u64(hash, text.length);
        crypto_generichash_update(hash, text.data, text.length);
    } else {
        hash_text(hash, schema);
    }
    atoll_buffer_fini(&text);
    json_decref(document);
}

int atoll_llm_request_is_by_role(const struct atoll_llm_request *request)
{
    return request->model && (!*request->model || strcmp(request->model, ATOLL_LLM_BY_ROLE) == 0);
}

int atoll_llm_request_may_call(const struct atoll_llm_request *request)
{
    return request->operation == ATOLL_LLM_CHAT && request->tool_count && !request->is_tool_free;
}

size_t atoll_llm_request_first_call(const struct atoll_llm_request *request)
{
    size_t first = 0;
    while (first < request->message_count && first < ATOLL_LLM_MESSAGE_LIMIT &&
           !request->messages[first].tool_call_count)
        first++;
    return first;
}

/* Behind all else, and only where there are any: requests without tools keep the ids they had before there were tools. */
static void hash_tools(crypto_generichash_state *hash, const struct atoll_llm_request *request)
{
    hash_text(hash, "tools");
    hash_u64(hash, request->tool_count);
    for (size_t i = 0; i < request->tool_count && i < ATOLL_LLM_TOOL_LIMIT; i++) {
        hash_text(hash, request->tools[i].name);
        hash_text(hash, request->tools[i].description);
        hash_schema(hash, request->tools[i].schema);
    }
    hash_u64(hash, request->is_tool_free && request->tool_count);
    for (size_t i = 0; i < request->message_count && i < ATOLL_LLM_MESSAGE_LIMIT; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        hash_u64(hash, m->tool_call_count);
        for (size_t k = 0; k < m->tool_call_count; k++) {
            hash_text(hash, m->tool_calls[k].id);
            hash_text(hash, m->tool_calls[k].name);
            hash_text(hash, m->tool_calls[k].arguments);
        }
        hash_text(hash, m->role == ATOLL_LLM_TOOL ? m->tool_call_id : NULL);
        hash_u64(hash, m->role == ATOLL_LLM_TOOL && m->is_error);
    }
}

struct atoll_id atoll_llm_request_conversation(const struct atoll_llm_request *request)
{
    struct atoll_llm_request first = *request;
    first.message_count = atoll_llm_request_first_call(request);
    first.tool_count = 0;
    return atoll_llm_request_id(&first);
}

struct atoll_id atoll_llm_request_id(const struct atoll_llm_request *request)
{
    static const char domain[] = "atoll llm request 1";
    crypto_generichash_state hash;
    struct atoll_id id;
    int is_chat = request->operation == ATOLL_LLM_CHAT;
    crypto_generichash_init(&hash, NULL, 0, sizeof(id.bytes));
    hash_text(&hash, domain);
    hash_u64(&hash, request->operation);
    hash_text(&hash, request->model);
    hash_u64(&hash, request->message_count);
    for (size_t i = 0; i < request->message_count && i < ATOLL_LLM_MESSAGE_LIMIT; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        hash_u64(&hash, is_chat ? (uint64_t)m->role << 1 | (m->is_cacheable != 0) : 0);
        hash_text(&hash, m->text);
    }
    hash_u64(&hash, request->max_output_tokens);
    hash_real(&hash, request->temperature);
    hash_real(&hash, request->top_p);
    hash_u64(&hash, (uint64_t)request->seed);
    hash_u64(&hash, request->effort);
    hash_u64(&hash, request->schema != NULL);
    hash_schema(&hash, request->schema);
    hash_u64(&hash, request->sample);
    if (atoll_llm_request_is_by_role(request))
        hash_text(&hash, request->purpose);
    if (is_chat && (request->tool_count || atoll_llm_request_first_call(request) < request->message_count))
        hash_tools(&hash, request);
    crypto_generichash_final(&hash, id.bytes, sizeof(id.bytes));
    return id;
}

/* ---- size ---- */

static uint64_t text_bytes(const struct atoll_llm_request *request)
{
    uint64_t bytes = request->schema ? strlen(request->schema) : 0;
    for (size_t i = 0; i < request->message_count && i < ATOLL_LLM_MESSAGE_LIMIT; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        bytes += strlen(m->text) + (m->provider_state ? strlen(m->provider_state) : 0);
        for (size_t k = 0; k < m->tool_call_count; k++)
            bytes += strlen(m->tool_calls[k].name) + strlen(m->tool_calls[k].arguments) + CALL_TOKENS;
    }
    for (size_t i = 0; i < request->tool_count && i < ATOLL_LLM_TOOL_LIMIT; i++)
        bytes += strlen(request->tools[i].name) + strlen(request->tools[i].description) +
                 strlen(request->tools[i].schema) + CALL_TOKENS;
    return bytes;
}

uint64_t atoll_llm_request_input_bound(const struct atoll_llm_request *request)
{
    return text_bytes(request) + MESSAGE_TOKENS * (uint64_t)request->message_count + REQUEST_TOKENS +
           (request->tool_count ? TOOL_TOKENS : 0);
}

uint64_t atoll_llm_request_input_estimate(const struct atoll_llm_request *request)
{
    return text_bytes(request) / ATOLL_BYTES_PER_TOKEN + 1;
}

/* ---- a copy in one block: calls first, for their alignment, then texts ---- */

static size_t bytes_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *move_text(const char *text, char **room)
{
    size_t bytes = bytes_of(text);
    char *copy = *room;
    if (!text)
        return NULL;
    memcpy(copy, text, bytes);
    *room += bytes;
    return copy;
}

size_t atoll_llm_request_copy_bytes(const struct atoll_llm_request *request)
{
    size_t bytes = bytes_of(request->model) + bytes_of(request->key) + bytes_of(request->campaign) +
                   bytes_of(request->task) + bytes_of(request->purpose) + bytes_of(request->schema);
    for (size_t i = 0; i < request->message_count; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        bytes += bytes_of(m->text) + bytes_of(m->provider_state) + bytes_of(m->tool_call_id) +
                 m->tool_call_count * sizeof(*m->tool_calls);
        for (size_t k = 0; k < m->tool_call_count; k++)
            bytes += bytes_of(m->tool_calls[k].id) + bytes_of(m->tool_calls[k].name) +
                     bytes_of(m->tool_calls[k].arguments);
    }
    for (size_t i = 0; i < request->tool_count; i++)
        bytes += bytes_of(request->tools[i].name) + bytes_of(request->tools[i].description) +
                 bytes_of(request->tools[i].schema);
    return bytes;
}

void atoll_llm_request_copy(const struct atoll_llm_request *request, void *room,
                            struct atoll_llm_request *ret_request)
{
    struct atoll_llm_request *to = ret_request;
    struct atoll_llm_tool_call *calls = room;
    *to = *request;
    for (size_t i = 0; i < request->message_count; i++) {
        struct atoll_llm_message *m = &to->messages[i];
        if (m->tool_call_count)
            memcpy(calls, m->tool_calls, m->tool_call_count * sizeof(*calls));
        m->tool_calls = m->tool_call_count ? calls : NULL;
        calls += m->tool_call_count;
    }
    char *text = (char *)calls;
    calls = room;
    to->model = move_text(request->model, &text);
    to->key = move_text(request->key, &text);
    to->campaign = move_text(request->campaign, &text);
    to->task = move_text(request->task, &text);
    to->purpose = move_text(request->purpose, &text);
    to->schema = move_text(request->schema, &text);
    for (size_t i = 0; i < request->message_count; i++) {
        struct atoll_llm_message *m = &to->messages[i];
        m->text = move_text(m->text, &text);
        m->provider_state = move_text(m->provider_state, &text);
        m->tool_call_id = move_text(m->tool_call_id, &text);
        for (size_t k = 0; k < m->tool_call_count; k++, calls++) {
            calls->id = move_text(calls->id, &text);
            calls->name = move_text(calls->name, &text);
            calls->arguments = move_text(calls->arguments, &text);
        }
    }
    for (size_t i = 0; i < request->tool_count; i++) {
        to->tools[i].name = move_text(to->tools[i].name, &text);
        to->tools[i].description = move_text(to->tools[i].description, &text);
        to->tools[i].schema = move_text(to->tools[i].schema, &text);
    }
}
