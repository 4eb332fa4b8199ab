/* Orders through prepare, compile and the real referee, on the fixture task. */
#include "tests/support/expect.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/clock.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/evaluator/pipeline.h"
#include "mpi-eval/evaluator/tool_report.h"
#include "tests/unit/mpi-eval/fixture_candidates.h"

#define HANG_NS 60e9

static struct atoll_compiler *compiler;
static struct atoll_referee_thread *referee_thread;
static struct atoll_pipeline *pipeline;
static uint64_t next_evaluation = 100;
static double begin_ns;

static int set_up_on(const struct atoll_backend *backend)
{
    struct atoll_setup setup = fixture_setup();
    struct atoll_err err = ATOLL_ERR_INIT;
    compiler = fixture_compiler();
    begin_ns = atoll_clock_mono_ns();
    referee_thread = atoll_referee_thread_create(&setup, compiler, &err);
    pipeline = referee_thread ? atoll_pipeline_create(backend, compiler, referee_thread, &err) : NULL;
    return pipeline && atoll_pipeline_add_task(pipeline, 0, fixture_task(), &err) == 0 ? 0 : -1;
}

static int set_up(void **state)
{
    return set_up_on(&atoll_backend_cpu);
}

static int tear_down(void **state)
{
    assert_int_equal(atoll_referee_thread_destroy(referee_thread, 20e9), 0);
    atoll_pipeline_destroy(pipeline);
    atoll_compiler_destroy(compiler);
    return 0;
}

static struct atoll_order_candidate side_of(const char *source)
{
    struct atoll_order_candidate side = {.language = "", .source = ""};
    if (source)
        side = (struct atoll_order_candidate){
            .id = atoll_id_of(source, strlen(source)), .language = "c", .source = source};
    return side;
}

static struct atoll_order order_of(const char *candidate, const char *elite)
{
    return (struct atoll_order){.evaluation = next_evaluation++,
                                .kind = elite ? ATOLL_ORDER_DUEL : ATOLL_ORDER_EVALUATE,
                                .purpose = ATOLL_DUEL_PROMOTION,
                                .candidate = side_of(candidate),
                                .elite = side_of(elite),
                                .alpha = 0.01,
                                .margin = 0.01,
                                .pair_limit = 6};
}

static int order_say(const struct atoll_order *order, struct atoll_err *err)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1 << 20);
    atoll_order_encode(order, &payload);
    int rc = atoll_pipeline_order(pipeline, payload.data, payload.length, err);
    atoll_buffer_fini(&payload);
    return rc;
}

static void wait_a_little(void)
{
    struct pollfd fds[16] = {{.fd = atoll_referee_thread_fd(referee_thread), .events = POLLIN}};
    size_t count = 1;
    if (atoll_pipeline_owns_compiler(pipeline))
        count += atoll_compiler_pollfds(compiler, fds + 1, 15);
    poll(fds, count, 100);
}

/* Until one answer is there. */
static uint16_t answer_wait(struct atoll_buffer *out)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint16_t type;
    for (double until_ns = atoll_clock_mono_ns() + HANG_NS; atoll_clock_mono_ns() < until_ns;) {
        if (atoll_pipeline_advance(pipeline, &err) != 0)
            fail_msg("%s", err.text);
        if (atoll_pipeline_result(pipeline, &type, out) == 1)
            return type;
        wait_a_little();
    }
    fail_msg("no answer");
    return 0;
}

static const struct {
    const char *candidate, *elite;
    enum atoll_verdict verdict;
    unsigned level; /* of an evaluation that the referee does not see; 0 = it does, or a duel */
    const char *says;
} cases[] = {
    {FIXTURE_RIGHT, NULL, ATOLL_V_CORRECT, 0, ""},
    {FIXTURE_WRONG, NULL, ATOLL_V_WRONG, 0, "constant factor of 2"},
    {"int x;\n", NULL, ATOLL_V_BAD_PLAN, 1, "plan"},
    {FIXTURE_PLAN "#include <stdio.h>\n", NULL, ATOLL_V_FORBIDDEN, 2, "include"},
    {FIXTURE_ERROR, NULL, ATOLL_V_COMPILE_ERROR, 3, "no_such_thing"},
    {FIXTURE_RIGHT, FIXTURE_SLOW, ATOLL_V_CORRECT, 0, ""},
    {FIXTURE_ERROR, FIXTURE_SLOW, ATOLL_V_COMPILE_ERROR, 0, "no_such_thing"},
    {FIXTURE_RIGHT, FIXTURE_ERROR, ATOLL_V_INFRASTRUCTURE, 0, "no_such_thing"},
    {FIXTURE_RIGHT, "int x;\n", ATOLL_V_INFRASTRUCTURE, 0, "plan"},
};
#define CASES (sizeof(cases) / sizeof(*cases))

