/* Cold and warm timing on the cpu: what is flushed, what runs before a sample and on which contents, and that nothing
 * which a candidate leaves behind helps it.  The linker puts the functions here between the referee and what it calls. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/measure/memory.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/time_account.h"
#include "tests/unit/mpi-eval/fixture_candidates.h"

#define RUN_LIMIT      4096
#define X_AND_W        2  /* inputs, the first buffers */
#define UNSTABLE_LIMIT 20 /* times something else may have the cores */
#define FOUND_MARK                                                                                           \
    FIXTURE_PLAN "void f(long b, long e, float *x, const float *w, float *y, float *s, int n)\n{\n"
#define COMPUTE "for (long i = b; i < e; i++) for (int j = 0; j < n; j++) y[i * n + j] = " FIXTURE_VALUE ";"

/* What was asked for, and what was in memory when a candidate ran. */
static struct {
    size_t flushes, touches, runs;
    struct atoll_id contents[RUN_LIMIT]; /* of the inputs */
    uint64_t guards[RUN_LIMIT];          /* the first word of the first buffer's file */
    const struct atoll_runner *finished; /* whose candidate ran last */
    int settled;                         /* the child that follows it was waited for */
    size_t turns, unsettled;             /* runs of another one than that; of these, without such a wait */
    int trespass;                        /* 1: what stands there is changed right after each untimed run */
} seen;

void __real_atoll_memory_flush(struct atoll_memory *memory, const struct atoll_block *blocks, size_t count);
void __wrap_atoll_memory_flush(struct atoll_memory *memory, const struct atoll_block *blocks, size_t count);
void __wrap_atoll_memory_flush(struct atoll_memory *memory, const struct atoll_block *blocks, size_t count)
{
    seen.flushes++;
    __real_atoll_memory_flush(memory, blocks, count);
}

static struct atoll_id contents_of(const struct atoll_run_request *request)
{
    static unsigned char bytes[1 << 20];
    size_t length = 0;
    for (size_t i = 0; i < X_AND_W; i++) {
        ssize_t got = pread(request->buffers[i].fd, bytes + length, sizeof(bytes) - length, 0);
        assert_true(got == (ssize_t)request->buffers[i].bytes);
        length += (size_t)got;
    }
    return atoll_id_of(bytes, length);
}

/* What takes time here whenever a candidate's child is waited for, and when a worker is ended: 0 no longer than it does. */
static double settle_ns, end_ns;

static void pass(double ns)
{
    for (double until = atoll_clock_mono_ns() + ns; atoll_clock_mono_ns() < until;)
        ;
}

void __real_atoll_runner_finish(struct atoll_runner *runner, const struct atoll_run_request *request,
                                struct atoll_run_result *ret_result);
void __wrap_atoll_runner_finish(struct atoll_runner *runner, const struct atoll_run_request *request,
                                struct atoll_run_result *ret_result);
void __wrap_atoll_runner_finish(struct atoll_runner *runner, const struct atoll_run_request *request,
                                struct atoll_run_result *ret_result)
{
    if (request->kind == ATOLL_RUN_CANDIDATE && request->buffer_count > X_AND_W) { /* not a calibration */
        assert_true(seen.runs < RUN_LIMIT);
        assert_true(pread(request->buffers[0].fd, &seen.guards[seen.runs], 8, 0) == 8);
        seen.contents[seen.runs++] = contents_of(request);
        seen.touches += request->touch != 0;
        seen.turns += seen.finished && seen.finished != runner;
        seen.unsettled += seen.finished && seen.finished != runner && !seen.settled;
        seen.finished = runner;
        seen.settled = 0;
        pass(settle_ns);
    }
    __real_atoll_runner_finish(runner, request, ret_result);
    if (request->kind == ATOLL_RUN_CANDIDATE && seen.trespass && seen.runs % 2) {
        uint64_t memo = 0x6b657074;
        assert_true(pwrite(request->buffers[0].fd, &memo, sizeof(memo), 0) == sizeof(memo));
    }
}

void __real_atoll_runner_settle(struct atoll_runner *runner);
void __wrap_atoll_runner_settle(struct atoll_runner *runner);
void __wrap_atoll_runner_settle(struct atoll_runner *runner)
{
    seen.settled |= runner && runner == seen.finished;
    __real_atoll_runner_settle(runner);
}

void __real_atoll_runner_destroy(struct atoll_runner *runner);
void __wrap_atoll_runner_destroy(struct atoll_runner *runner);
void __wrap_atoll_runner_destroy(struct atoll_runner *runner)
{
    pass(runner ? end_ns : 0);
    __real_atoll_runner_destroy(runner);
}

/* ---- a referee of either mode ---- */

