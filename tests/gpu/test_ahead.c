/* Draws answered ahead on a device: how many, that the evaluation after it asks the reference no more, judges as ever, and that
 * nothing which is sealed gives way; a process that is gone leaves them, one that is in doubt takes them with it. */
#include "tests/gpu/device.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/device.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"
#include "tests/gpu/referee.h"
#include "tests/support/cheats.h"

#define TASKS 2

static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static struct atoll_task *tasks[TASKS];
static double asked_ns;

static void trial_that_asks(struct atoll_referee *r, struct atoll_case *known,
                            struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                            struct atoll_trial *ret_trial)
{
    atoll_backend_cuda.trial(r, known, candidate, order, ret_trial);
    asked_ns += order->input_set->number < ATOLL_INPUT_SET_POOL_MIN ? ret_trial->reference_ns : 0;
}

static size_t variants_of(const struct atoll_task *task, enum atoll_variant_kind kind)
{
    size_t count = 0;
    for (size_t v = 0; v < task->variant_count; v++)
        count +=
            task->variants[v].kind == kind && atoll_variant_is_here(&atoll_backend_cuda, &task->variants[v]);
    return count;
}

static size_t answers_ahead(uint32_t number, int is_ordered)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t count = 0;
    double begin = atoll_referee_now_ns(), longest = 0;
    for (int rc = 1; rc; count += rc == 1) {
        double from = atoll_referee_now_ns();
        rc = atoll_referee_answer_ahead(referee, number, is_ordered, &err);
        if (rc < 0)
            fail_msg("%s", err.text);
        longest = fmax(longest, atoll_referee_now_ns() - from);
    }
    printf("%-14s %s: %2zu answers ahead in %8.2f ms, the longest %8.2f ms\n", tasks[number]->name,
           is_ordered ? "ordered" : "idle   ", count, (atoll_referee_now_ns() - begin) / 1e6, longest / 1e6);
    return count;
}

static size_t kept_of(uint32_t number)
{
    uint16_t numbers[256];
    size_t count = 0;
    for (uint32_t v = 0; v < tasks[number]->variant_count; v++)
        count += atoll_backend_cuda.kept(referee, atoll_referee_case(referee, number), v, numbers, 256);
    return count;
}

static void evaluate(uint32_t number)
{
    static uint64_t next_evaluation = 1;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct cheats_built b = {0};
    struct atoll_order order = {.evaluation = next_evaluation++};
    struct atoll_evaluation e;
    const char *source = NULL;
    for (size_t i = 0; i < tasks[number]->seed_count && !source; i++)
        if (strcmp(tasks[number]->seeds[i].language, "cuda") == 0)
            source = tasks[number]->seeds[i].source;
    assert_non_null(source);
    if (cheats_build(source, tasks[number], atoll_referee_device(referee), compiler, &b, &err) != 0)
        fail_msg("%s", err.text);
    if (b.at)
        fail_msg("stopped before the device: %s", b.detail);
    asked_ns = 0;
    atoll_evaluation_init(&e);
    atoll_referee_evaluate(referee, number, &order, b.prepared, b.compiled.object, b.compiled.object_length,
                           &e);
    printf("%-14s %s, %u draws, answers took %.2f ms of %.2f; %.100s\n", tasks[number]->name,
           atoll_verdict_name(e.verdict), e.draw_count, asked_ns / 1e6, e.occupied_ns / 1e6, e.detail);
    assert_int_equal(e.verdict, ATOLL_V_CORRECT);
    atoll_evaluation_fini(&e);
    cheats_built_fini(&b);
}

static void draws_are_answered_ahead(void **state)
{
    static const char *const folders[TASKS] = {ATOLL_SOURCE_DIR "/suites/starter/row_reduce",
                                               ATOLL_SOURCE_DIR "/suites/starter/softmax_rows"};
    struct atoll_backend asking = atoll_backend_cuda;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    int rc = gpu_referee_open(&compiler, &referee);
    if (rc < 0)
        fail();
    if (rc > 0)
        skip();
    asking.trial = trial_that_asks;
    referee->backend = &asking;
    for (uint32_t i = 0; i < TASKS; i++) {
        tasks[i] = atoll_task_load(folders[i], &err);
        if (!tasks[i] || atoll_referee_add_task(referee, i, tasks[i], &err) != 0)
            fail_msg("%s", err.text);
    }
    size_t bench = variants_of(tasks[0], ATOLL_VARIANT_BENCH),
           check = variants_of(tasks[0], ATOLL_VARIANT_CHECK);
    size_t open = referee->setup.sample_min;
    assert_int_equal(answers_ahead(0, 1), open * bench + ATOLL_INPUT_SET_CHECK_POOL * check);
    assert_int_equal(answers_ahead(0, 0), (ATOLL_INPUT_SET_POOL_MIN - open) * bench);
    size_t kept = kept_of(0);
    assert_int_equal(kept, ATOLL_INPUT_SET_POOL_MIN * bench + ATOLL_INPUT_SET_CHECK_POOL * check);
    evaluate(0);
    assert_true(asked_ns == 0);
    assert_true(answers_ahead(1, 0) > 0);
    assert_true(kept_of(0) >= kept);
    evaluate(1);
    assert_true(asked_ns == 0);
    evaluate(0);
    assert_true(asked_ns == 0);
    atoll_cuda_device_drop(atoll_cuda_device_of(referee)); /* nobody starts a process for them */
    assert_int_equal(answers_ahead(0, 0), 0);
    evaluate(0);
    printf("the next process asked the reference for %.2f ms\n", asked_ns / 1e6);
    assert_true(asked_ns == 0 || atoll_cuda_device_of(referee)->sealed.is_shut);
    atoll_cuda_device_drop_all(atoll_cuda_device_of(referee));
    evaluate(0);
    assert_true(asked_ns > 0);
    assert_true(answers_ahead(0, 0) > 0);
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    for (uint32_t i = 0; i < TASKS; i++)
        atoll_task_destroy(tasks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_are_answered_ahead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
