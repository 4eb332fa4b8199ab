/* dialect_chat.c - OpenAI Chat Completions: chunks, a last one with the usage where that was asked for, and [DONE]. */
#include <string.h>

#include "tests/provider/dialect.h"

static const char *finish_word(const struct scenario *scenario)
{
    static const char *const words[] = {
        [FINISH_STOP] = "stop", [FINISH_LENGTH] = "length", [FINISH_FILTER] = "content_filter"};
    return words[scenario->finish];
}

static void put_usage(struct atoll_buffer *out, const struct scenario *scenario)
{
    atoll_buffer_printf(out, "\"usage\":{\"prompt_tokens\":");
    dialect_put_count(out, scenario, scenario->input);
    atoll_buffer_printf(out, ",\"completion_tokens\":");
    dialect_put_count(out, scenario, scenario->output);
    atoll_buffer_printf(out, ",\"total_tokens\":");
    dialect_put_count(out, scenario, scenario->input + scenario->output);
    atoll_buffer_printf(out, ",\"prompt_tokens_details\":{\"cached_tokens\":");
    dialect_put_count(out, scenario, scenario->cached);
    atoll_buffer_printf(out, "},\"completion_tokens_details\":{\"reasoning_tokens\":");
    dialect_put_count(out, scenario, scenario->reasoning);
    atoll_buffer_printf(out, "}}");
}

static void put_head(struct atoll_buffer *out, const struct answer *answer, const char *object)
{
    atoll_buffer_printf(out, "{\"id\":\"chatcmpl-%lu\",\"object\":\"%s\",\"created\":1700000000,\"model\":",
                        answer->number, object);
    dialect_put_text(out, answer->model, strlen(answer->model));
    atoll_buffer_printf(out, ",");
}

static void chunk(struct dialect_writer *writer, const struct answer *answer, const char *member,
                  const char *text, size_t length, const char *finish)
{
    struct atoll_buffer *out = &writer->data;
    put_head(out, answer, "chat.completion.chunk");
    atoll_buffer_printf(out, "\"choices\":[{\"index\":0,\"delta\":{");
    if (member) {
        atoll_buffer_printf(
            out, "%s\"%s\":", strcmp(member, "content") == 0 && !length ? "\"role\":\"assistant\"," : "",
            member);
        dialect_put_text(out, text, length);
    }
    atoll_buffer_printf(out, finish ? "},\"finish_reason\":\"" : "},\"finish_reason\":");
    atoll_buffer_printf(out, "%s%s}]}", finish ? finish : "null", finish ? "\"" : "");
    dialect_send(writer, NULL);
}

static void stream_text(struct dialect_writer *writer, const struct answer *answer, const char *member,
                        const char *text)
{
    for (size_t length = dialect_piece(text); length; length = dialect_piece(text)) {
        chunk(writer, answer, member, text, length, NULL);
        text += length;
    }
}

/* A call's name first, then its arguments in pieces. */
static void stream_call(struct dialect_writer *writer, const struct answer *answer)
{
    struct atoll_buffer *out = &writer->data;
    const char *text = answer->call_arguments;
    for (size_t length = 0, is_first = 1; is_first || length; is_first = 0) {
        put_head(out, answer, "chat.completion.chunk");
        atoll_buffer_printf(out, "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,");
        if (is_first)
            atoll_buffer_printf(out, "\"id\":\"call_%lu\",\"type\":\"function\",", answer->number);
        atoll_buffer_printf(out, "\"function\":{");
        if (is_first)
            atoll_buffer_printf(out, "\"name\":\"%s\",", answer->call_name);
        atoll_buffer_printf(out, "\"arguments\":");
        dialect_put_text(out, text, length);
        atoll_buffer_printf(out, "}}]},\"finish_reason\":null}]}");
        dialect_send(writer, NULL);
        text += length;
        length = dialect_piece(text);
    }
}

