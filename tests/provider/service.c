/* service.c - a request finds its dialect, its model becomes a scenario, and the scenario a reply. */
#include "tests/provider/service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HUGE_PIECE ((size_t)64 << 10)

static const struct dialect *const dialects[] = {&dialect_chat, &dialect_responses, &dialect_anthropic,
                                                 &dialect_embeddings};

void service_init(struct service *service)
{
    *service = (struct service){0};
    tally_init(&service->tally);
}

void service_fini(struct service *service)
{
    tally_fini(&service->tally);
}

/* ---- the answer's texts ---- */

static void put_words(struct atoll_buffer *out, const char *stem, double count)
{
    for (int i = 0; i < count; i++)
        atoll_buffer_printf(out, "%s%s%d", i ? " " : "", stem, i);
}

static void put_huge(struct atoll_buffer *out)
{
    for (size_t i = 0; i < HUGE_PIECE; i++)
        atoll_buffer_put_bytes(out, "x", 1);
}

static void put_answer_text(const struct question *question, const struct scenario *scenario,
                            struct atoll_buffer *out)
{
    switch (scenario->text) {
    case TEXT_WORDS: put_words(out, "word", scenario->words); break;
    case TEXT_ECHO: atoll_buffer_printf(out, "%s", question->text); break;
    case TEXT_PARAMETERS: atoll_buffer_printf(out, "%s", question->parameters); break;
    case TEXT_REFUSAL: atoll_buffer_printf(out, "I can't help with that."); break;
    case TEXT_BAD_UTF8: atoll_buffer_printf(out, "good \xff\xfe \xc3\x28 \xed\xa0\x80 end"); break;
    case TEXT_EMPTY:
    case TEXT_REASONING: break;
    }
    if (scenario->huge_mb > 0) {
        atoll_buffer_printf(out, " ");
        put_huge(out);
    }
}

void service_compose(struct service *service, const struct question *question,
                     const struct scenario *scenario, struct atoll_buffer *text,
                     struct atoll_buffer *reasoning, struct answer *ret_answer)
{
    const char *tool = question->tool_name ? question->tool_name : scenario->is_uninvited ? "rm" : NULL;
    int is_call = tool && (scenario->is_uninvited || question->result_count < scenario->tools);
    if (!is_call || scenario->text == TEXT_ECHO)
        put_answer_text(question, scenario, text);
    if (scenario->reasoning > 0 || is_call || scenario->text == TEXT_REASONING)
        put_words(reasoning, "thought", 3);
    atoll_buffer_put_u8(text, 0);
    atoll_buffer_put_u8(reasoning, 0);
    if (text->failed || reasoning->failed)
        abort();
    *ret_answer = (struct answer){.scenario = scenario,
                                  .model = question->model,
                                  .text = (const char *)text->data,
                                  .reasoning = (const char *)reasoning->data,
                                  .call_name = is_call ? tool : NULL,
                                  .number = ++service->number,
                                  .has_usage_in_stream = question->has_usage_in_stream};
    snprintf(ret_answer->call_arguments, sizeof(ret_answer->call_arguments),
             "{\"turn\": %u, \"words\": \"a b\"}", question->result_count);
}

/* ---- the head ---- */

static void put_date(struct reply *reply, const struct scenario *scenario)
{
    static const char *const formats[] = {[DATE_NONE] = "",
                                          [DATE_IMF] = "%a, %d %b %Y %H:%M:%S GMT",
                                          [DATE_RFC850] = "%A, %d-%b-%y %H:%M:%S GMT",
                                          [DATE_ASCTIME] = "%a %b %e %H:%M:%S %Y"};
    char text[64];
    struct tm broken;
    time_t when = time(NULL) + (time_t)scenario->date_s;
    gmtime_r(&when, &broken);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    strftime(text, sizeof(text), formats[scenario->date], &broken);
#pragma GCC diagnostic pop
    atoll_buffer_printf(&reply->bytes, "Retry-After: %s\r\n", text);
}

