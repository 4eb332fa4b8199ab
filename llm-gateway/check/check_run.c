#include "llm-gateway/check/check_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

#define HEADER_LIMIT 8
#define URL_BYTES    2048

const char *atoll_check_result_name(enum atoll_check_result result)
{
    static const char *const names[ATOLL_CHECK_RESULT_COUNT] = {"ok", "failed", "skipped"};
    return result < ATOLL_CHECK_RESULT_COUNT ? names[result] : "unknown";
}

void atoll_check_defaults(struct atoll_check_settings *settings)
{
    *settings = (struct atoll_check_settings){.deadline_s = 30};
}

int atoll_check_run_open(struct atoll_check_run *run, struct atoll_err *err)
{
    run->loop = atoll_loop_create(NULL, NULL, err);
    run->transfers = run->loop ? atoll_transfers_create(run->loop, 0, err) : NULL;
    if (run->transfers)
        return 0;
    atoll_check_run_close(run);
    return -1;
}

void atoll_check_run_close(struct atoll_check_run *run)
{
    atoll_transfers_destroy(run->transfers);
    atoll_loop_destroy(run->loop);
    run->transfers = NULL;
    run->loop = NULL;
}

void atoll_check_begin(struct atoll_check_run *run)
{
    run->step_ns = atoll_loop_now_ns(run->loop);
}

void atoll_check_tell(struct atoll_check_run *run, const char *name, const char *model,
                      enum atoll_check_result result, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct atoll_check_step step = {.subject = run->subject, .name = name, .model = model, .result = result};
    if (result != ATOLL_CHECK_SKIPPED)
        step.elapsed_s = (atoll_loop_now_ns(run->loop) - run->step_ns) / 1e9;
    atoll_utf8_line(step.text, sizeof step.text, text, strlen(text));
    run->failed += result == ATOLL_CHECK_FAILED;
    run->sink(run->context, &step);
}

/* ---- one exchange ---- */

static void on_header(void *context, const char *name, const char *value)
{
    struct atoll_check_reply *reply = context;
    atoll_reply_headers_read(&reply->headers, name, value, (double)time(NULL));
}

static int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    struct atoll_check_reply *reply = context;
    atoll_buffer_put_bytes(&reply->body, bytes, length);
    return reply->body.failed;
}

static void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct atoll_check_reply *reply = context;
    reply->end = *end;
    reply->is_done = 1;
}

static size_t split(const struct atoll_buffer *headers, const char *ret_lines[HEADER_LIMIT])
{
    size_t count = 0;
    for (size_t at = 0; at < headers->length && count < HEADER_LIMIT - 1; count++) {
        ret_lines[count] = (const char *)headers->data + at;
        at += strlen(ret_lines[count]) + 1;
    }
    ret_lines[count++] = "Content-Type: application/json";
    return count;
}

static int start(struct atoll_check_run *run, const char *url, const struct atoll_buffer *headers,
                 const struct atoll_buffer *body, struct atoll_check_reply *reply, struct atoll_err *err)
{
    const char *lines[HEADER_LIMIT];
    uint64_t number;
    struct atoll_transfer transfer = {
        .method = body ? "POST" : "GET",
        .url = url,
        .headers = lines,
        .header_count = split(headers, lines),
        .body = body ? body->data : NULL,
        .body_length = body ? body->length : 0,
        .site = run->site,
        .deadline_ns = atoll_loop_now_ns(run->loop) + run->settings->deadline_s * 1e9,
        .body_limit_bytes = ATOLL_CHECK_REPLY_BYTES,
        .on_header = on_header,
        .on_data = on_data,
        .on_done = on_done,
        .context = reply,
    };
    return atoll_transfers_start(run->transfers, &transfer, &number, err);
}

void atoll_check_exchange(struct atoll_check_run *run, const char *path, const struct atoll_buffer *headers,
                          const struct atoll_buffer *body, struct atoll_check_reply *ret_reply)
{
    char url[URL_BYTES];
    struct atoll_err err = ATOLL_ERR_INIT;
    *ret_reply = (struct atoll_check_reply){.is_done = 0};
    atoll_buffer_init(&ret_reply->body, ATOLL_CHECK_REPLY_BYTES);
    atoll_reply_headers_init(&ret_reply->headers);
    int is_long = snprintf(url, sizeof url, "%s%s", run->url, path) >= (int)sizeof url;
    if (is_long)
        atoll_err_set(&err, ATOLL_E_INPUT, "the url is too long");
    int rc = is_long ? -1 : start(run, url, headers, body, ret_reply, &err);
    while (!rc && !ret_reply->is_done)
        rc = atoll_loop_run(run->loop, atoll_loop_wait_ms(run->loop, 1000), &err);
    if (!rc)
        return;
    ret_reply->end.status = ATOLL_LLM_NETWORK;
    snprintf(ret_reply->end.detail, sizeof ret_reply->end.detail, "%.250s", err.text);
}

void atoll_check_reply_fini(struct atoll_check_reply *reply)
{
    atoll_buffer_fini(&reply->body);
}
