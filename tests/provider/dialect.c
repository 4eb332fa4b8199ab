/* dialect.c - what all dialects write alike, and embeddings, which all servers compatible with OpenAI's have. */
#include "tests/provider/dialect.h"

#include <string.h>

void dialect_put_text(struct atoll_buffer *out, const char *text, size_t length)
{
    atoll_buffer_put_bytes(out, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            atoll_buffer_printf(out, "\\%c", c);
        else if (c < ' ')
            atoll_buffer_printf(out, "\\u%04x", c);
        else
            atoll_buffer_put_bytes(out, &c, 1);
    }
    atoll_buffer_put_bytes(out, "\"", 1);
}

void dialect_put_count(struct atoll_buffer *out, const struct scenario *scenario, double count)
{
    static const char *const formats[] = {[USAGE_RIGHT] = "%.0f",
                                          [USAGE_MISSING] = "%.0f",
                                          [USAGE_NEGATIVE] = "-%.0f",
                                          [USAGE_TEXT] = "\"%.0f\"",
                                          [USAGE_HUGE] = "%.0f"};
    if (scenario->usage == USAGE_HUGE)
        count = 1e18;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    atoll_buffer_printf(out, formats[scenario->usage], count);
#pragma GCC diagnostic pop
}

size_t dialect_piece(const char *text)
{
    size_t length = strcspn(text, " ");
    return text[length] ? length + 1 : length;
}

void dialect_send(struct dialect_writer *writer, const char *event)
{
    writer->emit(writer->context, event, (const char *)writer->data.data, writer->data.length);
    atoll_buffer_clear(&writer->data);
}

const char *dialect_error_type(int status)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{400, "invalid_request_error"}, {401, "authentication_error"}, {402, "billing_error"},
                 {403, "permission_error"},      {404, "not_found_error"},      {413, "request_too_large"},
                 {422, "invalid_request_error"}, {429, "rate_limit_error"},     {504, "timeout_error"},
                 {529, "overloaded_error"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].status == status)
            return types[i].type;
    return "api_error";
}

static void embeddings_whole(const struct answer *answer, struct atoll_buffer *out)
{
    uint64_t hash = scenario_hash(answer->text);
    atoll_buffer_printf(
        out, "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,\"embedding\":[");
    for (int i = 0; i < 8; i++)
        atoll_buffer_printf(out, "%s%.6f", i ? "," : "", (double)(hash >> 8 * i & 255) / 255);
    atoll_buffer_printf(out, "]}],\"model\":");
    dialect_put_text(out, answer->model, strlen(answer->model));
    if (answer->scenario->usage != USAGE_MISSING) {
        atoll_buffer_printf(out, ",\"usage\":{\"prompt_tokens\":");
        dialect_put_count(out, answer->scenario, answer->scenario->input);
        atoll_buffer_printf(out, ",\"total_tokens\":");
        dialect_put_count(out, answer->scenario, answer->scenario->input);
        atoll_buffer_printf(out, "}");
    }
    atoll_buffer_printf(out, "}");
}

static void embeddings_error(int status, int is_quota, struct atoll_buffer *out)
{
    dialect_chat.error(status, is_quota, out);
}

const struct dialect dialect_embeddings = {"/v1/embeddings", NULL, embeddings_whole, embeddings_error};
