#include "tests/unit/llm-gateway/transfer_case.h"

#include <math.h>
#include <signal.h>

/* ---- what works ---- */

static void test_ok(void **state)
{
    static const char *const headers[] = {"X-Own: value", "Authorization: Bearer key"};
    struct atoll_transfer like = {.method = "POST", .headers = headers, .header_count = 2};
    struct result result;
    for (int round = 0; round < 2; round++) {
        ask(&result, "ok-limits-7-8-interim", &like);
        expect_end(&result, ATOLL_LLM_OK, "");
        assert_int_equal(result.end.http_status, 200);
        assert_int_equal(result.statuses, 200);
        assert_true(holds(&result.body, "word0 word1"));
        assert_true(holds(&result.head, "content-type=application/json;"));
        assert_true(holds(&result.head, "x-ratelimit-remaining-tokens=8;"));
        assert_false(holds(&result.head, "link=")); /* of the 103 before it */
        assert_true(result.end.first_byte_s > 0 && result.end.elapsed_s >= result.end.first_byte_s);
        if (round)
            assert_true(result.end.is_reused);
        result_fini(&result);
    }
    assert_int_equal(atoll_transfers_count(transfers), 0);
}

static void test_replies(void **state)
{
    static const struct {
        const char *method, *path, *model, *part;
        int http_status;
    } rows[] = {
        {"POST", "/v1/chat/completions", "status-429-retry-after-2", "rate_limit", 429},
        {"POST", "/v1/chat/completions", "overloaded", "error", 529},
        {"POST", "/v1/messages", "ok-bytes-1", "word4", 200},
        {"POST", "/v1/responses", "ok-close", "word4", 200},
        {"POST", "/v1/messages", "no-length", "word4", 200},
        {"POST", "/v1/chat/completions", "big-header-100", "word4", 200},
        {"GET", "/v1/models", "", "ok-tokens", 200},
        {"DELETE", "/v1/nowhere", "", "no such path", 404},
        {"PUT", "/v1/nowhere", "ok", "no such path", 404},
    };
    struct result result;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_transfer like = {.method = rows[i].method, .url = url_of(&plain, rows[i].path)};
        ask(&result, rows[i].model, &like);
        expect_end(&result, ATOLL_LLM_OK, "");
        assert_int_equal(result.end.http_status, rows[i].http_status);
        assert_true(holds(&result.body, rows[i].part));
        result_fini(&result);
    }
}

static void test_unix_socket(void **state)
{
    char path[128];
    struct provider door;
    struct result result;
    snprintf(path, sizeof(path), "%s/socket", folder);
    provider_start(&door, "--unix", path);
    struct atoll_transfer_site site = {.unix_socket = path};
    struct atoll_transfer like = {
        .method = "POST", .url = "http://localhost/v1/chat/completions", .site = &site};
    ask(&result, "ok", &like);
    expect_end(&result, ATOLL_LLM_OK, "");
    assert_true(holds(&result.body, "word0"));
    result_fini(&result);
    provider_stop(&door);
    unlink(path);
    ask(&result, "ok", &like);
    expect_end(&result, ATOLL_LLM_NETWORK, "");
    result_fini(&result);
}

/* ---- what is refused ---- */

