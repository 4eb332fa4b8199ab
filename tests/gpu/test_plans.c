/* What launch plans can ask for, on a device: several kernels with scratch between them, large shared memory, clusters,
 * cooperative launches, tensor maps.  Every seed of tests/fixtures/plans computes the same; each must be right. */
#include "tests/gpu/device.h"

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/coordinator/setup.h"

static struct atoll_task *task;
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;

/* What a model is told of it before it spends an evaluation: the same verdict without a time, and the image in words. */
static void ask_as_a_model(const struct atoll_order *order, const struct atoll_prepared *p,
                           const struct atoll_compiled *compiled, enum atoll_verdict verdict)
{
    struct atoll_evaluation e;
    struct atoll_buffer words, listing;
    atoll_evaluation_init(&e);
    atoll_referee_check(referee, 0, order, p, compiled->object, compiled->object_length, &e);
    if (e.verdict != verdict || e.timing_count != 0 || e.draw_count == 0)
        fail_msg("%s: %s, %zu timings", atoll_verdict_name(e.verdict), e.detail, e.timing_count);
    atoll_evaluation_fini(&e);
    atoll_buffer_init(&words, 1u << 20);
    atoll_buffer_init(&listing, 1u << 24);
    atoll_backend_cuda.describe(p, compiled->object, compiled->object_length, atoll_referee_device(referee),
                                &words, &listing);
    atoll_buffer_put_u8(&words, 0);
    atoll_buffer_put_u8(&listing, 0);
    if (!strstr((char *)words.data, " registers a thread, ") ||
        !strstr((char *)words.data, "theoretical occupancy") || !strstr((char *)listing.data, " EXIT\n"))
        fail_msg("%s", (char *)words.data);
    atoll_buffer_fini(&words);
    atoll_buffer_fini(&listing);
}

static void evaluate(const struct atoll_seed *seed, struct atoll_evaluation *e)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order order = {.evaluation = (uint64_t)(seed - task->seeds) + 1,
                                .candidate = {.language = "cuda", .source = seed->source}};
    struct atoll_compiled compiled = {0};
    const char *body;
    struct atoll_arena *arena = atoll_arena_create(1u << 22, &err);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, "cuda", seed->source, &body, &err);
    if (!plan)
        fail_msg("%s: %s", seed->name, err.text);
    atoll_plan_first_choice(plan, &order.candidate.choice);
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cuda, &order.candidate,
                                                     atoll_referee_device(referee), &err);
    assert_non_null(p);
    if (p->verdict != ATOLL_V_CORRECT)
        fail_msg("%s: %s", seed->name, p->detail);
    if (atoll_compiler_run(compiler, "candidate.cu", p->unit_text, p->unit_length, NULL, 0, &compiled,
                           &err) != 0 ||
        compiled.status != ATOLL_COMPILE_OK)
        fail_msg("%s: %s %s", seed->name, err.text, compiled.diagnostics ? compiled.diagnostics : "");
    p->report = compiled.report;
    atoll_referee_evaluate(referee, 0, &order, p, compiled.object, compiled.object_length, e);
    ask_as_a_model(&order, p, &compiled, e->verdict);
    atoll_prepared_destroy(p);
    atoll_compiled_fini(&compiled);
    atoll_arena_destroy(arena);
}

static void every_kind_of_plan_is_right(void **state)
{
    int failed = 0;
    if (!referee)
        skip();
    for (size_t i = 0; i < task->seed_count; i++) {
        struct atoll_evaluation e;
        if (strcmp(task->seeds[i].language, "cuda") != 0)
            continue;
        atoll_evaluation_init(&e);
        evaluate(&task->seeds[i], &e);
        printf("%-14s %-12s level %u  %8.1f us  %u registers, %u + %u shared, occupancy %.2f  %s\n",
               task->seeds[i].name, atoll_verdict_name(e.verdict), e.level,
               atoll_evaluation_time_ns(&e, task) / 1e3, e.profile.resources.registers,
               e.profile.resources.static_shared_bytes, e.profile.resources.dynamic_shared_bytes,
               e.profile.resources.occupancy, e.detail);
        failed += e.verdict != ATOLL_V_CORRECT;
        atoll_evaluation_fini(&e);
    }
    assert_int_equal(failed, 0);
}

static int open_all(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup;
    struct atoll_cuda_worker *probe = gpu_open();
    atoll_cuda_worker_destroy(probe);
    if (!probe)
        return 0;
    setenv("ATOLL_WORKER_CUDA", ATOLL_BUILD_DIR "/atoll-worker-cuda", 0);
    setenv("ATOLL_COMPILE_CUDA", ATOLL_BUILD_DIR "/atoll-compile-cuda", 0);
    atoll_setup_defaults(&setup);
    if (atoll_setup_option(&setup, "backend", "cuda", &err) < 0)
        fail_msg("%s", err.text);
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/plans/scale_rows", &err);
    compiler = task ? atoll_backend_cuda.compiler_create(&setup, 2, &err) : NULL;
    referee =
        compiler ? atoll_referee_create(atoll_backend_find(setup.backend), &setup, compiler, &err) : NULL;
    if (!referee || atoll_referee_add_task(referee, 0, task, &err) != 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int close_all(void **state)
{
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_of_plan_is_right)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
