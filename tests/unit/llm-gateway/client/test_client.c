#include "tests/support/expect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "llm-gateway/client/client_transport.h"
#include "llm-gateway/budget/exchange_store.h"
#include "tests/unit/llm-gateway/spool_scene.h"

#define S          1e9
#define TURN_LIMIT 2000

/* ---- what callbacks saw ---- */

struct answer {
    int count; /* of callbacks: it must come once */
    enum atoll_llm_status status;
    char detail[512], text[256];
    int is_from_store, has_id;
};

static void on_answer(void *context, const struct atoll_llm_outcome *outcome)
{
    struct answer *a = context;
    a->count++;
    a->status = outcome->status;
    a->is_from_store = outcome->is_from_store;
    a->has_id = !atoll_id_is_zero(&outcome->request);
    snprintf(a->detail, sizeof(a->detail), "%s", outcome->detail);
    snprintf(a->text, sizeof(a->text), "%.*s", (int)(outcome->text.length < 255 ? outcome->text.length : 255),
             outcome->text.length ? (const char *)outcome->text.data : "");
}

static void expect_answer(const struct answer *a, enum atoll_llm_status status, const char *part)
{
    assert_int_equal(a->count, 1);
    if (a->status != status || !strstr(atoll_llm_status_is_answer(status) ? a->text : a->detail, part))
        fail_msg("%s '%s' '%s'; expected %s and '%s'", atoll_llm_status_name(a->status), a->detail, a->text,
                 atoll_llm_status_name(status), part);
    assert_true(a->has_id);
}

static struct atoll_client *open_client(struct scene *scene, const char *where, const char *token_file)
{
    struct atoll_client_clock clock = {scene_clock, scene};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_client *client = atoll_client_create_at(where, token_file, &clock, &err);
    if (!client)
        fail_msg("%s", err.text);
    return client;
}

static uint64_t ask(struct atoll_client *client, const char *key, double deadline_s, struct answer *answer)
{
    struct atoll_llm_request request;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t call = 0;
    scene_request(&request, key);
    request.deadline_s = deadline_s;
    memset(answer, 0, sizeof(*answer));
    if (atoll_client_ask(client, &request, on_answer, answer, &call, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(call > 0);
    assert_int_equal(answer->count, 0); /* never from inside ask */
    return call;
}

static void turn(struct atoll_client *client)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_client_turn(client, &err) != 0)
        fail_msg("%s", err.text);
}

/* ---- addresses ---- */

static void test_addresses(void **state)
{
    static const char *const wrong[] = {
        "",        "http:/x", "http://",   "https://",      "ftp://host", "unix:",      "spool:",
        "replay:", "host:80", "http:///x", "http://u@host", "http://a b", "https://h?q"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (atoll_client_create(wrong[i], NULL, &err))
            fail_msg("'%s' was taken", wrong[i]);
        expect_err(&err, ATOLL_E_USAGE, "gateway '");
    }
    static const char *const right[] = {"http://127.0.0.1:1", "http://host:1/v1/", "https://host",
                                        "unix:/tmp/none"};
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        struct atoll_client *client = atoll_client_create(right[i], NULL, NULL);
        assert_non_null(client);
        assert_true(atoll_client_fd(client) >= 0);
        atoll_client_settled(client, 1);
        atoll_client_cancel(client, 1);
        atoll_client_destroy(client);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_client_create("replay:/tmp/atoll-there-is-none", NULL, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "atoll-there-is-none");
    assert_null(atoll_client_create("http://host", "/tmp/atoll-there-is-none", &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "atoll-there-is-none");
    assert_null(atoll_client_create(NULL, NULL, &err));
    atoll_client_destroy(NULL);
}

/* ---- the spool ---- */

static struct atoll_client *spool_client(struct scene *scene)
{
    char where[256];
    snprintf(where, sizeof(where), "spool:%s", scene->folder);
    return open_client(scene, where, NULL);
}

static void write_reply(const struct scene *scene, const char *name, const char *text)
{
    char path[PATH_MAX];
    scene_path(scene, name, "reply", path);
    scene_write(path, text, strlen(text));
}

static void name_of(const char *key, char name[ATOLL_SPOOL_NAME_BYTES])
{
    struct atoll_id id = atoll_id_of(key, strlen(key));
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&id, hex);
    snprintf(name, ATOLL_SPOOL_NAME_BYTES, "%.40s", hex);
}