static void put_headers(struct reply *reply, const struct scenario *scenario)
{
    struct atoll_buffer *out = &reply->bytes;
    if (scenario->has_retry_after)
        atoll_buffer_printf(out, "Retry-After: %g\r\n", scenario->retry_after_s);
    if (scenario->has_retry_after_ms)
        atoll_buffer_printf(out, "Retry-After-Ms: %g\r\n", scenario->retry_after_ms);
    if (scenario->is_retry_after_junk)
        atoll_buffer_printf(out, "Retry-After: soon\r\n");
    if (scenario->date != DATE_NONE)
        put_date(reply, scenario);
    if (scenario->should_retry >= 0)
        atoll_buffer_printf(out, "X-Should-Retry: %s\r\n", scenario->should_retry ? "true" : "false");
    if (scenario->has_limits)
        atoll_buffer_printf(out,
                            "x-ratelimit-limit-requests: 1000\r\nx-ratelimit-remaining-requests: %.0f\r\n"
                            "x-ratelimit-reset-requests: 6s\r\nx-ratelimit-limit-tokens: 100000\r\n"
                            "x-ratelimit-remaining-tokens: %.0f\r\nx-ratelimit-reset-tokens: 1m0s\r\n",
                            scenario->left_requests, scenario->left_tokens);
    if (scenario->status >= 300 && scenario->status < 400)
        atoll_buffer_printf(out, "Location: /v1/elsewhere\r\n");
    for (int i = 0; i < scenario->header_kb; i++)
        atoll_buffer_printf(out, "X-Filler-%d: %01000d\r\n", i, 0);
}

static void put_head(struct reply *reply, const struct scenario *scenario, const char *type)
{
    if (scenario->has_interim)
        atoll_buffer_printf(&reply->bytes,
                            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    reply_head(reply, scenario->status, type);
    put_headers(reply, scenario);
}

/* ---- the body ---- */

struct framer {
    struct reply *reply;
    int is_chunked;
    uint64_t repeat_count;
};

static void frame_event(void *context, const char *event, const char *data, size_t length)
{
    struct framer *framer = context;
    struct reply *reply = framer->reply;
    size_t start = reply->bytes.length;
    size_t size = length + 8 + (event ? strlen(event) + 8 : 0);
    if (framer->is_chunked)
        atoll_buffer_printf(&reply->bytes, "%zx\r\n", size);
    if (event)
        atoll_buffer_printf(&reply->bytes, "event: %s\n", event);
    atoll_buffer_printf(&reply->bytes, "data: ");
    atoll_buffer_put_bytes(&reply->bytes, data, length);
    atoll_buffer_printf(&reply->bytes, framer->is_chunked ? "\n\n\r\n" : "\n\n");
    if (length > HUGE_PIECE && framer->repeat_count && !reply->repeat_count) {
        reply->repeat_at = start;
        reply->repeat_length = reply->bytes.length - start;
        reply->repeat_count = framer->repeat_count;
    }
}

static void put_stream(struct reply *reply, const struct dialect *dialect, const struct answer *answer)
{
    const struct scenario *scenario = answer->scenario;
    struct framer framer = {reply, !scenario->has_no_length,
                            (uint64_t)(scenario->huge_mb * 1048576.0 / (double)HUGE_PIECE)};
    put_head(reply, scenario, "text/event-stream; charset=utf-8");
    atoll_buffer_printf(&reply->bytes, framer.is_chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    dialect->stream(answer, frame_event, &framer);
    if (framer.is_chunked)
        atoll_buffer_printf(&reply->bytes, "0\r\n\r\n");
}

static void put_whole(struct reply *reply, const struct dialect *dialect, const struct answer *answer)
{
    const struct scenario *scenario = answer->scenario;
    struct atoll_buffer body;
    atoll_buffer_init(&body, (size_t)64 << 20);
    dialect->whole(answer, &body);
    if (scenario->has_no_end)
        body.length /= 2;
    if (scenario->huge_mb > 0) {
        reply->repeat_length = HUGE_PIECE;
        reply->repeat_count = (uint64_t)(scenario->huge_mb * 1048576.0 / (double)HUGE_PIECE);
    }
    put_head(reply, scenario, "application/json");
    if (scenario->has_no_length) {
        atoll_buffer_printf(&reply->bytes, "\r\n");
        atoll_buffer_put_bytes(&reply->bytes, body.data, body.length);
    } else {
        reply_body(reply, body.data, body.length);
    }
    if (scenario->huge_mb > 0) {
        const unsigned char *run = memmem(reply->bytes.data, reply->bytes.length, "xxxxxxxx", 8);
        reply->repeat_at = (size_t)(run - reply->bytes.data);
    }
    atoll_buffer_fini(&body);
}

static void put_text(struct reply *reply, const struct scenario *scenario, const char *type, const char *text)
{
    put_head(reply, scenario, type);
    reply_body(reply, text, strlen(text));
}

static void put_error(struct reply *reply, const struct dialect *dialect, const struct scenario *scenario)
{
    struct atoll_buffer body;
    atoll_buffer_init(&body, 4096);
    dialect->error(scenario->status, scenario->is_quota, &body);
    put_head(reply, scenario, "application/json");
    reply_body(reply, body.data, body.length);
    atoll_buffer_fini(&body);
}

/* Chat Completions, whatever was asked for. */
static void put_leak(struct reply *reply, const struct scenario *scenario, const char *key)
{
    struct atoll_buffer body;
    char escaped[8 * 256] = "";
    for (size_t i = 0; key[i]; i++)
        snprintf(escaped + 6 * i, 7, "\\u%04x", (unsigned char)key[i]);
    atoll_buffer_init(&body, 65536);
    if (scenario->is_leak == 2) {
        for (size_t at = 0; key[at]; at += at + 3 < strlen(key) ? 3 : strlen(key) - at)
            atoll_buffer_printf(
                &body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%.3s\"}}]}\n\n", key + at);
        atoll_buffer_printf(&body,
                            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                            "data: [DONE]\n\n");
    } else if (scenario->status != 200) {
        atoll_buffer_printf(&body, "{\"error\":{\"message\":\"Incorrect API key %s, also %s\", \"", key,
                            escaped);
        body.length -= 4;
        while (body.length < sizeof("{\"error\":{\"message\":\"") - 1 + 5 * strlen(key) + 383 - 10)
            atoll_buffer_put_u8(&body, '.');
        atoll_buffer_printf(&body, "%s\",\"type\":\"invalid_request_error\"}}", key);
    } else {
        atoll_buffer_printf(&body,
                            "{\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{\"index\":0,"
                            "\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":"
                            "\"Your key is %s.\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":5}}",
                            escaped);
    }
    put_head(reply, scenario, scenario->is_leak == 2 ? "text/event-stream" : "application/json");
    reply_body(reply, body.data, body.length);
    atoll_buffer_fini(&body);
}