static void stream_end(struct dialect_writer *writer, const struct answer *answer)
{
    const struct scenario *scenario = answer->scenario;
    chunk(writer, answer, NULL, NULL, 0, answer->call_name ? "tool_calls" : finish_word(scenario));
    if (answer->has_usage_in_stream && scenario->usage != USAGE_MISSING) {
        put_head(&writer->data, answer, "chat.completion.chunk");
        atoll_buffer_printf(&writer->data, "\"choices\":[],");
        put_usage(&writer->data, scenario);
        atoll_buffer_printf(&writer->data, "}");
        dialect_send(writer, NULL);
    }
    atoll_buffer_printf(&writer->data, "[DONE]");
    dialect_send(writer, NULL);
}

static void chat_stream(const struct answer *answer, dialect_emit *emit, void *context)
{
    const struct scenario *scenario = answer->scenario;
    struct dialect_writer writer = {.emit = emit, .context = context};
    atoll_buffer_init(&writer.data, (size_t)16 << 20);
    chunk(&writer, answer, "content", "", 0, NULL);
    stream_text(&writer, answer, "reasoning_content", answer->reasoning);
    stream_text(&writer, answer, scenario->text == TEXT_REFUSAL ? "refusal" : "content", answer->text);
    if (answer->call_name)
        stream_call(&writer, answer);
    if (scenario->event != EVENT_NONE) {
        atoll_buffer_printf(&writer.data,
                            "{\"error\":{\"message\":\"The server had an error while processing your "
                            "request\",\"type\":\"server_error\",\"param\":null,\"code\":null}}");
        dialect_send(&writer, NULL);
    } else if (!scenario->has_no_end) {
        stream_end(&writer, answer);
    }
    atoll_buffer_fini(&writer.data);
}

static void chat_whole(const struct answer *answer, struct atoll_buffer *out)
{
    const struct scenario *scenario = answer->scenario;
    put_head(out, answer, "chat.completion");
    atoll_buffer_printf(out, "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\"");
    if (*answer->reasoning) {
        atoll_buffer_printf(out, ",\"reasoning_content\":");
        dialect_put_text(out, answer->reasoning, strlen(answer->reasoning));
    }
    atoll_buffer_printf(out,
                        scenario->text == TEXT_REFUSAL ? ",\"content\":null,\"refusal\":" : ",\"content\":");
    dialect_put_text(out, answer->text, strlen(answer->text));
    if (answer->call_name) {
        atoll_buffer_printf(
            out,
            ",\"tool_calls\":[{\"id\":\"call_%lu\",\"type\":\"function\",\"function\":{\"name\":"
            "\"%s\",\"arguments\":",
            answer->number, answer->call_name);
        dialect_put_text(out, answer->call_arguments, strlen(answer->call_arguments));
        atoll_buffer_printf(out, "}}]");
    }
    atoll_buffer_printf(out, "},\"finish_reason\":\"%s\"}]",
                        answer->call_name ? "tool_calls" : finish_word(scenario));
    if (scenario->usage != USAGE_MISSING) {
        atoll_buffer_printf(out, ",");
        put_usage(out, scenario);
    }
    atoll_buffer_printf(out, "}");
}

static void chat_error(int status, int is_quota, struct atoll_buffer *out)
{
    if (is_quota) {
        atoll_buffer_printf(
            out, "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and "
                 "billing details.\",\"type\":\"insufficient_quota\",\"param\":null,"
                 "\"code\":\"insufficient_quota\"}}");
        return;
    }
    atoll_buffer_printf(
        out, "{\"error\":{\"message\":\"status %d as asked\",\"type\":\"%s\",\"param\":null,\"code\":%s}}",
        status, status >= 500 ? "server_error" : dialect_error_type(status),
        status == 429 ? "\"rate_limit_exceeded\"" : "null");
}

const struct dialect dialect_chat = {"/v1/chat/completions", chat_stream, chat_whole, chat_error};
