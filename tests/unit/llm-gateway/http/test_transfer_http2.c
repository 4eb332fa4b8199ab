/* A server that offers HTTP/2 beside HTTP/1.1, which the fault server does not: node plays it, where there is one. */
#include "tests/unit/llm-gateway/transfer_case.h"

#include <stdlib.h>

static struct provider server;
static struct atoll_transfer_site site;
static char ca[128];

static void server_start(void)
{
    int in[2], out[2];
    size_t length = 0;
    char pem[128];
    snprintf(pem, sizeof(pem), "%s/valid.pem", folder);
    snprintf(ca, sizeof(ca), "%s/ca.pem", folder);
    site = (struct atoll_transfer_site){.proxy = "", .ca_file = ca};
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    server.pid = fork();
    if (server.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("node", "node", ATOLL_SOURCE_DIR "/tests/provider/http2.js", pem, (char *)NULL);
        _exit(127);
    }
    server.stdin_fd = in[1];
    close(in[0]);
    close(out[1]);
    while (length < sizeof(server.url) - 1 && read(out[0], server.url + length, 1) == 1 &&
           server.url[length] != '\n')
        length++;
    server.url[length] = '\0';
    close(out[0]);
}

static unsigned left, done, good, sessions, requests;

static int on_count(void *context, int http_status, const void *bytes, size_t length)
{
    unsigned connections = 0, so_far = 0;
    char text[128];
    snprintf(text, sizeof(text), "%.*s", (int)length, (const char *)bytes);
    assert_int_equal(sscanf(text, "%*u bytes, %u connections, %u", &connections, &so_far), 2);
    sessions = connections > sessions ? connections : sessions;
    requests = so_far > requests ? so_far : requests;
    good += http_status == 200;
    return 0;
}

static void on_end(void *context, const struct atoll_transfer_end *end)
{
    char body[512], url[300];
    done++;
    if (left == 0)
        return;
    left--;
    snprintf(url, sizeof(url), "%s/", server.url);
    struct atoll_transfer like = {.method = "POST", .url = url, .site = &site};
    struct atoll_transfer transfer = transfer_of(NULL, "ok", &like, body);
    transfer.on_header = NULL;
    transfer.on_data = on_count;
    transfer.on_done = on_end;
    assert_int_equal(atoll_transfers_start(transfers, &transfer, NULL, NULL), 0);
}

static void ask_path(const char *path, enum atoll_llm_status status, const char *part)
{
    char url[300];
    struct result result;
    snprintf(url, sizeof(url), "%s%s", server.url, path);
    struct atoll_transfer like = {.method = "POST", .url = url, .site = &site};
    result_init(&result);
    start(&result, "ok", &like);
    if (strcmp(path, "/silent") == 0) {
        for (int i = 0; i < 20; i++)
            assert_int_equal(atoll_loop_run(loop, 10, NULL), 0);
        added_ns += 400e9;
    }
    wait_for(&result);
    expect_end(&result, status, part);
    result_fini(&result);
}

static void test_http2(void **state)
{
    server_start();
    if (server.url[0] == '\0') {
        close(server.stdin_fd);
        waitpid(server.pid, NULL, 0);
        print_message("skipped: no node that can serve HTTP/2 is on PATH\n");
        skip();
    }
    ask_path("/", ATOLL_LLM_OK, "");
    ask_path("/refused", ATOLL_LLM_NETWORK, "");
    ask_path("/silent", ATOLL_LLM_NETWORK, "silent");
    left = 1000;
    for (int i = 0; i < 200; i++)
        on_end(NULL, NULL);
    done = 0;
    while (done < 1000)
        assert_int_equal(atoll_loop_run(loop, 10000, NULL), 0);
    assert_int_equal(good, 1000);
    assert_in_range(sessions, 1, 203); /* they are used again */
    assert_int_equal(requests, 1003);  /* and nothing is sent twice */
    provider_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_http2)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
