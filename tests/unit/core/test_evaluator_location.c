#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/evaluator_location.h"

static const struct atoll_evaluator_location whole = {.surplus = ATOLL_SURPLUS_BUSY,
                                                      .core_count = 16,
                                                      .slots = 14,
                                                      .node = "n7",
                                                      .cores = "0-7,16-23",
                                                      .numa = "0",
                                                      .note = "the device is another's"};

static void encode(const struct atoll_evaluator_location *p, struct atoll_buffer *out)
{
    atoll_buffer_init(out, 1 << 16);
    atoll_evaluator_location_encode(p, out);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

static void test_round_trip(void **state)
{
    struct atoll_buffer bytes;
    struct atoll_evaluator_location got;
    (void)state;
    encode(&whole, &bytes);
    assert_int_equal(atoll_evaluator_location_decode(bytes.data, bytes.length, &got, NULL), 0);
    assert_int_equal(got.surplus, whole.surplus);
    assert_int_equal(got.core_count, 16);
    assert_int_equal(got.slots, 14);
    assert_string_equal(got.node, whole.node);
    assert_string_equal(got.cores, whole.cores);
    assert_string_equal(got.numa, whole.numa);
    assert_string_equal(got.note, whole.note);
    atoll_buffer_fini(&bytes);
}

/* Cut anywhere, or one byte longer: nothing of it is used. */
static void test_every_cut_is_refused(void **state)
{
    struct atoll_buffer bytes;
    (void)state;
    encode(&whole, &bytes);
    atoll_buffer_put_u8(&bytes, 0);
    for (size_t length = 0; length <= bytes.length; length++) {
        struct atoll_evaluator_location got = {.slots = 77};
        struct atoll_err err = ATOLL_ERR_INIT;
        if (length == bytes.length - 1)
            continue;
        assert_int_equal(atoll_evaluator_location_decode(bytes.data, length, &got, &err), -1);
        assert_int_equal(err.code, ATOLL_E_PROTOCOL);
        assert_int_equal(got.slots, 77);
    }
    atoll_buffer_fini(&bytes);
}

static void test_bounds(void **state)
{
    static const struct atoll_evaluator_location wrong[] = {
        {.surplus = (enum atoll_surplus)3}, {.core_count = 65537}, {.slots = 65537}};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct atoll_buffer bytes;
        struct atoll_evaluator_location got;
        struct atoll_err err = ATOLL_ERR_INIT;
        encode(&wrong[i], &bytes);
        assert_int_equal(atoll_evaluator_location_decode(bytes.data, bytes.length, &got, &err), -1);
        assert_int_equal(err.code, ATOLL_E_PROTOCOL);
        atoll_buffer_fini(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_every_cut_is_refused),
                                       cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
