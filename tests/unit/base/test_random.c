#include "tests/support/expect.h"

#include "base/random.h"

/* The device must give the same bits: these values are the contract. */
static void test_known_values(void **state)
{
    static const struct {
        atoll_u64 key, counter, value;
    } cases[] = {
        {0, 0, 0},
        {0, 1, 0x48218226ff3cd4bfull},
        {1, 0, 0x83ec686c1600460aull},
        {1, 1, 0x5c52bd4054e958c9ull},
        {0xffffffffffffffffull, 0xffffffffffffffffull, 0xeecd27369f7ec29aull},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_true(atoll_random_at(cases[i].key, cases[i].counter) == cases[i].value);
}

static void test_ranges(void **state)
{
    struct atoll_random random = {42, 0};
    assert_int_equal(atoll_random_below(0xffffffffffffffffull, 10), 9);
    assert_int_equal(atoll_random_below(0, 10), 0);
    assert_true(atoll_random_unit(0xffffffffffffffffull) < 1.0);
    assert_true(atoll_random_unit(0) <= 0.0);
    for (int i = 0; i < 10000; i++) {
        atoll_u64 bits = atoll_random_next(&random);
        assert_true(atoll_random_below(bits, 1) == 0);
        assert_true(atoll_random_below(bits, 1ull << 40) < 1ull << 40);
    }
    assert_true(random.counter == 10000);
}

/* Chi-squared over 64 cells, two keys and their counters: 63 degrees of freedom, 99.99 % quantile 113. */
static void test_cells_fill_evenly(void **state)
{
    enum { DRAWS = 64000 };
    for (atoll_u64 key = 0; key < 2; key++) {
        double counts[64] = {0}, sum = 0.0;
        for (atoll_u64 i = 0; i < DRAWS; i++)
            counts[atoll_random_below(atoll_random_at(key, i), 64)]++;
        for (int c = 0; c < 64; c++)
            sum += (counts[c] - 1000.0) * (counts[c] - 1000.0) / 1000.0;
        assert_true(sum < 113.0);
    }
}

/* kat_vectors of Random123, philox4x32 with 7 rounds. */
static void test_philox(void **state)
{
    static const struct {
        atoll_u64 key, counter[2];
        unsigned words[4];
    } rows[] = {
        {0, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {~0ull, {~0ull, ~0ull}, {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {0x299f31d0a4093822ull,
         {0x85a308d3243f6a88ull, 0x0370734413198a2eull},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_words w = atoll_philox(rows[i].key, rows[i].counter[0], rows[i].counter[1]);
        assert_true(w.a == rows[i].words[0] && w.b == rows[i].words[1]);
        assert_true(w.c == rows[i].words[2] && w.d == rows[i].words[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_values), cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_cells_fill_evenly),
                                       cmocka_unit_test(test_philox)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
