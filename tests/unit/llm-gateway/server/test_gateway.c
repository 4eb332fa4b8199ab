/* test_gateway.c - a whole gateway in a child process: its door, its spool, its end. */
#include "tests/unit/llm-gateway/broker_case.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "llm-gateway/check/check.h"
#include "llm-gateway/client/client.h"
#include "llm-gateway/server/gateway.h"
#include "llm-gateway/spool/spool.h"

static struct broker_case bench;
static char spool[96];

static int setup(void **state)
{
    case_begin(&bench);
    snprintf(spool, sizeof(spool), "%s/spool", bench.folder);
    return 0;
}

static int teardown(void **state)
{
    case_end(&bench);
    return 0;
}

/* ---- the child ---- */

static volatile sig_atomic_t stop;

static void on_term(int number)
{
    stop = 1;
}

static void on_open(void *context, const char *url)
{
    const int *fd = context;
    if (write(*fd, url, strlen(url)) < 0)
        _exit(3);
    close(*fd);
}

struct child {
    pid_t pid;
    char url[256];
};

static void child_start(struct child *child, double stop_s)
{
    int link[2];
    ssize_t length = 0;
    assert_int_equal(pipe2(link, O_CLOEXEC), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        struct atoll_err err = ATOLL_ERR_INIT;
        close(link[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(bench.provider.stdin_fd); /* else the server would outlive the test */
        stop = 0;
        signal(SIGTERM, on_term);
        if (!bench.config.listen)
            close(link[1]);
        int result = atoll_gateway_run(&bench.config, on_open, &link[1], &stop, stop_s, &err);
        if (result)
            fprintf(stderr, "%s\n", err.text);
        _exit(result ? 1 : 0);
    }
    close(link[1]);
    memset(child->url, 0, sizeof(child->url));
    if (bench.config.listen)
        length = read(link[0], child->url, sizeof(child->url) - 1);
    close(link[0]);
    assert_true(length > 0 || !bench.config.listen);
}

static void child_end(const struct child *child)
{
    int status = -1;
    waitpid(child->pid, &status, 0);
    assert_int_equal(status, 0);
}

static void child_stop(const struct child *child)
{
    assert_int_equal(kill(child->pid, SIGTERM), 0);
    child_end(child);
}

/* ---- a client ---- */

static int door_ask(const struct child *child, const char *model, const char *id)
{
    char body[256], head[256];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    address.sin_port = htons((uint16_t)atoi(strrchr(child->url, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(body, sizeof(body),
             "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"id=%s\"}]}", model, id);
    snprintf(head, sizeof(head),
             "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             strlen(body));
    assert_int_equal(write(fd, head, strlen(head)), strlen(head));
    assert_int_equal(write(fd, body, strlen(body)), strlen(body));
    return fd;
}

/* The HTTP status; 0: the connection ended before. */
static int door_answer(int fd, char *text, size_t bytes)
{
    size_t length = 0;
    int status = 0;
    text[0] = '\0';
    while (!case_body(text, length)) {
        ssize_t count = read(fd, text + length, bytes - 1 - length);
        if (count <= 0)
            break;
        length += (size_t)count;
        text[length] = '\0';
    }
    close(fd);
    return sscanf(text, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static void wait_until_seen(long count)
{
    while (case_counted(&bench, "seen") < count)
        poll(NULL, 0, 5);
}

/* ---- tests ---- */

static void the_door_answers(void **state)
{
    struct child child;
    char text[1 << 14];
    bench.config.listen = "127.0.0.1:0";
    child_start(&child, 5);
    assert_int_equal(door_answer(door_ask(&child, "m0", "d0"), text, sizeof(text)), 200);
    assert_non_null(strstr(text, "\"choices\""));
    assert_int_equal(door_answer(door_ask(&child, "nobody", "d1"), text, sizeof(text)) / 100, 4);
    assert_non_null(strstr(text, "nobody"));
    child_stop(&child);
    assert_int_equal(case_counted(&bench, "seen"), 1);
    assert_int_equal(case_spent(&bench).spent.tokens, 30);
}

static void stopping_gives_calls_their_time(void **state)
{
    struct child child;
    char text[1 << 14];
    bench.config.listen = "127.0.0.1:0";
    bench.models[0].traits.model = "ok-delay-300";
    child_start(&child, 20);
    int fd = door_ask(&child, "m0", "s0");
    wait_until_seen(1);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(door_answer(fd, text, sizeof(text)), 200);
    child_end(&child);
    assert_int_equal(case_spent(&bench).unknown_calls, 0);
}

static void stopping_does_not_wait_for_ever(void **state)
{
    struct child child;
    char text[1 << 14];
    bench.config.listen = "127.0.0.1:0";
    bench.models[0].traits.model = "silent";
    child_start(&child, 0.05);
    int fd = door_ask(&child, "m0", "s1");
    wait_until_seen(1);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(door_answer(fd, text, sizeof(text)), 503);
    child_end(&child);
    const struct atoll_spending_account sum = case_spent(&bench);
    assert_int_equal(sum.unknown_calls, 0);
    assert_true(sum.spent.money > 0); /* it may be billed */
}

static struct atoll_spool_client *spool_open(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spool_client *client = atoll_spool_client_open(spool, NULL, NULL, &err);
    if (!client)
        fail_msg("%s", err.text);
    return client;
}

static void spool_ask(struct atoll_spool_client *client, const char *model, const char *id,
                      char ret_name[ATOLL_SPOOL_NAME_BYTES])
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_llm_request request = case_request(&bench, model, id);
    if (atoll_spool_client_ask(client, &request, ret_name, &err))
        fail_msg("%s", err.text);
}

static void spool_answer(struct atoll_spool_client *client, const char *name,
                         struct atoll_llm_outcome *ret_outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int found;
    atoll_llm_outcome_init(ret_outcome);
    while ((found = atoll_spool_client_look(client, name, ret_outcome, &err)) == 0)
        poll(NULL, 0, 5);
    if (found < 0)
        fail_msg("%s", err.text);
}

static void the_spool_is_answered(void **state)
{
    struct child child;
    char names[3][ATOLL_SPOOL_NAME_BYTES];
    struct atoll_llm_outcome outcome;
    bench.config.spool = spool;
    struct atoll_spool_client *client = spool_open();
    spool_ask(client, "m0", "p0", names[0]); /* before the gateway is there */
    child_start(&child, 5);
    spool_ask(client, "m0", "p1", names[1]);
    spool_ask(client, "nobody", "p2", names[2]);
    for (unsigned i = 0; i < 3; i++) {
        spool_answer(client, names[i], &outcome);
        assert_int_equal(outcome.status, i < 2 ? ATOLL_LLM_OK : ATOLL_LLM_INVALID);
        atoll_llm_outcome_fini(&outcome);
    }
    child_stop(&child);
    atoll_spool_client_close(client);
    assert_int_equal(case_counted(&bench, "seen"), 2);
}

static void keep(void *context, const struct atoll_llm_outcome *outcome)
{
    assert_int_equal(atoll_llm_outcome_copy(outcome, context, NULL), 0);
    ((struct atoll_llm_outcome *)context)->request.bytes[0] |= 1; /* it is there */
}

static void client_answer(struct atoll_client *client, const struct atoll_llm_request *request,
                          struct atoll_llm_outcome *ret_outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t call;
    atoll_llm_outcome_fini(ret_outcome);
    if (atoll_client_ask(client, request, keep, ret_outcome, &call, &err))
        fail_msg("%s", err.text);
    while (atoll_id_is_zero(&ret_outcome->request)) {
        if (atoll_client_turn(client, &err))
            fail_msg("%s", err.text);
        poll(NULL, 0, 2);
    }
    atoll_client_settled(client, call);
}

/* What it offers is heard as it is configured. */
static void expect_offer(const struct atoll_offer *offer)
{
    assert_int_equal(offer->model_count, CASE_MODELS + 1); /* and "roles" */
    assert_int_equal(atoll_offer_find(offer, "m1")->context_tokens, 32000);
    assert_int_equal(atoll_offer_find(offer, "m0")->context_tokens, 0);
    assert_false(atoll_offer_find(offer, "m1")->has_no_tools);
    assert_true(atoll_offer_find(offer, "m2")->has_no_tools);
    assert_non_null(atoll_offer_find(offer, "roles"));
    assert_null(atoll_offer_find(offer, "m9"));
    assert_int_equal(offer->roles[ATOLL_MODEL_ROLE_PLANNER].candidates, 4);
    assert_string_equal(offer->roles[ATOLL_MODEL_ROLE_PLANNER].model, "m1");
    assert_int_equal(offer->roles[ATOLL_MODEL_ROLE_WRITER].candidates, 0);
}

static void offers_that_are_none(void **state)
{
    static const struct {
        const char *json;
        uint32_t context, candidates;
    } heard[] = {
        {"{\"data\":[{\"id\":\"m\",\"atoll\":{\"context_tokens\":-1}}],\"atoll\":{\"roles\":{\"*\":{"
         "\"candidates\":65}}}}",
         0, 0},
        {"{\"data\":[{\"id\":7},{\"id\":\"m\",\"atoll\":7}],\"atoll\":[]}", 0, 0},
        {"{\"data\":[{\"id\":\"m\",\"atoll\":{\"context_tokens\":8}}],\"atoll\":{\"roles\":{\"*\":{"
         "\"candidates\":3}}}}",
         8, 3},
        {"{\"data\":[{\"id\":\"m\"}],\"atoll\":{\"roles\":{\"planner\":{\"candidates\":2},\"*\":{"
         "\"candidates\":3}}}}",
         0, 2},
    };
    struct atoll_offer offer;
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < sizeof(heard) / sizeof(*heard); i++) {
        if (atoll_offer_parse(heard[i].json, strlen(heard[i].json), &offer, &err))
            fail_msg("%s: %s", heard[i].json, err.text);
        assert_int_equal(offer.model_count, 1);
        assert_int_equal(atoll_offer_find(&offer, "m")->context_tokens, heard[i].context);
        assert_int_equal(offer.roles[ATOLL_MODEL_ROLE_PLANNER].candidates, heard[i].candidates);
    }
    assert_int_equal(atoll_offer_parse("[]", 2, &offer, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "no list 'data'");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_check_offer("http://127.0.0.1:1", NULL, 5, &offer, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "no gateway says what it offers (HTTP 0)");
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_check_offer("spool:/nowhere", NULL, 5, &offer, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_check_offer("replay:x", NULL, 5, &offer, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "'replay:x' offers nothing");
}

/* A client asks in a role, is told to call a tool, and brings the result: over HTTP and through the spool. */
static void tools_pass_both_doors(void **state)
{
    struct child child;
    bench.config.spool = spool;
    bench.config.listen = "127.0.0.1:0";
    bench.endpoints[0].provider = ATOLL_PROVIDER_ANTHROPIC;
    bench.models[1].traits.model = "tools-1-words-2";
    bench.models[1].traits.effort = ATOLL_LLM_EFFORT_HIGH;
    bench.config.roles[ATOLL_MODEL_ROLE_PLANNER] =
        (struct atoll_gateway_role){.is_said = 1, .model = "m1", .temperature = NAN, .top_p = NAN};
    bench.config.roles[ATOLL_MODEL_ROLE_PLANNER].candidates = 4;
    bench.models[1].context_tokens = 32000;
    bench.models[1].traits.has_no_tools = 0;
    bench.models[2].traits.has_no_tools = 1;
    child_start(&child, 5);
    for (int is_spool = 0; is_spool < 2; is_spool++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_llm_outcome first, second;
        char where[300];
        snprintf(where, sizeof(where), "%s%s", is_spool ? "spool:" : "", is_spool ? spool : child.url);
        struct atoll_offer offer;
        if (atoll_check_offer(where, NULL, 5, &offer, &err))
            fail_msg("%s: %s", where, err.text);
        expect_offer(&offer);
        struct atoll_client *client = atoll_client_create(where, NULL, &err);
        if (!client)
            fail_msg("%s", err.text);
        struct atoll_llm_request request = case_request(&bench, "", is_spool ? "spool" : "http");
        request.purpose = "planner";
        request.tool_count = 1;
        request.tools[0] = (struct atoll_llm_tool){"check", "Checks.", "{\"type\":\"object\"}"};
        atoll_llm_outcome_init(&first);
        atoll_llm_outcome_init(&second);
        client_answer(client, &request, &first);
        if (first.status != ATOLL_LLM_TOOL_CALLS || first.tool_call_count != 1)
            fail_msg("%s: %s %s", where, atoll_llm_status_name(first.status), first.detail);
        assert_string_equal(first.name, "m1");
        assert_string_equal(first.tool_calls[0].name, "check");
        request.messages[1] =
            (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT,
                                       .text = "",
                                       .tool_call_count = 1,
                                       .tool_calls = first.tool_calls,
                                       .provider_state = (const char *)first.provider_state.data};
        request.messages[2] = (struct atoll_llm_message){
            .role = ATOLL_LLM_TOOL, .text = "correct", .tool_call_id = first.tool_calls[0].id};
        request.message_count = 3;
        request.is_tool_free = 1;
        client_answer(client, &request, &second);
        if (second.status != ATOLL_LLM_OK || second.tool_call_count)
            fail_msg("%s: %s %s", where, atoll_llm_status_name(second.status), second.detail);
        atoll_llm_outcome_fini(&first);
        atoll_llm_outcome_fini(&second);
        atoll_client_destroy(client);
    }
    child_stop(&child);
}

static void a_second_gateway_is_told_who_has_the_spool(void **state)
{
    const volatile sig_atomic_t now = 1;
    struct child first;
    char name[ATOLL_SPOOL_NAME_BYTES], words[64];
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    bench.config.spool = spool;
    bench.config.file = NULL;
    bench.config.mode = ATOLL_EXCHANGE_LIVE;
    bench.models[0].traits.model = "delay-1000";
    struct atoll_spool_client *client = spool_open();
    spool_ask(client, "m0", "s0", name);
    child_start(&first, 5);
    wait_until_seen(1);
    assert_int_equal(atoll_gateway_run(&bench.config, NULL, NULL, &now, 0, &err), -1);
    snprintf(words, sizeof(words), "another gateway serves it: pid %d on host ", (int)first.pid);
    expect_err(&err, ATOLL_E_BUSY, words);
    spool_answer(client, name, &outcome);
    assert_int_equal(outcome.status, ATOLL_LLM_OK);
    atoll_llm_outcome_fini(&outcome);
    child_stop(&first);
    atoll_spool_client_close(client);
    assert_int_equal(case_counted(&bench, "seen"), 1);
}

/* A request whose gateway ended before its answer waits for the next one. */
static void the_next_gateway_takes_what_is_left(void **state)
{
    struct child child;
    char name[ATOLL_SPOOL_NAME_BYTES];
    struct atoll_llm_outcome outcome;
    bench.config.spool = spool;
    bench.models[0].traits.model = "silent-fails-1";
    struct atoll_spool_client *client = spool_open();
    spool_ask(client, "m0", "n0", name);
    child_start(&child, 0.01);
    wait_until_seen(1);
    child_stop(&child);
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_spool_client_look(client, name, &outcome, NULL), 0);
    child_start(&child, 5);
    spool_answer(client, name, &outcome);
    assert_int_equal(outcome.status, ATOLL_LLM_OK);
    atoll_llm_outcome_fini(&outcome);
    child_stop(&child);
    atoll_spool_client_close(client);
}

static void run_says_what_is_missing(void **state)
{
    const volatile sig_atomic_t now = 1;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_gateway_run(&bench.config, NULL, NULL, &now, 0, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "listen");
    bench.config.listen = "127.0.0.1:0";
    bench.config.token_file = "/nowhere/token";
    assert_int_equal(atoll_gateway_run(&bench.config, NULL, NULL, &now, 0, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "token of this gateway");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_door_answers),
        TEST(stopping_gives_calls_their_time),
        TEST(stopping_does_not_wait_for_ever),
        TEST(the_spool_is_answered),
        TEST(tools_pass_both_doors),
        TEST(offers_that_are_none),
        TEST(a_second_gateway_is_told_who_has_the_spool),
        TEST(the_next_gateway_takes_what_is_left),
        TEST(run_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
