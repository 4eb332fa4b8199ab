/* test_triton.c - Triton seeds on a device: right at all variants, and timed beside the CUDA seeds of their tasks.  ATOLL_TRITON_PYTHON or
 * the one that ./setup test made; arguments: folders of tasks (all of starter and gpu that have such seeds, and the fixture of
 * plans). */
#include "tests/gpu/device.h"

#include <glob.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/referee/referee.h"
#include "tests/support/triton.h"

static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static uint32_t task_count;
static char *const *folders;
static int folder_count;

/* A candidate that cannot be measured ends with its verdict and the words on it, as one that was. */
static void evaluate(const struct atoll_task *task, uint32_t number, const struct atoll_seed *seed,
                     struct atoll_evaluation *e)
{
    static uint64_t evaluations;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order order = {.evaluation = ++evaluations,
                                .task = number,
                                .candidate = {.language = seed->language, .source = seed->source}};
    struct atoll_compiled compiled = {0};
    struct atoll_prepared *p = NULL;
    const char *body;
    struct atoll_arena *arena = atoll_arena_create(1u << 22, &err);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, seed->language, seed->source, &body, &err);
    e->verdict = ATOLL_V_COMPILE_ERROR;
    if (plan) {
        atoll_plan_first_choice(plan, &order.candidate.choice);
        p = atoll_prepared_create(task, &atoll_backend_cuda, &order.candidate, atoll_referee_device(referee),
                                  &err);
    }
    if (!p)
        snprintf(e->detail, sizeof(e->detail), "%s", err.text);
    else if (p->verdict != ATOLL_V_CORRECT)
        snprintf(e->detail, sizeof(e->detail), "%s", p->detail);
    else if (atoll_compiler_run(compiler, p->unit_name, p->unit_text, p->unit_length, NULL, 0, &compiled,
                                &err) != 0 ||
             compiled.status != ATOLL_COMPILE_OK)
        snprintf(e->detail, sizeof(e->detail), "compiler's status %d: %s %s", (int)compiled.status, err.text,
                 compiled.diagnostics ? compiled.diagnostics : "");
    else {
        p->report = compiled.report;
        atoll_referee_evaluate(referee, number, &order, p, compiled.object, compiled.object_length, e);
    }
    atoll_prepared_destroy(p);
    atoll_compiled_fini(&compiled);
    atoll_arena_destroy(arena);
}

/* Prints "TIME task seed language ns" of each, all of what is said of one that failed; how many were not right. */
static int task_measure(const char *folder)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int failed = 0, any = 0;
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task) {
        printf("FAILED %s: %s\n", folder, err.text);
        return 1;
    }
    for (size_t i = 0; i < task->seed_count; i++)
        any |= strcmp(task->seeds[i].language, "triton") == 0;
    uint32_t number = task_count;
    if (any && atoll_referee_add_task(referee, number, task, &err) != 0) {
        printf("FAILED %s: %s\n", task->name, err.text);
        atoll_task_destroy(task);
        return 1;
    }
    task_count += any ? 1 : 0;
    for (size_t i = 0; any && i < task->seed_count; i++) {
        struct atoll_evaluation e;
        int is_triton = strcmp(task->seeds[i].language, "triton") == 0;
        if (!is_triton &&
            (strcmp(task->seeds[i].language, "cuda") != 0 || strcmp(task->seeds[i].name, "naive") == 0))
            continue;
        atoll_evaluation_init(&e);
        evaluate(task, number, &task->seeds[i], &e);
        printf("TIME %s %s %s %.0f %s %.200s\n", task->name, task->seeds[i].name, task->seeds[i].language,
               atoll_evaluation_time_ns(&e, task), atoll_verdict_name(e.verdict), e.detail);
        if (is_triton && e.verdict != ATOLL_V_CORRECT)
            printf("FAILED %s %s: %s\n", task->name, task->seeds[i].name, e.detail);
        fflush(stdout);
        failed += is_triton && e.verdict != ATOLL_V_CORRECT;
        atoll_evaluation_fini(&e);
    }
    if (!any)
        atoll_task_destroy(task); /* the others live as long as the referee */
    return failed;
}

static void seeds_are_right(void **state)
{
    static const char *const patterns[] = {"/tests/fixtures/plans/scale_rows", "/suites/starter/*",
                                           "/suites/gpu/*"};
    int failed = 0;
    (void)state;
    if (!referee)
        skip();
    for (int i = 0; i < folder_count; i++)
        failed += task_measure(folders[i]);
    for (size_t i = 0; folder_count == 0 && i < sizeof(patterns) / sizeof(*patterns); i++) {
        char pattern[512];
        glob_t found = {0};
        snprintf(pattern, sizeof(pattern), ATOLL_SOURCE_DIR "%s/task.yaml", patterns[i]);
        for (size_t k = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0; k-- > 0;) {
            *strrchr(found.gl_pathv[k], '/') = '\0';
            failed += task_measure(found.gl_pathv[k]);
        }
        globfree(&found);
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_are_right)};
    struct atoll_err err = ATOLL_ERR_INIT;
    static struct atoll_setup setup;
    const char *python = triton_python();
    struct atoll_cuda_worker *probe = python ? gpu_open() : NULL;
    if (!probe)
        return 77;
    atoll_cuda_worker_destroy(probe);
    folders = argv + 1;
    folder_count = argc - 1;
    setenv("ATOLL_WORKER_CUDA", ATOLL_BUILD_DIR "/atoll-worker-cuda", 0);
    setenv("ATOLL_COMPILE_CUDA", ATOLL_BUILD_DIR "/atoll-compile-cuda", 0);
    setenv("ATOLL_TRITON_SCRIPT", ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_triton.py", 0);
    atoll_setup_defaults(&setup);
    if (atoll_setup_option(&setup, "backend", "cuda", &err) < 0 ||
        atoll_setup_option(&setup, "python", python, &err) < 0 ||
        !(compiler = atoll_backend_cuda.compiler_create(&setup, 2, &err)) ||
        !(referee = atoll_referee_create(atoll_backend_find(setup.backend), &setup, compiler, &err))) {
        print_error("%s\n", err.text);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    return failed;
}
