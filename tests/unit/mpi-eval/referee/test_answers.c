/* How often a reference is asked for one draw, and how a candidate's outputs are looked at: a task with a norm beside the bounds of
 * its elements, one trial after the other. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/measure/expected.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"

#define DRAWS 12 /* more than have their whole values kept */

static struct atoll_task *task;
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint32_t bench;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = {
        .secret = {1, 2, 3}, .compile_deadline_ns = 20e9, .compile_memory_bytes = (uint64_t)2 << 30};
    struct atoll_compiler_settings settings = {.command = "cc",
                                               .flags = "-O1",
                                               .slots = 1,
                                               .deadline_ns = 20e9,
                                               .memory_bytes = (uint64_t)2 << 30,
                                               .output_bytes = (uint64_t)16 << 20};
    (void)state;
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 1);
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    if (!(task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err)) ||
        !(compiler = atoll_cc_create(&settings, &err)) ||
        !(referee = atoll_referee_create(atoll_backend_find(setup.backend), &setup, compiler, &err))) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    while (task->variants[bench].kind != ATOLL_VARIANT_BENCH)
        bench++;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    return 0;
}

/* Element (i, j) is `value`. */
static void candidate_open(const char *value, struct atoll_loaded_candidate *ret,
                           struct atoll_prepared **ret_prepared, struct atoll_compiled *ret_compiled)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char source[1024], detail[ATOLL_DETAIL_BYTES];
    snprintf(source, sizeof(source),
             "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": "
             "[\"x\", "
             "\"w\", \"y\", \"i32:N\"]}]} */\n"
             "void f(long b, long e, const float *x, const float *w, float *y, int n)\n{\n"
             "    for (long i = b; i < e; i++)\n        for (int j = 0; j < n; j++)\n            y[i * n + "
             "j] = %s;\n}\n",
             value);
    struct atoll_order_candidate c = {.language = "c", .source = source};
    *ret_prepared = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, &err);
    if (!*ret_prepared || (*ret_prepared)->verdict != ATOLL_V_CORRECT ||
        atoll_compiler_run(compiler, "candidate.c", (*ret_prepared)->unit_text, (*ret_prepared)->unit_length,
                           NULL, 0, ret_compiled, &err) != 0 ||
        ret_compiled->status != ATOLL_COMPILE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_referee_load(referee, *ret_prepared, ret_compiled->object,
                                        ret_compiled->object_length, ret, detail),
                     ATOLL_V_CORRECT);
}

#define RIGHT "(x[i * n + j] * w[j] + x[i * n + (j + 1) % n])"

/* The first draws of the pool, compared so. */
static void trials(uint32_t number, const char *value, enum atoll_comparing comparing,
                   enum atoll_verdict verdict, const char *says)
{
    struct atoll_case *known = atoll_referee_case(referee, number);
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
    struct atoll_loaded_candidate candidate;
    candidate_open(value, &candidate, &prepared, &compiled);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct atoll_input_set d = atoll_case_input_set(referee, known, bench, i);
        struct atoll_trial_order order = {&d, comparing, 10e9, atoll_referee_placement(referee), 0};
        struct atoll_trial t;
        atoll_referee_trial(referee, known, &candidate, &order, &t);
        if (t.verdict != verdict || !strstr(t.detail, says))
            fail_msg("draw %d: %s, \"%s\"", (int)i, atoll_verdict_name(t.verdict), t.detail);
    }
    atoll_referee_unload(referee, &candidate);
    atoll_prepared_destroy(prepared);
    atoll_compiled_fini(&compiled);
}

/* A draw is answered once, and once more where it must be compared in full and its values are not kept; every other look goes by
 * fingerprint. */
static void test_norm(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task own = *task;
    struct atoll_answer_counts n;
    (void)state;
    own.tolerance.norm = 0.5 * own.tolerance.rtol; /* the bounds do not imply it */
    if (atoll_referee_add_task(referee, 1, &own, &err) != 0)
        fail_msg("%s", err.text);
    trials(1, RIGHT, ATOLL_COMPARING_PRINT, ATOLL_V_CORRECT, "");
    trials(1, RIGHT, ATOLL_COMPARING_PRINT, ATOLL_V_CORRECT, "");
    n = atoll_referee_answers(referee, 1);
    assert_int_equal(n.made[0], DRAWS);
    assert_int_equal(n.made[1], 0);
    assert_int_equal(n.looked[ATOLL_LOOKING_PRINT], 2 * DRAWS);
    trials(1, RIGHT, ATOLL_COMPARING_HELD, ATOLL_V_CORRECT, "");
    n = atoll_referee_answers(referee, 1);
    assert_int_equal(n.made[0] + n.made[1], DRAWS);
    assert_int_equal(n.looked[ATOLL_LOOKING_VALUES], ATOLL_EXPECTED_KEPT);
    assert_int_equal(n.looked[ATOLL_LOOKING_PRINT], 3 * DRAWS - ATOLL_EXPECTED_KEPT);
    /* Each element within its bound, and all of it beyond the norm. */
    trials(1, RIGHT " * (1 + 0.9e-5)", ATOLL_COMPARING_PRINT, ATOLL_V_WRONG, "norm of the error");
    n = atoll_referee_answers(referee, 1);
    assert_int_equal(n.made[0], DRAWS);
    assert_int_equal(n.made[1], DRAWS - ATOLL_EXPECTED_KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_norm)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
