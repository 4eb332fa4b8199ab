/* The referee's thread: order of requests, errors that come back, an end in the middle of a measurement. */
#include "tests/support/expect.h"

#include <poll.h>
#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "tests/unit/mpi-eval/fixture_candidates.h"

static struct atoll_compiler *compiler;
static struct atoll_task *task;

static int set_up(void **state)
{
    compiler = fixture_compiler();
    task = fixture_task();
    return 0;
}

static int tear_down(void **state)
{
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    return 0;
}

static struct atoll_referee_thread *thread_create(void)
{
    struct atoll_setup setup = fixture_setup();
    struct atoll_referee_thread *x = atoll_referee_thread_create(&setup, compiler, NULL);
    assert_non_null(x);
    return x;
}

/* The next one that is done. */
static struct atoll_referee_request *wait_done(struct atoll_referee_thread *x)
{
    struct pollfd ready = {.fd = atoll_referee_thread_fd(x), .events = POLLIN};
    struct atoll_referee_request *request;
    while (!(request = atoll_referee_thread_collect(x)))
        assert_int_equal(poll(&ready, 1, 60000), 1);
    return request;
}

struct built {
    struct atoll_prepared *prepared;
    struct atoll_object object;
};

static struct built build(const char *source)
{
    struct atoll_order_candidate candidate = {.language = "c", .source = source};
    struct atoll_compiled compiled;
    struct built b = {.prepared = atoll_prepared_create(task, &atoll_backend_cpu, &candidate, NULL, NULL)};
    assert_non_null(b.prepared);
    assert_int_equal(b.prepared->verdict, ATOLL_V_CORRECT);
    assert_int_equal(atoll_compiler_run(compiler, "candidate.c", b.prepared->unit_text,
                                        b.prepared->unit_length, NULL, 0, &compiled, NULL),
                     0);
    assert_int_equal(compiled.status, ATOLL_COMPILE_OK);
    b.object.bytes = compiled.object;
    b.object.length = compiled.object_length;
    compiled.object = NULL;
    atoll_compiled_fini(&compiled);
    return b;
}

static void built_free(struct built *b)
{
    atoll_prepared_destroy(b->prepared);
    free(b->object.bytes);
}

static void test_nothing_to_do(void **state)
{
    struct atoll_referee_thread *x = thread_create();
    assert_null(atoll_referee_thread_collect(x));
    assert_null(atoll_referee_thread_device(x));
    assert_int_equal(atoll_referee_thread_destroy(x, 20e9), 0);
    assert_int_equal(atoll_referee_thread_destroy(NULL, 0), 0);
}

static struct atoll_referee_thread *thread_open(void)
{
    struct atoll_referee_thread *x = thread_create();
    struct atoll_referee_request open = {.kind = ATOLL_REFEREE_REQUEST_OPEN},
                                 add = {.kind = ATOLL_REFEREE_REQUEST_TASK, .task = task};
    assert_null(atoll_referee_thread_device(x));
    atoll_referee_thread_post(x, &open);
    assert_ptr_equal(wait_done(x), &open);
    assert_int_equal(open.rc, 0);
    assert_string_equal(atoll_referee_thread_device(x)->backend, "cpu");
    atoll_referee_thread_post(x, &add);
    assert_ptr_equal(wait_done(x), &add);
    assert_int_equal(add.rc, 0);
    return x;
}

static struct atoll_referee_request evaluate_request(const struct built *b, const struct atoll_order *order)
{
    struct atoll_referee_request request = {.kind = ATOLL_REFEREE_REQUEST_EVALUATE,
                                            .order = order,
                                            .candidate = b->prepared,
                                            .candidate_object = &b->object};
    atoll_evaluation_init(&request.evaluation);
    request.evaluation.verdict = ATOLL_V_TIMEOUT; /* not what it can become */
    return request;
}

/* Three that take long, and one that is posted ahead of those that wait: it is not the last. */
static void test_order_and_errors(void **state)
{
    struct built slow = build(FIXTURE_SLOW);
    const struct atoll_order order = {.evaluation = 7};
    struct atoll_referee_thread *x = thread_open();
    struct atoll_referee_request long_ones[3], again = {.kind = ATOLL_REFEREE_REQUEST_TASK, .task = task},
                                               *done[4];
    for (size_t i = 0; i < 3; i++) {
        long_ones[i] = evaluate_request(&slow, &order);
        atoll_referee_thread_post(x, &long_ones[i]);
    }
    atoll_referee_thread_post_first(x, &again);
    for (size_t i = 0, at = 0; i < 4; i++) {
        done[i] = wait_done(x);
        if (done[i] != &again)
            assert_ptr_equal(done[i], &long_ones[at++]);
    }
    assert_ptr_not_equal(done[3], &again);
    assert_int_equal(again.rc, -1);
    assert_int_equal(again.err.code, ATOLL_E_EXISTS);
    assert_null(atoll_referee_thread_collect(x));
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(long_ones[i].evaluation.verdict, ATOLL_V_TIMEOUT);
        atoll_evaluation_fini(&long_ones[i].evaluation);
    }
    assert_int_equal(atoll_referee_thread_destroy(x, 20e9), 0);
    built_free(&slow);
}

/* What runs is cancelled, what waits is not begun. */
static void test_end_in_a_measurement(void **state)
{
    struct built slow = build(FIXTURE_SLOW);
    const struct atoll_order order = {.evaluation = 8};
    struct atoll_referee_thread *x = thread_open();
    struct atoll_referee_request evaluations[8];
    for (size_t i = 0; i < 8; i++) {
        evaluations[i] = evaluate_request(&slow, &order);
        atoll_referee_thread_post(x, &evaluations[i]);
    }
    assert_int_equal(atoll_referee_thread_destroy(x, 20e9), 0);
    assert_int_equal(evaluations[7].evaluation.verdict, ATOLL_V_TIMEOUT);
    for (size_t i = 0; i < 8; i++)
        atoll_evaluation_fini(&evaluations[i].evaluation);
    built_free(&slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_to_do),
                                       cmocka_unit_test(test_order_and_errors),
                                       cmocka_unit_test(test_end_in_a_measurement)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