struct rig {
    struct atoll_task *task;
    struct atoll_compiler *compiler;
    struct atoll_referee *referee;
};

static void rig_open(struct rig *g, int is_warm)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = fixture_setup();
    setup.is_warm = (uint32_t)is_warm;
    g->task = fixture_task();
    g->compiler = fixture_compiler();
    g->referee = atoll_referee_create(atoll_backend_find(setup.backend), &setup, g->compiler, &err);
    if (!g->referee || atoll_referee_add_task(g->referee, 0, g->task, &err) != 0)
        fail_msg("%s", err.text);
}

static void rig_close(struct rig *g)
{
    atoll_referee_destroy(g->referee);
    atoll_compiler_destroy(g->compiler);
    atoll_task_destroy(g->task);
}

struct built {
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

static struct built build(const struct rig *g, const char *source)
{
    struct built b = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate c = {.language = "c", .source = source};
    b.prepared = atoll_prepared_create(g->task, &atoll_backend_cpu, &c, NULL, &err);
    if (!b.prepared || atoll_compiler_run(g->compiler, "candidate.c", b.prepared->unit_text,
                                          b.prepared->unit_length, NULL, 0, &b.compiled, &err) != 0)
        fail_msg("%s", err.text);
    if (b.compiled.status != ATOLL_COMPILE_OK)
        fail_msg("%s", b.compiled.diagnostics);
    return b;
}

static void built_fini(struct built *b)
{
    atoll_prepared_destroy(b->prepared);
    atoll_compiled_fini(&b->compiled);
}

/* input_sets: NULL or what was evaluated on. */
static void expect_verdict(const struct rig *g, const char *source, enum atoll_verdict verdict,
                           const char *says, size_t *ret_draws)
{
    struct built b = build(g, source);
    struct atoll_order order = {.evaluation = 1};
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    for (int i = 0; i == 0 || (i < UNSTABLE_LIMIT && e.verdict == ATOLL_V_UNSTABLE); i++) {
        atoll_evaluation_fini(&e);
        atoll_evaluation_init(&e);
        memset(&seen, 0, sizeof(seen));
        atoll_referee_evaluate(g->referee, 0, &order, b.prepared, b.compiled.object, b.compiled.object_length,
                               &e);
    }
    if (e.verdict != verdict || !strstr(e.detail, says))
        fail_msg("%s: \"%s\"", atoll_verdict_name(e.verdict), e.detail);
    if (ret_draws)
        *ret_draws = e.draw_count;
    atoll_evaluation_fini(&e);
    built_fini(&b);
}

static size_t times_seen(const struct atoll_id *contents)
{
    size_t n = 0;
    for (size_t i = 0; i < seen.runs; i++)
        n += memcmp(&seen.contents[i], contents, sizeof(*contents)) == 0;
    return n;
}

/* ---- tests ---- */

static void test_cold(void **state)
{
    struct rig g;
    size_t input_sets = 0;
    (void)state;
    rig_open(&g, 0);
    expect_verdict(&g, FIXTURE_RIGHT, ATOLL_V_CORRECT, "", &input_sets);
    assert_true(input_sets >= 9);
    assert_int_equal(seen.runs, input_sets);
    assert_int_equal(seen.flushes, input_sets);
    assert_int_equal(seen.touches, 0);
    rig_close(&g);
}

/* That a sample's child is waited for, and that a worker is ended, is time of processes. */
static void test_processes(void **state)
{
    struct rig g;
    struct atoll_time_report report;
    struct atoll_time_account *account = atoll_time_account_create(NULL, NULL, NULL);
    (void)state;
    rig_open(&g, 0);
    assert_non_null(account);
    atoll_referee_set_account(g.referee, account);
    atoll_time_account_begin(account, ATOLL_TIME_OTHER, 0);
    settle_ns = 10e6;
    end_ns = 100e6;
    expect_verdict(&g, FIXTURE_RIGHT, ATOLL_V_CORRECT, "", NULL);
    settle_ns = end_ns = 0;
    const double *ns = atoll_referee_phases(g.referee)->ns;
    assert_true(ns[ATOLL_PHASE_FORK] >= (double)seen.runs * 10e6);
    assert_int_equal(atoll_time_account_report(account, 1, &report, NULL), 0);
    assert_int_equal(report.times[0].task, 0);
    assert_true(report.times[0].time.ns[ATOLL_TIME_PROCESSES] >=
                ns[ATOLL_PHASE_FORK] + ns[ATOLL_PHASE_DEATH] + 99e6);
    free(report.times);
    rig_close(&g);
    atoll_time_account_destroy(account);
}

/* A run before each sample, on contents that no run before or after it has; nothing is flushed. */
static void test_warm(void **state)
{
    struct rig g;
    size_t input_sets = 0;
    (void)state;
    rig_open(&g, 1);
    expect_verdict(&g, FIXTURE_RIGHT, ATOLL_V_CORRECT, "", &input_sets);
    assert_true(input_sets >= 9);
    assert_int_equal(seen.runs, 2 * input_sets);
    assert_int_equal(seen.flushes, 0);
    assert_int_equal(seen.touches, seen.runs);
    for (size_t i = 0; i < seen.runs; i += 2)
        assert_int_equal(times_seen(&seen.contents[i]), 1);
    rig_close(&g);
}

/* What the untimed run leaves in scratch, outputs or inputs is gone when the sample begins; what it does wrong is
 * seen. */
static void test_nothing_is_kept(void **state)
{
    static const struct {
        const char *source;
        enum atoll_verdict verdict;
        const char *says;
    } cases[] = {
        /* whoever finds its own mark leaves the answer of last time where it is */
        {FOUND_MARK "if (s[0] == 42.5f) return; " COMPUTE " s[0] = 42.5f;\n}\n", ATOLL_V_CORRECT, ""},
        {FOUND_MARK "if (y[b * n] == w[0] + 7) return; " COMPUTE " \n}\n", ATOLL_V_CORRECT, ""},
        {FOUND_MARK COMPUTE " x[0] = 1;\n}\n", ATOLL_V_WRONG, "changed the input x"},
        /* the answer of last time, kept where it can be found again, for the same addresses */
        {FOUND_MARK COMPUTE " y[b * n] = y[b * n] + s[0];\n}\n", ATOLL_V_WRONG, ""},
        {FIXTURE_WRONG, ATOLL_V_WRONG, "constant factor of 2"},
        {FOUND_MARK COMPUTE " *(volatile int *)8 = 1;\n}\n", ATOLL_V_CRASH, "SIGSEGV"},
    };
    struct rig g;
    (void)state;
    rig_open(&g, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_verdict(&g, cases[i].source, cases[i].verdict, cases[i].says, NULL);
    rig_close(&g);
}

/* Guards are checked after the untimed run and are others in the timed one: what is kept there is neither found again
 * nor put right. */
static void test_guards_change(void **state)
{
    struct rig g;
    (void)state;
    rig_open(&g, 1);
    expect_verdict(&g, FIXTURE_RIGHT, ATOLL_V_CORRECT, "", NULL);
    for (size_t i = 1; i < seen.runs; i++)
        assert_true(seen.guards[i] != seen.guards[i - 1]);
    struct built b = build(&g, FIXTURE_RIGHT);
    struct atoll_order order = {.evaluation = 3};
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    memset(&seen, 0, sizeof(seen));
    seen.trespass = 1;
    atoll_referee_evaluate(g.referee, 0, &order, b.prepared, b.compiled.object, b.compiled.object_length, &e);
    assert_int_equal(e.verdict, ATOLL_V_WRONG);
    assert_non_null(strstr(e.detail, "wrote out of bounds"));
    assert_int_equal(seen.runs, 1); /* the timed run did not take place */
    seen.trespass = 0;
    atoll_evaluation_fini(&e);
    built_fini(&b);
    rig_close(&g);
}

static void test_duel(void **state)
{
    struct rig g;
    struct atoll_duel d;
    struct atoll_order order = {
        .evaluation = 2, .kind = ATOLL_ORDER_DUEL, .alpha = 0.01, .margin = 0.00995, .pair_limit = 6};
    (void)state;
    rig_open(&g, 1);
    struct built b = build(&g, FIXTURE_RIGHT);
    d.verdict = ATOLL_V_UNSTABLE;
    for (int i = 0; i < UNSTABLE_LIMIT && d.verdict == ATOLL_V_UNSTABLE; i++) {
        memset(&seen, 0, sizeof(seen));
        atoll_referee_duel(g.referee, 0, &order, b.prepared, b.compiled.object, b.compiled.object_length,
                           b.prepared, b.compiled.object, b.compiled.object_length, &d);
    }
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_int_equal(seen.flushes, 0);
    assert_true(seen.runs >= 4 * d.pair_count && d.pair_count > 0);
    assert_int_equal(seen.touches, seen.runs);
    /* Nothing of one side moves while the other one is timed. */
    assert_true(seen.turns >= d.pair_count);
    assert_int_equal(seen.unsettled, 0);
    built_fini(&b);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cold),          cmocka_unit_test(test_processes),
        cmocka_unit_test(test_warm),          cmocka_unit_test(test_nothing_is_kept),
        cmocka_unit_test(test_guards_change), cmocka_unit_test(test_duel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
