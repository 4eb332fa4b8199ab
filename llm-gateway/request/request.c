/* request.c - names, limits, identity and JSON of requests.  What encode lets pass, decode reads back as the same request
 * with the same id. */
#include "llm-gateway/request/request.h"

#include <math.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/utf8.h"

#define NAME_BYTES 256u
#define LONGEST_S  (31.0 * 86400.0)
#define MESSAGE_TOKENS                                                                                       \
    16u /* roles and separators that a chat template puts around a message; the largest seen is 8 */
#define REQUEST_TOKENS  64u /* its beginning, its end and a provider's own lines */
#define BYTES_PER_TOKEN 3u

static const char *const role_names[ATOLL_LLM_ROLE_COUNT] = {"system", "user", "assistant"};
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
    if (!*request->model)
        return atoll_err_set(err, ATOLL_E_INPUT, "model: missing; name a model or an ensemble");
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
    }
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

json_t *atoll_llm_schema_load(const char *schema, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document =
        atoll_json_load(schema, strlen(schema), ATOLL_LLM_REQUEST_VALUES, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(document))
        return document;
    json_decref(document);
    atoll_err_set(err, document || why.code == ATOLL_E_LIMIT ? ATOLL_E_INPUT : why.code,
                  "response_format.json_schema.schema: %s", document ? "an object is expected" : why.text);
    return NULL;
}

/* ---- JSON ---- */

static json_t *messages_json(const struct atoll_llm_request *request)
{
    json_t *list = json_array();
    int failed = !list;
    for (size_t i = 0; i < request->message_count && !failed; i++) {
        const struct atoll_llm_message *m = &request->messages[i];
        json_t *one = request->operation == ATOLL_LLM_EMBED
                          ? json_string(m->text)
                          : json_pack("{s:s,s:s}", "role", role_names[m->role], "content", m->text);
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
        (format && json_object_set(o, "response_format", format)) || set_count(about, "sample", r->sample) ||
        set_text(about, "key", r->key) || set_text(about, "campaign", r->campaign) ||
        set_text(about, "task", r->task) || set_text(about, "purpose", r->purpose) ||
        set_count(about, "generation", r->generation) ||
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
    if (request->schema && !(schema = atoll_llm_schema_load(request->schema, err)))
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
    crypto_generichash_final(&hash, id.bytes, sizeof(id.bytes));
    return id;
}

/* ---- size ---- */

static uint64_t text_bytes(const struct atoll_llm_request *request)
{
    uint64_t bytes = request->schema ? strlen(request->schema) : 0;
    for (size_t i = 0; i < request->message_count && i < ATOLL_LLM_MESSAGE_LIMIT; i++)
        bytes += strlen(request->messages[i].text);
    return bytes;
}

uint64_t atoll_llm_request_input_bound(const struct atoll_llm_request *request)
{
    return text_bytes(request) + MESSAGE_TOKENS * (uint64_t)request->message_count + REQUEST_TOKENS;
}

uint64_t atoll_llm_request_input_estimate(const struct atoll_llm_request *request)
{
    return text_bytes(request) / BYTES_PER_TOKEN + 1;
}
