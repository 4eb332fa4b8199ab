#include "tests/unit/llm-gateway/transfer_case.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* ---- broken connections ---- */

static void test_nobody_listens(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    char url[64];
    struct result result;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
    struct atoll_transfer like = {.method = "POST", .url = url};
    ask(&result, "ok", &like);
    expect_end(&result, ATOLL_LLM_NETWORK, "no connection");
    result_fini(&result);
    close(fd);
}

/* At every byte of a reply (over TLS at every seventh), streamed or with a length, by a reset or an end. */
static void break_everywhere(const char *path, const char *word, int is_tls)
{
    char model[64], ca[128];
    struct result result;
    snprintf(ca, sizeof(ca), "%s/ca.pem", folder);
    struct atoll_transfer_site site = {.proxy = "", .ca_file = ca};
    struct atoll_transfer like = {
        .method = "POST", .url = url_of(is_tls ? &tls : &plain, path), .site = &site};
    ask(&result, "ok", &like);
    size_t length = result.body.length + 70; /* with its head, and not beyond its end */
    result_fini(&result);
    for (size_t at = 0; at < length; at += is_tls ? 7 : 1) {
        snprintf(model, sizeof(model), "%s-%zu", word, at);
        ask(&result, model, &like);
        if (result.end.status != ATOLL_LLM_NETWORK)
            fail_msg("%s of %s: status %d", model, path, (int)result.end.status);
        expect_end(&result, ATOLL_LLM_NETWORK, "connection");
        result_fini(&result);
    }
}

static void test_break_at_every_byte(void **state)
{
    static const char *const paths[] = {"/v1/messages", "/v1/chat/completions", "/v1/responses"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        break_everywhere(paths[i], "reset", 0);
    break_everywhere("/v1/messages", "cut", 0);
    break_everywhere("/v1/chat/completions", "reset", 1);
}

/* A connection that was used before breaks before the first byte of a reply: the request is not sent again by itself. */
static void test_nothing_is_sent_twice(void **state)
{
    struct result result;
    ask(&result, "ok-words-1", NULL);
    result_fini(&result);
    ask(&result, "reset-0-words-77", NULL);
    expect_end(&result, ATOLL_LLM_NETWORK, "used before broke; the request may have arrived");
    result_fini(&result);
    assert_int_equal(counted("reset-0-words-77", "seen"), 1);
}

/* ---- time ---- */

/* Runs until the server has counted it, then lets time pass. */
static void pass_time(struct result *result, double s)
{
    for (int i = 0; i < 20; i++)
        assert_int_equal(atoll_loop_run(loop, 10, NULL), 0);
    assert_int_equal(result->calls, 0);
    added_ns += s * 1e9;
    assert_int_equal(atoll_loop_run(loop, 0, NULL), 0);
}

static void test_silence(void **state)
{
    static const char *const models[] = {"silent", "silent-after-40", "silent-after-200"};
    struct atoll_transfer_site site = {.proxy = "", .silence_s = 300};
    struct atoll_transfer like = {.method = "POST", .site = &site};
    struct result result;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        result_init(&result);
        start(&result, models[i], &like);
        pass_time(&result, 299);
        assert_int_equal(result.calls, 0);
        added_ns += 2e9;
        wait_for(&result);
        expect_end(&result, ATOLL_LLM_NETWORK, "silent for 30");
        result_fini(&result);
    }
}

static void test_deadline(void **state)
{
    static const char *const models[] = {"silent", "silent-after-40", "delay-100000"};
    struct result result;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct atoll_transfer like = {.method = "POST", .deadline_ns = atoll_loop_now_ns(loop) + 60e9};
        result_init(&result);
        start(&result, models[i], &like);
        pass_time(&result, 59);
        assert_int_equal(result.calls, 0);
        added_ns += 2e9;
        wait_for(&result);
        expect_end(&result, ATOLL_LLM_TIMEOUT, "not done by its deadline");
        assert_true(result.end.elapsed_s >= 60 && result.end.elapsed_s < 70);
        result_fini(&result);
    }
    struct atoll_transfer late = {.method = "POST", .deadline_ns = 1};
    ask(&result, "ok", &late);
    expect_end(&result, ATOLL_LLM_TIMEOUT, "");
    result_fini(&result);
}

