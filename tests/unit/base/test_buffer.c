#include "tests/support/expect.h"

#include <math.h>

#include "base/arena.h"
#include "base/buffer.h"

static void test_round_trip(void **state)
{
    struct atoll_buffer b;
    struct atoll_reader r;
    struct atoll_arena *arena = atoll_arena_create(1000, NULL);
    size_t length;
    char bytes[2], fixed[4];
    atoll_buffer_init(&b, 1000);
    atoll_buffer_put_u8(&b, 0xfe);
    atoll_buffer_put_u16(&b, 0xfedc);
    atoll_buffer_put_u32(&b, 0xfedcba98u);
    atoll_buffer_put_u64(&b, 0xfedcba9876543210u);
    atoll_buffer_put_i64(&b, INT64_MIN);
    atoll_buffer_put_f64(&b, -0.0);
    atoll_buffer_put_blob(&b, "a\0b", 3);
    atoll_buffer_put_text(&b, "text");
    atoll_buffer_put_text(&b, NULL);
    atoll_buffer_put_text(&b, "abc");
    atoll_buffer_put_bytes(&b, "xy", 2);
    assert_int_equal(atoll_buffer_check(&b, NULL), 0);
    atoll_reader_init(&r, b.data, b.length);
    assert_int_equal(atoll_reader_u8(&r), 0xfe);
    assert_int_equal(atoll_reader_u8(&r), 0xdc);
    assert_int_equal(atoll_reader_u8(&r), 0xfe);
    assert_int_equal(atoll_reader_u32(&r), 0xfedcba98u);
    assert_true(atoll_reader_u64(&r) == 0xfedcba9876543210u);
    assert_true(atoll_reader_i64(&r) == INT64_MIN);
    assert_true(signbit(atoll_reader_f64(&r)));
    assert_memory_equal(atoll_reader_blob(&r, &length), "a\0b", 3);
    assert_int_equal(length, 3);
    assert_string_equal(atoll_reader_text(&r, arena), "text");
    assert_string_equal(atoll_reader_text(&r, arena), "");
    atoll_reader_fixed_text(&r, fixed, sizeof(fixed));
    assert_string_equal(fixed, "abc");
    atoll_reader_bytes(&r, bytes, 2);
    assert_memory_equal(bytes, "xy", 2);
    assert_int_equal(atoll_reader_finish(&r, "it", NULL), 0);
    atoll_buffer_fini(&b);
    atoll_arena_destroy(arena);
}

static void test_is_little_endian(void **state)
{
    static const unsigned char expected[] = {1, 3, 2, 7, 6, 5, 4, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    struct atoll_buffer b;
    atoll_buffer_init(&b, 100);
    atoll_buffer_put_u8(&b, 1);
    atoll_buffer_put_u16(&b, 0x0203);
    atoll_buffer_put_u32(&b, 0x04050607);
    atoll_buffer_put_f64(&b, 1.0);
    assert_int_equal(b.length, sizeof(expected));
    assert_memory_equal(b.data, expected, sizeof(expected));
    atoll_buffer_fini(&b);
}

static void test_limit_is_sticky(void **state)
{
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 10);
    atoll_buffer_put_u64(&b, 1);
    atoll_buffer_put_u32(&b, 2);
    atoll_buffer_put_u8(&b, 3);
    assert_int_equal(b.length, 8);
    assert_int_equal(atoll_buffer_check(&b, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "limit of 10 bytes");
    atoll_buffer_clear(&b);
    atoll_buffer_put_bytes(&b, "0123456789", 10);
    assert_int_equal(atoll_buffer_check(&b, &err), 0);
    atoll_buffer_put_u8(&b, 3);
    assert_int_equal(atoll_buffer_check(&b, &err), -1);
    atoll_buffer_fini(&b);
}

static void test_prints(void **state)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4000);
    for (int i = 0; i < 1000; i++)
        atoll_buffer_printf(&b, "%03d", i);
    assert_int_equal(b.length, 3000);
    assert_memory_equal(b.data + 2997, "999", 3);
    atoll_buffer_printf(&b, "%2000s", "");
    assert_int_equal(b.failed, ATOLL_E_LIMIT);
    atoll_buffer_fini(&b);
}

