/* dialect_anthropic.c - Anthropic Messages: blocks with deltas; usage in the first event and in the one before the last,
 * the input without what came from the cache. */
#include <string.h>

#include "tests/provider/dialect.h"

static const char *stop_word(const struct scenario *scenario)
{
    static const char *const words[] = {
        [FINISH_STOP] = "end_turn", [FINISH_LENGTH] = "max_tokens", [FINISH_FILTER] = "refusal"};
    return scenario->text == TEXT_REFUSAL ? "refusal" : words[scenario->finish];
}

static void put_usage(struct atoll_buffer *out, const struct scenario *scenario, double output)
{
    atoll_buffer_printf(out, ",\"usage\":{\"input_tokens\":");
    dialect_put_count(out, scenario, scenario->input - scenario->cached);
    atoll_buffer_printf(out, ",\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":");
    dialect_put_count(out, scenario, scenario->cached);
    atoll_buffer_printf(out, ",\"output_tokens\":");
    dialect_put_count(out, scenario, output);
    atoll_buffer_printf(out, "}");
}

static void put_head(struct atoll_buffer *out, const struct answer *answer)
{
    atoll_buffer_printf(
        out, "{\"id\":\"msg_%lu\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", answer->number);
    dialect_put_text(out, answer->model, strlen(answer->model));
}

static void stream_start(struct dialect_writer *writer, const struct answer *answer)
{
    struct atoll_buffer *out = &writer->data;
    atoll_buffer_printf(out, "{\"type\":\"message_start\",\"message\":");
    put_head(out, answer);
    atoll_buffer_printf(out, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null");
    if (answer->scenario->usage != USAGE_MISSING)
        put_usage(out, answer->scenario, 1);
    atoll_buffer_printf(out, "}}");
    dialect_send(writer, "message_start");
    atoll_buffer_printf(out, "{\"type\":\"ping\"}");
    dialect_send(writer, "ping");
}

static void stream_block(struct dialect_writer *writer, int index, const char *kind, const char *text)
{
    struct atoll_buffer *out = &writer->data;
    atoll_buffer_printf(
        out,
        "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"%s\",\"%s\":\"\"}}",
        index, kind, kind);
    dialect_send(writer, "content_block_start");
    for (size_t length = dialect_piece(text); length; length = dialect_piece(text)) {
        atoll_buffer_printf(
            out,
            "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s_delta\",\"%s\":", index,
            kind, kind);
        dialect_put_text(out, text, length);
        atoll_buffer_printf(out, "}}");
        dialect_send(writer, "content_block_delta");
        text += length;
    }
    if (strcmp(kind, "thinking") == 0) {
        atoll_buffer_printf(out,
                            "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"signature_"
                            "delta\",\"signature\":"
                            "\"sealed\"}}",
                            index);
        dialect_send(writer, "content_block_delta");
    }
    atoll_buffer_printf(out, "{\"type\":\"content_block_stop\",\"index\":%d}", index);
    dialect_send(writer, "content_block_stop");
}

static void stream_call(struct dialect_writer *writer, const struct answer *answer, int index)
{
    struct atoll_buffer *out = &writer->data;
    const char *text = answer->call_arguments;
    atoll_buffer_printf(
        out,
        "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"toolu_%lu\",\"name\":\"%s\",\"input\":{}}}",
        index, answer->number, answer->call_name);
    dialect_send(writer, "content_block_start");
    for (size_t length = dialect_piece(text); length; length = dialect_piece(text)) {
        atoll_buffer_printf(
            out,
            "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\","
            "\"partial_json\":",
            index);
        dialect_put_text(out, text, length);
        atoll_buffer_printf(out, "}}");
        dialect_send(writer, "content_block_delta");
        text += length;
    }
    atoll_buffer_printf(out, "{\"type\":\"content_block_stop\",\"index\":%d}", index);
    dialect_send(writer, "content_block_stop");
}

static void stream_end(struct dialect_writer *writer, const struct answer *answer)
{
    struct atoll_buffer *out = &writer->data;
    const struct scenario *scenario = answer->scenario;
    atoll_buffer_printf(
        out, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null}",
        answer->call_name ? "tool_use" : stop_word(scenario));
    if (scenario->usage != USAGE_MISSING) {
        atoll_buffer_printf(out, ",\"usage\":{\"output_tokens\":");
        dialect_put_count(out, scenario, scenario->output);
        atoll_buffer_printf(out, "}");
    }
    atoll_buffer_printf(out, "}");
    dialect_send(writer, "message_delta");
    atoll_buffer_printf(out, "{\"type\":\"message_stop\"}");
    dialect_send(writer, "message_stop");
}

static void anthropic_stream(const struct answer *answer, dialect_emit *emit, void *context)
{
    const struct scenario *scenario = answer->scenario;
    struct dialect_writer writer = {.emit = emit, .context = context};
    int index = 0;
    atoll_buffer_init(&writer.data, (size_t)16 << 20);
    stream_start(&writer, answer);
    if (*answer->reasoning)
        stream_block(&writer, index++, "thinking", answer->reasoning);
    if (*answer->text)
        stream_block(&writer, index++, "text", answer->text);
    if (answer->call_name)
        stream_call(&writer, answer, index);
    if (scenario->event != EVENT_NONE) {
        atoll_buffer_printf(
            &writer.data,
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}");
        dialect_send(&writer, "error");
    } else if (!scenario->has_no_end) {
        stream_end(&writer, answer);
    }
    atoll_buffer_fini(&writer.data);
}

static void anthropic_whole(const struct answer *answer, struct atoll_buffer *out)
{
    const struct scenario *scenario = answer->scenario;
    put_head(out, answer);
    atoll_buffer_printf(out, ",\"content\":[");
    if (*answer->reasoning) {
        atoll_buffer_printf(out, "{\"type\":\"thinking\",\"signature\":\"sealed\",\"thinking\":");
        dialect_put_text(out, answer->reasoning, strlen(answer->reasoning));
        atoll_buffer_printf(out, *answer->text || answer->call_name ? "}," : "}");
    }
    if (*answer->text) {
        atoll_buffer_printf(out, "{\"type\":\"text\",\"text\":");
        dialect_put_text(out, answer->text, strlen(answer->text));
        atoll_buffer_printf(out, "}");
    }
    if (answer->call_name) {
        atoll_buffer_printf(
            out, "%s{\"type\":\"tool_use\",\"id\":\"toolu_%lu\",\"name\":\"%s\",\"input\":%s}",
            *answer->text ? "," : "", answer->number, answer->call_name, answer->call_arguments);
    }
    atoll_buffer_printf(out, "],\"stop_reason\":\"%s\",\"stop_sequence\":null",
                        answer->call_name ? "tool_use" : stop_word(scenario));
    if (scenario->usage != USAGE_MISSING)
        put_usage(out, scenario, scenario->output);
    atoll_buffer_printf(out, "}");
}

static void anthropic_error(int status, int is_quota, struct atoll_buffer *out)
{
    const char *type = is_quota ? "billing_error" : dialect_error_type(status);
    atoll_buffer_printf(
        out, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"},\"request_id\":\"req_1\"}",
        type, is_quota ? "Your credit balance is too low to access the API." : "status as asked");
}

const struct dialect dialect_anthropic = {"/v1/messages", anthropic_stream, anthropic_whole, anthropic_error};