static void test_bad_arguments(void **state)
{
    static const char *const line_end[] = {"X: a\r\nY: b"}, *const no_name[] = {": a"},
                             *const no_colon[] = {"abc"}, *const blank[] = {"X y: secret"};
    static const struct {
        const char *method, *url;
        const char *const *headers;
        enum atoll_code code;
        const char *part;
    } rows[] = {
        {"POST", "ftp://127.0.0.1/", NULL, ATOLL_E_INPUT, "no url"},
        {"POST", "file:///etc/passwd", NULL, ATOLL_E_INPUT, "no url"},
        {"POST", "", NULL, ATOLL_E_INPUT, "no url"},
        {"POST", "http://", NULL, ATOLL_E_INPUT, "no url"},
        {"POST", "http://a b/", NULL, ATOLL_E_INPUT, "blank"},
        {"POST", "http://user:secret@host/", NULL, ATOLL_E_INPUT, "user name"},
        {"post", "http://127.0.0.1/", NULL, ATOLL_E_INPUT, "no method"},
        {"GET X", "http://127.0.0.1/", NULL, ATOLL_E_INPUT, "no method"},
        {NULL, "http://127.0.0.1/", NULL, ATOLL_E_INPUT, "no method"},
        {"POST", "http://127.0.0.1/", line_end, ATOLL_E_INPUT, "line end"},
        {"POST", "http://127.0.0.1/", no_name, ATOLL_E_INPUT, "no name"},
        {"POST", "http://127.0.0.1/", no_colon, ATOLL_E_INPUT, "no name"},
        {"POST", "http://127.0.0.1/", blank, ATOLL_E_INPUT, "blank"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_transfer transfer = {.method = rows[i].method,
                                          .url = rows[i].url,
                                          .headers = rows[i].headers,
                                          .header_count = rows[i].headers ? 1 : 0,
                                          .on_done = on_done};
        assert_int_equal(atoll_transfers_start(transfers, &transfer, NULL, &err), -1);
        expect_err(&err, rows[i].code, rows[i].part);
        assert_null(strstr(err.text, "secret"));
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_transfer transfer = {.method = "GET", .url = "http://127.0.0.1/"};
    assert_int_equal(atoll_transfers_start(transfers, &transfer, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "no on_done");
    transfer.on_done = on_done;
    transfer.deadline_ns = NAN;
    assert_int_equal(atoll_transfers_start(transfers, &transfer, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "no deadline");
    assert_int_equal(atoll_transfers_count(transfers), 0);
    atoll_transfers_cancel(transfers, 0);
    atoll_transfers_cancel(transfers, 12345);
    struct sigaction pipes;
    assert_int_equal(sigaction(SIGPIPE, NULL, &pipes), 0);
    assert_true(pipes.sa_handler == SIG_IGN); /* a peer that closes kills nobody */
    atoll_transfers_destroy(NULL);
}

static void test_redirects(void **state)
{
    static const char *const models[] = {"redirect-301", "redirect-302", "redirect-303", "redirect-307",
                                         "redirect-308"};
    struct result result;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        ask(&result, models[i], NULL);
        expect_end(&result, ATOLL_LLM_PROTOCOL, "never followed");
        assert_non_null(strstr(result.end.detail, "/v1/elsewhere"));
        assert_int_equal(result.body.length, 0);
        result_fini(&result);
    }
}

static void test_body_limit(void **state)
{
    static const struct {
        const char *model, *part;
        size_t limit_bytes;
    } rows[] = {{"huge-100", "larger than", 1 << 20},
                {"huge-100-no-length", "larger than", 1 << 20},
                {"huge-100", "larger than", 0}, /* 64 MiB */
                {"words-1000", "larger than", 1000}};
    struct result result;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_transfer like = {.method = "POST", .body_limit_bytes = rows[i].limit_bytes};
        ask(&result, rows[i].model, &like);
        expect_end(&result, ATOLL_LLM_PROTOCOL, rows[i].part);
        assert_true(result.body.length <= (rows[i].limit_bytes ? rows[i].limit_bytes : (size_t)64 << 20));
        result_fini(&result);
    }
    ask(&result, "big-header-300", NULL);
    expect_end(&result, ATOLL_LLM_PROTOCOL, "headers are larger");
    result_fini(&result);
}

/* ---- certificates ---- */

static void test_certificates(void **state)
{
    static const struct {
        const char *server, *ca;
        enum atoll_llm_status status;
        const char *part;
    } rows[] = {
        {"valid.pem", "ca.pem", ATOLL_LLM_OK, ""},
        {"expired.pem", "ca.pem", ATOLL_LLM_NETWORK, "certificate has expired: its owner must renew it"},
        {"wrong-host.pem", "ca.pem", ATOLL_LLM_NETWORK, "certificate is for another host"},
        {"valid.pem", "other-ca.pem", ATOLL_LLM_NETWORK,
         "unknown CA: name the site's CA certificate in ca_file"},
        {"valid.pem", NULL, ATOLL_LLM_NETWORK, "unknown CA: name the site's CA certificate in ca_file"},
        {"self-signed.pem", "ca.pem", ATOLL_LLM_NETWORK, "signed by itself or by an unknown CA"},
        {"self-signed.pem", "self-signed.pem", ATOLL_LLM_OK, ""},
        {"valid.pem", "not-there.pem", ATOLL_LLM_NETWORK, "CA certificates cannot be read: see ca_file"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char server[128], ca[128];
        struct provider door;
        struct result result;
        snprintf(server, sizeof(server), "%s/%s", folder, rows[i].server);
        snprintf(ca, sizeof(ca), "%s/%s", folder, rows[i].ca ? rows[i].ca : "");
        provider_start(&door, "--tls", server);
        struct atoll_transfer_site site = {.proxy = "", .ca_file = rows[i].ca ? ca : NULL};
        struct atoll_transfer like = {
            .method = "POST", .url = url_of(&door, "/v1/chat/completions"), .site = &site};
        ask(&result, "ok", &like);
        expect_end(&result, rows[i].status, rows[i].part);
        assert_int_equal(holds(&result.body, "word0"), rows[i].status == ATOLL_LLM_OK);
        result_fini(&result);
        provider_stop(&door);
    }
}

static void test_no_tls_there(void **state)
{
    char url[256];
    struct result result;
    snprintf(url, sizeof(url), "https%s/v1/models", strchr(plain.url, ':'));
    struct atoll_transfer like = {.method = "GET", .url = url};
    ask(&result, "", &like);
    expect_end(&result, ATOLL_LLM_NETWORK, "TLS could not be agreed on");
    result_fini(&result);
}

/* ---- proxies ---- */

static void test_proxy(void **state)
{
    static const struct {
        const char *url, *proxy, *environment, *exempt; /* proxy: "own": the server, which takes whole URLs */
        enum atoll_llm_status status;
        const char *part;
    } rows[] = {
        {"http://elsewhere.invalid/v1/chat/completions", "own", NULL, NULL, ATOLL_LLM_OK, ""},
        {"http://elsewhere.invalid/v1/chat/completions", NULL, "own", NULL, ATOLL_LLM_OK, ""},
        {"http://elsewhere.invalid/v1/chat/completions", "own", "http://127.0.0.1:1", NULL, ATOLL_LLM_OK, ""},
        {"own", "", "http://127.0.0.1:1", NULL, ATOLL_LLM_OK, ""},
        {"own", NULL, "http://127.0.0.1:1", "127.0.0.1", ATOLL_LLM_OK, ""},
        {"own", NULL, "http://127.0.0.1:1", NULL, ATOLL_LLM_NETWORK, "no connection"},
        {"https://elsewhere.invalid/", "own", NULL, NULL, ATOLL_LLM_NETWORK, "the proxy opens no way"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int is_own = rows[i].proxy && strcmp(rows[i].proxy, "own") == 0;
        struct atoll_transfer_site site = {.proxy = is_own ? plain.url : rows[i].proxy};
        struct atoll_transfer like = {.method = "POST", .url = rows[i].url, .site = &site};
        struct result result;
        if (strcmp(rows[i].url, "own") == 0)
            like.url = NULL;
        if (rows[i].environment)
            setenv("http_proxy", strcmp(rows[i].environment, "own") ? rows[i].environment : plain.url, 1);
        if (rows[i].exempt)
            setenv("no_proxy", rows[i].exempt, 1);
        ask(&result, "ok", &like);
        expect_end(&result, rows[i].status, rows[i].part);
        /* what a proxy is asked to connect to is nothing that a provider could bill */
        assert_int_equal(result.end.is_sent, rows[i].status == ATOLL_LLM_OK);
        result_fini(&result);
        unsetenv("http_proxy");
        unsetenv("no_proxy");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok),           cmocka_unit_test(test_replies),
        cmocka_unit_test(test_unix_socket),  cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_redirects),    cmocka_unit_test(test_body_limit),
        cmocka_unit_test(test_certificates), cmocka_unit_test(test_no_tls_there),
        cmocka_unit_test(test_proxy),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
