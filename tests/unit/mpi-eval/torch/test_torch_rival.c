/* test_torch_rival.c - what a process of the role rival may say: every number is checked.  A peer answers; no torch is needed. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/torch_rival.h"

#define PYTHON "/usr/bin/python3"

static struct atoll_task *task;
static struct atoll_torch_rival *rival;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_torch_place place = {.python = PYTHON};
    (void)state;
    setenv("ATOLL_TORCH_SCRIPT", ATOLL_SOURCE_DIR "/tests/fixtures/torch/rival_peer.py", 1);
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/rival", &err);
    rival = task ? atoll_torch_rival_create(&place, &err) : NULL;
    if (!rival)
        fprintf(stderr, "%s\n", err.text);
    return rival ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_torch_rival_destroy(rival);
    atoll_task_destroy(task);
    return 0;
}

/* As a task of its own, so that nothing is known of it. */
static int build(const char *kind, struct atoll_torch_built *b, struct atoll_err *err)
{
    static uint32_t number;
    task->rivals[0].expression = kind;
    if (atoll_shared_memory_reserve(atoll_torch_rival_memory(rival), 64, err) != 0)
        return -1;
    return atoll_torch_rival_build(rival, ++number, task, 0, 0, json_object(), 20e9, b, err);
}

static int measure(uint64_t handle, size_t count, struct atoll_torch_sample *samples, double *host,
                   struct atoll_err *err)
{
    json_t *told = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(told, json_object());
    return atoll_torch_rival_measure(rival, handle, told, 20e9, samples, host, err);
}

static void test_good(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_torch_sample samples[3];
    struct atoll_torch_built b, again;
    double host = 0;
    (void)state;
    assert_int_equal(build("good", &b, &err), 0);
    assert_true(b.handle > 0 && b.compile_ns == 1e9 && b.call_ns == 0 && !b.wrong[0]);
    assert_int_equal(strncmp(atoll_torch_rival_versions(rival), "torch 222", 9), 0);
    assert_int_equal(measure(b.handle, 3, samples, &host, &err), 0);
    expect_close(samples[2].ns, 5.5, 1e-9);
    expect_close(samples[2].clock_hz, 2e9, 1e-9);
    assert_true(samples[0].is_late && samples[0].lost_ns == 0 && host == 9);
    /* What is built is built once. */
    assert_int_equal(build("odd", &b, &err), 0);
    assert_int_equal(atoll_torch_rival_build(rival, 2, task, 0, 0, json_object(), 20e9, &again, &err), 0);
    assert_int_equal(again.handle, b.handle);
    assert_int_equal(atoll_torch_rival_build(rival, 2, task, 0, 1, json_object(), 20e9, &again, &err), 0);
    assert_int_not_equal(again.handle, b.handle);
    /* What cannot be believed is not known. */
    assert_int_equal(measure(again.handle, 1, samples, NULL, &err), 0);
    assert_true(samples[0].lost_ns == -1 && samples[0].clock_hz == 0 && !samples[0].is_late);
}

static void test_bad(void **state)
{
    static const char *const kinds[] = {"few", "nan", "texts", "negative", "huge", "else"};
    struct atoll_torch_sample samples[3];
    struct atoll_torch_built b;
    char wrong[512];
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(build(kinds[i], &b, &err), 0);
        assert_int_equal(measure(b.handle, 3, samples, NULL, &err), -1);
        if (err.code != ATOLL_E_PROTOCOL && err.code != ATOLL_E_CHILD)
            fail_msg("%s: %s", kinds[i], err.text);
        /* It is gone, and says so until the next one is built. */
        atoll_err_clear(&err);
        assert_int_equal(measure(b.handle, 3, samples, NULL, &err), -1);
        assert_int_equal(err.code, ATOLL_E_CHILD);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(build("nameless", &b, &err), -1);
    assert_int_equal(err.code, ATOLL_E_PROTOCOL);
    atoll_err_clear(&err);
    assert_int_equal(build("wrong", &b, &err), 0);
    assert_int_equal(strlen(b.wrong), sizeof(b.wrong) - 1);
    assert_int_equal(b.handle, 0);
    assert_int_equal(build("gone", &b, &err), 0);
    assert_int_equal(
        atoll_torch_rival_output(rival, b.handle, json_object(), json_object(), 20e9, wrong, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CHILD);
    atoll_err_clear(&err);
    assert_int_equal(measure(1, ATOLL_TORCH_SAMPLES_LIMIT + 1, samples, NULL, &err), -1);
    atoll_torch_rival_rest(rival); /* of none that runs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad)};
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[256];
    if (atoll_torch_find(PYTHON, python, sizeof(python), &err) != 0) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