static void test_spool_there_and_back(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct answer a;
    char name[ATOLL_SPOOL_NAME_BYTES];
    assert_int_equal(atoll_client_fd(client), -1);
    uint64_t call = ask(client, "k1", 0, &a);
    turn(client);
    assert_int_equal(a.count, 0);
    name_of("k1", name);
    write_reply(scene, name, "32 lanes");
    turn(client); /* no time has passed: it does not look */
    assert_int_equal(a.count, 0);
    scene->now_ns += 0.021 * S;
    turn(client);
    expect_answer(&a, ATOLL_LLM_OK, "32 lanes");
    struct answer b; /* no tool was offered */
    uint64_t other = ask(client, "k2", 0, &b);
    name_of("k2", name);
    write_reply(scene, name,
                "{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"rm\"}}]}}]}");
    scene->now_ns += 0.021 * S;
    turn(client);
    expect_answer(&b, ATOLL_LLM_EMPTY, "it called 'rm', and no tool may be called here");
    atoll_client_settled(client, other);
    assert_int_equal(scene_count(scene, "*"), 2); /* until it is durable elsewhere */
    atoll_client_settled(client, call);
    assert_int_equal(scene_count(scene, "*"), 0);
    atoll_client_settled(client, call);
    atoll_client_destroy(client);
}

static void test_spool_deadline_and_cancel(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct answer a, b, c;
    uint64_t call = ask(client, "k1", 0, &a);
    ask(client, "k2", 10, &b);
    ask(client, "k3", 0, &c);
    atoll_client_cancel(client, call);
    assert_int_equal(a.count, 0);
    turn(client);
    expect_answer(&a, ATOLL_LLM_CANCELLED, "cancelled");
    scene->now_ns += 9.9 * S;
    turn(client);
    assert_int_equal(b.count, 0);
    scene->now_ns += 0.2 * S;
    turn(client);
    expect_answer(&b, ATOLL_LLM_TIMEOUT, "before the deadline");
    scene->now_ns += 880 * S;
    turn(client);
    assert_int_equal(c.count, 0);
    scene->now_ns += 20 * S;
    turn(client);
    expect_answer(&c, ATOLL_LLM_TIMEOUT, "before the deadline"); /* 900 s where it says nothing */
    assert_int_equal(scene_count(scene, "*"), 0);                /* all withdrawn */
    atoll_client_cancel(client, call);
    turn(client);
    assert_int_equal(a.count, 1);
    atoll_client_destroy(client);
}

static void test_spool_after_a_kill(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct answer a;
    char name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", 0, &a);
    atoll_client_destroy(client);
    expect_answer(&a, ATOLL_LLM_CANCELLED, "closed");
    assert_int_equal(scene_count(scene, "*.request"), 1);
    name_of("k1", name);
    write_reply(scene, name, "meanwhile");
    client = spool_client(scene);
    ask(client, "k1", 0, &a);
    scene->now_ns += S;
    turn(client);
    expect_answer(&a, ATOLL_LLM_OK, "meanwhile");
    atoll_client_destroy(client);
}

/* Removed by somebody, or given up by a gateway that ended: asked again, unseen by the caller. */
static void test_spool_asks_again(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct answer a;
    char name[ATOLL_SPOOL_NAME_BYTES], path[PATH_MAX];
    ask(client, "k1", 0, &a);
    name_of("k1", name);
    scene_path(scene, name, "request", path);
    assert_int_equal(unlink(path), 0);
    scene->now_ns += S;
    turn(client);
    assert_true(scene_has(scene, name, "request"));
    write_reply(scene, name,
                "{\"error\":{\"message\":\"the gateway ends\",\"type\":\"cancelled\"},"
                "\"atoll\":{\"status\":\"cancelled\"}}");
    scene->now_ns += S;
    turn(client);
    assert_int_equal(a.count, 0);
    assert_true(scene_has(scene, name, "request"));
    assert_false(scene_has(scene, name, "reply"));
    write_reply(scene, name, "at last");
    scene->now_ns += S;
    turn(client);
    expect_answer(&a, ATOLL_LLM_OK, "at last");
    atoll_client_destroy(client);
}

