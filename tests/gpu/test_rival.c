/* PyTorch's times on a device: suites' rivals are right, in mode eager and compiled; a seed is compared with the fastest.
 * ATOLL_TEST_PYTHON names the interpreter, else python3. */
#include "tests/gpu/device.h"

#include "mpi-eval/referee/rival.h"
#include "mpi-eval/torch/interpreter.h"
#include "tests/gpu/referee.h"

static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint64_t next_evaluation = 1;

static struct atoll_task *task_add(const char *dir, uint32_t number)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[512];
    snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/%s", dir);
    struct atoll_task *task = atoll_task_load(path, &err);
    if (!task || atoll_referee_add_task(referee, number, task, &err) != 0)
        fail_msg("%s", err.text);
    return task;
}

/* The number of the fastest; all that are measured must be right. */
static uint32_t rivals_measure(const struct atoll_task *task, uint32_t number)
{
    uint32_t fastest = 0;
    double least = 0;
    printf("%s\n", task->name);
    for (uint32_t k = 0; k < task->rival_count; k++) {
        struct atoll_order order = {
            .evaluation = next_evaluation++, .kind = ATOLL_ORDER_RIVAL, .task = number, .rival = k};
        struct atoll_rival r;
        atoll_rival_init(&r);
        atoll_referee_rival(referee, number, &order, &r);
        printf("  %-16s %-12s %s; built in %.1f s, all in %.1f s; %s\n", task->rivals[k].name,
               atoll_verdict_name(r.verdict), r.detail, r.compile_ns / 1e9, r.occupied_ns / 1e9, r.versions);
        if (r.verdict == ATOLL_V_COMPILE_ERROR && strncmp(r.detail, "unsupported: ", 13) == 0)
            continue;
        if (r.verdict != ATOLL_V_CORRECT)
            fail_msg("%s of %s: %s", task->rivals[k].name, task->name, r.detail);
        double time = atoll_rival_time_ns(&r, task);
        assert_true(time > 0 && r.worst_error < 1 && r.host_ns[0] > 0);
        if (!(least > 0) || time < least) {
            least = time;
            fastest = k;
        }
        atoll_rival_fini(&r);
    }
    assert_true(least > 0);
    return fastest;
}

static void rivals_are_right(void **state)
{
    static const char *const dirs[] = {"suites/starter/transpose", "suites/starter/adamw_step",
                                       "suites/gpu/gemm_bf16"};
    if (!referee)
        skip();
    (void)state;
    for (uint32_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        struct atoll_task *task = task_add(dirs[i], 100 + i);
        rivals_measure(task, 100 + i); /* the referee borrows it until the end */
    }
}

static void a_seed_is_compared(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiled compiled = {0};
    struct atoll_duel d;
    size_t seed = 0;
    if (!referee)
        skip();
    (void)state;
    struct atoll_task *task = task_add("suites/starter/softmax_rows", 1);
    uint32_t fastest = rivals_measure(task, 1);
    while (strcmp(task->seeds[seed].language, "cuda") != 0)
        seed++;
    struct atoll_order_candidate candidate = {.language = "cuda", .source = task->seeds[seed].source};
    struct atoll_prepared *prepared =
        atoll_prepared_create(task, &atoll_backend_cuda, &candidate, atoll_referee_device(referee), &err);
    assert_non_null(prepared);
    assert_int_equal(atoll_compiler_run(compiler, "candidate.cu", prepared->unit_text, prepared->unit_length,
                                        NULL, 0, &compiled, &err),
                     0);
    struct atoll_order order = {.evaluation = next_evaluation++,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = ATOLL_DUEL_RIVAL,
                                .task = 1,
                                .alpha = 0.01,
                                .pair_limit = 16,
                                .rival = fastest};
    memset(order.rivals, (int)fastest, sizeof(order.rivals));
    atoll_referee_rival_duel(referee, 1, &order, prepared, compiled.object, compiled.object_length, &d);
    printf("  naive seed: %s, rival %.1f us, seed %.1f us, ratio %.4f (%.4f to %.4f): %s\n",
           atoll_verdict_name(d.verdict), d.elite_ns / 1e3, d.challenger_ns / 1e3, d.ratio, d.ratio_lo,
           d.ratio_hi, d.detail);
    assert_int_equal(d.verdict, ATOLL_V_CORRECT);
    assert_true(d.ratio_lo <= d.ratio && d.ratio <= d.ratio_hi);
    atoll_compiled_fini(&compiled);
    atoll_prepared_destroy(prepared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rivals_are_right),
                                       cmocka_unit_test(a_seed_is_compared)};
    const char *asked = getenv("ATOLL_TEST_PYTHON");
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[256];
    setenv("ATOLL_TORCH_SCRIPT", ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_torch.py", 0);
    if (atoll_torch_find(asked ? asked : "python3", python, sizeof(python), &err) != 0) {
        printf("SKIP: %s\n", err.text);
        return 77;
    }
    int rc = gpu_referee_open_with(python, &compiler, &referee);
    if (rc != 0)
        return rc > 0 ? 77 : 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    return rc;
}