static void test_reading_past_the_end_is_sticky(void **state)
{
    struct atoll_reader r;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned char bytes[4] = {9, 9, 9, 9};
    atoll_reader_init(&r, "abc", 3);
    assert_int_equal(atoll_reader_u32(&r), 0);
    assert_int_equal(atoll_reader_u8(&r), 0);
    atoll_reader_bytes(&r, bytes, sizeof(bytes));
    assert_int_equal(bytes[0] | bytes[3], 0);
    assert_int_equal(atoll_reader_finish(&r, "thing", &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "thing: malformed or cut at byte 0 of 3");
    atoll_reader_init(&r, "abc", 3);
    atoll_reader_u8(&r);
    assert_int_equal(atoll_reader_finish(&r, "thing", &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "thing: 2 bytes too many");
    atoll_reader_init(&r, NULL, 0);
    assert_int_equal(atoll_reader_finish(&r, "thing", &err), 0);
}

static void test_counts_must_fit_what_is_left(void **state)
{
    static const unsigned char bytes[12] = {2};
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, sizeof(bytes));
    assert_int_equal(atoll_reader_count(&r, 4), 2);
    atoll_reader_init(&r, bytes, sizeof(bytes));
    assert_int_equal(atoll_reader_count(&r, 5), 0);
    assert_true(r.failed);
    static const unsigned char huge[8] = {0xff, 0xff, 0xff, 0xff};
    size_t length = 7;
    atoll_reader_init(&r, huge, sizeof(huge));
    assert_non_null(atoll_reader_blob(&r, &length));
    assert_int_equal(length, 0);
    assert_true(r.failed);
}

static void test_texts_are_checked(void **state)
{
    static const unsigned char with_nul[] = {3, 0, 0, 0, 'a', 0, 'b'};
    static const unsigned char plain[] = {3, 0, 0, 0, 'a', 'b', 'c'};
    struct atoll_arena *arena = atoll_arena_create(100, NULL), *tiny = atoll_arena_create(2, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_reader r;
    char fixed[3];
    atoll_reader_init(&r, with_nul, sizeof(with_nul));
    assert_string_equal(atoll_reader_text(&r, arena), "");
    assert_int_equal(r.failed, ATOLL_E_PROTOCOL);
    atoll_reader_init(&r, plain, sizeof(plain));
    atoll_reader_fixed_text(&r, fixed, sizeof(fixed));
    assert_string_equal(fixed, "");
    assert_true(r.failed);
    atoll_reader_init(&r, plain, sizeof(plain));
    assert_string_equal(atoll_reader_text(&r, tiny), "");
    assert_int_equal(atoll_reader_finish(&r, "thing", &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "thing");
    atoll_arena_destroy(arena);
    atoll_arena_destroy(tiny);
}

static void test_ranges_are_checked(void **state)
{
    static const struct {
        double value, low, high;
        int is_right;
    } cases[] = {{1, 0, 2, 1},
                 {0, 0, 2, 1},
                 {2, 0, 2, 1},
                 {-1e-9, 0, 2, 0},
                 {2.1, 0, 2, 0},
                 {HUGE_VAL, 0, 2, 0},
                 {NAN, 0, 2, 0},
                 {NAN, -HUGE_VAL, HUGE_VAL, 0},
                 {HUGE_VAL, 0, HUGE_VAL, 1}};
    struct atoll_buffer b;
    struct atoll_reader r;
    atoll_buffer_init(&b, 100);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        atoll_buffer_clear(&b);
        atoll_buffer_put_f64(&b, cases[i].value);
        atoll_reader_init(&r, b.data, b.length);
        double value = atoll_reader_f64_in(&r, cases[i].low, cases[i].high);
        assert_int_equal(!r.failed, cases[i].is_right);
        assert_true(cases[i].is_right ? value >= cases[i].low
                                      : !(value < cases[i].low || value > cases[i].low));
    }
    atoll_buffer_clear(&b);
    atoll_buffer_put_u32(&b, 7);
    atoll_reader_init(&r, b.data, b.length);
    assert_int_equal(atoll_reader_u32_in(&r, 7, 7), 7);
    atoll_reader_init(&r, b.data, b.length);
    assert_int_equal(atoll_reader_u32_in(&r, 0, 6), 0);
    assert_true(r.failed);
    atoll_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_is_little_endian),
        cmocka_unit_test(test_limit_is_sticky),
        cmocka_unit_test(test_prints),
        cmocka_unit_test(test_reading_past_the_end_is_sticky),
        cmocka_unit_test(test_counts_must_fit_what_is_left),
        cmocka_unit_test(test_texts_are_checked),
        cmocka_unit_test(test_ranges_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
