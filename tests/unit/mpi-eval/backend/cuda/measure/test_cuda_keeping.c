/* What is made and kept of the expected values of a draw, and how a sample's outputs are looked at: tables. */
#include "tests/support/expect.h"

#include "mpi-eval/backend/cuda/measure/keeping.h"

#define LARGE ((uint64_t)1 << 20) /* of a whole answer */
#define PRINT 4096

enum {
    NOTHING = 0,
    VALUES = ATOLL_SAMPLE_VALUES,
    FINGERPRINT = ATOLL_SAMPLE_PRINT,
    BOTH = VALUES | FINGERPRINT
};

static struct atoll_expected_store *store;

static int set_up(void **state)
{
    (void)state;
    store = atoll_expected_store_create(NULL);
    if (store)
        atoll_expected_store_reset(store, 20 * LARGE);
    return store ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_expected_store_destroy(store);
    return 0;
}

static struct atoll_sealed *draw(uint64_t series, uint64_t number)
{
    struct atoll_input_set d = {.series = series, .number = number, .seed = 31 * number + series};
    struct atoll_sealed *a = atoll_expected_store_take(store, 1, &d);
    assert_non_null(a);
    return a;
}

static const struct atoll_tolerance element = {.rtol = 1e-3}, norm = {.norm = 1e-3};

static void test_wanted(void **state)
{
    static const struct {
        const struct atoll_tolerance *tolerance;
        enum atoll_variant_kind kind;
        int has_nonfinite, is_fresh, has_values, has_print;
        uint64_t bytes;
        enum atoll_comparing comparing;
        unsigned parts;
    } rows[] = {
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, LARGE, ATOLL_COMPARING_PRINT, BOTH},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, LARGE, ATOLL_COMPARING_HELD, BOTH},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, LARGE, ATOLL_COMPARING_FULL, BOTH},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 1, 0, LARGE, ATOLL_COMPARING_PRINT, FINGERPRINT},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 1, LARGE, ATOLL_COMPARING_HELD, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 1, LARGE, ATOLL_COMPARING_FULL, VALUES},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 1, 1, LARGE, ATOLL_COMPARING_FULL, NOTHING},
        /* no room for as many whole ones as are used, and a fresh one */
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, 20 * LARGE / 9, ATOLL_COMPARING_FULL, FINGERPRINT},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, 20 * LARGE / 9 / 256 * 256, ATOLL_COMPARING_FULL, BOTH},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 1, 20 * LARGE / 9, ATOLL_COMPARING_FULL, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, 11 * LARGE, ATOLL_COMPARING_FULL, FINGERPRINT},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 1, 11 * LARGE, ATOLL_COMPARING_FULL, NOTHING},
        /* whole, as long as the pool fits */
        {&norm, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, LARGE, ATOLL_COMPARING_PRINT, VALUES},
        {&norm, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, 2 * LARGE, ATOLL_COMPARING_PRINT, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 1, 0, 0, 0, LARGE, ATOLL_COMPARING_PRINT, VALUES},
        {&element, ATOLL_VARIANT_BENCH, 0, 0, 0, 0, ATOLL_KEEPING_SMALL_BYTES, ATOLL_COMPARING_PRINT, VALUES},
        {&element, ATOLL_VARIANT_CHECK, 0, 0, 0, 0, LARGE, ATOLL_COMPARING_FULL, VALUES},
        {&element, ATOLL_VARIANT_HIDDEN, 0, 1, 0, 0, LARGE, ATOLL_COMPARING_HELD, VALUES},
        /* a fresh one needs room for itself */
        {&element, ATOLL_VARIANT_BENCH, 0, 1, 0, 0, 10 * LARGE, ATOLL_COMPARING_HELD, VALUES},
        /* else the second of its samples has a fingerprint */
        {&element, ATOLL_VARIANT_BENCH, 0, 1, 0, 0, 11 * LARGE, ATOLL_COMPARING_HELD, FINGERPRINT},
        {&element, ATOLL_VARIANT_BENCH, 0, 1, 0, 1, 11 * LARGE, ATOLL_COMPARING_HELD, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 0, 1, 0, 0, 11 * LARGE, ATOLL_COMPARING_FULL, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 1, 1, 0, 0, 11 * LARGE, ATOLL_COMPARING_HELD, NOTHING},
        {&element, ATOLL_VARIANT_HIDDEN, 0, 1, 0, 0, 11 * LARGE, ATOLL_COMPARING_HELD, NOTHING},
        {&norm, ATOLL_VARIANT_BENCH, 0, 1, 0, 0, 11 * LARGE, ATOLL_COMPARING_HELD, NOTHING},
        {&element, ATOLL_VARIANT_BENCH, 0, 1, 1, 0, LARGE, ATOLL_COMPARING_HELD, NOTHING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sealed *a = draw(rows[i].is_fresh ? 9 : 0, 100);
        struct atoll_keeping k = {.tolerance = rows[i].tolerance,
                                  .kind = rows[i].kind,
                                  .has_nonfinite = rows[i].has_nonfinite,
                                  .bytes = rows[i].bytes,
                                  .pool_size = 16,
                                  .full_compares = 5,
                                  .comparing = rows[i].comparing};
        if (rows[i].has_values)
            assert_int_equal(atoll_expected_store_reserve(store, a, LARGE), 0);
        if (rows[i].has_print)
            assert_int_equal(atoll_expected_store_reserve_print(store, a, PRINT), 0);
        unsigned parts = atoll_keeping_wanted(&k, store, a);
        if (parts != rows[i].parts)
            fail_msg("row %zu: parts %u, not %u", i, parts, rows[i].parts);
        atoll_expected_store_unseal(store, a);
        atoll_expected_store_unseal_print(store, a);
        atoll_expected_store_give(store, a);
    }
}

