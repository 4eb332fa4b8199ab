/* The real thing: PyTorch's times on the host, and every way in which a rival is none. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/rival.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/torch_rival.h"

#define PYTHON "/usr/bin/python3"

static struct atoll_task *task, *modules[2];
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint64_t next_evaluation = 1;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {.command = "cc",
                                               .flags = "-O1",
                                               .slots = 1,
                                               .deadline_ns = 20e9,
                                               .memory_bytes = (uint64_t)2 << 30,
                                               .output_bytes = (uint64_t)16 << 20};
    struct atoll_setup setup = {.secret = {1, 2, 3},
                                .sample_device_ns = 20e6,
                                .sample_wall_ns = 200e6,
                                .sample_min = 7,
                                .interval_target = 0.05,
                                .full_compares = 5,
                                .compile_deadline_ns = 20e9,
                                .compile_memory_bytes = (uint64_t)2 << 30,
                                .python = PYTHON};
    (void)state;
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 1);
    setenv("ATOLL_TORCH_SCRIPT", ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_torch.py", 1);
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    if (!(task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/rival", &err)) ||
        !(compiler = atoll_cc_create(&settings, &err)) ||
        !(referee = atoll_referee_create(atoll_backend_find("cpu"), &setup, compiler, &err)) ||
        atoll_referee_add_task(referee, 0, task, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    atoll_task_destroy(modules[0]);
    atoll_task_destroy(modules[1]);
    return 0;
}

static uint32_t number_of(const char *name)
{
    for (uint32_t i = 0; i < task->rival_count; i++)
        if (strcmp(task->rivals[i].name, name) == 0)
            return i;
    fail_msg("no rival %s", name);
    return 0;
}

static void measure_of(uint32_t task_number, uint32_t number, double limit_ns, struct atoll_rival *r)
{
    struct atoll_order order = {.evaluation = next_evaluation++,
                                .kind = ATOLL_ORDER_RIVAL,
                                .task = task_number,
                                .rival = number,
                                .limit_ns = limit_ns};
    atoll_rival_init(r);
    atoll_referee_rival(referee, task_number, &order, r);
    assert_int_equal(r->evaluation, order.evaluation);
    assert_int_equal(r->number, order.rival);
    assert_int_equal(r->device, referee->info.key);
    assert_true(r->occupied_ns > 0 && r->started_unix_ns > 0);
}

static void measure(const char *name, double limit_ns, struct atoll_rival *r)
{
    measure_of(0, number_of(name), limit_ns, r);
}

static void measure_right(uint32_t task_number, uint32_t number, struct atoll_rival *r)
{
    for (int i = 0; i < 20; i++) { /* while others disturb it */
        measure_of(task_number, number, 0, r);
        if (r->verdict != ATOLL_V_UNSTABLE)
            break;
        atoll_rival_fini(r);
    }
    if (r->verdict != ATOLL_V_CORRECT)
        fail_msg("%s", r->detail);
}

static void test_eager(void **state)
{
    struct atoll_rival r;
    (void)state;
    measure_right(0, number_of("eager"), &r);
    assert_int_equal(r.timing_count, 2);
    assert_int_equal(strncmp(r.versions, "torch ", 6), 0);
    assert_true(r.worst_error >= 0 && r.worst_error < 1);
    for (size_t i = 0; i < r.timing_count; i++) {
        const struct atoll_timing *t = &r.timings[i];
        assert_string_equal(task->variants[t->variant].name, i ? "bench.large" : "bench");
        assert_true(t->sample_count >= 7 && t->summary.median > 0 && t->samples_ns);
        assert_true(r.host_ns[i] > 0);
    }
    assert_true(atoll_rival_time_ns(&r, task) > 0);
    assert_non_null(strstr(r.detail, "variant bench.large: "));
    atoll_rival_fini(&r);
}

