/* test_torch_window.c - how results lie in a window, which ones go through it, and what a handle must look like. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/torch/torch_window.h"

static struct atoll_task *task;

static void test_lay(void **state)
{
    struct atoll_torch_window w;
    struct atoll_err err = ATOLL_ERR_INIT;
    static const uint64_t each[] = {8, 0};
    (void)state;
    for (size_t k = 0; k < sizeof(each) / sizeof(*each); k++) {
        uint64_t at = 0;
        assert_int_equal(atoll_torch_window_lay(task, &task->variants[0], each[k], &w, &err), 0);
        for (size_t i = 0; i < task->tensor_count; i++) {
            const struct atoll_tensor *t = &task->tensors[i];
            size_t count = 0;
            assert_int_equal(atoll_task_element_count(task, i, &task->variants[0], &count, &err), 0);
            if (t->role != ATOLL_ROLE_OUT && t->role != ATOLL_ROLE_INOUT) {
                assert_int_equal(w.sizes[i], 0);
                continue;
            }
            assert_int_equal(w.offsets[i], at);
            assert_int_equal(w.sizes[i], count * (each[k] ? each[k] : atoll_dtype_bytes(t->dtype)));
            at += (w.sizes[i] + 255) / 256 * 256;
        }
        assert_true(at > 0);
        assert_int_equal(w.bytes, at);
        assert_int_equal(w.stretch, at);
    }
    struct atoll_variant large = task->variants[0]; /* more than is shown at once */
    for (size_t i = 0; i < task->dim_count; i++)
        large.dims[i] = i == 0 ? (int64_t)1 << 26 : large.dims[i];
    assert_int_equal(atoll_torch_window_lay(task, &large, 8, &w, &err), 0);
    assert_true(w.bytes > ATOLL_TORCH_WINDOW_BYTES);
    assert_int_equal(w.stretch, ATOLL_TORCH_WINDOW_BYTES);
}

static void test_wanted(void **state)
{
    static const struct {
        uint64_t bytes;
        int is_wanted;
    } rows[] = {
        {0, 0}, {ATOLL_TORCH_WINDOW_LEAST - 1, 0}, {ATOLL_TORCH_WINDOW_LEAST, 1}, {(uint64_t)13 << 30, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_torch_window w = {.bytes = rows[i].bytes};
        assert_int_equal(atoll_torch_window_is_wanted(&w), rows[i].is_wanted);
        setenv("ATOLL_TORCH_WINDOW", "none", 1);
        assert_int_equal(atoll_torch_window_is_wanted(&w), 0);
        unsetenv("ATOLL_TORCH_WINDOW");
    }
}

static void test_handle(void **state)
{
    unsigned char handle[ATOLL_TORCH_HANDLE_BYTES], before[ATOLL_TORCH_HANDLE_BYTES];
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[2 * ATOLL_TORCH_HANDLE_BYTES + 3];
    (void)state;
    for (size_t i = 0; i < ATOLL_TORCH_HANDLE_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(255 - 3 * i) & 255u);
    json_t *reply = json_pack("{s:s}", "handle", text);
    assert_int_equal(atoll_torch_window_handle(reply, "handle", handle, &err), 0);
    for (size_t i = 0; i < ATOLL_TORCH_HANDLE_BYTES; i++)
        assert_int_equal(handle[i], (255 - 3 * i) & 255);
    memcpy(before, handle, sizeof(handle));
    for (int i = 0; i < 5; i++) {
        static const char *const names[] = {"shown", "handle", "handle", "handle", "handle"};
        char other[sizeof(text)];
        memcpy(other, text, sizeof(text));
        if (i == 1)
            other[126] = '\0';
        else if (i == 2)
            strcat(other, "00");
        else if (i == 3)
            other[64] = 'g';
        else if (i == 4)
            other[127] = 'F';
        json_object_set_new(reply, "handle", json_string(other));
        atoll_err_clear(&err);
        assert_int_equal(atoll_torch_window_handle(reply, names[i], handle, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "without a handle that could be one");
        assert_memory_equal(handle, before, sizeof(handle));
    }
    json_decref(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lay), cmocka_unit_test(test_wanted),
                                       cmocka_unit_test(test_handle)};
    struct atoll_err err = ATOLL_ERR_INIT;
    unsetenv("ATOLL_TORCH_WINDOW");
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", &err);
    if (!task) {
        printf("%s\n", err.text);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_task_destroy(task);
    return failed;
}
