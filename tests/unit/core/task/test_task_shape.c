/* test_task_shape.c - what a task's variants have in common is asked of another shape; what they differ in is not. */
#include "tests/support/expect.h"

#include <string.h>

#include "core/task/task_shape.h"

#define V(...)                                                                                               \
    {                                                                                                        \
        .name = "v", .dims = { __VA_ARGS__ }                                                                 \
    }

/* K <= E, C a multiple of 2, S = E + 3 T - 3 is nothing that is known, W = 2 E, P = E * K, Q = T - K + 1, always 7 */
static const struct atoll_task task = {.name = "shapes",
                                       .dim_count = 8,
                                       .dims = {"E", "K", "C", "W", "P", "T", "Q", "F"},
                                       .variant_count = 5,
                                       .variants = {V(4, 2, 6, 8, 8, 9, 8, 7), V(7, 7, 10, 14, 49, 20, 14, 7),
                                                    V(64, 3, 32, 128, 192, 100, 98, 7),
                                                    V(5, 1, 4, 10, 5, 33, 33, 7),
                                                    V(100, 11, 48, 200, 1100, 12, 2, 7)}};

static void test_allows(void **state)
{
    static const struct {
        int allows;
        int64_t dims[8];
    } rows[] = {
        {1, {4, 2, 6, 8, 8, 9, 8, 7}},         {1, {50, 5, 8, 100, 250, 40, 36, 7}},
        {0, {50, 5, 8, 101, 250, 40, 36, 7}},  /* W */
        {0, {50, 5, 9, 100, 250, 40, 36, 7}},  /* C is even */
        {0, {5, 6, 8, 10, 30, 40, 35, 7}},     /* K of E */
        {0, {50, 5, 8, 100, 251, 40, 36, 7}},  /* P */
        {0, {50, 5, 8, 100, 250, 40, 35, 7}},  /* Q */
        {0, {50, 5, 8, 100, 250, 40, 36, 6}},  /* always 7 */
        {0, {101, 5, 8, 202, 505, 40, 36, 7}}, /* beyond all */
        {0, {3, 2, 8, 6, 6, 40, 39, 7}},       /* below all */
    };
    struct atoll_task_shape shape;
    atoll_task_shape_find(&task, &shape);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_variant v = {.name = "made"};
        memcpy(v.dims, rows[i].dims, sizeof(rows[i].dims));
        if (atoll_task_shape_allows(&task, &shape, &v) != rows[i].allows)
            fail_msg("row %zu", i);
    }
}

/* Two variants lie on a line whatever they are: that is no rule. */
static void test_few(void **state)
{
    struct atoll_task two = task;
    struct atoll_task_shape shape;
    two.variant_count = 2;
    atoll_task_shape_find(&two, &shape);
    for (size_t i = 0; i < shape.rule_count; i++)
        assert_true(shape.rules[i].kind == ATOLL_SHAPE_AT_MOST ||
                    shape.rules[i].kind == ATOLL_SHAPE_MULTIPLE);
    two.variants[0].dims[5] = 1000;
    two.variants[1].dims[5] = 4000;
    atoll_task_shape_find(&two, &shape);
    assert_int_equal(shape.divisor[5], 8);
}

/* A shape whose tensors, units or inits make no sense is none. */
static void test_task_says(void **state)
{
    struct atoll_task *rowsum = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    struct atoll_task_shape shape;
    struct atoll_variant v = {.name = "made", .dims = {4, 40}};
    assert_non_null(rowsum);
    atoll_task_shape_find(rowsum, &shape);
    assert_int_equal(atoll_task_shape_allows(rowsum, &shape, &v), 1);
    shape.least[1] = 0;
    v.dims[0] = 0;
    v.dims[1] = 0; /* no unit, no element */
    shape.least[0] = 0;
    assert_int_equal(atoll_task_shape_allows(rowsum, &shape, &v), 0);
    atoll_task_destroy(rowsum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allows),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_task_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