/* 1: what goes out is an answer. */
static int put_reply(struct service *service, const struct dialect *dialect, const struct question *question,
                     const char *key, struct scenario *scenario, struct reply *reply)
{
    struct atoll_buffer text, reasoning;
    struct answer answer;
    int is_streamed = question->is_streamed && dialect->stream;
    if (scenario->event != EVENT_NONE && !is_streamed)
        scenario->status = 500;
    if (scenario->is_html || scenario->is_bad_json) {
        put_text(reply, scenario, scenario->is_html ? "text/html" : "application/json",
                 scenario->is_html ? "<html><body>a page</body></html>\n" : "{\"choices\": [{]");
        return 0;
    }
    if (scenario->is_leak) {
        put_leak(reply, scenario, key);
        return scenario->status == 200;
    }
    if (scenario->status != 200) {
        put_error(reply, dialect, scenario);
        return 0;
    }
    atoll_buffer_init(&text, (size_t)16 << 20);
    atoll_buffer_init(&reasoning, (size_t)1 << 20);
    service_compose(service, question, scenario, &text, &reasoning, &answer);
    (is_streamed ? put_stream : put_whole)(reply, dialect, &answer);
    atoll_buffer_fini(&text);
    atoll_buffer_fini(&reasoning);
    return scenario->event == EVENT_NONE && !scenario->has_no_end;
}

static void put_way(struct reply *reply, const struct scenario *scenario)
{
    reply->delay_ms = scenario->delay_ms;
    reply->slow_ms = scenario->slow_ms;
    reply->step_bytes = (size_t)scenario->step_bytes;
    reply->is_closed = scenario->is_closed || scenario->has_no_length;
    if (scenario->break_kind != BREAK_NONE) {
        reply->break_at = (uint64_t)scenario->break_at;
        reply->break_kind = scenario->break_kind;
    }
}

