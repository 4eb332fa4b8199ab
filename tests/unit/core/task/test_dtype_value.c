/* Elements one at a time, the form devices use, against whole arrays. */
#include "tests/support/expect.h"

#include <math.h>
#include <string.h>

#include "core/task/dtype_value.h"

static void check_store(int t, double v)
{
    unsigned char stored[8] = {0};
    size_t bytes = atoll_dtype_bytes((enum atoll_dtype)t);
    atoll_dtype_store((enum atoll_dtype)t, stored, 0, v);
    atoll_u64 bits = atoll_dtype_encode(t, v);
    if (memcmp(stored, &bits, bytes))
        fail_msg("%s: %a is stored as %02x%02x, encoded as %llx", atoll_dtype_name((enum atoll_dtype)t), v,
                 stored[1], stored[0], bits);
    if (bytes < 8)
        assert_int_equal(bits >> (8 * bytes), 0);
}

static void test_encode(void **state)
{
    static const double special[] = {
        0.0,       -0.0,           1.0,      -1.0,     0.5,        1.5,     2.5,     448.0,
        464.0,     465.0,          480.0,    57344.0,  61440.,     65504.,  65519.,  65520.,
        127.5,     128.5,          -128.5,   255.5,    256.0,      32767.5, 1e9,     2147483647.5,
        9.3e18,    -9.3e18,        1e300,    -1e300,   5e-324,     1e-310,  0x1p-24, 0x1p-25,
        0x1.8p-25, 0x1.000001p-25, 0x1p-133, 0x1p-134, 0x1.8p-133, 0x1p-9,  0x1p-10, 0x1.8p-10,
        0x1p-16,   0x1p-17,        HUGE_VAL, -HUGE_VAL};
    for (int t = 0; t < ATOLL_DTYPE_COUNT; t++) {
        for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
            check_store(t, special[i]);
        for (atoll_u64 i = 0; i < 200000; i++) {
            atoll_u64 bits = atoll_random_at(11, i);
            check_store(t, ((double)(long long)bits) * ldexp(1.0, -63 + (int)(i % 80) - 40));
        }
        if (t != ATOLL_F64 && t != ATOLL_F32)
            check_store(t, NAN);
    }
}

/* Ties of the small floats: the middle between two neighbours, and one bit to either side of it. */
static void test_ties(void **state)
{
    static const int small[] = {ATOLL_F16, ATOLL_BF16, ATOLL_F8E4M3, ATOLL_F8E5M2};
    for (size_t s = 0; s < 4; s++) {
        unsigned end = atoll_dtype_bytes((enum atoll_dtype)small[s]) == 2 ? 0x7bff : 0x7a;
        for (unsigned i = 0; i < end; i++) {
            double low = atoll_dtype_decode(small[s], i), high = atoll_dtype_decode(small[s], i + 1);
            double middle = (low + high) / 2;
            check_store(small[s], middle);
            check_store(small[s], nextafter(middle, 0));
            check_store(small[s], -nextafter(middle, HUGE_VAL));
        }
    }
}

static void test_decode(void **state)
{
    for (int t = 0; t < ATOLL_DTYPE_COUNT; t++)
        for (atoll_u64 i = 0; i < 65536; i++) {
            atoll_u64 bits = atoll_dtype_bytes((enum atoll_dtype)t) <= 2 ? i : atoll_random_at(3, i);
            double stored = atoll_dtype_load((enum atoll_dtype)t, &bits, 0),
                   decoded = atoll_dtype_decode(t, bits);
            assert_true(stored == decoded ? signbit(stored) == signbit(decoded)
                                          : isnan(stored) && isnan(decoded));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
