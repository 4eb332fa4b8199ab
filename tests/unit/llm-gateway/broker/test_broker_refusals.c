/* What a broker does not take, what a full disk does to it, and keys that must go nowhere. */
#include "tests/unit/llm-gateway/broker/broker_bench.h"

static void submit_says_what_it_does_not_take(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number;
    bench.config.in_flight_limit = 2;
    bench.models[0].traits.model = "silent";
    case_open(&bench);
    struct atoll_llm_request request = case_request(&bench, "nobody", "x");
    assert_int_equal(atoll_broker_submit(bench.broker, &request, case_done, NULL, &number, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "nobody");
    case_ask(&bench, 0, "m0", "x");
    case_ask(&bench, 1, "m0", "y");
    assert_int_equal(atoll_broker_count(bench.broker), 2);
    request = case_request(&bench, "m0", "z");
    assert_int_equal(atoll_broker_submit(bench.broker, &request, case_done, NULL, &number, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "in_flight_limit");
    atoll_broker_cancel(bench.broker, 1);
    case_turn(&bench);
    atoll_broker_stop(bench.broker);
    assert_int_equal(atoll_broker_submit(bench.broker, &request, case_done, NULL, &number, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "ending");
}

static void create_says_what_is_missing(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_loop *loop = atoll_loop_create(NULL, NULL, &err);
    bench.endpoints[1].key_env = "ATOLL_TEST_NO_SUCH_KEY";
    assert_null(atoll_broker_create(loop, &bench.config, NULL, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "endpoint second");
    bench.config.mode = ATOLL_EXCHANGE_REPLAY; /* needs no key, but a file that is there */
    assert_null(atoll_broker_create(loop, &bench.config, NULL, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, bench.file);
    bench.config.file = NULL;
    assert_null(atoll_broker_create(loop, &bench.config, NULL, &err));
    expect_err(&err, ATOLL_E_INPUT, "name one (budget: {file: ...})");
    atoll_broker_destroy(NULL);
    atoll_loop_destroy(loop);
}

static void keys_are_sent(void **state)
{
    setenv("ATOLL_TEST_KEY", "bad-key", 1);
    bench.endpoints[0].key_env = "ATOLL_TEST_KEY";
    case_open(&bench);
    const struct answer *answer = case_answer(&bench, "m0", "key");
    assert_int_equal(answer->status, ATOLL_LLM_DENIED);
    assert_null(strstr(answer->detail, "bad-key"));
    assert_null(getenv("ATOLL_TEST_KEY"));
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static unsigned count_ended(void)
{
    unsigned count = 0;
    for (const struct atoll_call *call = bench.broker->ended.first; call; call = call->next)
        count++;
    return count;
}

/* On a disk that takes nothing replies wait in memory: none is given before it is kept. */
static void no_answer_is_given_that_was_not_kept(void **state)
{
    enum { CALLS = 8 };
    struct atoll_err err = ATOLL_ERR_INIT;
    char id[16];
    bench.models[0].traits.model = "huge-8";
    case_open(&bench);
    for (unsigned i = 0; i < CALLS; i++) {
        snprintf(id, sizeof(id), "%u", i);
        case_ask(&bench, i, "m0", id);
    }
    case_turn(&bench);
    until_it_is_seen(1); /* reservations are durable */
    signal(SIGXFSZ, SIG_IGN);
    limit_files(1);
    for (int i = 0; i < CASE_TURNS && count_ended() < CALLS; i++) {
        assert_int_equal(atoll_loop_run(bench.loop, 10, &err), 0);
        atoll_broker_turn(bench.broker, &err);
    }
    assert_int_equal(count_ended(), CALLS);
    assert_int_equal(bench.done, 0);
    limit_files(RLIM_INFINITY);
    case_finish(&bench);
    case_close(&bench);
    assert_int_equal(case_query(&bench, "SELECT count(DISTINCT request_id) FROM exchanges"), CALLS);
    assert_int_equal(case_query(&bench, "SELECT count(*) FROM exchanges"), CALLS);
}

/* A campaign believes that its money is spent where it is told so: nothing else may say that. */
static void a_full_disk_is_no_limit(void **state)
{
    char name[160];
    case_open(&bench);
    struct atoll_llm_request request = case_request(&bench, "m0", "name");
    memset(name, 'c', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    request.campaign = name;
    case_submit(&bench, 0, &request);
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_INVALID);
    assert_non_null(strstr(bench.answers[0].detail, "campaign"));
    signal(SIGXFSZ, SIG_IGN);
    limit_files(1); /* the file cannot be written: nothing is sent */
    case_ask(&bench, 1, "m0", "trouble");
    for (int i = 0; i < 20; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_loop_run(bench.loop, 10, NULL), 0);
        assert_int_equal(atoll_broker_turn(bench.broker, &err), -1);
        expect_err(&err, ATOLL_E_FULL, bench.file);
    }
    assert_int_equal(case_counted(&bench, "seen"), 0);
    limit_files(RLIM_INFINITY); /* and goes on once there is space */
    case_finish(&bench);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_OK);
}

/* Servers that show what they were sent are common where something is wrong. */
static void an_echoed_key_goes_nowhere(void **state)
{
    static const char key[] = "key-that-is-echoed";
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome kept;
    setenv("ATOLL_TEST_KEY", key, 1);
    bench.endpoints[0].key_env = "ATOLL_TEST_KEY";
    bench.models[0].traits.model = "echo";
    case_open(&bench);
    const struct answer *answer = case_answer(&bench, "m0", key); /* the prompt is what is echoed */
    assert_int_equal(answer->status, ATOLL_LLM_OK);
    assert_non_null(strstr(answer->text, "id=******************"));
    case_close(&bench);
    struct atoll_llm_request request = case_request(&bench, "m0", key);
    struct atoll_store *store = atoll_store_open(bench.file, ATOLL_STORE_READ, &err);
    atoll_llm_outcome_init(&kept);
    assert_int_equal(atoll_store_find(store, &request, &kept, &err), 1);
    assert_true(kept.raw.length > 0);
    assert_null(memmem(kept.raw.data, kept.raw.length, key, strlen(key)));
    atoll_llm_outcome_fini(&kept);
    atoll_store_close(store);
}

/* The same where the echo is escaped, stands where a message is cut, or comes in pieces of a stream. */
static void an_echo_in_any_form_goes_nowhere(void **state)
{
    static const char key[] = "key-that-is-echoed-0123456789";
    static const struct {
        const char *model;
        enum atoll_llm_status status;
    } rows[] = {
        {"leak", ATOLL_LLM_OK}, {"leak-pieces", ATOLL_LLM_OK}, {"status-400-leak", ATOLL_LLM_INVALID}};
    setenv("ATOLL_TEST_KEY", key, 1);
    bench.endpoints[0].key_env = "ATOLL_TEST_KEY";
    for (unsigned i = 0; i < 3; i++)
        bench.models[i].traits.model = rows[i].model;
    case_open(&bench);
    for (unsigned i = 0; i < 3; i++)
        case_ask(&bench, i, bench.models[i].name, "leak");
    case_finish(&bench);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(bench.answers[i].status, rows[i].status);
        assert_null(strstr(bench.answers[i].text, "key-that"));
        assert_null(strstr(bench.answers[i].detail, "key-that"));
        assert_non_null(strstr(i < 2 ? bench.answers[i].text : bench.answers[i].detail, "*******"));
    }
    case_close(&bench);
    char *bytes;
    size_t length;
    struct atoll_err err = ATOLL_ERR_INIT;
    bytes = atoll_file_read(bench.file, 1 << 20, &length, &err);
    assert_non_null(bytes);
    static const char *const forms[] = {"key-that", "\\u006b\\u0065\\u0079"};
    for (size_t i = 0; i < 2; i++)
        assert_null(memmem(bytes, length, forms[i], strlen(forms[i])));
    assert_null(memmem(bytes, length, "\"content\":\"key\"", 15)); /* the first piece */
    free(bytes);
}

/* The place of a call that ends with the broker is nobody's: what waited for it was never sent, and costs nothing. */
static void destroying_sends_nothing(void **state)
{
    bench.endpoints[0].concurrency = 1;
    bench.config.file = NULL;
    bench.config.mode = ATOLL_EXCHANGE_LIVE;
    bench.models[0].traits.model = "silent";
    case_open(&bench);
    case_ask(&bench, 0, "m0", "first");
    case_ask(&bench, 1, "m0", "second");
    while (case_counted(&bench, "seen") < 1)
        case_turn(&bench);
    case_close(&bench);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(bench.answers[i].count, 1);
        assert_int_equal(bench.answers[i].status, ATOLL_LLM_CANCELLED);
        assert_int_equal(bench.answers[i].tries, i == 0);
    }
}

/* Reading a variable takes it out of the environment. */
static void endpoints_share_a_variable(void **state)
{
    setenv("ATOLL_TEST_KEY", "bad-key", 1);
    bench.endpoints[0].key_env = bench.endpoints[1].key_env = "ATOLL_TEST_KEY";
    bench.models[1].endpoint = 1;
    case_open(&bench);
    assert_int_equal(case_answer(&bench, "m0", "one")->status, ATOLL_LLM_DENIED);
    assert_int_equal(case_answer(&bench, "m1", "two")->status, ATOLL_LLM_DENIED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {

        TEST(submit_says_what_it_does_not_take),
        TEST(create_says_what_is_missing),
        TEST(keys_are_sent),
        TEST(endpoints_share_a_variable),
        TEST(no_answer_is_given_that_was_not_kept),
        TEST(an_echoed_key_goes_nowhere),
        TEST(an_echo_in_any_form_goes_nowhere),
        TEST(destroying_sends_nothing),
        TEST(a_full_disk_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
