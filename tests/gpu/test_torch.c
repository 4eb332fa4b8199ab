/* A task that PyTorch defines, answered on the host and on the device: what the host refuses is refused there, and both say the
 * same.  ATOLL_TEST_PYTHON: a Python with torch that knows the GPU, else the python3 of PATH. */
#include "tests/gpu/device.h"

#include <unistd.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cuda/measure/device.h"
#include "tests/gpu/referee.h"
#include "mpi-eval/torch/interpreter.h"

static struct atoll_compiler *compilers[2];
static struct atoll_referee *host, *device;
static unsigned on_device, failed;

static void take_row(void *context, const char *test, int passed, const char *detail)
{
    (void)context;
    on_device += strncmp(test, "cuda ", 5) == 0;
    failed += !passed;
    printf("  %-4s %-44s %.150s\n", passed ? "ok" : "FAIL", test, detail);
}

static void a_module_is_answered(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", &err);
    (void)state;
    if (!device)
        skip();
    if (!task)
        fail_msg("%s", err.text);
    if (atoll_referee_admit(host, device, task, 0, take_row, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(on_device >= 8);
    assert_int_equal(failed, 0);
    atoll_task_destroy(task);
}

/* Doubles of 24 MiB stay on the device where the system bears that; which way they went is printed. */
static void a_large_answer(void **state)
{
    static const char yaml[] =
        "version: 1\nname: large\nsummary: y = 2 x + 1\ndims: [N]\ntensors:\n"
        "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 0, std: 1}}}\n"
        "  - {name: y, dtype: f32, shape: [N], role: out}\n"
        "reference: {torch: problem.py, form: function}\nwork: {flops: \"2 * N\"}\n"
        "tolerance: {rtol: 1.0e-5, atol: 1.0e-5}\n"
        "variants:\n  check: {N: 3145731}\n  bench: {N: 3145731}\n";
    char folder[] = "/tmp/atoll-large-XXXXXX", path[64];
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    if (!device)
        skip();
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, i ? "problem.py" : "task.yaml");
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(i ? "def forward(x):\n    return 2 * x + 1\n" : yaml, f);
        fclose(f);
    }
    struct atoll_task *task = atoll_task_load(folder, &err);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, i ? "problem.py" : "task.yaml");
        unlink(path);
    }
    rmdir(folder);
    if (!task)
        fail_msg("%s", err.text);
    on_device = failed = 0;
    if (atoll_referee_admit(host, device, task, 0, take_row, NULL, &err) < 0)
        fail_msg("%s", err.text);
    int window = atoll_cuda_device_of(device)->window;
    printf("large answers: %s\n", window > 0   ? "WINDOW on the device"
                                  : window < 0 ? "REFUSED, by way of the host"
                                               : "not tried");
    assert_true(on_device >= 8);
    assert_int_equal(failed, 0);
    assert_int_not_equal(window, 0);
    atoll_task_destroy(task);
}

static int host_open(const char *python)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = gpu_setup();
    snprintf(setup.python, sizeof(setup.python), "%s", python);
    snprintf(setup.backend, sizeof(setup.backend), "cpu");
    snprintf(setup.compiler, sizeof(setup.compiler), "cc");
    snprintf(setup.compile_flags, sizeof(setup.compile_flags), "-O2");
    setenv("ATOLL_WORKER", ATOLL_BUILD_DIR "/atoll-worker", 0);
    compilers[0] = atoll_backend_cpu.compiler_create(&setup, 1, &err);
    if (compilers[0])
        host = atoll_referee_create(&atoll_backend_cpu, &setup, compilers[0], &err);
    if (!host)
        printf("FAIL: %s\n", err.text);
    return host ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_module_is_answered),
                                       cmocka_unit_test(a_large_answer)};
    const char *asked = getenv("ATOLL_TEST_PYTHON");
    char python[200] = "", versions[96] = "";
    unsetenv(ATOLL_TORCH_VARIABLE);
    setenv("ATOLL_TORCH_SCRIPT", ATOLL_SOURCE_DIR "/mpi-eval/torch/python/atoll_torch.py", 0);
    if (atoll_torch_find(asked, python, sizeof(python), NULL) == 0)
        atoll_torch_versions(python, 1, versions, sizeof(versions));
    if (!versions[0]) {
        printf("SKIP: no Python with a torch that knows CUDA\n");
        return 77;
    }
    printf("%s\n", versions);
    int rc = gpu_referee_open_with(python, &compilers[1], &device);
    if (rc == 0 && host_open(python) != 0)
        rc = -1;
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    else
        rc = rc > 0 ? 77 : 1;
    atoll_referee_destroy(device);
    atoll_referee_destroy(host);
    atoll_compiler_destroy(compilers[0]);
    atoll_compiler_destroy(compilers[1]);
    return rc;
}