/* A busy machine may spoil a measurement; that is said, and is nothing that this test is about. */
static int is_spoiled(enum atoll_verdict verdict, const char *detail)
{
    return (verdict == ATOLL_V_INFRASTRUCTURE && strstr(detail, "other programs took the device's cores")) ||
           (verdict == ATOLL_V_UNSTABLE && strstr(detail, "were disturbed by others"));
}

static void duel_check(size_t index, const struct atoll_buffer *answer, uint64_t *ret_evaluation)
{
    struct atoll_duel duel;
    assert_int_equal(atoll_duel_decode(answer->data, answer->length, &duel, NULL), 0);
    *ret_evaluation = duel.evaluation;
    if (is_spoiled(duel.verdict, duel.detail))
        return;
    if (duel.verdict != cases[index].verdict || !strstr(duel.detail, cases[index].says))
        fail_msg("case %zu: %s, \"%s\"", index, atoll_verdict_name(duel.verdict), duel.detail);
    assert_int_equal(duel.purpose, ATOLL_DUEL_PROMOTION);
    assert_int_equal(duel.better, duel.verdict == ATOLL_V_CORRECT);
}

static void evaluation_check(size_t index, const struct atoll_buffer *answer, uint64_t *ret_evaluation)
{
    struct atoll_evaluation e;
    struct atoll_id id = atoll_id_of(cases[index].candidate, strlen(cases[index].candidate));
    atoll_evaluation_init(&e);
    assert_int_equal(atoll_evaluation_decode(answer->data, answer->length, &e, NULL), 0);
    if (!is_spoiled(e.verdict, e.detail) &&
        (e.verdict != cases[index].verdict || !strstr(e.detail, cases[index].says)))
        fail_msg("case %zu: %s, \"%s\"", index, atoll_verdict_name(e.verdict), e.detail);
    if (cases[index].level)
        assert_int_equal(e.level, cases[index].level);
    else
        assert_true(e.compile_ns > 0 && !atoll_id_is_zero(&e.binary));
    assert_true(atoll_id_equal(&e.candidate, &id));
    assert_true(e.started_unix_ns > 0);
    *ret_evaluation = e.evaluation;
    atoll_evaluation_fini(&e);
}

/* All of the device's time since its thread began is in some part; what was done in that time has some of it. */
static void times_check(void)
{
    static const enum atoll_time_part worked[] = {ATOLL_TIME_CANDIDATES, ATOLL_TIME_INPUTS,
                                                  ATOLL_TIME_FLUSH,      ATOLL_TIME_ANSWERS,
                                                  ATOLL_TIME_CHECKS,     ATOLL_TIME_PROCESSES};
    static const enum atoll_time_part around[] = {ATOLL_TIME_START, ATOLL_TIME_COMPILING};
    struct atoll_time_report report;
    struct atoll_time_account *account = atoll_referee_thread_account(referee_thread);
    assert_int_equal(atoll_time_account_report(account, 1, &report, NULL), 0);
    double whole_ns = 0, elapsed_ns = atoll_clock_mono_ns() - begin_ns;
    assert_int_equal(report.count, 2);
    assert_int_equal(report.times[0].task, 0);
    assert_true(report.times[1].task == ATOLL_TIME_OF_NO_TASK);
    for (size_t i = 0; i < report.count; i++)
        whole_ns += atoll_device_time_whole_ns(&report.times[i].time);
    for (size_t i = 0; i < sizeof(worked) / sizeof(*worked); i++)
        if (!(report.times[0].time.ns[worked[i]] > 0))
            fail_msg("the task took no time for %s", atoll_time_part_name(worked[i]));
    for (size_t i = 0; i < sizeof(around) / sizeof(*around); i++)
        if (!(report.times[1].time.ns[around[i]] > 0))
            fail_msg("no time for %s", atoll_time_part_name(around[i]));
    expect_close(whole_ns, elapsed_ns, 0.02);
    free(report.times);
}

