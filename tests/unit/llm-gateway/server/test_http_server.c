/* test_http_server.c - the HTTP server, asked by raw sockets that keep to the rules or do not; behind it the real broker, and the fault
 * server that plays a provider.  The loop's clock is the system's plus what a test adds to it: patience ends without
 * waiting.  Guards against what hangs are in seconds of the system's clock and decide nothing. */
#include "tests/unit/llm-gateway/server/http_server_scene.h"

static void test_answers(void **state)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *words;
    } rows[] = {
        {CHAT_PATH, CHAT("echo", ""), 200, "\"content\":\"Hello there\""},
        {CHAT_PATH, CHAT("both", ""), 200, "\"object\":\"chat.completion\""},
        {CHAT_PATH, CHAT("tokens-7-3", ""), 200, "\"prompt_tokens\":7,\"completion_tokens\":3"},
        {CHAT_PATH, CHAT("refusal", ""), 200, "\"finish_reason\":\"content_filter\""},
        {CHAT_PATH, CHAT("status-500-always", ""), 503, "\"type\":\"overloaded\""},
        {CHAT_PATH, CHAT("status-400", ""), 400, "\"type\":\"invalid\""},
        {CHAT_PATH, CHAT("nobody", ""), 404, "model_not_found"},
        {CHAT_PATH, CHAT("ehco", ""), 404, "did you mean 'echo'?"},
        {CHAT_PATH, CHAT("echo", ",\"stream\":false"), 200, "\"content\":\"Hello there\""},
        {CHAT_PATH, CHAT("echo", ",\"stream\":true"), 400, "the gateway answers in one piece; send false"},
        {"/v1/embeddings", "{\"model\":\"ok\",\"input\":[\"a\",\"b\"]}", 200, "\"embedding\""},
        {"/v1/embeddings", CHAT("ok", ""), 400, "'input' is missing"},
        {CHAT_PATH, "{\"model\":\"ok\",\"input\":\"a\"}", 400, "send 'messages'"},
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        int status = ask(&d, &c, rows[i].path, rows[i].body);
        if (status != rows[i].status)
            fail_msg("row %zu: %.2000s", i, c.in);
        expect_words(&c, rows[i].words);
        client_close(&c);
    }
    door_close(&d);
}