/* Unless both sides must be compared in full. */
static void test_whole_wanted(void **state)
{
    struct atoll_keeping k = {.tolerance = &element,
                              .kind = ATOLL_VARIANT_BENCH,
                              .bytes = 11 * LARGE,
                              .pool_size = 16,
                              .full_compares = 5,
                              .comparing = ATOLL_COMPARING_HELD};
    struct atoll_sealed *a = draw(9, 0);
    (void)state;
    assert_int_equal(atoll_keeping_wanted(&k, store, a), FINGERPRINT);
    a->is_whole_wanted = 1;
    assert_int_equal(atoll_keeping_wanted(&k, store, a), NOTHING);
    k.bytes = LARGE;
    assert_int_equal(atoll_keeping_wanted(&k, store, a), VALUES);
    atoll_expected_store_give(store, a);
}

/* As many whole ones as full comparisons use, and three; then fingerprints alone, unless one must be whole. */
static void test_enough(void **state)
{
    uint16_t numbers[16];
    struct atoll_keeping k = {.tolerance = &element,
                              .kind = ATOLL_VARIANT_BENCH,
                              .bytes = LARGE,
                              .pool_size = 16,
                              .full_compares = 5};
    (void)state;
    for (uint64_t i = 0; i < 16; i++) {
        struct atoll_sealed *a = draw(0, i);
        unsigned parts = atoll_keeping_wanted(&k, store, a);
        assert_int_equal(parts, i < 8 ? BOTH : FINGERPRINT);
        if (parts & VALUES)
            assert_int_equal(atoll_expected_store_reserve(store, a, LARGE), 0);
        assert_int_equal(atoll_expected_store_reserve_print(store, a, PRINT), 0);
        assert_int_equal(atoll_keeping_wanted(&k, store, a), NOTHING);
        atoll_expected_store_give(store, a);
    }
    assert_int_equal(atoll_expected_store_kept(store, 1, 0, numbers, 16), 8);
    k.comparing = ATOLL_COMPARING_FULL;
    assert_int_equal(atoll_keeping_wanted(&k, store, draw(0, 12)), VALUES);
    assert_int_equal(atoll_keeping_wanted(&k, store, draw(0, 3)), NOTHING);
}

