/* test_stream.c - many words at once are those that come one by one, wherever a piece begins and ends. */
#include "tests/support/expect.h"

#include <string.h>

#include "core/task/init_value.h"
#include "core/task/stream.h"

enum { MOST = 131 };

static void test_words(void **state)
{
    static const uint64_t begins[] = {0, 1, 7, 0xfffffffdull, 0x1fffffffdull, 0xffffffffffffff00ull};
    static uint32_t words[4 * (MOST + ATOLL_STREAM_AHEAD)];
    static int32_t sums[2 * (MOST + ATOLL_STREAM_AHEAD)];
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        for (size_t count = 1; count <= MOST; count += 13) {
            uint64_t key = atoll_random_at(5, i);
            atoll_stream_words(key, begins[i], count, words);
            atoll_stream_bells(key, begins[i], count, sums);
            for (size_t k = 0; k < count; k++) {
                struct atoll_words w = atoll_philox(key, begins[i] + k, 0);
                const uint32_t want[4] = {w.a, w.b, w.c, w.d};
                assert_memory_equal(words + 4 * k, want, sizeof(want));
                assert_int_equal(sums[2 * k], atoll_value_bell8(w.a, w.b));
                assert_int_equal(sums[2 * k + 1], atoll_value_bell8(w.c, w.d));
            }
        }
}

static void test_bounds(void **state)
{
    enum { GUARD = 4 };
    uint32_t words[4 * (1 + ATOLL_STREAM_AHEAD) + GUARD];
    int32_t sums[2 * (1 + ATOLL_STREAM_AHEAD) + GUARD];
    memset(words, 0x77, sizeof(words));
    memset(sums, 0x77, sizeof(sums));
    atoll_stream_words(1, 2, 1, words);
    atoll_stream_bells(1, 2, 1, sums);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(words[4 * (1 + ATOLL_STREAM_AHEAD) + i], 0x77777777);
        assert_int_equal(sums[2 * (1 + ATOLL_STREAM_AHEAD) + i], 0x77777777);
    }
}

/* The least and the largest sum: the ends of the bell lie alike on both sides. */
static void test_bells(void **state)
{
    assert_int_equal(atoll_value_bell4(0), -ATOLL_BELL4_MEAN);
    assert_int_equal(atoll_value_bell4(~0u), ATOLL_BELL4_MEAN);
    assert_int_equal(atoll_value_bell8(0, 0), -ATOLL_BELL8_MEAN);
    assert_int_equal(atoll_value_bell8(~0u, ~0u), ATOLL_BELL8_MEAN);
    for (unsigned byte = 0; byte < 4; byte++) {
        unsigned one = 1u << 8 * byte;
        assert_int_equal(atoll_value_bell4(one) + ATOLL_BELL4_MEAN, ATOLL_BELL_FIRST >> 8 * byte & 0xff);
        assert_int_equal(atoll_value_bell8(0, one) + ATOLL_BELL8_MEAN, ATOLL_BELL_SECOND >> 8 * byte & 0xff);
        assert_true((ATOLL_BELL_FIRST >> 8 * byte & 1) && (ATOLL_BELL_SECOND >> 8 * byte & 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