static void test_pages(void **state)
{
    static const struct {
        const char *request, *words;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\n" HOST "\r\n", "{\"status\":\"ok\"}"},
        {"GET /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n",
         "{\"id\":\"both\",\"object\":\"model\",\"created\":0,\"owned_by\":\"ensemble\",\"atoll\":{\"tools\":"
         "true}}"},
        {"GET /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n",
         "{\"id\":\"silent\",\"object\":\"model\",\"created\":0,\"owned_by\":\"fault\",\"atoll\":{\"tools\":"
         "true}}"},
        {"GET /metrics HTTP/1.1\r\n" HOST AUTH "\r\n", "atoll_gateway_in_flight 0\n"},
        {"GET /metrics HTTP/1.0\r\n" AUTH "\r\n", "atoll_gateway_connections 1\n"},
    };
    struct door d;
    door_open(&d, "[::1]:0", 1);
    assert_non_null(strstr(atoll_http_server_url(d.server), "http://[::1]:"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        if (ask_bytes(&d, &c, rows[i].request, strlen(rows[i].request)) != 200)
            fail_msg("row %zu: %s", i, c.in);
        expect_words(&c, rows[i].words);
        client_close(&c);
    }
    door_close(&d);
}

static void await_count(struct door *d, unsigned count)
{
    time_t begun = time(NULL);
    while (atoll_broker_count(d->broker) != count) {
        turn(d);
        guard(begun, "a call");
    }
}

/* Callers that go: with half a request, and while a model thinks. */
static void test_leavers(void **state)
{
    struct door d;
    struct client c;
    door_open(&d, "127.0.0.1:0", 1);
    char *text = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
    size_t length = strlen(text);
    for (size_t sent = 1; sent < length; sent += 7) {
        client_open(&c, &d, text, sent);
        client_send(&c);
        turn(&d);
        client_close(&c);
        turn(&d);
    }
    free(text);
    for (int i = 0; i < 4; i++) {
        text = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
        client_open(&c, &d, text, strlen(text));
        client_send(&c);
        await_count(&d, 1);
        if (i >= 2) { /* more of them on the same connection does not hide that it ends */
            c.out = text;
            c.out_length = 20;
            client_send(&c);
            turn(&d);
        }
        client_close(&c);
        turn(&d);
        d.added_ns += i >= 2 ? 11e9 : 0;
        d.frozen_ns =
            i >= 2 ? 0 : clock_ns(&d); /* no tick comes: what was sent is seen, not what time it is */
        await_count(&d, 0);
        d.frozen_ns = 0;
        free(text);
    }
    expect_alive(&d);
    door_close(&d);
}

static void test_pipelined(void **state)
{
    struct door d;
    struct client c;
    char text[2048] = "";
    door_open(&d, "127.0.0.1:0", 1);
    for (int i = 0; i < 3; i++) {
        char *one = request_text(CHAT_PATH, AUTH, i == 1 ? CHAT("nobody", "") : CHAT("echo", ""));
        strcat(text, one);
        free(one);
    }
    strcat(text, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    client_open(&c, &d, text, strlen(text));
    time_t begun = time(NULL);
    while (!c.is_over) {
        client_send(&c);
        turn(&d);
        client_receive(&c);
        guard(begun, "a pipeline");
    }
    const char *at = c.in;
    static const char *const pieces[] = {"HTTP/1.1 200",    "Hello there",        "HTTP/1.1 404",
                                         "model_not_found", "HTTP/1.1 200",       "Hello there",
                                         "HTTP/1.1 200",    "{\"status\":\"ok\"}"};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        at = strstr(at, pieces[i]);
        if (!at)
            fail_msg("piece %zu does not come in its turn:\n%s", i, c.in);
        at++;
    }
    client_close(&c);
    door_close(&d);
}

/* Without a token the door is for programs of this machine. */
static void test_browsers(void **state)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: LOCALHOST\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.1.2.3\r\n\r\n", 200},
        {"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhostevil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost:80.evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: [::1].evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.0\r\n\r\n", 403},
        {"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", 403},
        {POST "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415},
        {POST "Content-Length: 2\r\n\r\n{}", 415},
        {POST "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 400},
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        if (ask_bytes(&d, &c, rows[i].request, strlen(rows[i].request)) != rows[i].status)
            fail_msg("row %zu: %s", i, c.in);
        client_close(&c);
    }
    door_close(&d);
}

static void test_unix(void **state)
{
    char address[] = "unix:/tmp/atoll-door-test-XXXXXX";
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stat status;
    struct door d;
    struct client c;
    close(mkstemp(address + 5)); /* a name of its own */
    const char *path = address + 5;
    unlink(path);
    door_open(&d, address, 0);
    assert_string_equal(atoll_http_server_url(d.server), address);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(ask(&d, &c, CHAT_PATH, CHAT("echo", "")), 200);
    client_close(&c);
    /* it is taken */
    assert_null(atoll_http_server_create(d.loop, d.broker, d.config, NULL, d.metrics, &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "another gateway listens"));
    assert_int_equal(stat(path, &status), 0);
    door_close(&d);
    assert_int_equal(stat(path, &status), -1); /* gone with its gateway */
    /* what a killed gateway leaves is replaced */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    door_open(&d, address, 0);
    expect_alive(&d);
    door_close(&d);
}

static void test_addresses(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    const char *colon = strrchr(atoll_http_server_url(d.server), ':');
    char taken[64], file[128];
    snprintf(taken, sizeof(taken), "127.0.0.1%s", colon);
    snprintf(file, sizeof(file), "unix:%s/token", d.folder);
    const struct {
        const char *address;
        int has_token;
        enum atoll_code code;
        const char *words;
    } rows[] = {
        {taken, 1, ATOLL_E_BUSY, "is in use"},
        {"0.0.0.0:0", 0, ATOLL_E_DENIED, "give a token"},
        {"192.0.2.1:0", 1, ATOLL_E_INPUT, "no address of this machine"},
        {file, 1, ATOLL_E_EXISTS, "no socket"},
        {"unix:/nonexistent/door", 1, ATOLL_E_NOTFOUND, "cannot listen"},
        {"here", 1, ATOLL_E_INPUT, "is no address to listen at"},
        {NULL, 1, ATOLL_E_INPUT, "names no address"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_gateway_config config = *d.config;
        config.listen = rows[i].address;
        atoll_err_clear(&err);
        assert_null(atoll_http_server_create(d.loop, d.broker, &config, rows[i].has_token ? d.token : NULL,
                                             d.metrics, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].words))
            fail_msg("row %zu: %d '%s'", i, (int)err.code, err.text);
    }
    atoll_http_server_destroy(NULL);
    door_close(&d);
}

/* A door that closes says so to those who wait. */
static void test_end(void **state)
{
    struct client clients[2];
    char *texts[2];
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (int i = 0; i < 2; i++) {
        texts[i] = request_text(CHAT_PATH, AUTH, CHAT("silent", ""));
        client_open(&clients[i], &d, texts[i], strlen(texts[i]));
        client_send(&clients[i]);
        await_count(&d, (unsigned)i + 1);
    }
    atoll_http_server_destroy(d.server);
    d.server = NULL;
    for (int i = 0; i < 2; i++) {
        time_t begun = time(NULL);
        while (!clients[i].is_over) {
            client_receive(&clients[i]);
            guard(begun, "an end");
        }
        assert_int_equal(status_of(&clients[i]), 503);
        expect_words(&clients[i], "gateway_ends");
        expect_words(&clients[i], "Retry-After: 1"); /* clients look for the next gateway */
        client_close(&clients[i]);
        free(texts[i]);
    }
    await_count(&d, 0);
    door_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_pages),
        cmocka_unit_test(test_leavers),   cmocka_unit_test(test_pipelined),

        cmocka_unit_test(test_browsers),  cmocka_unit_test(test_unix),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
