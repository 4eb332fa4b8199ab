/* test_batch.c - calls that can wait, through the batch APIs of the fault server. */
#include "tests/unit/llm-gateway/broker_case.h"

#include <sys/stat.h>

#include "llm-gateway/old/batch_state.h"

static struct broker_case bench;

static void begin(enum atoll_provider provider)
{
    case_begin(&bench);
    bench.endpoints[0].provider = provider;
    bench.endpoints[0].has_batch = 1;
    bench.config.batch_poll_s = 0.03;
    bench.config.deadline_s = 20;
}

static int setup_openai(void **state)
{
    begin(ATOLL_PROVIDER_CHAT);
    return 0;
}

static int setup_anthropic(void **state)
{
    begin(ATOLL_PROVIDER_ANTHROPIC);
    return 0;
}

static int teardown(void **state)
{
    case_end(&bench);
    return 0;
}

static uint64_t ask(unsigned at, const char *model, const char *id)
{
    struct atoll_llm_request request = case_request(&bench, model, id);
    request.can_wait = 1;
    return case_submit(&bench, at, &request);
}

/* Half of 20 tokens in at 1000 and 10 out at 2000 nanodollars. */
static void batches_cost_half(void **state)
{
    bench.models[0].traits.model = "ok-tokens-20-10";
    case_open(&bench);
    for (unsigned i = 0; i < 5; i++)
        ask(i, "m0", (const char *[]){"b0", "b1", "b2", "b3", "b4"}[i]);
    case_finish(&bench);
    for (unsigned i = 0; i < 5; i++) {
        if (bench.answers[i].status != ATOLL_LLM_OK)
            fail_msg("%s", bench.answers[i].detail);
        assert_int_equal(bench.answers[i].tries, 1);
        assert_true(bench.answers[i].text[0]);
        expect_close(bench.answers[i].cost_usd, 20e-6, 1e-9);
    }
    case_close(&bench);
    const struct atoll_spending_sum sum = case_spent(&bench);
    assert_int_equal(sum.spent_money, 5 * 20000);
    assert_int_equal(sum.spent_tokens, 5 * 30);
    assert_int_equal(sum.reserved_money + sum.unknown_money, 0);
    assert_int_equal(case_counted(&bench, "seen"), 5);
    case_open(&bench); /* the store knows them */
    ask(0, "m0", "b0");
    case_finish(&bench);
    assert_int_equal(bench.answers[0].is_from_store, 1);
}

/* What a batch cannot answer is asked one by one, at the full price; what is wrong stays wrong. */
static void failed_lines_go_the_ordinary_way(void **state)
{
    bench.models[0].traits.model = "status-500-fails-1-tokens-20-10";
    bench.models[1].traits.model = "status-400";
    case_open(&bench);
    ask(0, "m0", "f0");
    ask(1, "m1", "f1");
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_OK);
    assert_int_equal(bench.answers[0].tries, 2);
    assert_true(bench.answers[1].status != ATOLL_LLM_OK);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent_money, 40000);
}

/* Results that were cut on their way are fetched again: they are paid for. */
static void broken_results_are_fetched_again(void **state)
{
    bench.models[0].traits.model = "ok-tokens-20-10-cut-400";
    case_open(&bench);
    ask(0, "m0", "c0");
    ask(1, "m0", "c1");
    case_finish(&bench);
    for (unsigned i = 0; i < 2; i++) {
        if (bench.answers[i].status != ATOLL_LLM_OK)
            fail_msg("%s", bench.answers[i].detail);
        assert_int_equal(bench.answers[i].tries, 1);
    }
    case_close(&bench);
    assert_int_equal(case_counted(&bench, "seen"), 2);
    assert_int_equal(case_spent(&bench).spent_money, 2 * 20000);
}

static size_t state_files(void)
{
    char path[128];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/batches", bench.ledger);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += strstr(entry->d_name, ".json") != NULL;
    if (folder)
        closedir(folder);
    return count;
}

static void a_restart_collects_what_came(void **state)
{
    bench.models[0].traits.model = "ok-tokens-20-10";
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        case_open(&bench);
        ask(0, "m0", "r0");
        ask(1, "m0", "r1");
        while (state_files() == 0)
            case_turn(&bench);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(case_counted(&bench, "seen"), 0);
    case_open(&bench);
    ask(0, "m0", "r0");
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_OK);
    assert_int_equal(state_files(), 1); /* the other one may still be asked for */
    ask(1, "m0", "r1");
    case_finish(&bench);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_OK);
    assert_int_equal(state_files(), 0);
    assert_int_equal(case_counted(&bench, "seen"), 2); /* nothing was handed in again */
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent_money, 2 * 20000);
}

static void deadlines_and_cancelling_hold_in_batches(void **state)
{
    bench.config.batch_poll_s = 30;
    case_open(&bench);
    struct atoll_llm_request request = case_request(&bench, "m0", "late");
    request.can_wait = 1;
    request.deadline_s = 0.05;
    case_submit(&bench, 0, &request);
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_TIMEOUT);
    uint64_t number = ask(1, "m0", "gone");
    for (int i = 0; i < 5; i++)
        case_turn(&bench);
    atoll_broker_cancel(bench.broker, number);
    case_finish(&bench);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_CANCELLED);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).reserved_money, 0);
    struct atoll_llm_request gone = case_request(&bench, "m0", "gone");
    assert_int_equal(case_spent(&bench).spent_money, /* both may be billed, at half the price */
                     2 * (atoll_llm_request_input_bound(&gone) * 500 + 100 * 1000));
}

