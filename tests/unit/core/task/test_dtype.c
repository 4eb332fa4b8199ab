#include "tests/support/expect.h"

#include <math.h>

#include "core/task/dtype.h"
#include "base/random.h"

static const enum atoll_dtype all[] = {ATOLL_F64,    ATOLL_F32,    ATOLL_F16, ATOLL_BF16,
                                       ATOLL_F8E4M3, ATOLL_F8E5M2, ATOLL_I64, ATOLL_I32,
                                       ATOLL_I16,    ATOLL_I8,     ATOLL_U8};

static void test_names_sizes_and_c_types(void **state)
{
    static const struct {
        enum atoll_dtype type;
        const char *name, *c_type;
        size_t bytes;
        int is_float;
    } cases[] = {{ATOLL_F64, "f64", "double", 8, 1},
                 {ATOLL_F16, "f16", "uint16_t", 2, 1},
                 {ATOLL_F8E4M3, "f8e4m3", "uint8_t", 1, 1},
                 {ATOLL_I64, "i64", "int64_t", 8, 0},
                 {ATOLL_U8, "u8", "uint8_t", 1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        enum atoll_dtype parsed = ATOLL_DTYPE_COUNT;
        assert_int_equal(atoll_dtype_parse(cases[i].name, &parsed), 0);
        assert_int_equal(parsed, cases[i].type);
        assert_string_equal(atoll_dtype_name(parsed), cases[i].name);
        assert_string_equal(atoll_dtype_c_type(parsed), cases[i].c_type);
        assert_int_equal(atoll_dtype_bytes(parsed), cases[i].bytes);
        assert_int_equal(atoll_dtype_is_float(parsed), cases[i].is_float);
    }
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        assert_non_null(strstr(atoll_dtype_names(), atoll_dtype_name((enum atoll_dtype)i)));
    enum atoll_dtype untouched = ATOLL_I8;
    assert_int_equal(atoll_dtype_parse("f17", &untouched), -1);
    assert_int_equal(untouched, ATOLL_I8);
    assert_string_equal(atoll_dtype_name(ATOLL_DTYPE_COUNT), "unknown");
    assert_int_equal(atoll_dtype_bytes(ATOLL_DTYPE_COUNT), 0);
}

static uint64_t stored_bits(enum atoll_dtype t, double value)
{
    uint64_t bits = 0;
    atoll_dtype_store(t, &bits, 0, value);
    return bits;
}

static void test_rounding_to_nearest_even(void **state)
{
    static const struct {
        enum atoll_dtype type;
        double value;
        uint64_t bits;
    } cases[] = {
        {ATOLL_F16, 1.0, 0x3c00},
        {ATOLL_F16, -2.0, 0xc000},
        {ATOLL_F16, 1.0 + 0x1p-11, 0x3c00},           /* a tie goes to even, down */
        {ATOLL_F16, 1.0 + 3 * 0x1p-11, 0x3c02},       /* and up */
        {ATOLL_F16, 1.0 + 0x1p-11 + 0x1p-40, 0x3c01}, /* once: through float this would be a tie */
        {ATOLL_F16, 65504.0, 0x7bff},
        {ATOLL_F16, 65519.999, 0x7bff},
        {ATOLL_F16, 65520.0, 0x7c00},
        {ATOLL_F16, -1e300, 0xfc00},
        {ATOLL_F16, HUGE_VAL, 0x7c00},
        {ATOLL_F16, 0x1p-24, 0x0001},
        {ATOLL_F16, 0x1p-25, 0x0000},
        {ATOLL_F16, 0x1.8p-25, 0x0001},
        {ATOLL_F16, 0x1p-14 - 0x1p-26, 0x0400}, /* a subnormal rounds up into the normals */
        {ATOLL_F16, -0.0, 0x8000},
        {ATOLL_F16, 5e-324, 0x0000},
        {ATOLL_BF16, 1.0, 0x3f80},
        {ATOLL_BF16, 1.0 + 0x1p-8, 0x3f80},
        {ATOLL_BF16, 1.0 + 3 * 0x1p-8, 0x3f82},
        {ATOLL_BF16, 3.4e38, 0x7f80},
        {ATOLL_BF16, 0x1p-133, 0x0001},
        {ATOLL_F8E4M3, 448.0, 0x7e},
        {ATOLL_F8E4M3, 464.0, 0x7e}, /* there is no infinity: saturated */
        {ATOLL_F8E4M3, HUGE_VAL, 0x7e},
        {ATOLL_F8E4M3, -1e9, 0xfe},
        {ATOLL_F8E4M3, 1.0, 0x38},
        {ATOLL_F8E4M3, 0x1p-9, 0x01},
        {ATOLL_F8E4M3, 0x1p-10, 0x00},
        {ATOLL_F8E4M3, 0x1p-6, 0x08},
        {ATOLL_F8E4M3, 1.0625, 0x38},
        {ATOLL_F8E4M3, 1.1875, 0x3a},
        {ATOLL_F8E5M2, 57344.0, 0x7b},
        {ATOLL_F8E5M2, 1e6, 0x7b},
        {ATOLL_F8E5M2, -HUGE_VAL, 0xfb},
        {ATOLL_F8E5M2, 1.0, 0x3c},
        {ATOLL_F8E5M2, 1.125, 0x3c},
        {ATOLL_F8E5M2, 1.375, 0x3e},
        {ATOLL_F8E5M2, 0x1p-16, 0x01},
        {ATOLL_F32, 1.0 + 0x1p-24, 0x3f800000},
        {ATOLL_F64, 1.0, 0x3ff0000000000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t bits = stored_bits(cases[i].type, cases[i].value);
        if (bits != cases[i].bits) {
            fail_msg("%s of %a: %#llx, expected %#llx", atoll_dtype_name(cases[i].type), cases[i].value,
                     (unsigned long long)bits, (unsigned long long)cases[i].bits);
        }
    }
}

static void test_integers_round_and_saturate(void **state)
{
    static const struct {
        enum atoll_dtype type;
        double value, expected;
    } cases[] = {
        {ATOLL_I8, 2.5, 2},
        {ATOLL_I8, 3.5, 4},
        {ATOLL_I8, -2.5, -2},
        {ATOLL_I8, 127.4, 127},
        {ATOLL_I8, 1e9, 127},
        {ATOLL_I8, -1e9, -128},
        {ATOLL_U8, -1, 0},
        {ATOLL_U8, 255.5, 255},
        {ATOLL_I16, 1e9, 32767},
        {ATOLL_I16, -4e4, -32768},
        {ATOLL_I32, 1e10, 2147483647.0},
        {ATOLL_I32, -HUGE_VAL, -2147483648.0},
        {ATOLL_I64, HUGE_VAL, 0x1p63},
        {ATOLL_I64, -1e300, -0x1p63},
        {ATOLL_I64, 0x1p62, 0x1p62},
        {ATOLL_I8, NAN, 0},
        {ATOLL_I32, NAN, 0},
        {ATOLL_I64, NAN, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t bits = stored_bits(cases[i].type, cases[i].value);
        assert_true(atoll_dtype_load(cases[i].type, &bits, 0) == cases[i].expected);
    }
}

/* Every code of a small type survives load and store; NaN stays NaN; neighbours are ordered. */
static void test_every_code_of_small_floats(void **state)
{
    static const struct {
        enum atoll_dtype type;
        uint32_t codes, infinity; /* infinity: first code without a finite value */
    } cases[] = {{ATOLL_F16, 0x8000, 0x7c00},
                 {ATOLL_BF16, 0x8000, 0x7f80},
                 {ATOLL_F8E4M3, 0x80, 0x7f},
                 {ATOLL_F8E5M2, 0x80, 0x7c}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double before = -1.0;
        for (uint32_t code = 0; code < cases[i].codes; code++) {
            uint64_t bits = code;
            double value = atoll_dtype_load(cases[i].type, &bits, 0);
            if (code < cases[i].infinity) {
                assert_true(value > before);
                assert_int_equal(stored_bits(cases[i].type, value), code);
                assert_int_equal(stored_bits(cases[i].type, -value), code | cases[i].codes);
                before = value;
            } else if (isnan(value)) {
                uint64_t nan = stored_bits(cases[i].type, value);
                assert_true(isnan(atoll_dtype_load(cases[i].type, &nan, 0)));
            } else {
                assert_true(isinf(value) && code == cases[i].infinity);
            }
        }
    }
}

/* The nearest code, by comparison with both neighbours, for random values over the whole range. */
static void test_stores_the_nearest(void **state)
{
    static const enum atoll_dtype types[] = {ATOLL_F16, ATOLL_BF16, ATOLL_F8E4M3, ATOLL_F8E5M2};
    struct atoll_random random = {11, 0};
    for (int i = 0; i < 40000; i++) {
        enum atoll_dtype t = types[i % 4];
        int exponent = (int)atoll_random_below(atoll_random_next(&random), 30) - 20;
        double value = ldexp(1.0 + atoll_random_unit(atoll_random_next(&random)), exponent);
        uint64_t code = stored_bits(t, value), below = code - (code > 0), above = code + 1;
        double distance = fabs(atoll_dtype_load(t, &code, 0) - value);
        assert_false(fabs(atoll_dtype_load(t, &below, 0) - value) < distance);
        assert_false(value <= 448.0 && fabs(atoll_dtype_load(t, &above, 0) - value) < distance);
    }
}

static void test_arrays_are_elements(void **state)
{
    enum { COUNT = 67 };
    struct atoll_random random = {3, 0};
    double values[COUNT], loaded[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (atoll_random_unit(atoll_random_next(&random)) - 0.3) * 400.0;
    for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
        uint64_t whole[COUNT] = {0}, single[COUNT] = {0};
        atoll_dtype_store_array(all[k], whole, COUNT, values);
        atoll_dtype_load_array(all[k], whole, COUNT, loaded);
        for (size_t i = 0; i < COUNT; i++) {
            atoll_dtype_store(all[k], single, i, values[i]);
            assert_true(atoll_dtype_load(all[k], whole, i) == loaded[i]);
        }
        assert_memory_equal(whole, single, sizeof(whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_sizes_and_c_types),     cmocka_unit_test(test_rounding_to_nearest_even),
        cmocka_unit_test(test_integers_round_and_saturate), cmocka_unit_test(test_every_code_of_small_floats),
        cmocka_unit_test(test_stores_the_nearest),          cmocka_unit_test(test_arrays_are_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
