/* Callers that keep to no rule: every end of a request, lengths, ambiguous ones, crowds and the slow. */
#include "tests/unit/llm-gateway/server/http_server_scene.h"

static const struct {
    const char *name, *request;
    int status;
    const char *words;
} hostile[] = {
    {"no token", POST "Content-Length: 2\r\n\r\n{}", 401, "WWW-Authenticate: Bearer"},
    {"wrong token", POST "Authorization: Bearer correct-horse-batterx\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"shorter token", POST "Authorization: Bearer correct-horse\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"longer token", POST "Authorization: Bearer " TOKEN "x\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"empty token", POST "Authorization: Bearer \r\nContent-Length: 2\r\n\r\n{}", 401, "invalid_api_key"},
    {"other scheme", POST "Authorization: Basic " TOKEN "\r\nContent-Length: 2\r\n\r\n{}", 401,
     "invalid_api_key"},
    {"models without token", "GET /v1/models HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"metrics without token", "GET /metrics HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"unknown path without token", "GET /secret HTTP/1.1\r\n" HOST "\r\n", 401, "invalid_api_key"},
    {"unknown path", "GET /v1/other HTTP/1.1\r\n" HOST AUTH "\r\n", 404, "there are /v1/chat/completions"},
    {"path with dots", "GET /v1/../metrics HTTP/1.1\r\n" HOST AUTH "\r\n", 404, "unknown_url"},
    {"wrong method", "GET " CHAT_PATH " HTTP/1.1\r\n" HOST AUTH "\r\n", 405, "Allow: POST"},
    {"wrong method", "DELETE /v1/models HTTP/1.1\r\n" HOST AUTH "\r\n", 405, "Allow: GET"},
    {"no method", "FLY /healthz HTTP/1.1\r\n" HOST "\r\n", 405, "Allow: GET"},
    {"empty body", POST AUTH "Content-Length: 0\r\n\r\n", 400, "invalid_request_error"},
    {"no JSON", POST AUTH "Content-Length: 5\r\n\r\nhello", 400, "invalid_request_error"},
    {"half JSON", POST AUTH "Content-Length: 9\r\n\r\n{\"model\":", 400, "invalid_request_error"},
    {"bad UTF-8", POST AUTH "Content-Length: 17\r\n\r\n{\"model\":\"o\xff\xfek\"} ", 400,
     "invalid_request_error"},
    {"no messages", POST AUTH "Content-Length: 14\r\n\r\n{\"model\":\"ok\"}", 400, "messages"},
    {"array", POST AUTH "Content-Length: 2\r\n\r\n[]", 400, "invalid_request_error"},
    {"chunked", POST AUTH "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n4\r\n    \r\n1\r\n}\r\n0\r\n\r\n", 400,
     "invalid_request_error"},
    {"bad chunks", POST AUTH "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, ""},
    {"no HTTP", "hello\r\n\r\n", 0, ""}, /* closed: there is nobody to answer to */
    {"no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400, ""},
    {"length is no number", POST AUTH "Content-Length: many\r\n\r\n{}", 400, ""},
    {"far too large", POST AUTH "Content-Length: 99999999999\r\n\r\n", 413, "a request has at most 8 MiB"},
    {"asks before it sends", POST AUTH "Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n", 413,
     "a request has at most 8 MiB"},
    {"asks without token", POST "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", 401, "invalid_api_key"},
};

static void test_hostile(void **state)
{
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t pace = 0; pace < 2; pace++) { /* at once, and byte by byte */
        for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
            struct client c;
            client_open(&c, &d, hostile[i].request, strlen(hostile[i].request));
            c.at_once = pace;
            client_run(&d, &c);
            if (status_of(&c) != hostile[i].status || !strstr(c.in, hostile[i].words))
                fail_msg("%s: %.1000s", hostile[i].name, c.in);
            if (strstr(c.in, TOKEN))
                fail_msg("%s: the answer holds the token", hostile[i].name);
            client_close(&c);
        }
    }
    expect_alive(&d);
    assert_int_equal(atoll_broker_count(d.broker), 0);
    door_close(&d);
}

static void test_large(void **state)
{
    static const struct {
        size_t length;
        int status;
    } rows[] = {{(8 << 20) - 200, 400}, {(8 << 20) + 1, 413}, {20 << 20, 413}};
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        char *body = body_of(rows[i].length);
        if (ask(&d, &c, CHAT_PATH, body) != rows[i].status)
            fail_msg("%zu bytes: %.500s", rows[i].length, c.in);
        client_close(&c);
        free(body);
    }
    char *chunk = body_of(1 << 20), *text = malloc((12u << 20) + 4096);
    size_t length = (size_t)sprintf(text, POST AUTH "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 12; i++)
        length += (size_t)sprintf(text + length, "100000\r\n%s\r\n", chunk);
    length += (size_t)sprintf(text + length, "0\r\n\r\n");
    struct client c;
    assert_int_equal(ask_bytes(&d, &c, text, length), 413);
    expect_words(&c, "request_too_large");
    client_close(&c);
    memset(chunk, 'x', 40000); /* one header of 40 KB */
    chunk[40000] = 0;
    length = (size_t)sprintf(text, "GET /healthz HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", chunk);
    assert_int_equal(ask_bytes(&d, &c, text, length), 431);
    client_close(&c);
    length = (size_t)sprintf(text, "GET /%s HTTP/1.1\r\n" HOST "\r\n", chunk);
    int status = ask_bytes(&d, &c, text, length);
    assert_true(status == 414 || status == 431);
    client_close(&c);
    expect_alive(&d);
    free(chunk);
    free(text);
    door_close(&d);
}

static void test_crowd(void **state)
{
    enum { CROWD = 200 };
    static struct client clients[CROWD];
    struct door d;
    time_t begun = time(NULL);
    door_open(&d, "127.0.0.1:0", 1);
    char *text = request_text(CHAT_PATH, AUTH, CHAT("delay-150", ""));
    for (int i = 0; i < CROWD; i++)
        client_open(&clients[i], &d, text, strlen(text));
    for (int left = CROWD; left;) {
        turn(&d);
        left = 0;
        for (int i = 0; i < CROWD; i++) {
            if (is_answered(&clients[i]))
                continue;
            left++;
            client_send(&clients[i]);
            client_receive(&clients[i]);
        }
        guard(begun, "a crowd");
    }
    for (int i = 0; i < CROWD; i++) {
        if (status_of(&clients[i]) != 200)
            fail_msg("client %d: %s", i, clients[i].in);
        client_close(&clients[i]);
    }
    free(text);
    expect_alive(&d);
    door_close(&d);
}

/* More connections than a door with few descriptors has: they hear of it. */
static void test_too_many(void **state)
{
    enum { CROWD = 150 };
    static struct client clients[CROWD];
    struct rlimit old, few;
    struct door d;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){.rlim_cur = 340, .rlim_max = old.rlim_max}; /* 340 / 2 - 64 = 106 */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    door_open(&d, "127.0.0.1:0", 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    for (int i = 0; i < CROWD; i++)
        client_open(&clients[i], &d, "", 0);
    time_t begun = time(NULL);
    struct client late;
    static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
    for (int i = 0; i < 10; i++)
        turn(&d);
    assert_int_equal(ask_bytes(&d, &late, request, sizeof(request) - 1), 503);
    expect_words(&late, "too many connections");
    expect_words(&late, "Retry-After: 1");
    client_close(&late);
    for (int i = 0; i < CROWD; i++)
        client_close(&clients[i]);
    for (int i = 0; i < 10; i++)
        turn(&d);
    expect_alive(&d);
    guard(begun, "a full door");
    door_close(&d);
}

/* Who sends a byte now and then has as little time as who sends none. */
static void test_patience(void **state)
{
    static const char *const texts[] = {"", "GET /heal", POST AUTH "Content-Length: 10\r\n\r\n12345"};
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct client c;
        client_open(&c, &d, texts[i], strlen(texts[i]));
        client_send(&c);
        for (int step = 0; step < 5; step++)
            turn(&d);
        d.added_ns += 30e9;
        turn(&d);
        client_receive(&c);
        assert_false(c.is_over);
        d.added_ns += 31e9;
        client_run(&d, &c);
        if (status_of(&c) != 408)
            fail_msg("row %zu: %s", i, c.in);
        time_t begun = time(NULL);
        while (!c.is_over) { /* and it is closed */
            turn(&d);
            client_receive(&c);
            guard(begun, "a connection without patience");
        }
        client_close(&c);
    }
    expect_alive(&d);
    door_close(&d);
}

