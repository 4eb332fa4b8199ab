/* The admission battery on a device: what the host refuses is refused there, the two references agree, and a task whose
 * tolerance takes anything fails there as well. */
#include "tests/gpu/device.h"

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "tests/gpu/referee.h"

static struct atoll_compiler *compilers[2];
static struct atoll_referee *host, *device;

struct rows {
    unsigned on_device, failed, failed_on_device;
    int is_expected; /* failures are printed only when they are not */
    char names[4096];
};

static void take_row(void *context, const char *test, int passed, const char *detail)
{
    struct rows *r = context;
    int is_device = strncmp(test, "cuda ", 5) == 0;
    r->on_device += is_device ? 1 : 0;
    r->failed += passed ? 0 : 1;
    r->failed_on_device += is_device && !passed ? 1 : 0;
    if (!passed) {
        size_t n = strlen(r->names);
        snprintf(r->names + n, sizeof(r->names) - n, "%s;", test);
    }
    if (is_device || !passed)
        printf("  %-4s %-38s %.150s\n", passed ? "ok" : r->is_expected ? "no" : "FAIL", test, detail);
}

static void admit(const char *dir, double atol, struct rows *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[512];
    snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/%s", dir);
    struct atoll_task *task = atoll_task_load(path, &err);
    if (!task) {
        fail_msg("%s", err.text);
        return;
    }
    if (atol > 0)
        task->tolerance.atol = atol;
    printf("%s\n", task->name);
    if (atoll_referee_admit(host, device, task, 0, take_row, r, &err) < 0)
        fail_msg("%s", err.text);
    atoll_task_destroy(task);
}

static void tasks_pass(void **state)
{
    static const char *const dirs[] = {"suites/starter/softmax_rows", "suites/starter/adamw_step",
                                       "suites/starter/prefix_sum", "suites/gpu/gemm_bf16"};
    if (!device)
        skip();
    (void)state;
    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        struct rows r = {0};
        admit(dirs[i], 0, &r);
        assert_true(r.on_device >= 8); /* the reference, and seven outputs */
        if (r.failed)
            fail_msg("%s", r.names);
    }
}

static void a_loose_tolerance_fails(void **state)
{
    struct rows r = {.is_expected = 1};
    if (!device)
        skip();
    (void)state;
    admit("suites/starter/softmax_rows", 1e30, &r);
    static const char *const wanted[] = {";cuda rejects zeros;", ";cuda rejects ones;",
                                         ";cuda rejects the mean;", ";cuda rejects a prefix;"};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (!strstr(r.names, wanted[i]))
            fail_msg("%s is missing in %s", wanted[i], r.names);
    assert_null(strstr(r.names, "cuda accepts the reference"));
}

static void no_device_means_the_host_alone(void **state)
{
    struct rows r = {0};
    struct atoll_referee *kept = device;
    (void)state;
    device = NULL;
    admit("suites/starter/softmax_rows", 0, &r);
    device = kept;
    assert_int_equal(r.on_device, 0);
    assert_int_equal(r.failed, 0);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_compiler_settings settings = {.command = "cc",
                                                     .flags = "-O1",
                                                     .slots = 1,
                                                     .deadline_ns = 20e9,
                                                     .memory_bytes = (uint64_t)2 << 30,
                                                     .output_bytes = (uint64_t)16 << 20};
    struct atoll_setup setup = gpu_setup();
    (void)state;
    snprintf(setup.backend, sizeof(setup.backend), "cpu");
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 0);
    if (gpu_referee_open(&compilers[1], &device) < 0)
        return -1;
    compilers[0] = atoll_cc_create(&settings, &err);
    host = compilers[0] ? atoll_referee_create(atoll_backend_find(setup.backend), &setup, compilers[0], &err)
                        : NULL;
    if (!host)
        printf("%s\n", err.text);
    return host ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_referee_destroy(device);
    atoll_referee_destroy(host);
    atoll_compiler_destroy(compilers[0]);
    atoll_compiler_destroy(compilers[1]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_device_means_the_host_alone),
                                       cmocka_unit_test(tasks_pass),
                                       cmocka_unit_test(a_loose_tolerance_fails)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