static void a_refused_key_is_said(void **state)
{
    setenv("ATOLL_TEST_KEY", "bad-key", 1);
    bench.endpoints[0].key_env = "ATOLL_TEST_KEY";
    case_open(&bench);
    ask(0, "m0", "key");
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_DENIED);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent_money, 0);
}

static void broken_state_files_are_left_alone(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"version\":2,\"batch\":\"b\",\"ids\":[]}",
                                        "{\"version\":1,\"batch\":\"../x\",\"ids\":[]}",
                                        "{\"version\":1,\"batch\":\"b\"}"};
    char path[160];
    case_open(&bench);
    case_close(&bench);
    snprintf(path, sizeof path, "%s/batches", bench.ledger);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/batches/first.b.json", bench.ledger);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *stream = fopen(path, "w");
        assert_non_null(stream);
        assert_true(fputs(texts[i], stream) >= 0);
        fclose(stream);
        case_open(&bench);
        case_close(&bench);
        assert_int_equal(state_files(), 1);
    }
}

/* ---- replies that no server should give ---- */

static void hostile_replies_are_refused(void **state)
{
    static const struct {
        const struct atoll_batch_row *row;
        enum atoll_batch_step step;
        const char *reply;
        int result;
        const char *part;
    } cases[] = {
        {&atoll_batch_openai, ATOLL_BATCH_UPLOAD, "{}", -1, "id"},
        {&atoll_batch_openai, ATOLL_BATCH_UPLOAD, "{\"id\":\"../../etc\"}", -1, "id"},
        {&atoll_batch_openai, ATOLL_BATCH_UPLOAD, "{\"id\":\"file-1\"}", 0, NULL},
        {&atoll_batch_openai, ATOLL_BATCH_CREATE, "{\"id\":\"\"}", -1, "id"},
        {&atoll_batch_openai, ATOLL_BATCH_LOOK, "{\"id\":\"b\"}", -1, "status"},
        {&atoll_batch_openai, ATOLL_BATCH_LOOK, "{\"status\":\"in_progress\"}", 0, NULL},
        {&atoll_batch_openai, ATOLL_BATCH_LOOK, "{\"status\":\"expired\",\"output_file_id\":\"f\"}", 1, NULL},
        {&atoll_batch_openai, ATOLL_BATCH_LOOK, "{\"status\":\"completed\",\"output_file_id\":\"a/b\"}", -1,
         "output_file_id"},
        {&atoll_batch_anthropic, ATOLL_BATCH_CREATE, "{\"id\":\"m\"}", -1, "processing_status"},
        {&atoll_batch_anthropic, ATOLL_BATCH_LOOK, "{\"id\":\"m\",\"processing_status\":\"canceling\"}", 0,
         NULL},
        {&atoll_batch_anthropic, ATOLL_BATCH_LOOK,
         "{\"id\":\"m\",\"processing_status\":\"ended\",\"results_url\":\"https://api.example/v1/r\"}", 1,
         NULL},
        {&atoll_batch_anthropic, ATOLL_BATCH_LOOK,
         "{\"id\":\"m\",\"processing_status\":\"ended\",\"results_url\":\"https://api.example.evil/v1/r\"}",
         -1, "host"},
        {&atoll_batch_anthropic, ATOLL_BATCH_LOOK,
         "{\"id\":\"m\",\"processing_status\":\"ended\",\"results_url\":\"https://api.example@evil/v1/r\"}",
         -1, "host"},
        {&atoll_batch_anthropic, ATOLL_BATCH_LOOK,
         "{\"id\":\"m\",\"processing_status\":\"ended\",\"results_url\":\"http://api.example/v1/r\"}", -1,
         "host"},
    };
    const struct atoll_endpoint endpoint = {.name = "e", .url = "https://api.example/v1"};
    struct atoll_batches batches = {.settings = {.endpoint = &endpoint}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct atoll_batch batch = {.owner = &batches};
        struct atoll_err err = ATOLL_ERR_INIT;
        json_t *reply = json_loads(cases[i].reply, 0, NULL);
        assert_non_null(reply);
        int result = cases[i].row->read(&batch, cases[i].step, reply, &err);
        if (result != cases[i].result)
            fail_msg("%s: %d %s", cases[i].reply, result, err.text);
        if (cases[i].part)
            expect_err(&err, ATOLL_E_PROTOCOL, cases[i].part);
        json_decref(reply);
    }
}

#define OPENAI(name)    cmocka_unit_test_setup_teardown(name, setup_openai, teardown)
#define ANTHROPIC(name) cmocka_unit_test_setup_teardown(name, setup_anthropic, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENAI(batches_cost_half),
        ANTHROPIC(batches_cost_half),
        OPENAI(failed_lines_go_the_ordinary_way),
        ANTHROPIC(failed_lines_go_the_ordinary_way),
        OPENAI(broken_results_are_fetched_again),
        ANTHROPIC(broken_results_are_fetched_again),
        OPENAI(a_restart_collects_what_came),
        ANTHROPIC(a_restart_collects_what_came),
        OPENAI(deadlines_and_cancelling_hold_in_batches),
        ANTHROPIC(deadlines_and_cancelling_hold_in_batches),
        OPENAI(a_refused_key_is_said),
        OPENAI(broken_state_files_are_left_alone),
        cmocka_unit_test(hostile_replies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