/* What another program on the way could take for another request, or for two.  Honest ones around it are answered. */
static void test_ambiguous(void **state)
{
#define NEXT "GET /v1/models HTTP/1.1\r\n" HOST AUTH "Connection: close\r\n\r\n"
#define ROW(status, text)                                                                                    \
    {                                                                                                        \
        status, text NEXT, sizeof(text NEXT) - 1                                                             \
    }
    static const struct {
        int status;
        const char *bytes;
        size_t length;
    } rows[] = {
        ROW(200, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"),
        ROW(200, "GET /healthz HTTP/1.1\r\n" HOST "X-Spaced:  \t two \r\nX-Empty:\r\n\r\n"),
        ROW(400, "POST /healthz HTTP/1.1\r\n" HOST
                 "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 9\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST
                 "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW(400, "GET /healthz HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST AUTH "Authorization: Bearer other\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN "\0junk\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST "Authorization: Bearer " TOKEN "\0\0j\r\nX: y\r\n\r\n"),
        ROW(400, "GET /v1/models HTTP/1.1\r\n" HOST AUTH "X: a\0b\r\n\r\n"),
        ROW(400, "GET /v1/models\0x HTTP/1.1\r\n" HOST AUTH "\r\n"),
        ROW(200, "GET /v1/models?limit=100 HTTP/1.1\r\n" HOST AUTH "\r\n"),
    };
    struct door d;
    door_open(&d, "127.0.0.1:0", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct client c;
        time_t begun = time(NULL);
        client_open(&c, &d, rows[i].bytes, rows[i].length);
        while (!c.is_over) { /* each of them ends its connection */
            client_send(&c);
            turn(&d);
            client_receive(&c);
            guard(begun, "a connection's end");
        }
        int is_list = strstr(c.in, "\"object\":\"list\"") != NULL;
        if (status_of(&c) != rows[i].status || is_list != (rows[i].status == 200))
            fail_msg("row %zu: %.1000s", i, c.in);
        client_close(&c);
    }
    expect_alive(&d);
    door_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),  cmocka_unit_test(test_large),    cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_patience), cmocka_unit_test(test_ambiguous),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