static void test_looking(void **state)
{
    static const struct {
        int has_values, has_print;
        enum atoll_looking looking[3]; /* PRINT, HELD, FULL */
    } rows[] = {
        {0, 0, {ATOLL_LOOKING_REFERENCE, ATOLL_LOOKING_REFERENCE, ATOLL_LOOKING_REFERENCE}},
        {1, 0, {ATOLL_LOOKING_VALUES, ATOLL_LOOKING_VALUES, ATOLL_LOOKING_VALUES}},
        {0, 1, {ATOLL_LOOKING_PRINT, ATOLL_LOOKING_PRINT, ATOLL_LOOKING_REFERENCE}},
        {1, 1, {ATOLL_LOOKING_PRINT, ATOLL_LOOKING_VALUES, ATOLL_LOOKING_VALUES}},
    };
    static const enum atoll_comparing comparings[3] = {ATOLL_COMPARING_PRINT, ATOLL_COMPARING_HELD,
                                                       ATOLL_COMPARING_FULL};
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        struct atoll_sealed a = {.is_sealed = rows[i / 3].has_values,
                                 .print = {.is_sealed = rows[i / 3].has_print}};
        assert_int_equal(atoll_keeping_looking(&a, comparings[i % 3]), rows[i / 3].looking[i % 3]);
    }
}

/* Only a fingerprint, and only where the reference runs behind the sample. */
static void test_later(void **state)
{
    static const struct {
        int has_values;
        unsigned parts;
        enum atoll_comparing comparing;
        int is_later;
        uint64_t series;
    } rows[] = {
        {0, FINGERPRINT, ATOLL_COMPARING_FULL, 1, 0},  {0, FINGERPRINT, ATOLL_COMPARING_HELD, 0, 0},
        {0, FINGERPRINT, ATOLL_COMPARING_PRINT, 0, 0}, {1, FINGERPRINT, ATOLL_COMPARING_FULL, 0, 0},
        {1, BOTH, ATOLL_COMPARING_FULL, 0, 0},         {0, NOTHING, ATOLL_COMPARING_FULL, 0, 0},
        {0, FINGERPRINT, ATOLL_COMPARING_HELD, 1, 9},  {1, VALUES, ATOLL_COMPARING_HELD, 0, 9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sealed a = {.input_set.series = rows[i].series,
                                 .is_sealed = rows[i].has_values, /* room is there by then */
                                 .print = {.is_sealed = rows[i].parts != NOTHING}};
        if (atoll_keeping_is_later(&a, rows[i].parts, rows[i].comparing) != rows[i].is_later)
            fail_msg("row %zu", i);
    }
}

static void test_demand(void **state)
{
    static const struct {
        const struct atoll_tolerance *tolerance;
        enum atoll_variant_kind kind;
        uint64_t bytes;
        size_t pool_size, full_compares;
        uint64_t demand;
    } rows[] = {
        {&element, ATOLL_VARIANT_BENCH, LARGE, 16, 5, 8 * LARGE + 16 * PRINT},
        {&element, ATOLL_VARIANT_BENCH, LARGE, 16, 40, 16 * LARGE + 16 * PRINT}, /* no more than there are */
        {&element, ATOLL_VARIANT_BENCH, ATOLL_KEEPING_SMALL_BYTES, 16, 5, 16 * ATOLL_KEEPING_SMALL_BYTES},
        {&norm, ATOLL_VARIANT_BENCH, LARGE, 16, 5, 16 * LARGE},
        {&element, ATOLL_VARIANT_CHECK, LARGE, 8, 5, 8 * LARGE},
        {&element, ATOLL_VARIANT_BENCH, 2 * LARGE + 1, 16, 5,
         16 * PRINT}, /* one byte more than there is room for */
        {&norm, ATOLL_VARIANT_BENCH, LARGE + 1, 16, 5, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_keeping k = {.tolerance = rows[i].tolerance,
                                  .kind = rows[i].kind,
                                  .bytes = rows[i].bytes,
                                  .pool_size = rows[i].pool_size,
                                  .full_compares = rows[i].full_compares};
        if (atoll_keeping_demand(&k, PRINT, 16 * LARGE) != rows[i].demand)
            fail_msg("row %zu: %llu", i, (unsigned long long)atoll_keeping_demand(&k, PRINT, 16 * LARGE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_wanted, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_enough, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_whole_wanted, set_up, tear_down),
                                       cmocka_unit_test(test_looking),
                                       cmocka_unit_test(test_later),
                                       cmocka_unit_test(test_demand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
