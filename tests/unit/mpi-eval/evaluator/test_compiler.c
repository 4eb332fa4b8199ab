#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/compile.h"

static const char good[] = "int f(int i) { return i; }\n";
static struct atoll_compiler *compiler;

static int set_up(void **state)
{
    (void)state;
    const struct atoll_compiler_settings settings = {"cc", "-O1", NULL, 2, 20e9, UINT64_C(2) << 30, 16 << 20};
    struct atoll_err err = ATOLL_ERR_INIT;
    compiler = atoll_cc_create(&settings, &err);
    if (!compiler)
        print_error("%s\n", err.text);
    return compiler ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_compiler_destroy(compiler);
    atoll_compiler_destroy(NULL);
    return 0;
}

static void submit(uint64_t job)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_compiler_submit(compiler, job, "candidate.c", good, sizeof(good) - 1, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
}

static void test_run_keeps_what_others_wait_for(void **state)
{
    (void)state;
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned seen = 0;
    for (uint64_t job = 0; job < 6; job++)
        submit(job);
    assert_int_equal(atoll_compiler_run(compiler, "late.c", good, sizeof(good) - 1, NULL, 0, &result, &err),
                     0);
    assert_int_equal(result.job, 0);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    assert_non_null(result.object);
    assert_string_equal(result.report, "");
    assert_int_equal(result.from_cache, 0);
    atoll_compiled_fini(&result);
    assert_int_equal(atoll_compiler_timeout_ms(compiler), 0); /* results wait */
    while (seen != 0x3f) {
        if (atoll_compiler_collect(compiler, &result)) {
            assert_int_equal(seen & (1u << result.job), 0);
            seen |= 1u << result.job;
            atoll_compiled_fini(&result);
        }
    }
    assert_int_equal(atoll_compiler_collect(compiler, &result), 0);
    assert_int_equal(atoll_compiler_timeout_ms(compiler), -1);
}

/* One of several, whether it ends before or behind another that is waited for. */
static void test_wait_for_one(void **state)
{
    (void)state;
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    static const uint64_t waited_for[] = {3, 1, 2};
    for (uint64_t job = 1; job < 4; job++)
        submit(job);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(atoll_compiler_wait(compiler, waited_for[i], &result, &err), 0);
        assert_true(result.job == waited_for[i]);
        assert_int_equal(result.status, ATOLL_COMPILE_OK);
        atoll_compiled_fini(&result);
    }
    assert_int_equal(atoll_compiler_collect(compiler, &result), 0);
}

static void test_reserved_number(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(
        atoll_compiler_submit(compiler, UINT64_MAX, "x.c", good, sizeof(good) - 1, NULL, 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
    assert_non_null(strstr(err.text, "18446744073709551615 is taken"));
}

static void test_run_refuses_what_submit_refuses(void **state)
{
    (void)state;
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_compiler_run(compiler, "../x.c", good, sizeof(good) - 1, NULL, 0, &result, &err),
                     -1);
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
}

static void test_results_end_twice(void **state)
{
    (void)state;
    struct atoll_compiled result = {.object = malloc(8), .diagnostics = strdup("d"), .report = strdup("r")};
    atoll_compiled_fini(&result);
    assert_null(result.object);
    assert_null(result.diagnostics);
    assert_null(result.report);
    atoll_compiled_fini(&result);
}

static void test_kept_results_go_with_the_compiler(void **state)
{
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    for (uint64_t job = 0; job < 6; job++)
        submit(job);
    assert_int_equal(atoll_compiler_run(compiler, "late.c", good, sizeof(good) - 1, NULL, 0, &result, &err),
                     0);
    atoll_compiled_fini(&result);
    assert_int_equal(tear_down(state), 0); /* a leak checker watches */
    assert_int_equal(set_up(state), 0);
}

static void test_version_and_pauses(void **state)
{
    (void)state;
    struct pollfd fds[4];
    assert_non_null(strstr(atoll_compiler_version(compiler), "-O1"));
    assert_int_equal(atoll_compiler_idle_count(compiler), 2);
    atoll_compiler_pause(compiler);
    assert_int_equal(atoll_compiler_idle_count(compiler), 0);
    submit(3);
    assert_int_equal(atoll_compiler_pollfds(compiler, fds, 4), 0);
    atoll_compiler_resume(compiler);
    assert_int_equal(atoll_compiler_idle_count(compiler), 0); /* that one goes first */
    struct atoll_compiled result;
    while (!atoll_compiler_collect(compiler, &result))
        ;
    assert_int_equal(result.job, 3);
    assert_int_equal(atoll_compiler_idle_count(compiler), 2);
    atoll_compiled_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_keeps_what_others_wait_for),
        cmocka_unit_test(test_wait_for_one),
        cmocka_unit_test(test_reserved_number),
        cmocka_unit_test(test_run_refuses_what_submit_refuses),
        cmocka_unit_test(test_results_end_twice),
        cmocka_unit_test(test_kept_results_go_with_the_compiler),
        cmocka_unit_test(test_version_and_pauses),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