/* A file system in trouble is waited for; the deadline's text says what it was. */
static void test_spool_trouble(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct answer a;
    char name[ATOLL_SPOOL_NAME_BYTES], from[PATH_MAX], to[PATH_MAX];
    ask(client, "k1", 10, &a);
    name_of("k1", name);
    snprintf(from, sizeof(from), "%s/%.2s", scene->folder, name);
    snprintf(to, sizeof(to), "%s/.away", scene->folder);
    assert_int_equal(rename(from, to), 0);
    scene->now_ns += S;
    turn(client);
    assert_int_equal(a.count, 0);
    scene->now_ns += 20 * S;
    turn(client);
    expect_answer(&a, ATOLL_LLM_TIMEOUT, "last: ");
    assert_non_null(strstr(a.detail, from));
    atoll_client_destroy(client);
}

/* Callbacks may do everything. */
struct chain {
    struct atoll_client *client;
    const struct scene *scene;
    int left, count;
    uint64_t other;
};

static void on_chain(void *context, const struct atoll_llm_outcome *outcome)
{
    struct chain *chain = context;
    struct atoll_llm_request request;
    uint64_t call;
    char key[16], name[ATOLL_SPOOL_NAME_BYTES];
    chain->count++;
    assert_int_equal(atoll_client_turn(chain->client, NULL), 0); /* nothing happens inside */
    atoll_client_cancel(chain->client, chain->other);
    if (chain->left-- <= 0)
        return;
    snprintf(key, sizeof(key), "chain%d", chain->left);
    scene_request(&request, key);
    assert_int_equal(atoll_client_ask(chain->client, &request, on_chain, chain, &call, NULL), 0);
    atoll_client_settled(chain->client, call); /* too early: nothing */
    name_of(key, name);
    write_reply(chain->scene, name, "next");
}

static void test_callbacks_may_ask_and_cancel(void **state)
{
    struct scene *scene = *state;
    struct chain chain = {.client = spool_client(scene), .scene = scene, .left = 100};
    struct answer other;
    chain.other = ask(chain.client, "other", 0, &other);
    on_chain(&chain, NULL);
    for (int i = 0; i < 200; i++) {
        scene->now_ns += 0.3 * S;
        turn(chain.client);
    }
    assert_int_equal(chain.count, 101);
    expect_answer(&other, ATOLL_LLM_CANCELLED, "");
    atoll_client_destroy(chain.client);
}

