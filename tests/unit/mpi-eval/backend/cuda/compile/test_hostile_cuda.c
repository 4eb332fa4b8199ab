/* The suite of hostile kernels up to the image: what must be stopped before a device is, with NVRTC, and what is honest
 * passes.  The rest is for a device (tests/gpu). */
#include "tests/support/expect.h"

#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "tests/support/hostile_cuda.h"

static struct atoll_task *tasks[HOSTILE_CUDA_TASK_COUNT];
static struct atoll_compiler *compiler;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_nvrtc_settings settings = {.compiler = {.target = "sm_90a",
                                                         .slots = 1,
                                                         .deadline_ns = 120e9,
                                                         .memory_bytes = (uint64_t)8 << 30,
                                                         .output_bytes = (uint64_t)64 << 20},
                                            .program = ATOLL_BUILD_DIR "/atoll-compile-cuda",
                                            .cache = ""};
    (void)state;
    for (enum hostile_cuda_task k = 0; k < HOSTILE_CUDA_TASK_COUNT; k++)
        if (!(tasks[k] = hostile_cuda_task_load(k, &err)))
            fail_msg("%s", err.text);
    compiler = atoll_nvrtc_create(&settings, &err);
    if (!compiler)
        print_message("skipped: %s\n", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_compiler_destroy(compiler);
    for (enum hostile_cuda_task k = 0; k < HOSTILE_CUDA_TASK_COUNT; k++)
        atoll_task_destroy(tasks[k]);
    return 0;
}

/* Every seed but the baseline has a row, every row a seed. */
static void test_rows(void **state)
{
    size_t seeds = 0;
    (void)state;
    for (enum hostile_cuda_task k = 0; k < HOSTILE_CUDA_TASK_COUNT; k++)
        seeds += tasks[k]->seed_count - 1;
    assert_int_equal(seeds, HOSTILE_CUDA_COUNT);
    for (size_t i = 0; i < HOSTILE_CUDA_COUNT; i++)
        if (!hostile_cuda_source(tasks[hostile_cuda[i].task], hostile_cuda[i].seed))
            fail_msg("no seed %s", hostile_cuda[i].seed);
}

static void test_images(void **state)
{
    size_t failed = 0;
    (void)state;
    if (!compiler)
        skip();
    for (size_t i = 0; i < HOSTILE_CUDA_COUNT; i++) {
        const struct hostile_cuda *h = &hostile_cuda[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        struct cheats_built b;
        if (h->is_dear)
            continue;
        /* honest kernels of f32 tasks compute in f32, but for one that says so */
        tasks[h->task]->precisions_strict = !h->at && strcmp(h->seed, "honest_bf16x3") != 0;
        if (cheats_build(hostile_cuda_source(tasks[h->task], h->seed), tasks[h->task], NULL, compiler, &b,
                         &err))
            fail_msg("%s: %s", h->seed, err.text);
        /* what a device is to judge comes as far as there */
        int is_good = h->at && (b.at || !(h->at & (AT_DEVICE | AT_FINAL)))
                          ? b.at & h->at && h->verdicts >> b.verdict & 1u && strstr(b.detail, h->says)
                          : !b.at;
        if (!is_good)
            printf("FAIL  %s: %s, %.300s\n", h->seed, atoll_verdict_name(b.verdict), b.detail);
        failed += !is_good;
        cheats_built_fini(&b);
    }
    for (enum hostile_cuda_task k = 0; k < HOSTILE_CUDA_TASK_COUNT; k++)
        tasks[k]->precisions_strict = 0;
    assert_int_equal(failed, 0);
}

/* bf16 products inside of an f32 task: told, and refused where the task says so; the honest kernels of f32 tasks use none. */
static void test_precisions(void **state)
{
    static const struct {
        const char *seed;
        int is_strict;
        enum atoll_verdict verdict;
    } rows[] = {{"cheat_bf16x2", 0, ATOLL_V_CORRECT},
                {"cheat_bf16x2", 1, ATOLL_V_FORBIDDEN},
                {"honest_tiled", 1, ATOLL_V_CORRECT},
                {"naive", 1, ATOLL_V_CORRECT}};
    (void)state;
    if (!compiler)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct cheats_built b;
        tasks[MM]->precisions_strict = rows[i].is_strict;
        if (cheats_build(hostile_cuda_source(tasks[MM], rows[i].seed), tasks[MM], NULL, compiler, &b, &err))
            fail_msg("%s: %s", rows[i].seed, err.text);
        if (b.verdict != rows[i].verdict)
            fail_msg("%s: %s, %s", rows[i].seed, atoll_verdict_name(b.verdict), b.detail);
        if (b.verdict == ATOLL_V_FORBIDDEN)
            assert_non_null(strstr(b.detail, "computes with tensor_f16"));
        cheats_built_fini(&b);
    }
    tasks[MM]->precisions_strict = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_images),
                                       cmocka_unit_test(test_precisions)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
