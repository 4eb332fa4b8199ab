/* transfer_case.h - what the tests of transfers share: the fault server, a loop whose clock can be set forward, and a
 * question whose end is kept. */
#ifndef ATOLL_TESTS_UNIT_TRANSFER_CASE_H
#define ATOLL_TESTS_UNIT_TRANSFER_CASE_H

#include "tests/provider/launch.h"

#include <time.h>

#include "base/buffer.h"
#include "llm-gateway/http/transfer.h"

/* The system's clock, and what a test adds to it: waits of minutes take none. */
static double added_ns;

static inline double now_ns(void *context)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec + added_ns;
}

static struct provider plain, tls;
static char folder[64];
static struct atoll_loop *loop;
static struct atoll_transfers *transfers;

/* What became of one. */
struct result {
    int calls;
    struct atoll_transfer_end end;
    struct atoll_buffer head, body;
    int statuses; /* of on_data, all the same or -1 */
    int stop_at;  /* calls of on_data after which it says stop, 0 never */
    int data_calls;
    uint64_t cancel_in_data, number;
    struct result *start_in_data, *start_in_done;
};

static inline uint64_t start(struct result *result, const char *model, const struct atoll_transfer *like);

static inline void on_header(void *context, const char *name, const char *value)
{
    struct result *result = context;
    atoll_buffer_printf(&result->head, "%s=%s;", name, value);
}

static inline int on_data(void *context, int http_status, const void *bytes, size_t length)
{
    struct result *result = context;
    assert_int_equal(result->calls, 0);
    result->statuses = result->statuses == 0 || result->statuses == http_status ? http_status : -1;
    atoll_buffer_put_bytes(&result->body, bytes, length);
    if (result->cancel_in_data)
        atoll_transfers_cancel(transfers, result->number);
    if (result->start_in_data)
        start(result->start_in_data, "ok", NULL);
    result->start_in_data = NULL;
    return ++result->data_calls == result->stop_at;
}

static inline void on_done(void *context, const struct atoll_transfer_end *end)
{
    struct result *result = context;
    result->calls++;
    result->end = *end;
    assert_null(strchr(end->detail, '\n'));
    if (result->start_in_done)
        start(result->start_in_done, "ok", NULL);
}

static inline void result_init(struct result *result)
{
    *result = (struct result){.calls = 0};
    atoll_buffer_init(&result->head, (size_t)1 << 20);
    atoll_buffer_init(&result->body, (size_t)8 << 20);
}

static inline void result_fini(struct result *result)
{
    atoll_buffer_fini(&result->head);
    atoll_buffer_fini(&result->body);
}

static char url_text[512];
static inline const char *url_of(const struct provider *provider, const char *path)
{
    snprintf(url_text, sizeof(url_text), "%s%s", provider->url, path);
    return url_text;
}

static const struct atoll_transfer_site no_proxy = {.proxy = ""};

/* A question to the plain server; what like says goes before. */
static inline struct atoll_transfer transfer_of(struct result *result, const char *model,
                                                const struct atoll_transfer *like, char body[512])
{
    struct atoll_transfer transfer = {.method = "POST"};
    if (like)
        transfer = *like;
    if (!transfer.url)
        transfer.url = url_of(&plain, "/v1/chat/completions");
    snprintf(body, 512, "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"id=%s\"}]}", model,
             model);
    transfer.body = transfer.method[0] == 'G' ? NULL : body;
    transfer.body_length = transfer.body ? strlen(body) : 0;
    transfer.site = transfer.site ? transfer.site : &no_proxy;
    transfer.deadline_ns = transfer.deadline_ns > 0 ? transfer.deadline_ns : atoll_loop_now_ns(loop) + 1e12;
    transfer.on_header = on_header;
    transfer.on_data = on_data;
    transfer.on_done = on_done;
    transfer.context = result;
    return transfer;
}

static inline uint64_t start(struct result *result, const char *model, const struct atoll_transfer *like)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char body[512];
    struct atoll_transfer transfer = transfer_of(result, model, like, body);
    if (atoll_transfers_start(transfers, &transfer, &result->number, &err))
        fail_msg("%s", err.text);
    memset(body, 'z', sizeof(body)); /* it was copied */
    assert_int_equal(result->calls, 0);
    return result->number;
}

/* Until one is done; a server that hangs is the test's timeout. */
static inline void wait_for(struct result *result)
{
    while (!result->calls)
        assert_int_equal(atoll_loop_run(loop, 10000, NULL), 0);
    assert_int_equal(result->calls, 1);
}

static inline void ask(struct result *result, const char *model, const struct atoll_transfer *like)
{
    result_init(result);
    start(result, model, like);
    wait_for(result);
}

static inline void expect_end(const struct result *result, enum atoll_llm_status status, const char *part)
{
    if (result->end.status != status || !strstr(result->end.detail, part))
        fail_msg("status %d (HTTP %d) '%s'; expected %d '%s'", (int)result->end.status,
                 result->end.http_status, result->end.detail, (int)status, part);
}

static inline int holds(const struct atoll_buffer *buffer, const char *text)
{
    return buffer->length && memmem(buffer->data, buffer->length, text, strlen(text)) != NULL;
}

/* A number of the server's own count. */
static inline long counted(const char *id, const char *name)
{
    struct result result;
    struct atoll_transfer get = {.method = "GET", .url = url_of(&plain, "/__stats")};
    char mark[128];
    ask(&result, "", &get);
    atoll_buffer_put_u8(&result.body, 0);
    const char *at = (const char *)result.body.data;
    if (id) {
        snprintf(mark, sizeof(mark), "\"%s\":{", id);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    snprintf(mark, sizeof(mark), "\"%s\":", name);
    at = strstr(at, mark);
    assert_non_null(at);
    long count = strtol(at + strlen(mark), NULL, 10);
    result_fini(&result);
    return count;
}

static inline int setup(void **state)
{
    char certificate[128];
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
        unsetenv(proxies[i]);
    provider_certificates(folder);
    snprintf(certificate, sizeof(certificate), "%s/valid.pem", folder);
    provider_start(&plain, NULL, NULL);
    provider_start(&tls, "--tls", certificate);
    loop = atoll_loop_create(now_ns, NULL, NULL);
    transfers = atoll_transfers_create(loop, 0, NULL);
    return !loop || !transfers;
}

static inline int teardown(void **state)
{
    atoll_transfers_destroy(transfers);
    atoll_loop_destroy(loop);
    provider_stop(&plain);
    provider_stop(&tls);
    provider_certificates_remove(folder);
    return 0;
}

#endif