static void test_wrong_requests(void **state)
{
    struct scene *scene = *state;
    struct atoll_client *client = spool_client(scene);
    struct atoll_llm_request request;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct answer a = {0};
    uint64_t call = 77;
    scene_request(&request, "k1");
    request.model = "";
    assert_int_equal(atoll_client_ask(client, &request, on_answer, &a, &call, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "model");
    assert_true(call == 77);
    atoll_client_destroy(client);
    assert_int_equal(a.count, 0);
}

/* ---- a recording ---- */

static void test_replay(void **state)
{
    struct scene *scene = *state;
    char path[256], where[280];
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    struct answer a, b;
    snprintf(path, sizeof(path), "%s/cassette", scene->folder);
    struct atoll_store *store = atoll_store_open(path, ATOLL_STORE_RECORD, NULL);
    assert_non_null(store);
    scene_request(&request, "k1");
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_put_bytes(&outcome.text, "recorded", 9);
    outcome.text.length--;
    assert_int_equal(atoll_store_put(store, &request, &outcome, 0, NULL), 0);
    assert_int_equal(atoll_store_finish(store, NULL), 0);
    atoll_store_close(store);
    atoll_llm_outcome_fini(&outcome);
    snprintf(where, sizeof(where), "replay:%s", path);
    struct atoll_client *client = open_client(scene, where, NULL);
    assert_int_equal(atoll_client_fd(client), -1);
    ask(client, "k1", 0, &a);
    scene_request(&request, "k2");
    request.messages[0].text = "something else";
    uint64_t call;
    memset(&b, 0, sizeof(b));
    assert_int_equal(atoll_client_ask(client, &request, on_answer, &b, &call, NULL), 0);
    turn(client);
    expect_answer(&a, ATOLL_LLM_OK, "recorded");
    assert_true(a.is_from_store);
    expect_answer(&b, ATOLL_LLM_MISS, "does not hold");
    atoll_client_destroy(client);
}

/* ---- HTTP: a gateway of few words, in this process ---- */

struct door {
    int listener, connection;
    char where[128], seen[16384];
    size_t seen_length;
};

static void door_open(struct door *door)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    memset(door, 0, sizeof(*door));
    door->connection = -1;
    door->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(door->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(door->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(door->where, sizeof(door->where), "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
}

static void door_listen(struct door *door)
{
    assert_int_equal(listen(door->listener, 16), 0);
}

static void door_close(struct door *door)
{
    if (door->connection >= 0)
        close(door->connection);
    close(door->listener);
}

/* One step of the client, and of a clock that goes ten times as fast as the wait. */
static void step(struct scene *scene, struct atoll_client *client)
{
    struct pollfd ready = {.fd = atoll_client_fd(client), .events = POLLIN};
    poll(&ready, 1, 2);
    scene->now_ns += 0.02 * S;
    turn(client);
}

static int is_whole(const struct door *door)
{
    const char *end = strstr(door->seen, "\r\n\r\n"), *length = strcasestr(door->seen, "content-length:");
    return end && length && strlen(end + 4) >= strtoul(length + 15, NULL, 10);
}

/* Waits until a whole request is there. */
static void door_hear(struct scene *scene, struct door *door, struct atoll_client *client)
{
    door->seen_length = 0;
    door->seen[0] = '\0';
    for (int i = 0; i < TURN_LIMIT && !is_whole(door); i++) {
        step(scene, client);
        if (door->connection < 0)
            door->connection = accept4(door->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        ssize_t n = door->connection < 0 ? 0
                                         : read(door->connection, door->seen + door->seen_length,
                                                sizeof(door->seen) - 1 - door->seen_length);
        door->seen_length += n > 0 ? (size_t)n : 0;
        door->seen[door->seen_length] = '\0';
    }
    assert_true(is_whole(door));
}

/* body NULL: the connection is cut instead. */
static void door_say(struct door *door, int status, const char *headers, const char *body)
{
    char reply[4096];
    if (body) {
        int length = snprintf(reply, sizeof(reply),
                              "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s"
                              "Connection: close\r\n\r\n%s",
                              status, strlen(body), headers, body);
        assert_int_equal(write(door->connection, reply, (size_t)length), length);
    }
    close(door->connection);
    door->connection = -1;
}

static void until_answered(struct scene *scene, struct atoll_client *client, const struct answer *a)
{
    for (int i = 0; i < TURN_LIMIT && !a->count; i++)
        step(scene, client);
}

#define COMPLETION "{\"choices\":[{\"message\":{\"content\":\"32 lanes\"},\"finish_reason\":\"stop\"}]}"
#define LAST_WORD(status)                                                                                    \
    "{\"error\":{\"message\":\"why\",\"type\":\"" status "\"},\"atoll\":{\"status\":\"" status               \
    "\",\"detail\":\"because\",\"request\":"                                                                 \
    "\"0100000000000000000000000000000000000000000000000000000000000000\"}}"

static void test_http_replies(void **state)
{
    static const struct {
        int status;
        const char *headers, *body;
        int is_tried_again;
        enum atoll_llm_status expected;
        const char *part;
    } cases[] = {
        {200, "", COMPLETION, 0, ATOLL_LLM_OK, "32 lanes"},
        {200, "", "<html>welcome</html>", 0, ATOLL_LLM_PROTOCOL, "is there a gateway"},
        {200, "", "{\"half\":", 0, ATOLL_LLM_PROTOCOL, "the gateway's answer"},
        {400, "", "{\"error\":{\"message\":\"model: missing\"}}", 0, ATOLL_LLM_INVALID, "model: missing"},
        {401, "", "{}", 0, ATOLL_LLM_DENIED, "token"},
        {404, "", "not here", 0, ATOLL_LLM_NOTFOUND, "404"},
        {302, "Location: http://127.0.0.1:1/\r\n", "", 0, ATOLL_LLM_PROTOCOL, ""},
        {402, "", LAST_WORD("budget"), 0, ATOLL_LLM_BUDGET, "because"},
        {503, "", LAST_WORD("overloaded"), 0, ATOLL_LLM_OVERLOADED, "because"},
        {429, "", LAST_WORD("rate"), 0, ATOLL_LLM_RATE, "because"},
        {504, "", LAST_WORD("timeout"), 0, ATOLL_LLM_TIMEOUT, "because"},
        {503, "", LAST_WORD("cancelled"), 1, ATOLL_LLM_OK, "32 lanes"}, /* it ended; another will come */
        {503, "", "full", 1, ATOLL_LLM_OK, "32 lanes"},
        {503, "Retry-After: 3\r\n", "{\"error\":{\"message\":\"full\"}}", 1, ATOLL_LLM_OK, "32 lanes"},
        {502, "", "<html>bad gateway</html>", 1, ATOLL_LLM_OK, "32 lanes"},
        {429, "", "", 1, ATOLL_LLM_OK, "32 lanes"},
        {503, "Retry-After: 3000\r\n", "full", 0, ATOLL_LLM_OVERLOADED, "503"}, /* beyond the deadline */
        {0, "", NULL, 1, ATOLL_LLM_OK, "32 lanes"},                             /* cut off */
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct door door;
        struct answer a;
        door_open(&door);
        door_listen(&door);
        struct atoll_client *client = open_client(scene, door.where, NULL);
        ask(client, "k1", 900, &a);
        door_hear(scene, &door, client);
        assert_non_null(strstr(door.seen, "POST /v1/chat/completions HTTP/1.1\r\n"));
        assert_non_null(strstr(door.seen, "How wide is a warp?"));
        assert_null(strcasestr(door.seen, "authorization"));
        door_say(&door, cases[i].status, cases[i].headers, cases[i].body);
        if (cases[i].is_tried_again) {
            door_hear(scene, &door, client);
            assert_int_equal(a.count, 0);
            door_say(&door, 200, "", COMPLETION);
        }
        until_answered(scene, client, &a);
        expect_answer(&a, cases[i].expected, cases[i].part);
        atoll_client_destroy(client);
        door_close(&door);
    }
}

/* The port is taken but nobody listens: refused, until somebody does. */
static void test_http_gateway_that_starts_late(void **state)
{
    struct scene *scene = *state;
    struct door door;
    struct answer a, b;
    door_open(&door);
    struct atoll_client *client = open_client(scene, door.where, NULL);
    ask(client, "k1", 900, &a);
    ask(client, "k2", 10, &b);
    for (int i = 0; i < 60; i++) {
        scene->now_ns += 0.5 * S;
        step(scene, client);
    }
    assert_int_equal(a.count, 0);
    assert_int_equal(b.count, 1); /* its time was over */
    assert_true(b.status == ATOLL_LLM_NETWORK || b.status == ATOLL_LLM_TIMEOUT);
    door_listen(&door);
    door_hear(scene, &door, client);
    door_say(&door, 200, "", COMPLETION);
    until_answered(scene, client, &a);
    expect_answer(&a, ATOLL_LLM_OK, "32 lanes");
    atoll_client_destroy(client);
    door_close(&door);
}

static void test_http_deadline_and_cancel(void **state)
{
    struct scene *scene = *state;
    struct door door;
    struct answer a, b, c;
    door_open(&door);
    door_listen(&door);
    struct atoll_client *client = open_client(scene, door.where, NULL);
    ask(client, "k1", 5, &a);
    door_hear(scene, &door, client); /* and no answer */
    until_answered(scene, client, &a);
    expect_answer(&a, ATOLL_LLM_TIMEOUT, "");
    uint64_t call = ask(client, "k2", 900, &b);
    step(scene, client);
    atoll_client_cancel(client, call);
    until_answered(scene, client, &b);
    expect_answer(&b, ATOLL_LLM_CANCELLED, "cancelled");
    for (int i = 0; i < 20; i++)
        step(scene, client);
    assert_int_equal(b.count, 1);
    ask(client, "k3", 900, &c);
    step(scene, client);
    atoll_client_destroy(client);
    expect_answer(&c, ATOLL_LLM_CANCELLED, "closed");
    door_close(&door);
}

static void test_http_token_and_keys(void **state)
{
    struct scene *scene = *state;
    struct door door;
    struct answer a;
    char path[PATH_MAX];
    char *seen[2];
    snprintf(path, sizeof(path), "%s/token", scene->folder);
    scene_write(path, "a-token-of-letters\n", 19);
    assert_int_equal(chmod(path, 0600), 0);
    door_open(&door);
    door_listen(&door);
    assert_int_equal(setenv("ATOLL_GATEWAY_TOKEN_FILE", path, 1), 0);
    for (int i = 0; i < 2; i++) {
        struct atoll_client *client = open_client(scene, door.where, i ? NULL : path);
        ask(client, "", 900, &a); /* it gets a key, so that sending it twice asks it once */
        door_hear(scene, &door, client);
        assert_non_null(strstr(door.seen, "Authorization: Bearer a-token-of-letters\r\n"));
        seen[i] = strstr(door.seen, "\"key\":");
        assert_non_null(seen[i]);
        door_say(&door, 502, "", "");
        char key[64];
        snprintf(key, sizeof(key), "%.40s", seen[i]);
        door_hear(scene, &door, client);
        assert_non_null(strstr(door.seen, key));
        door_say(&door, 200, "", COMPLETION);
        until_answered(scene, client, &a);
        expect_answer(&a, ATOLL_LLM_OK, "32 lanes");
        atoll_client_destroy(client);
    }
    assert_int_equal(unsetenv("ATOLL_GATEWAY_TOKEN_FILE"), 0);
    door_close(&door);
}

static void test_unix_socket_and_embeddings(void **state)
{
    struct scene *scene = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct door door = {.connection = -1};
    struct atoll_llm_request request;
    struct answer a = {0};
    uint64_t call;
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/s", scene->folder);
    snprintf(door.where, sizeof(door.where), "unix:%.100s", address.sun_path);
    door.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(door.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    door_listen(&door);
    struct atoll_client *client = open_client(scene, door.where, NULL);
    scene_request(&request, "k1");
    request.operation = ATOLL_LLM_EMBED;
    assert_int_equal(atoll_client_ask(client, &request, on_answer, &a, &call, NULL), 0);
    door_hear(scene, &door, client);
    assert_non_null(strstr(door.seen, "POST /v1/embeddings HTTP/1.1\r\n"));
    door_say(&door, 200, "",
             "{\"object\":\"list\",\"data\":[{\"embedding\":[0.5]}],\"usage\":{\"prompt_tokens\":1}}");
    until_answered(scene, client, &a);
    expect_answer(&a, ATOLL_LLM_OK, "");
    atoll_client_destroy(client);
    door_close(&door);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test_setup_teardown(test_spool_there_and_back, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_spool_deadline_and_cancel, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_spool_after_a_kill, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_spool_asks_again, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_spool_trouble, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_callbacks_may_ask_and_cancel, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_wrong_requests, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_replay, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_http_replies, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_http_gateway_that_starts_late, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_http_deadline_and_cancel, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_http_token_and_keys, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_unix_socket_and_embeddings, scene_make, scene_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
