/* fuzz_llm_reply.c - any bytes as a reply of each dialect, at once and in pieces: the same outcome, texts that are UTF-8 with
 * a NUL behind, a usage that adds up; and what became of it comes back from its bytes and from its JSON.  The last two bytes
 * choose pieces, operation, HTTP status and how the transfer ended. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/provider/provider.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int statuses[] = {200, 200, 200, 400, 429, 529, 302, 0};

struct exchange {
    const uint8_t *data;
    size_t size;
    enum atoll_provider provider;
    enum atoll_llm_operation operation;
    int http_status, is_whole;
};

static void read_reply(const struct exchange *x, int is_whole, unsigned seed, struct atoll_llm_outcome *o)
{
    struct atoll_reply_reader *reader = atoll_reply_reader_create(x->provider, x->operation, NULL);
    size_t at = 0;
    if (!reader)
        abort();
    while (at < x->size) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = is_whole ? x->size : 1 + (seed >> 16) % 30;
        piece = piece < x->size - at ? piece : x->size - at;
        if (atoll_reply_reader_feed(reader, x->data + at, piece))
            break;
        at += piece;
    }
    atoll_llm_outcome_init(o);
    atoll_reply_reader_finish(reader, x->http_status, x->is_whole, o);
    atoll_reply_reader_destroy(reader);
}

static void check_text(const struct atoll_buffer *text)
{
    if (!text->data)
        return;
    if (text->data[text->length] || memchr(text->data, 0, text->length) ||
        atoll_utf8_valid_bytes(text->data, text->length) != text->length)
        abort();
}

static void check_usage(const struct atoll_llm_usage *u)
{
    if (u->is_estimated)
        return;
    if (u->cached_input + u->cache_write > u->input || u->reasoning > u->output || u->input > 4000000000u ||
        u->output > 4000000000u)
        abort();
}

static int same_text(const struct atoll_buffer *a, const struct atoll_buffer *b)
{
    return a->length == b->length && (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

static int same_calls(const struct atoll_llm_outcome *a, const struct atoll_llm_outcome *b)
{
    int is_same = a->tool_call_count == b->tool_call_count;
    for (size_t i = 0; is_same && i < a->tool_call_count; i++)
        is_same = strcmp(a->tool_calls[i].id, b->tool_calls[i].id) == 0 &&
                  strcmp(a->tool_calls[i].name, b->tool_calls[i].name) == 0 &&
                  strcmp(a->tool_calls[i].arguments, b->tool_calls[i].arguments) == 0;
    return is_same;
}

static void compare(const struct atoll_llm_outcome *a, const struct atoll_llm_outcome *b)
{
    if (a->status != b->status || strcmp(a->detail, b->detail) != 0 || strcmp(a->finish, b->finish) != 0 ||
        strcmp(a->model, b->model) != 0 || !same_text(&a->text, &b->text) ||
        !same_text(&a->provider_state, &b->provider_state) || !same_calls(a, b) ||
        !same_text(&a->reasoning, &b->reasoning) || memcmp(&a->usage, &b->usage, sizeof(a->usage)) != 0)
        abort();
}

/* Calls are there with their status and never else; ids and names are what every provider takes back. */
static void check_calls(const struct atoll_llm_outcome *o)
{
    if ((o->status == ATOLL_LLM_TOOL_CALLS) != (o->tool_call_count > 0) ||
        o->tool_call_count > ATOLL_LLM_TOOL_CALL_LIMIT || (o->provider_state.length && !o->tool_call_count))
        abort();
    check_text(&o->provider_state);
    for (size_t i = 0; i < o->tool_call_count; i++) {
        const struct atoll_llm_tool_call *call = &o->tool_calls[i];
        if (!*call->id || !atoll_llm_tool_name_is_valid(call->name) || !*call->arguments)
            abort();
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->tool_calls[k].id, call->id) == 0)
                abort();
    }
}

/* What was called goes back to each provider, with results. */
static void send_back(const struct atoll_llm_outcome *o)
{
    static const struct atoll_provider_model model = {
        .model = "m", .max_output_tokens = 9000, .effort = ATOLL_LLM_EFFORT_HIGH};
    struct atoll_llm_request request;
    struct atoll_buffer out;
    atoll_llm_request_init(&request);
    atoll_buffer_init(&out, (size_t)1 << 28);
    request.model = "m";
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = "a"};
    request.messages[1] = (struct atoll_llm_message){
        .role = ATOLL_LLM_ASSISTANT,
        .text = o->text.data ? (const char *)o->text.data : "",
        .tool_call_count = o->tool_call_count,
        .tool_calls = o->tool_calls,
        .provider_state = o->provider_state.length ? (const char *)o->provider_state.data : NULL};
    for (size_t i = 0; i < o->tool_call_count; i++)
        request.messages[2 + i] = (struct atoll_llm_message){
            .role = ATOLL_LLM_TOOL, .text = "r", .tool_call_id = o->tool_calls[i].id};
    request.message_count = 2 + o->tool_call_count;
    for (int i = 0; i < ATOLL_PROVIDER_COUNT; i++) {
        atoll_buffer_clear(&out);
        if (atoll_provider_body((enum atoll_provider)i, &request, &model, &out, NULL))
            abort();
    }
    atoll_buffer_fini(&out);
}

static void come_back(const struct atoll_llm_outcome *o)
{
    struct atoll_llm_outcome again;
    struct atoll_buffer bytes;
    atoll_llm_outcome_init(&again);
    atoll_buffer_init(&bytes, (size_t)1 << 28);
    atoll_llm_outcome_encode(o, &bytes);
    if (bytes.failed || atoll_llm_outcome_decode(bytes.data, bytes.length, &again, NULL))
        abort();
    compare(o, &again);
    atoll_buffer_clear(&bytes);
    if (atoll_llm_outcome_json(o, &bytes, NULL) || atoll_reply_parse(bytes.data, bytes.length, &again, NULL))
        abort();
    if (again.status != o->status || !same_text(&again.text, &o->text) || !same_calls(&again, o))
        abort();
    atoll_buffer_fini(&bytes);
    atoll_llm_outcome_fini(&again);
}

static void ignore(void *context, const char *id)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t a = size > 1 ? data[size - 2] : 0, b = size ? data[size - 1] : 0;
    for (int i = 0; i < ATOLL_PROVIDER_COUNT; i++) {
        const struct exchange x = {.data = data,
                                   .size = size,
                                   .provider = (enum atoll_provider)i,
                                   .operation = a % 5 == 4 ? ATOLL_LLM_EMBED : ATOLL_LLM_CHAT,
                                   .http_status = statuses[b % 8],
                                   .is_whole = a % 2};
        struct atoll_llm_outcome whole, pieces;
        read_reply(&x, 1, 0, &whole);
        read_reply(&x, 0, a * 256u + b, &pieces);
        compare(&whole, &pieces);
        check_text(&whole.text);
        check_text(&whole.reasoning);
        check_usage(&whole.usage);
        check_calls(&whole);
        come_back(&whole);
        if (whole.tool_call_count)
            send_back(&whole);
        atoll_llm_outcome_fini(&whole);
        atoll_llm_outcome_fini(&pieces);
        atoll_provider_models(x.provider, data, size, ignore, NULL, NULL);
    }
    return 0;
}
