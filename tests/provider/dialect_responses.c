/* dialect_responses.c - OpenAI Responses: typed events, the whole response once more in the last one. */
#include <string.h>

#include "tests/provider/dialect.h"

static void put_usage(struct atoll_buffer *out, const struct scenario *scenario)
{
    atoll_buffer_printf(out, "\"usage\":{\"input_tokens\":");
    dialect_put_count(out, scenario, scenario->input);
    atoll_buffer_printf(out, ",\"input_tokens_details\":{\"cached_tokens\":");
    dialect_put_count(out, scenario, scenario->cached);
    atoll_buffer_printf(out, "},\"output_tokens\":");
    dialect_put_count(out, scenario, scenario->output);
    atoll_buffer_printf(out, ",\"output_tokens_details\":{\"reasoning_tokens\":");
    dialect_put_count(out, scenario, scenario->reasoning);
    atoll_buffer_printf(out, "},\"total_tokens\":");
    dialect_put_count(out, scenario, scenario->input + scenario->output);
    atoll_buffer_printf(out, "}");
}

static void put_call(struct atoll_buffer *out, const struct answer *answer, const char *arguments)
{
    atoll_buffer_printf(out,
                        "{\"id\":\"fc_%lu\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
                        "\"call_%lu\",\"name\":\"%s\",\"arguments\":",
                        answer->number, answer->number, answer->call_name);
    dialect_put_text(out, arguments, strlen(arguments));
    atoll_buffer_printf(out, "}");
}