/* A listener whose queue is full does not answer. */
static void test_connect_limit(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fillers[8];
    char url[64];
    struct result result;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    for (int i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(fillers[i], (struct sockaddr *)&address, length))
            assert_int_equal(errno, EINPROGRESS);
    }
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
    struct atoll_transfer_site site = {.proxy = "", .connect_s = 0.05};
    struct atoll_transfer like = {.method = "POST", .url = url, .site = &site};
    ask(&result, "ok", &like);
    expect_end(&result, ATOLL_LLM_NETWORK, "no connection in time: see connect_s");
    result_fini(&result);
    for (int i = 0; i < 8; i++)
        close(fillers[i]);
    close(fd);
}

/* ---- callbacks ---- */

static void test_cancel(void **state)
{
    struct result result, other;
    result_init(&result);
    start(&result, "ok", NULL);
    atoll_transfers_cancel(transfers, result.number);
    atoll_transfers_cancel(transfers, result.number);
    assert_int_equal(result.calls, 0);
    wait_for(&result);
    expect_end(&result, ATOLL_LLM_CANCELLED, "cancelled");
    uint64_t old = result.number;
    result_fini(&result);

    result_init(&result);
    result.cancel_in_data = 1;
    start(&result, "ok-bytes-20-slow-1", NULL);
    assert_true(result.number != old);
    atoll_transfers_cancel(transfers, old); /* not this one's */
    wait_for(&result);
    expect_end(&result, ATOLL_LLM_CANCELLED, "cancelled");
    assert_int_equal(result.data_calls, 1);
    result_fini(&result);

    result_init(&other);
    start(&other, "silent", NULL);
    pass_time(&other, 0);
    atoll_transfers_cancel(transfers, other.number);
    wait_for(&other);
    expect_end(&other, ATOLL_LLM_CANCELLED, "cancelled");
    result_fini(&other);
    assert_int_equal(atoll_transfers_count(transfers), 0);
}

static void test_stop_and_start_inside(void **state)
{
    struct result result, second, third;
    result_init(&result);
    result.stop_at = 2;
    start(&result, "ok-bytes-50-slow-1", NULL);
    wait_for(&result);
    expect_end(&result, ATOLL_LLM_PROTOCOL, "given up");
    assert_int_equal(result.data_calls, 2);
    result_fini(&result);

    result_init(&result);
    result_init(&second);
    result_init(&third);
    result.start_in_data = &second;
    result.start_in_done = &third;
    start(&result, "ok", NULL);
    wait_for(&result);
    wait_for(&second);
    wait_for(&third);
    expect_end(&result, ATOLL_LLM_OK, "");
    expect_end(&second, ATOLL_LLM_OK, "");
    expect_end(&third, ATOLL_LLM_OK, "");
    result_fini(&result);
    result_fini(&second);
    result_fini(&third);
}

static void refused_in_done(void *context, const struct atoll_transfer_end *end)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_transfer transfer = {.method = "GET", .url = plain.url, .on_done = on_done};
    assert_int_equal(atoll_transfers_start(*(struct atoll_transfers **)context, &transfer, NULL, &err), -1);
    expect_err(&err, ATOLL_E_BUSY, "ends");
    assert_int_equal(end->status, ATOLL_LLM_CANCELLED);
    added_ns += 1; /* counts */
}

static void test_destroy_in_flight(void **state)
{
    double before = added_ns;
    char body[512];
    struct atoll_transfers *own =
        atoll_transfers_create(loop, 2, NULL); /* so that some wait for a connection */
    for (int i = 0; i < 5; i++) {
        struct atoll_transfer transfer = transfer_of(NULL, "silent", NULL, body);
        transfer.on_done = refused_in_done;
        transfer.context = &own;
        assert_int_equal(atoll_transfers_start(own, &transfer, NULL, NULL), 0);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(atoll_loop_run(loop, 10, NULL), 0);
    assert_int_equal(atoll_transfers_count(own), 5);
    atoll_transfers_destroy(own);
    assert_true(added_ns - before > 4 && added_ns - before < 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_break_at_every_byte),
        cmocka_unit_test(test_nothing_is_sent_twice),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_connect_limit),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_stop_and_start_inside),
        cmocka_unit_test(test_destroy_in_flight),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