static void answer_question(struct service *service, const struct dialect *dialect,
                            const struct service_request *request, const json_t *body, struct reply *reply)
{
    struct question question;
    struct scenario scenario;
    const char *word;
    char message[128];
    if (question_read(body, &question)) {
        reply_say(reply, 400, "no model in the request");
        return;
    }
    if (question.fault) {
        reply_say(reply, 400, question.fault);
        return;
    }
    struct tally_row *row = tally_row(&service->tally, question.id);
    row->seen++;
    service->tally.sum.seen++;
    if (scenario_parse(question.model, &scenario, &word)) {
        snprintf(message, sizeof(message), "model: unknown word at offset %td", word - question.model);
        reply_say(reply, 404, message);
        tally_note(&service->tally, question.id, TALLY_REFUSED, 0, 0);
        return;
    }
    scenario_apply(&scenario, question.id, row->seen);
    if (scenario.is_toolless && question.tool_name) {
        reply_say(reply, 400, "tools are not supported: start the server with auto tool choice");
        tally_note(&service->tally, question.id, TALLY_REFUSED, 0, 0);
        return;
    }
    put_way(reply, &scenario);
    int is_answer = put_reply(service, dialect, &question, request->key, &scenario, reply);
    reply->is_counted = 1;
    reply->end = is_answer ? TALLY_ANSWERED : scenario.status != 200 ? TALLY_REFUSED : TALLY_BROKEN;
    reply->input = scenario.input;
    reply->output = scenario.output;
    memcpy(reply->id, question.id, sizeof(reply->id));
}

/* ---- what is no question ---- */

static void answer_models(const struct service_request *request, struct reply *reply)
{
    static const char *const models[] = {"ok", "ok-tokens-100-50", "mix-10"};
    struct atoll_buffer body;
    atoll_buffer_init(&body, 4096);
    atoll_buffer_printf(&body, request->is_anthropic ? "{\"data\":[" : "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        atoll_buffer_printf(&body,
                            request->is_anthropic
                                ? "%s{\"type\":\"model\",\"id\":\"%s\",\"display_name\":\"%s\"}"
                                : "%s{\"object\":\"model\",\"id\":\"%s\",\"owned_by\":\"%s\"}",
                            i ? "," : "", models[i], models[i]);
    atoll_buffer_printf(&body, request->is_anthropic ? "],\"has_more\":false}" : "]}");
    reply_json(reply, 200, &body);
    atoll_buffer_fini(&body);
}

/* 1: it was one of the server's own. */
static int answer_own(struct service *service, const struct service_request *request, struct reply *reply)
{
    if (strcmp(request->path, "/__reset") == 0) {
        uint64_t open = service->tally.open;
        tally_fini(&service->tally);
        service->tally.open = open;
        reply_say(reply, 200, "nothing was asked yet");
        return 1;
    }
    if (strcmp(request->path, "/__stats") != 0)
        return 0;
    struct atoll_buffer body;
    atoll_buffer_init(&body, (size_t)64 << 20);
    tally_print(&service->tally, strcmp(request->query, "sum") != 0, &body);
    reply_json(reply, 200, &body);
    atoll_buffer_fini(&body);
    return 1;
}

static void answer_json(struct service *service, const struct service_request *request, struct reply *reply)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        if (strcmp(request->path, dialects[i]->path) != 0)
            continue;
        json_t *body = json_loadb(request->body, request->body_length, 0, NULL);
        if (body)
            answer_question(service, dialects[i], request, body, reply);
        else
            reply_say(reply, 400, "the body is not JSON");
        json_decref(body);
        return;
    }
    reply_say(reply, 404, "no such path");
}

void service_answer(struct service *service, const struct service_request *request, struct reply *reply)
{
    int is_get = strcmp(request->method, "GET") == 0;
    if (answer_own(service, request, reply))
        return;
    service->tally.requests++;
    if (strncmp(request->key, "bad", 3) == 0)
        reply_say(reply, 401, "Incorrect API key provided");
    else if (is_get && strcmp(request->path, "/v1/models") == 0)
        answer_models(request, reply);
    else
        answer_json(service, request, reply);
}
