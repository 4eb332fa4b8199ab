/* test_torch_answer.c - where PyTorch answers for a task, and what the areas of a device leave to it; the Python has a torch of one
 * line, and nothing is started. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/measure/torch_answer.h"
#include "mpi-eval/torch/interpreter.h"

#define PYTHON "/usr/bin/python3"
#define GB     1000000000ull

static char folder[] = "/tmp/atoll-torch-answer-XXXXXX";
static struct atoll_task *task;
static struct atoll_torch_reference reference;

static void file_put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/torch/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_where(void **state)
{
    static const struct {
        double memory_bytes;
        uint32_t compute_mode;
        double device_bytes;
        uint64_t free_bytes;
        int is_on_host;
        double room_bytes; /* with the context */
    } cases[] = {
        {10e9, 0, 80e9, 79 * GB, 0, 10e9 + 1073741824.0},
        {10e9, 3, 80e9, 79 * GB, 1, 0},   /* exclusive */
        {71.5e9, 0, 80e9, 79 * GB, 1, 0}, /* beyond 90 % */
        {60e9, 0, 80e9, 61 * GB, 1, 0},   /* no room beside it */
        {0, 0, 80e9, 79 * GB, 0,
         1073741824.0 + 2 * 8 * (2 * 32 * 16 + 2 * 16 * 16 + 2 * 16)}, /* two copies of all tensors */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_referee referee = {.setup = {.python = PYTHON}};
        struct atoll_cuda_device *d = calloc(1, sizeof(*d));
        struct atoll_cuda_oracle oracle = {.slot = 0};
        struct atoll_case known = {.task = task, .oracle = &oracle};
        assert_non_null(d);
        d->referee = &referee;
        referee.device_state = d;
        snprintf(d->uuid, sizeof(d->uuid), "GPU-0");
        d->facts.compute_mode = cases[i].compute_mode;
        d->facts.limits.memory_bytes = cases[i].device_bytes;
        d->facts.free_bytes = cases[i].free_bytes;
        reference.memory_bytes = cases[i].memory_bytes;
        if (atoll_cuda_torch_expect(&referee, &known, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(oracle.is_on_host, cases[i].is_on_host);
        if ((double)d->torch_room != cases[i].room_bytes)
            fail_msg("case %zu: room %.0f, not %.0f", i, (double)d->torch_room, cases[i].room_bytes);
        atoll_torch_oracle_destroy(d->torch);
        atoll_torch_oracle_destroy(d->torch_host);
        free(d);
    }
}

/* Large answers need room for a window; without it they go by way of the host's memory, and not to the host. */
static void test_window(void **state)
{
    struct atoll_variant *bench = &task->variants[task->variant_count - 1];
    int64_t dim = bench->dims[0];
    uint64_t own = (uint64_t)2 << 30;
    struct atoll_torch_window w;
    bench->dims[0] = (int64_t)1 << 18;
    assert_int_equal(atoll_torch_window_lay(task, bench, 8, &w, NULL), 0);
    assert_true(w.bytes >= ATOLL_TORCH_WINDOW_LEAST);
    for (size_t i = 0; i < task->tensor_count; i++) {
        size_t count = 0;
        assert_int_equal(atoll_task_element_count(task, i, bench, &count, NULL), 0);
        own += count * (atoll_dtype_bytes(task->tensors[i].dtype) + (w.sizes[i] ? 8 : 0));
    }
    for (int i = 0; i < 4; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_referee referee = {.setup = {.python = PYTHON}};
        struct atoll_cuda_device *d = calloc(1, sizeof(*d));
        struct atoll_cuda_oracle oracle = {.slot = 0};
        struct atoll_case known = {.task = task, .oracle = &oracle};
        uint64_t least = 10 * GB + ((uint64_t)1 << 30);
        assert_non_null(d);
        d->referee = &referee;
        referee.device_state = d;
        d->facts.limits.memory_bytes = 80e9;
        d->facts.free_bytes = least + own + (i == 0 ? w.stretch : i == 1 ? w.stretch - 1 : 70 * GB);
        d->window = i == 2 ? -1 : 0;
        reference.memory_bytes = 10e9;
        if (atoll_cuda_torch_expect(&referee, &known, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(oracle.is_on_host, 0);
        assert_int_equal(oracle.is_windowless, i == 1);
        assert_int_equal(d->torch_room, least + (i == 0 || i == 3 ? w.stretch : 0));
        atoll_torch_oracle_destroy(d->torch);
        atoll_torch_oracle_destroy(d->torch_host);
        free(d);
    }
    bench->dims[0] = dim;
}

static void test_none(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_referee referee = {.setup = {.python = "none"}};
    struct atoll_cuda_device *d = calloc(1, sizeof(*d));
    struct atoll_cuda_oracle oracle = {.slot = 0};
    struct atoll_case known = {.task = task, .oracle = &oracle};
    assert_non_null(d);
    d->referee = &referee;
    referee.device_state = d;
    assert_int_equal(atoll_cuda_torch_expect(&referee, &known, &err), -1);
    expect_err(&err, ATOLL_E_INPUT,
               "task 'packed' is defined by PyTorch (problem.py), and there is no Python with torch here");
    atoll_torch_oracle_destroy(d->torch);
    atoll_torch_oracle_destroy(d->torch_host);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_where), cmocka_unit_test(test_window),
                                       cmocka_unit_test(test_none)};
    char path[128];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (access(PYTHON, X_OK) != 0) {
        printf("no " PYTHON "\n");
        return 77;
    }
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", &err);
    if (!task || !mkdtemp(folder)) {
        printf("%s\n", err.text);
        return 1;
    }
    reference = *task->torch;
    const struct atoll_torch_reference *own = task->torch;
    task->torch = &reference;
    snprintf(path, sizeof(path), "%s/torch", folder);
    mkdir(path, 0700);
    setenv("PYTHONPATH", folder, 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    file_put("__init__.py", "");
    file_put("version.py", "__version__ = '2.1.0'\ncuda = '12.1'\n");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    task->torch = own;
    atoll_task_destroy(task);
    snprintf(path, sizeof(path), "%s/torch/__init__.py", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/torch/version.py", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/torch", folder);
    rmdir(path);
    rmdir(folder);
    return failed;
}