/* What a module computes, weights packed into one constant; and its gradients. */
static void test_module(void **state)
{
    static const char *const dirs[] = {"tasks/packed", "rival_backward"};
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    for (uint32_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        char path[512];
        struct atoll_rival r;
        snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/tests/fixtures/%s", dirs[i]);
        modules[i] = atoll_task_load(path, &err);
        if (!modules[i] || atoll_referee_add_task(referee, 1 + i, modules[i], &err) != 0)
            fail_msg("%s", err.text);
        assert_null(modules[i]->rivals[0].expression);
        measure_right(1 + i, 0, &r);
        assert_int_equal(r.timing_count, 1);
        atoll_rival_fini(&r);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *name;
        enum atoll_verdict verdict;
        const char *text;
        double limit_ns;
    } cases[] = {
        {"wrong", ATOLL_V_WRONG, "variant check, y: 15 of 15 elements wrong", 0},
        {"shape", ATOLL_V_WRONG, "y is torch.float32 [3, 5], the task says torch.float32 [5, 3]", 0},
        {"raises", ATOLL_V_COMPILE_ERROR, "the rival's text:2: RuntimeError: ", 0},
        {"patches", ATOLL_V_COMPILE_ERROR, "the text replaces torch.zeros", 0},
        {"poisons", ATOLL_V_COMPILE_ERROR, "the text replaces torch.zeros", 0}, /* and raises */
        {"hangs", ATOLL_V_TIMEOUT, "building it in mode eager had not ended after", 1.5e9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_rival r;
        measure(cases[i].name, cases[i].limit_ns, &r);
        if (r.verdict != cases[i].verdict || !strstr(r.detail, cases[i].text))
            fail_msg("%s: %s, %s", cases[i].name, atoll_verdict_name(r.verdict), r.detail);
        assert_int_equal(r.timing_count, 0);
        atoll_rival_fini(&r);
    }
}

/* The final comparison: a kernel against what is the fastest rival at each variant. */
static void duel(const char *source, const char *rival, struct atoll_duel *ret_duel)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate candidate = {.language = "c", .source = source};
    struct atoll_compiled compiled = {0};
    struct atoll_order order = {.evaluation = next_evaluation++,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = ATOLL_DUEL_RIVAL,
                                .alpha = 0.01,
                                .pair_limit = 6,
                                .rival = number_of(rival)};
    struct atoll_prepared *prepared =
        atoll_prepared_create(task, atoll_backend_find("cpu"), &candidate, NULL, &err);
    assert_non_null(prepared);
    assert_int_equal(prepared->verdict, ATOLL_V_CORRECT);
    memset(order.rivals, (int)order.rival, sizeof(order.rivals));
    assert_int_equal(atoll_compiler_run(compiler, "candidate.c", prepared->unit_text, prepared->unit_length,
                                        NULL, 0, &compiled, &err),
                     0);
    if (compiled.status != ATOLL_COMPILE_OK)
        fail_msg("%s", compiled.diagnostics);
    atoll_referee_rival_duel(referee, 0, &order, prepared, compiled.object, compiled.object_length, ret_duel);
    atoll_compiled_fini(&compiled);
    atoll_prepared_destroy(prepared);
    assert_int_equal(ret_duel->evaluation, order.evaluation);
    assert_int_equal(ret_duel->purpose, ATOLL_DUEL_RIVAL);
}

static void test_duel(void **state)
{
    const char *source = task->seeds[0].source;
    struct atoll_duel d;
    (void)state;
    for (int i = 0; i < 20; i++) { /* while others disturb it */
        duel(source, "eager", &d);
        if (d.verdict != ATOLL_V_UNSTABLE)
            break;
    }
    if (d.verdict != ATOLL_V_CORRECT)
        fail_msg("%s", d.detail);
    assert_int_equal(d.pair_count, 6);
    assert_true(d.elite_ns > 0 && d.challenger_ns > 0);
    assert_true(d.ratio_lo <= d.ratio && d.ratio <= d.ratio_hi);
    assert_non_null(strstr(d.detail, "in two processes"));
    assert_non_null(strstr(d.detail, "right at the hidden variants"));
}

static void test_duel_refused(void **state)
{
    const char *source = task->seeds[0].source, *at = strstr(source, "(float)m");
    char *wrong = NULL;
    struct atoll_duel d;
    (void)state;
    assert_non_null(at); /* right everywhere but at the hidden variant */
    assert_true(asprintf(&wrong, "%.*s(m == 14 ? 0 : m)%s", (int)(at - source), source, at + 8) > 0);
    duel(wrong, "eager", &d);
    if (d.verdict != ATOLL_V_WRONG || !strstr(d.detail, "variant hidden"))
        fail_msg("%s", d.detail);
    free(wrong);
    /* What raises now is no win. */
    duel(task->seeds[0].source, "raises", &d);
    assert_int_equal(d.verdict, ATOLL_V_UNSTABLE);
    assert_non_null(strstr(d.detail, "RuntimeError"));
}

/* What a torch cannot is said, and is no fault of the campaign's; a torch that has a compiler measures it. */
static void test_compiled(void **state)
{
    struct atoll_rival r;
    (void)state;
    measure("compiled", 0, &r);
    if (r.verdict != ATOLL_V_CORRECT && r.verdict != ATOLL_V_UNSTABLE) {
        assert_int_equal(r.verdict, ATOLL_V_COMPILE_ERROR);
        assert_int_equal(strncmp(r.detail, "unsupported: ", 13), 0);
        assert_non_null(strstr(r.detail, "torch.compile"));
    } else {
        assert_true(r.compile_ns > 0);
    }
    atoll_rival_fini(&r);
}

/* Without torch nothing is measured, and the reason is there; a cancelled one ends. */
static void test_none(void **state)
{
    struct atoll_rival r;
    struct atoll_torch_rival *kept = referee->rivals;
    (void)state;
    referee->rivals = NULL;
    snprintf(referee->setup.python, sizeof(referee->setup.python), ATOLL_TORCH_NONE);
    measure("eager", 0, &r);
    assert_int_equal(r.verdict, ATOLL_V_INFRASTRUCTURE);
    assert_non_null(strstr(r.detail, "there is no Python with torch here"));
    atoll_rival_fini(&r);
    atoll_torch_rival_destroy(referee->rivals);
    referee->rivals = kept;
    snprintf(referee->setup.python, sizeof(referee->setup.python), PYTHON);
    referee->cancelled = 1;
    measure("eager", 0, &r);
    assert_int_equal(r.verdict, ATOLL_V_INFRASTRUCTURE);
    assert_non_null(strstr(r.detail, "cancelled"));
    atoll_rival_fini(&r);
    referee->cancelled = 0;
}

int main(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[256];
    if (atoll_torch_find(PYTHON, python, sizeof(python), &err) != 0) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eager),        cmocka_unit_test(test_module),
                                       cmocka_unit_test(test_refused),      cmocka_unit_test(test_duel),
                                       cmocka_unit_test(test_duel_refused), cmocka_unit_test(test_compiled),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