/* All at once, before the device is there; the answers come in any order, each once. */
static void test_all_at_once(void **state)
{
    struct atoll_pulse pulse = {.uptime_ns = 0};
    struct atoll_buffer answer;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t first = next_evaluation, evaluation;
    int seen[CASES] = {0};
    atoll_buffer_init(&answer, 1 << 20);
    assert_int_equal(atoll_pipeline_is_open(pipeline), 0);
    assert_int_equal(atoll_pipeline_owns_compiler(pipeline), 1);
    assert_int_equal(atoll_pipeline_advance(pipeline, &err), 0);
    assert_int_equal(atoll_pipeline_owns_compiler(pipeline), 0); /* lent for the calibration */
    for (size_t i = 0; i < CASES; i++) {
        struct atoll_order order = order_of(cases[i].candidate, cases[i].elite);
        if (order_say(&order, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
    }
    atoll_pipeline_pulse(pipeline, &pulse);
    assert_int_equal(pulse.queued, CASES);
    for (size_t i = 0; i < CASES; i++) {
        uint16_t type = answer_wait(&answer);
        struct atoll_reader reader;
        atoll_reader_init(&reader, answer.data, answer.length);
        size_t index = (size_t)(atoll_reader_u64(&reader) - first); /* both begin with their number */
        assert_true(index < CASES);
        assert_int_equal(type, cases[index].elite ? ATOLL_MSG_DUELLED : ATOLL_MSG_EVALUATED);
        (cases[index].elite ? duel_check : evaluation_check)(index, &answer, &evaluation);
        assert_int_equal(evaluation, first + index);
        assert_int_equal(seen[index]++, 0);
        atoll_buffer_clear(&answer);
    }
    assert_int_equal(atoll_pipeline_is_open(pipeline), 1);
    pulse = (struct atoll_pulse){.uptime_ns = 0};
    atoll_pipeline_pulse(pipeline, &pulse);
    assert_int_equal(pulse.queued, 0);
    assert_int_equal(pulse.compiling, 0);
    assert_true(pulse.occupied_ns > pulse.candidate_ns && pulse.candidate_ns > 0 && pulse.compile_ns > 0);
    times_check();
    atoll_buffer_fini(&answer);
}

/* A candidate that was compiled once is not compiled again; one that failed is. */
static void test_compiled_once(void **state)
{
    static const struct {
        const char *source;
        int again;
    } sources[] = {{FIXTURE_WRONG, 0}, {FIXTURE_ERROR, 1}};
    struct atoll_buffer answer;
    atoll_buffer_init(&answer, 1 << 20);
    for (size_t i = 0; i < 2; i++) {
        struct atoll_pulse before = {.uptime_ns = 0}, after = before;
        atoll_pipeline_pulse(pipeline, &before);
        struct atoll_order order = order_of(sources[i].source, NULL);
        assert_int_equal(order_say(&order, NULL), 0);
        answer_wait(&answer);
        atoll_buffer_clear(&answer);
        atoll_pipeline_pulse(pipeline, &after);
        assert_int_equal(after.compile_ns > before.compile_ns, sources[i].again);
    }
    atoll_buffer_fini(&answer);
}

static void refused(int rc, const struct atoll_err *err, const char *says)
{
    assert_int_equal(rc, -1);
    assert_int_equal(err->code, ATOLL_E_PROTOCOL);
    if (!strstr(err->text, says))
        fail_msg("%s", err->text);
}

static void test_refusals(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order order = order_of(FIXTURE_RIGHT, NULL);
    struct atoll_buffer answer;
    refused(atoll_pipeline_add_task(pipeline, 0, fixture_task(), &err), &err, "task 0 came where task 1");
    refused(atoll_pipeline_order(pipeline, "garbage", 7, &err), &err, "");
    order.task = 1;
    refused(order_say(&order, &err), &err, "task 1, which was never sent");
    atoll_buffer_init(&answer, 1 << 20);
    order = order_of("int x;\n", NULL); /* answered at once */
    for (unsigned i = 0; i < ATOLL_PIPELINE_ORDER_LIMIT; i++)
        assert_int_equal(order_say(&order, NULL), 0);
    refused(order_say(&order, &err), &err, "more than 64 orders");
    for (unsigned i = 0; i < ATOLL_PIPELINE_ORDER_LIMIT; i++) {
        assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
        atoll_buffer_clear(&answer);
    }
    atoll_buffer_fini(&answer);
}

#define FIXTURE_TEMPLATE                                                                                     \
    "/* atoll-plan {\"version\": 1, \"params\": {\"T\": [7, 4, 2]}, \"require\": [\"T < 5\"], \"launch\": "  \
    "[{\"function\": \"f\", \"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"i32:N\"]}]} */\nint "        \
    "never[T];\n"

/* The same kernel twice, for even and for other rows. */
#define OF_PATHS                                                                                             \
    "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"4 * N\"}, \"paths\": [{\"when\": \"N % 2 == "     \
    "0\", "                                                                                                  \
    "\"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"s\", "           \
    "\"i32:N\"]}]}, "                                                                                        \
    "{\"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": [\"x\", \"w\", \"y\", \"s\", "          \
    "\"i32:N\"]}]}]} */\n" FIXTURE_HEAD "y[i * n + j] = " FIXTURE_VALUE ";\n}\n"

static const struct {
    enum atoll_tool tool;
    const char *source, *pattern;
    enum atoll_tool_status status;
    const char *says, *says_too;
} calls[] = {
    {ATOLL_TOOL_COMPILE, FIXTURE_SLOW, "", ATOLL_TOOL_OK,
     "instructions of the whole source: ", "arithmetic on floats:\n.L"},
    {ATOLL_TOOL_COMPILE, FIXTURE_SLOW, "j", ATOLL_TOOL_OK, "it compiles (", "instructions that match"},
    {ATOLL_TOOL_COMPILE, FIXTURE_ERROR, "", ATOLL_TOOL_OK, "compile_error: ", "no_such_thing"},
    {ATOLL_TOOL_COMPILE, "int x;\n", "", ATOLL_TOOL_OK, "bad_plan: ", "plan"},
    {ATOLL_TOOL_COMPILE, FIXTURE_PLAN "#include <stdio.h>\n", "", ATOLL_TOOL_OK, "forbidden: ", "include"},
    {ATOLL_TOOL_CHECK, FIXTURE_RIGHT, "", ATOLL_TOOL_OK, "it is right at all check variants: 2 runs",
     "no time was measured; checked were M up to 19 (timed: 192), N up to 37 (timed: 512): what a loop"},
    {ATOLL_TOOL_CHECK, OF_PATHS, "", ATOLL_TOOL_OK, "no time was measured; of the plan check took paths[",
     " took paths[0]"},
    {ATOLL_TOOL_CHECK, FIXTURE_WRONG, "", ATOLL_TOOL_OK, "it is refused: wrong: ", "constant factor of 2"},
    {ATOLL_TOOL_CHECK, FIXTURE_ERROR, "", ATOLL_TOOL_OK, "it is refused: compile_error: ", "no_such_thing"},
    {ATOLL_TOOL_CHECK, "", "", ATOLL_TOOL_OK, "it is refused: bad_plan: ", "plan"},
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static int call_say(const struct atoll_tool_order *order, struct atoll_err *err)
{
    struct atoll_buffer payload;
    atoll_buffer_init(&payload, 1 << 20);
    atoll_tool_order_encode(order, &payload);
    int rc = atoll_pipeline_tool(pipeline, payload.data, payload.length, err);
    atoll_buffer_fini(&payload);
    return rc;
}

static void call_check(const struct atoll_buffer *bytes, int *seen)
{
    struct atoll_arena *arena = atoll_arena_create(1 << 20, NULL);
    struct atoll_tool_answer answer;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_tool_answer_decode(bytes->data, bytes->length, arena, &answer, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(answer.call < CALLS);
    if (!is_spoiled(ATOLL_V_INFRASTRUCTURE, answer.text) &&
        (answer.status != calls[answer.call].status || !strstr(answer.text, calls[answer.call].says) ||
         !strstr(answer.text, calls[answer.call].says_too)))
        fail_msg("call %llu: %s: %s", (unsigned long long)answer.call, atoll_tool_status_name(answer.status),
                 answer.text);
    assert_int_equal(seen[answer.call]++, 0);
    atoll_arena_destroy(arena);
}

/* What models ask for, beside an evaluation: that one is measured as without them, and they are in no account of orders. */
static void test_tools(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer answer;
    struct atoll_pulse pulse = {.uptime_ns = 0};
    int seen[CALLS] = {0}, evaluated = 0;
    struct atoll_order order = order_of(FIXTURE_RIGHT, NULL);
    atoll_buffer_init(&answer, 1 << 20);
    for (size_t i = 0; i < CALLS; i++) {
        const struct atoll_tool_order call = {i, 0, calls[i].tool, "c", calls[i].source, calls[i].pattern};
        if (call_say(&call, &err) != 0)
            fail_msg("call %zu: %s", i, err.text);
    }
    assert_int_equal(atoll_pipeline_is_done(pipeline), 0);
    atoll_pipeline_pulse(pipeline, &pulse);
    assert_int_equal(pulse.queued, 0);
    assert_int_equal(order_say(&order, NULL), 0);
    for (size_t i = 0; i < CALLS + 1; i++) {
        if (answer_wait(&answer) == ATOLL_MSG_TOOLED) {
            call_check(&answer, seen);
        } else {
            struct atoll_evaluation e;
            atoll_evaluation_init(&e);
            assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
            assert_int_equal(e.evaluation, order.evaluation);
            assert_true(is_spoiled(e.verdict, e.detail) || e.timing_count > 0);
            evaluated++;
            atoll_evaluation_fini(&e);
        }
        atoll_buffer_clear(&answer);
    }
    assert_int_equal(evaluated, 1);
    atoll_buffer_fini(&answer);
}

/* The combination that is compiled is the one that the search would try first. */
static void test_tools_of_a_template(void **state)
{
    struct atoll_task *task = fixture_task();
    struct atoll_order_candidate candidate;
    struct atoll_tool_order order = {1, 0, ATOLL_TOOL_COMPILE, "c", FIXTURE_TEMPLATE, ""};
    assert_int_equal(atoll_tool_candidate(task, &order, &candidate, NULL), 0);
    assert_int_equal(candidate.choice.count, 1);
    assert_int_equal(candidate.choice.values[0], 4);
    order.source = "no plan";
    assert_int_equal(atoll_tool_candidate(task, &order, &candidate, NULL), 0);
    assert_int_equal(candidate.choice.count, 0);
    atoll_task_destroy(task);
}

static void test_tools_are_refused(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_tool_order call = {5, 99, ATOLL_TOOL_CHECK, "c", "int x;", ""};
    struct atoll_buffer answer;
    int count = 0;
    refused(atoll_pipeline_tool(pipeline, "garbage", 7, &err), &err, "");
    refused(call_say(&call, &err), &err, "task 99, which was never sent");
    call.task = 0;
    while (count < 1000 && call_say(&call, &err) == 0)
        count++;
    refused(-1, &err, "more than 32 calls");
    assert_int_equal(count, 32);
    atoll_buffer_init(&answer, 1 << 20);
    for (int i = 0; i < count; i++) {
        assert_int_equal(answer_wait(&answer), ATOLL_MSG_TOOLED);
        atoll_buffer_clear(&answer);
    }
    atoll_buffer_fini(&answer);
}

/* Another text has another identity. */
static void unlike(struct atoll_task *task, uint32_t number)
{
    task->id = atoll_id_of(&number, sizeof(number));
}

/* A task whose reference does not compile costs its own orders, and they are told where; another task's are measured as
 * before. */
static void test_broken_reference(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = fixture_task();
    struct atoll_buffer answer;
    task->reference_source = "\n  nonsense reference;\n";
    unlike(task, 1);
    assert_int_equal(atoll_pipeline_add_task(pipeline, 1, task, &err), 0);
    atoll_buffer_init(&answer, 1 << 20);
    for (uint32_t number = 1; number <= 3; number++) {
        struct atoll_order order = order_of(FIXTURE_WRONG, NULL);
        struct atoll_evaluation e;
        order.task = number % 2; /* broken, good, broken */
        assert_int_equal(order_say(&order, &err), 0);
        assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
        atoll_evaluation_init(&e);
        assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
        assert_int_equal(e.evaluation, order.evaluation);
        if (!is_spoiled(e.verdict, e.detail))
            assert_int_equal(e.verdict, order.task ? ATOLL_V_COMPILE_ERROR : ATOLL_V_WRONG);
        assert_true(!order.task || e.level == 3);
        if (order.task && !strstr(e.detail, "; line 2 of reference.c says: nonsense reference;"))
            fail_msg("%s", e.detail);
        atoll_evaluation_fini(&e);
        atoll_buffer_clear(&answer);
    }
    atoll_buffer_fini(&answer);
}

/* What the device has no room for is no failure of ours that is tried again: each order for the task says it. */
static void test_task_without_room(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = fixture_task();
    struct atoll_order order = order_of(FIXTURE_WRONG, NULL);
    struct atoll_buffer answer;
    struct atoll_evaluation e;
    unlike(task, 2);
    fixture_large_variant(task);
    assert_int_equal(atoll_pipeline_add_task(pipeline, 2, task, &err),
                     0); /* behind those of the test before */
    order.task = 2;
    assert_int_equal(order_say(&order, &err), 0);
    atoll_buffer_init(&answer, 1 << 20);
    assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
    atoll_evaluation_init(&e);
    assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
    if (e.verdict != ATOLL_V_LAUNCH_ERROR || e.level != 4 ||
        !strstr(e.detail, "task 'blend' cannot be run on this device: variant bench needs 32.0 GB for the "
                          "buffers of one candidate"))
        fail_msg("%s at level %u: %s", atoll_verdict_name(e.verdict), e.level, e.detail);
    atoll_evaluation_fini(&e);
    atoll_buffer_fini(&answer);
}

static int unit_of(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                   struct atoll_err *err)
{
    *ret_name = "unit.c";
    if (strcmp(task->reference_source, "refused") == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "no unit for this one");
    atoll_buffer_put_bytes(out, "no_such_type x;\n", 16);
    return 0;
}

/* Where the backend gives units of references, they are compiled beside the candidates, which may be compiled first:
 * without a good one nothing is measured, and the compiler is not lent. */
static void test_unit_of_a_reference(void **state)
{
    static const struct {
        const char *source, *says;
    } rows[] = {{"refused", "no unit for this one"},
                {"broken", "the reference of task 'blend' does not compile for the device"}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_backend backend = atoll_backend_cpu;
    struct atoll_buffer answer;
    backend.case_unit = unit_of;
    assert_int_equal(tear_down(state), 0);
    assert_int_equal(set_up_on(&backend), 0);
    atoll_buffer_init(&answer, 1 << 20);
    for (uint32_t i = 0; i < 2; i++) {
        struct atoll_task *task = fixture_task();
        struct atoll_order order = order_of(FIXTURE_WRONG, NULL);
        struct atoll_evaluation e;
        task->reference_source = rows[i].source;
        assert_int_equal(atoll_pipeline_add_task(pipeline, i + 1, task, &err), 0);
        order.task = i + 1;
        assert_int_equal(order_say(&order, &err), 0);
        assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
        atoll_evaluation_init(&e);
        assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
        assert_int_equal(e.verdict, ATOLL_V_COMPILE_ERROR);
        assert_int_equal(e.level, 3);
        if (!strstr(e.detail, rows[i].says))
            fail_msg("%s", e.detail);
        assert_int_equal(atoll_pipeline_owns_compiler(pipeline), 1);
        atoll_evaluation_fini(&e);
        atoll_buffer_clear(&answer);
    }
    atoll_buffer_fini(&answer);
}

static void advance_until(int (*is_so)(void), const char *what)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (double until_ns = atoll_clock_mono_ns() + HANG_NS; !is_so();) {
        if (atoll_clock_mono_ns() > until_ns)
            fail_msg("not in time: %s", what);
        if (atoll_pipeline_advance(pipeline, &err) != 0)
            fail_msg("%s", err.text);
        wait_a_little();
    }
}

static int is_open(void)
{
    return atoll_pipeline_is_open(pipeline);
}

/* Nothing compiles, and every reference was. */
static int is_compiled(void)
{
    struct atoll_pulse pulse = {.uptime_ns = 0};
    atoll_pipeline_pulse(pipeline, &pulse);
    return pulse.compiling == 0 && pulse.compile_ns > 0;
}

static double compile_ns(void)
{
    struct atoll_pulse pulse = {.uptime_ns = 0};
    atoll_pipeline_pulse(pipeline, &pulse);
    return pulse.compile_ns;
}

/* References are compiled while nobody waits, one after the other where there is one child, and each once; what is wrong with
 * one is told to the orders that come for it, and to nobody before. */
static void test_references_ahead(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer answer;
    assert_int_equal(tear_down(state), 0);
    assert_int_equal(set_up(state), 0);
    for (uint32_t i = 1; i <= 3; i++) {
        struct atoll_task *task = fixture_task();
        unlike(task, i);
        if (i == 1)
            task->reference_source = "nonsense reference;\n";
        if (i == 2)
            task->reference_source = "#include <stdio.h>\n";
        assert_int_equal(atoll_pipeline_add_task(pipeline, i, task, &err), 0);
    }
    advance_until(is_open, "the device");
    advance_until(is_compiled, "references");
    double before_ns = compile_ns();
    atoll_buffer_init(&answer, 1 << 20);
    static const char *const says[] = {"constant factor", "line 1 of reference.c says: nonsense reference;",
                                       "includes are not allowed", "constant factor"};
    for (uint32_t i = 0; i < 4; i++) {
        struct atoll_order order = order_of(FIXTURE_WRONG, NULL);
        struct atoll_evaluation e;
        order.task = i;
        assert_int_equal(order_say(&order, &err), 0);
        assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
        atoll_evaluation_init(&e);
        assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
        if (!is_spoiled(e.verdict, e.detail) && !strstr(e.detail, says[i]))
            fail_msg("task %u: %s", i, e.detail);
        if (i == 0) { /* the candidate alone was compiled */
            assert_true(compile_ns() - before_ns <= e.compile_ns + 1);
            before_ns = compile_ns();
        }
        atoll_evaluation_fini(&e);
        atoll_buffer_clear(&answer);
    }
    assert_true(compile_ns() == before_ns);
    atoll_buffer_fini(&answer);
}

static double occupied_ns(void)
{
    struct atoll_pulse pulse = {.uptime_ns = 0};
    atoll_pipeline_pulse(pipeline, &pulse);
    return pulse.occupied_ns;
}

/* Until the device does nothing more; how long it was at work since. */
static double settle_ns(double since_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double before_ns;
    do {
        before_ns = occupied_ns();
        for (int i = 0; i < 2; i++) {
            assert_int_equal(atoll_pipeline_advance(pipeline, &err), 0);
            wait_a_little();
        }
        assert_int_equal(atoll_pipeline_advance(pipeline, &err), 0);
    } while (occupied_ns() > before_ns);
    return occupied_ns() - since_ns;
}

/* Where nobody waits for the device it answers draws of the tasks that it knows, until none is missing; not while it may be
 * another process's, as after a rival. */
static void test_answers_ahead(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = fixture_task();
    struct atoll_buffer answer;
    struct atoll_evaluation e;
    assert_int_equal(tear_down(state), 0);
    assert_int_equal(set_up(state), 0);
    unlike(task, 1);
    task->rival_count = 1;
    task->rivals[0] = (struct atoll_rival_spec){.name = "eager", .expression = "x"};
    assert_int_equal(atoll_pipeline_add_task(pipeline, 1, task, &err), 0);
    advance_until(is_open, "the device");
    assert_true(settle_ns(0) == 0); /* it knows none */
    atoll_buffer_init(&answer, 1 << 20);
    struct atoll_order rival = {.evaluation = 7, .kind = ATOLL_ORDER_RIVAL, .task = 1},
                       wrong = order_of(FIXTURE_WRONG, NULL);
    assert_int_equal(order_say(&rival, &err), 0);
    assert_int_equal(answer_wait(&answer), ATOLL_MSG_RIVALLED);
    double since_ns = occupied_ns();
    assert_true(settle_ns(since_ns) == 0);
    atoll_buffer_clear(&answer);
    assert_int_equal(order_say(&wrong, &err), 0);
    assert_int_equal(answer_wait(&answer), ATOLL_MSG_EVALUATED);
    atoll_evaluation_init(&e);
    assert_int_equal(atoll_evaluation_decode(answer.data, answer.length, &e, NULL), 0);
    assert_true(settle_ns(since_ns) > e.occupied_ns);
    atoll_evaluation_fini(&e);
    since_ns = occupied_ns();
    assert_true(settle_ns(since_ns) == 0);
    atoll_buffer_fini(&answer);
}

/* Rivals need no compiling and no candidate: their orders wait for the task, and go between the candidates.  Without torch
 * the answer is trouble of ours, and candidates are compiled and measured as before. */
static void test_rivals(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = fixture_task();
    struct atoll_buffer answer;
    unsigned seen[ATOLL_MSG_TYPE_COUNT] = {0};
    assert_int_equal(tear_down(state), 0);
    assert_int_equal(set_up(state), 0);
    task->rival_count = 1;
    task->rivals[0] = (struct atoll_rival_spec){.name = "eager", .expression = "x"};
    assert_int_equal(atoll_pipeline_add_task(pipeline, 1, task, &err), 0);
    struct atoll_order order = {.evaluation = 7, .kind = ATOLL_ORDER_RIVAL};
    refused(order_say(&order, &err), &err, "a rival that task 0 does not have");
    atoll_err_clear(&err);
    struct atoll_order duel = order_of(FIXTURE_RIGHT, NULL);
    duel.kind = ATOLL_ORDER_DUEL;
    duel.purpose = ATOLL_DUEL_RIVAL;
    duel.task = 1;
    for (size_t v = 0; v < task->variant_count; v++)
        duel.rivals[v] = task->variants[v].kind == ATOLL_VARIANT_BENCH; /* no such number */
    refused(order_say(&duel, &err), &err, "a rival that task 1 does not have");
    atoll_err_clear(&err);
    memset(duel.rivals, 0, sizeof(duel.rivals));
    order.task = 1;
    struct atoll_order wrong = order_of(FIXTURE_WRONG, NULL);
    wrong.task = 1;
    assert_int_equal(order_say(&order, &err) | order_say(&duel, &err) | order_say(&wrong, &err), 0);
    atoll_buffer_init(&answer, 1 << 20);
    for (unsigned i = 0; i < 3; i++) {
        uint16_t type = answer_wait(&answer);
        struct atoll_rival rival;
        struct atoll_duel d;
        seen[type]++;
        atoll_rival_init(&rival);
        if (type == ATOLL_MSG_RIVALLED) {
            assert_int_equal(atoll_rival_decode(answer.data, answer.length, &rival, NULL), 0);
            assert_true(rival.evaluation == 7 && rival.task == 1 && rival.number == 0);
            assert_true(rival.started_unix_ns > 0);
            if (rival.verdict != ATOLL_V_INFRASTRUCTURE)
                fail_msg("%s: %s", atoll_verdict_name(rival.verdict), rival.detail);
        } else if (type == ATOLL_MSG_DUELLED) {
            assert_int_equal(atoll_duel_decode(answer.data, answer.length, &d, NULL), 0);
            assert_true(d.evaluation == duel.evaluation && d.purpose == ATOLL_DUEL_RIVAL);
            assert_true(d.verdict == ATOLL_V_INFRASTRUCTURE || d.verdict == ATOLL_V_UNSTABLE);
        }
        atoll_rival_fini(&rival);
        atoll_buffer_clear(&answer);
    }
    assert_true(seen[ATOLL_MSG_RIVALLED] == 1 && seen[ATOLL_MSG_DUELLED] == 1 &&
                seen[ATOLL_MSG_EVALUATED] == 1);
    atoll_buffer_fini(&answer);
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_at_once),
                                       cmocka_unit_test(test_compiled_once),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_tools),
                                       cmocka_unit_test(test_tools_of_a_template),
                                       cmocka_unit_test(test_tools_are_refused),
                                       cmocka_unit_test(test_broken_reference),
                                       cmocka_unit_test(test_task_without_room),
                                       cmocka_unit_test(test_unit_of_a_reference),
                                       cmocka_unit_test(test_references_ahead),
                                       cmocka_unit_test(test_answers_ahead),
                                       cmocka_unit_test(test_rivals)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