static void put_output(struct atoll_buffer *out, const struct answer *answer)
{
    int is_refusal = answer->scenario->text == TEXT_REFUSAL;
    const char *comma = "";
    if (*answer->reasoning) {
        atoll_buffer_printf(
            out,
            "{\"id\":\"rs_%lu\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":",
            answer->number);
        dialect_put_text(out, answer->reasoning, strlen(answer->reasoning));
        atoll_buffer_printf(out, answer->call_name ? "}],\"encrypted_content\":\"sealed\"}" : "}]}");
        comma = ",";
    }
    if (answer->call_name) {
        atoll_buffer_printf(out, "%s", comma);
        put_call(out, answer, answer->call_arguments);
        return;
    }
    if (answer->scenario->text == TEXT_EMPTY || answer->scenario->text == TEXT_REASONING)
        return;
    atoll_buffer_printf(
        out,
        "%s{\"id\":\"msg_%lu\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":[{\"type\":\"%s\",\"annotations\":[],\"%s\":",
        comma, answer->number, is_refusal ? "refusal" : "output_text", is_refusal ? "refusal" : "text");
    dialect_put_text(out, answer->text, strlen(answer->text));
    atoll_buffer_printf(out, "}]}");
}

/* state: "in_progress" or "done" */
static void put_response(struct atoll_buffer *out, const struct answer *answer, int is_done)
{
    static const char *const reasons[] = {
        [FINISH_STOP] = "null",
        [FINISH_LENGTH] = "{\"reason\":\"max_output_tokens\"}",
        [FINISH_FILTER] = "{\"reason\":\"content_filter\"}",
    };
    const struct scenario *scenario = answer->scenario;
    const char *state = !is_done                          ? "in_progress"
                        : scenario->finish == FINISH_STOP ? "completed"
                                                          : "incomplete";
    atoll_buffer_printf(
        out, "{\"id\":\"resp_%lu\",\"object\":\"response\",\"created_at\":1700000000,\"status\":\"%s\",",
        answer->number, state);
    atoll_buffer_printf(out, "\"error\":null,\"incomplete_details\":%s,\"model\":",
                        is_done ? reasons[scenario->finish] : "null");
    dialect_put_text(out, answer->model, strlen(answer->model));
    atoll_buffer_printf(out, ",\"output\":[");
    if (is_done)
        put_output(out, answer);
    atoll_buffer_printf(out, "],");
    if (is_done && scenario->usage != USAGE_MISSING)
        put_usage(out, scenario);
    else
        atoll_buffer_printf(out, "\"usage\":null");
    atoll_buffer_printf(out, "}");
}

static void stream_response(struct dialect_writer *writer, const struct answer *answer, const char *type,
                            int is_done)
{
    atoll_buffer_printf(&writer->data, "{\"type\":\"%s\",\"response\":", type);
    put_response(&writer->data, answer, is_done);
    atoll_buffer_printf(&writer->data, "}");
    dialect_send(writer, type);
}

static void stream_text(struct dialect_writer *writer, const char *type, const char *text)
{
    for (size_t length = dialect_piece(text); length; length = dialect_piece(text)) {
        atoll_buffer_printf(&writer->data,
                            "{\"type\":\"%s\",\"output_index\":0,\"content_index\":0,\"delta\":", type);
        dialect_put_text(&writer->data, text, length);
        atoll_buffer_printf(&writer->data, "}");
        dialect_send(writer, type);
        text += length;
    }
}

static void stream_call(struct dialect_writer *writer, const struct answer *answer)
{
    struct atoll_buffer *out = &writer->data;
    const char *text = answer->call_arguments;
    atoll_buffer_printf(
        out,
        "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"rs_%lu\","
        "\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"sealed\"}}",
        answer->number);
    dialect_send(writer, "response.output_item.done");
    atoll_buffer_printf(out, "{\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":");
    put_call(out, answer, "");
    atoll_buffer_printf(out, "}");
    dialect_send(writer, "response.output_item.added");
    for (size_t length = dialect_piece(text); length; length = dialect_piece(text)) {
        atoll_buffer_printf(out,
                            "{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_%lu\","
                            "\"output_index\":1,\"delta\":",
                            answer->number);
        dialect_put_text(out, text, length);
        atoll_buffer_printf(out, "}");
        dialect_send(writer, "response.function_call_arguments.delta");
        text += length;
    }
    atoll_buffer_printf(out, "{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":");
    put_call(out, answer, answer->call_arguments);
    atoll_buffer_printf(out, "}");
    dialect_send(writer, "response.output_item.done");
}

static void stream_fault(struct dialect_writer *writer, const struct answer *answer)
{
    struct atoll_buffer *out = &writer->data;
    if (answer->scenario->event == EVENT_ERROR) {
        atoll_buffer_printf(
            out, "{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"as asked\",\"param\":null}");
        dialect_send(writer, "error");
        return;
    }
    atoll_buffer_printf(
        out,
        "{\"type\":\"response.failed\",\"response\":{\"id\":\"resp_%lu\",\"object\":\"response\","
        "\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"as asked\"},"
        "\"output\":[],\"usage\":null}}",
        answer->number);
    dialect_send(writer, "response.failed");
}

static void responses_stream(const struct answer *answer, dialect_emit *emit, void *context)
{
    const struct scenario *scenario = answer->scenario;
    struct dialect_writer writer = {.emit = emit, .context = context};
    atoll_buffer_init(&writer.data, (size_t)16 << 20);
    stream_response(&writer, answer, "response.created", 0);
    stream_text(&writer, "response.reasoning_summary_text.delta", answer->reasoning);
    stream_text(&writer,
                scenario->text == TEXT_REFUSAL ? "response.refusal.delta" : "response.output_text.delta",
                answer->text);
    if (answer->call_name)
        stream_call(&writer, answer);
    if (scenario->event != EVENT_NONE)
        stream_fault(&writer, answer);
    else if (!scenario->has_no_end)
        stream_response(&writer, answer,
                        scenario->finish == FINISH_STOP ? "response.completed" : "response.incomplete", 1);
    atoll_buffer_fini(&writer.data);
}

static void responses_whole(const struct answer *answer, struct atoll_buffer *out)
{
    put_response(out, answer, 1);
}

static void responses_error(int status, int is_quota, struct atoll_buffer *out)
{
    dialect_chat.error(status, is_quota, out);
}

const struct dialect dialect_responses = {"/v1/responses", responses_stream, responses_whole,
                                          responses_error};
