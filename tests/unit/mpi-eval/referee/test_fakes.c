/* degenerate outputs: what each is made of, to which tasks it applies, and that nothing is left when it does not. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "core/task/init.h"
#include "mpi-eval/referee/fakes.h"

#define COUNT 8

static struct atoll_task *task; /* x, w in; y out */
static struct atoll_input_set input_set = {.variant = 0, .seed = 99, .distribution = ATOLL_DRAW_BASE};
static double right[COUNT] = {1, 2, 3, 4, 5, 6, 7, 12}, previous[COUNT] = {-1, -2, -3, -4, -5, -6, -7, -8};
static size_t counts[ATOLL_TASK_TENSOR_LIMIT];
static double *right_by[ATOLL_TASK_TENSOR_LIMIT], *previous_by[ATOLL_TASK_TENSOR_LIMIT];

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    if (!task || task->tensor_count != 3)
        return -1;
    counts[0] = counts[2] = COUNT;
    counts[1] = 3;
    right_by[2] = right;
    previous_by[2] = previous;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_task_destroy(task);
    return 0;
}

static struct atoll_fakes_source source(void)
{
    return (struct atoll_fakes_source){.task = task,
                                       .variant = 0,
                                       .input_set = &input_set,
                                       .counts = counts,
                                       .right = right_by,
                                       .previous = previous_by};
}

static size_t number_of(const char *test)
{
    for (size_t i = 0; i < atoll_fakes_count(); i++)
        if (strcmp(atoll_fakes_row(i)->test, test) == 0)
            return i;
    fail_msg("no fake \"%s\"", test);
    return 0;
}

static void test_values(void **state)
{
    static const struct {
        const char *test;
        int is_right;
        float values[COUNT];
    } cases[] = {
        {"accepts the reference", 1, {1, 2, 3, 4, 5, 6, 7, 12}},
        {"rejects zeros", 0, {0}},
        {"rejects ones", 0, {1, 1, 1, 1, 1, 1, 1, 1}},
        {"rejects the mean", 0, {5, 5, 5, 5, 5, 5, 5, 5}},
        {"rejects the previous output", 0, {-1, -2, -3, -4, -5, -6, -7, -8}},
        {"rejects a prefix", 0, {1, 2, 3, 4, 0, 0, 0, 0}},
    };
    struct atoll_fakes_source s = source();
    (void)state;
    assert_int_equal(atoll_fakes_count(), sizeof(cases) / sizeof(*cases) + 1); /* and the copy */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        void *data[ATOLL_TASK_TENSOR_LIMIT];
        size_t fake = number_of(cases[i].test);
        assert_int_equal(atoll_fakes_row(fake)->is_right, cases[i].is_right);
        assert_int_equal(atoll_fakes_make(fake, &s, data), 1);
        assert_null(data[0]);
        assert_null(data[1]);
        assert_non_null(data[2]);
        assert_memory_equal(data[2], cases[i].values, sizeof(cases[i].values)); /* f32 */
        atoll_fakes_free(data);
        assert_null(data[2]);
    }
}

static void test_copy(void **state)
{
    struct atoll_fakes_source s = source();
    void *data[ATOLL_TASK_TENSOR_LIMIT];
    float x[COUNT];
    size_t fake = number_of("rejects a copy of an input");
    (void)state;
    assert_int_equal(atoll_init_fill(task, 0, &task->variants[0], input_set.seed, input_set.distribution, 0,
                                     COUNT, x, NULL),
                     0);
    assert_int_equal(atoll_fakes_make(fake, &s, data), 1);
    assert_memory_equal(data[2], x, sizeof(x));
    atoll_fakes_free(data);
    counts[2] = COUNT - 1; /* no input has as many elements */
    assert_int_equal(atoll_fakes_make(fake, &s, data), 0);
    assert_null(data[2]);
    counts[2] = COUNT;
}

static void test_one_element_has_no_prefix(void **state)
{
    struct atoll_fakes_source s = source();
    void *data[ATOLL_TASK_TENSOR_LIMIT];
    (void)state;
    counts[2] = 1;
    assert_int_equal(atoll_fakes_make(number_of("rejects a prefix"), &s, data), 0);
    assert_null(data[2]);
    counts[2] = COUNT;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_copy),
                                       cmocka_unit_test(test_one_element_has_no_prefix)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
