/* Of which input sets expected values and fingerprints lie sealed on the device: budget, eviction, what is in use, what is forgotten. */
#include "tests/support/expect.h"

#include "mpi-eval/backend/cuda/measure/expected.h"

static struct atoll_expected_store *store;

static int set_up(void **state)
{
    (void)state;
    store = atoll_expected_store_create(NULL);
    if (store)
        atoll_expected_store_reset(store, 10 * 1024);
    return store ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_expected_store_destroy(store);
    return 0;
}

static struct atoll_input_set input_set(uint32_t variant, uint64_t series, uint64_t number)
{
    struct atoll_input_set d = {
        .variant = variant, .series = series, .number = number, .seed = 77 * number + series};
    return d;
}

static struct atoll_sealed *take(uint32_t task, uint32_t variant, uint64_t series, uint64_t number)
{
    struct atoll_input_set d = input_set(variant, series, number);
    struct atoll_sealed *a = atoll_expected_store_take(store, task, &d);
    assert_non_null(a);
    return a;
}

static void fill(uint32_t task, uint32_t variant, uint64_t count, uint64_t bytes)
{
    for (uint64_t i = 0; i < count; i++) {
        struct atoll_sealed *a = take(task, variant, 0, i);
        assert_int_equal(atoll_expected_store_reserve(store, a, bytes), 0);
        atoll_expected_store_give(store, a);
    }
}

static void test_records(void **state)
{
    struct atoll_sealed *a = take(1, 0, 0, 5), *b;
    (void)state;
    a->input_hash[0] = 99;
    assert_ptr_equal(take(1, 0, 0, 5), a);
    atoll_expected_store_give(store, a);
    atoll_expected_store_give(store, a);
    b = take(1, 0, 0, 5); /* a pool input set is remembered */
    assert_ptr_equal(b, a);
    assert_int_equal(b->input_hash[0], 99);
    atoll_expected_store_give(store, b);
    assert_ptr_not_equal(take(2, 0, 0, 5), a);
    b = take(1, 0, 9, 5);
    b->input_hash[0] = 98;
    atoll_expected_store_give(store, b); /* a fresh one is not */
    assert_int_equal(take(1, 0, 9, 5)->input_hash[0], 0);
}

static void test_budget(void **state)
{
    static const struct {
        uint64_t bytes;
        size_t pool;
        int kept;
    } cases[] = {{0, 1, 0}, {1, 16, 1}, {512, 19, 1}, {512, 20, 0}, {10 * 1024, 0, 1}, {10 * 1024 + 1, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_expected_store_is_kept(store, cases[i].bytes, cases[i].pool), cases[i].kept);
}

static void test_no_overlap(void **state)
{
    struct atoll_sealed *all[10];
    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        all[i] = take(1, 0, 0, i);
        assert_int_equal(atoll_expected_store_reserve(store, all[i], 1000), 0);
        assert_true(all[i]->is_sealed && all[i]->offset % 256 == 0 && all[i]->offset + 1000 <= 10 * 1024);
        for (uint64_t k = 0; k < i; k++)
            assert_true(all[k]->offset + 1000 <= all[i]->offset || all[i]->offset + 1000 <= all[k]->offset);
    }
    struct atoll_sealed *more = take(1, 0, 0, 10);
    assert_int_equal(atoll_expected_store_reserve(store, more, 1000), -1); /* all are in use */
    atoll_expected_store_give(store, all[4]);
    assert_int_equal(atoll_expected_store_reserve(store, more, 1000), 0);
    assert_false(all[4]->is_sealed);
    assert_true(all[3]->is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, more, 10 * 1024 + 1), -1);
    assert_false(more->is_sealed);
}

/* The variant that was not asked for longest makes room, the one at work keeps its own. */
static void test_eviction(void **state)
{
    uint16_t numbers[32];
    (void)state;
    fill(1, 0, 5, 1024);
    fill(1, 1, 5, 1024);
    atoll_expected_store_give(store, take(1, 0, 0, 2)); /* variant 0 is asked for again */
    fill(2, 0, 3, 1024);
    assert_int_equal(atoll_expected_store_kept(store, 1, 0, numbers, 32), 5);
    assert_int_equal(atoll_expected_store_kept(store, 1, 1, numbers, 32), 2);
    assert_int_equal(atoll_expected_store_kept(store, 2, 0, numbers, 32), 3);
    assert_int_equal(atoll_expected_store_kept(store, 2, 0, numbers, 1), 1);
    atoll_expected_store_forget(store, 1);
    assert_int_equal(atoll_expected_store_kept(store, 1, 0, numbers, 32), 0);
    fill(3, 0, 12, 1024); /* more than there is: its own oldest go last of all */
    assert_int_equal(atoll_expected_store_kept(store, 3, 0, numbers, 32), 10);
    assert_int_equal(atoll_expected_store_kept(store, 2, 0, numbers, 32), 0);
}

static void test_reset(void **state)
{
    uint16_t numbers[4];
    struct atoll_sealed *a;
    (void)state;
    fill(1, 0, 3, 1024);
    atoll_expected_store_reset(store, 2048);
    assert_true(atoll_expected_store_is_kept(store, 2048, 0));
    assert_false(atoll_expected_store_is_kept(store, 2049, 0));
    assert_int_equal(atoll_expected_store_kept(store, 1, 0, numbers, 4), 0);
    a = take(1, 0, 0, 1);
    assert_false(a->is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, a, 2048), 0);
    atoll_expected_store_unseal(store, a);
    assert_int_equal(atoll_expected_store_reserve(store, take(1, 0, 0, 2), 2048), 0);
}

/* Gaps and what is sealed cover the memory, and never each other. */
static void test_gaps(void **state)
{
    struct atoll_sealed *all[6];
    uint64_t offset, bytes, covered = 0, sealed = 0;
    (void)state;
    assert_int_equal(atoll_expected_store_gap(store, 0, &offset, &bytes), 1);
    assert_true(offset == 0 && bytes == 10 * 1024);
    assert_int_equal(atoll_expected_store_gap(store, 1, &offset, &bytes), 0);
    for (size_t i = 0; i < 6; i++) {
        all[i] = take(1, 0, 0, i);
        assert_int_equal(atoll_expected_store_reserve(store, all[i], i == 2 ? 1000 : 1024), 0);
    }
    atoll_expected_store_unseal(store, all[1]);
    atoll_expected_store_unseal(store, all[4]);
    for (size_t k = 0; atoll_expected_store_gap(store, k, &offset, &bytes); k++) {
        covered += bytes;
        assert_true(bytes > 0 && bytes % 4 == 0 && offset % 4 == 0 && offset + bytes <= 10 * 1024);
        for (size_t i = 0; i < 6; i++)
            if (all[i]->is_sealed)
                assert_true(offset >= all[i]->offset + all[i]->bytes || offset + bytes <= all[i]->offset);
    }
    for (size_t i = 0; i < 6; i++)
        sealed += all[i]->is_sealed ? all[i]->bytes : 0;
    assert_int_equal(covered + sealed, 10 * 1024);
}

/* ---- fingerprints beside whole values ---- */

static struct atoll_sealed *printed(uint32_t task, uint64_t number, uint64_t values, uint64_t print)
{
    struct atoll_sealed *a = take(task, 0, 0, number);
    assert_int_equal(values ? atoll_expected_store_reserve(store, a, values) : 0, 0);
    assert_int_equal(print ? atoll_expected_store_reserve_print(store, a, print) : 0, 0);
    atoll_expected_store_give(store, a);
    return a;
}

/* Large from below, small from above: what is free lies in one piece between them. */
static void test_prints_have_places_of_their_own(void **state)
{
    uint64_t offset, bytes;
    uint16_t numbers[8];
    (void)state;
    struct atoll_sealed *a = printed(1, 0, 2000, 256), *b = printed(1, 1, 0, 256),
                        *c = printed(1, 2, 2000, 256);
    assert_true(a->is_sealed && a->print.is_sealed && !b->is_sealed && b->print.is_sealed);
    assert_true(a->offset == 0 && c->offset == 2048 && a->print.bytes == 256 && a->bytes == 2000);
    assert_true(a->print.offset == 10 * 1024 - 256 && b->print.offset == 10 * 1024 - 512 &&
                c->print.offset == 10 * 1024 - 768);
    assert_int_equal(atoll_expected_store_gap(store, 1, &offset, &bytes), 1); /* gap 0 is padding */
    assert_true(offset == 2048 + 2000 && offset + bytes == 10 * 1024 - 768);
    assert_int_equal(atoll_expected_store_kept(store, 1, 0, numbers, 8), 2); /* whole values alone */
    atoll_expected_store_unseal(store, a);
    assert_true(!a->is_sealed && a->print.is_sealed);
    atoll_expected_store_unseal_print(store, a);
    atoll_expected_store_unseal_print(store, a);
    assert_false(a->print.is_sealed);
    assert_true(c->is_sealed && c->print.is_sealed);
    atoll_expected_store_reset(store, 4096);
    assert_false(b->print.is_sealed || c->print.is_sealed || c->is_sealed);
}

/* Whole values go before any fingerprint, those of the (task, variant) not asked for longest first; its own fingerprints go last of
 * all. */
static void test_prints_go_last(void **state)
{
    (void)state;
    struct atoll_sealed *old = printed(1, 0, 4096, 256), *own = printed(2, 0, 4096, 256),
                        *other = printed(2, 1, 1024, 256);
    struct atoll_sealed *a = take(2, 0, 0, 2);
    assert_int_equal(atoll_expected_store_reserve(store, a, 2048), 0);
    assert_false(old->is_sealed);
    assert_true(old->print.is_sealed && own->is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, a, 5120), 0);
    assert_false(own->is_sealed);
    assert_true(old->print.is_sealed && own->print.is_sealed && other->print.is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, a, 10 * 1024 - 768), 0);
    assert_true(old->print.is_sealed && own->print.is_sealed && other->print.is_sealed && !other->is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, a, 10 * 1024), 0);
    assert_false(own->print.is_sealed || other->print.is_sealed);
}

/* Values beside their fingerprint; 1: they found room. */
static int spare(uint32_t task, uint64_t number, uint64_t bytes, double ns)
{
    struct atoll_sealed *a = take(task, 0, 0, number);
    int fits;
    if (!a->print.is_sealed)
        assert_int_equal(atoll_expected_store_reserve_print(store, a, 256), 0);
    if (ns > 0)
        atoll_expected_store_cost(store, a, ns, bytes);
    fits = a->is_sealed || atoll_expected_store_reserve(store, a, bytes) == 0;
    atoll_expected_store_give(store, a);
    return fits;
}

static int has_values(uint32_t task, uint64_t number)
{
    struct atoll_sealed *a = take(task, 0, 0, number);
    int is_sealed = a->is_sealed;
    atoll_expected_store_give(store, a);
    return is_sealed;
}

/* Tasks in turns, whose whole values do not fit together: each keeps its fingerprints, and whoever has values keeps these, until it
 * is not asked for any more or another one's answers cost far more. */
static void test_turns(void **state)
{
    unsigned held = 0;
    (void)state;
    for (uint32_t turn = 0; turn < 5; turn++) {
        held = 0;
        for (uint32_t task = 1; task <= 5; task++)
            held |= (unsigned)spare(task, 0, 3 * 1024, 0) << task;
        assert_int_equal(held, 1u << 2 | 1u << 3 | (turn == 0 ? 1u << 1 : 0)); /* the fifth print's place */
    }
    for (uint32_t task = 1; task <= 5; task++)
        assert_true(take(task, 0, 0, 0)->print.is_sealed);
}

static void test_dear_and_stale(void **state)
{
    (void)state;
    assert_true(spare(1, 0, 4096, 4096 * 10.0));
    assert_true(spare(2, 0, 4096, 4096 * 6.0));
    assert_false(spare(3, 0, 4096, 4096 * 7.0)); /* not twice as dear as either */
    assert_false(spare(1, 1, 4096, 0));          /* its own stay */
    assert_true(spare(3, 0, 4096, 4096 * 13.0)); /* than the second */
    assert_true(has_values(1, 0) && !has_values(2, 0));
    for (unsigned i = 0; i <= ATOLL_EXPECTED_AT_WORK; i++)
        assert_true(spare(3, 0, 4096, 0));
    assert_false(spare(4, 0, 10 * 1024, 0));
    assert_true(spare(4, 0, 4096, 0)); /* the first one's, which nobody wants any more */
    assert_true(!has_values(1, 0) && has_values(3, 0));
}

static void test_print_gap(void **state)
{
    (void)state;
    assert_true(spare(1, 0, 9 * 1024, 0));
    assert_int_equal(atoll_expected_store_has_gap(store, 1024), 0);
    assert_int_equal(atoll_expected_store_has_print_gap(store, 9 * 1024), 1);
    assert_int_equal(atoll_expected_store_has_print_gap(store, 9 * 1024 + 1), 0);
    take(1, 0, 0, 0); /* in use */
    assert_int_equal(atoll_expected_store_has_print_gap(store, 1024), 0);
}

static void test_room_for_whole_values(void **state)
{
    (void)state;
    struct atoll_sealed *a = take(1, 0, 0, 0);
    assert_true(atoll_expected_store_has_room(store, a, 5 * 1024, 1));
    assert_false(atoll_expected_store_has_room(store, a, 5 * 1024 + 1, 1)); /* and a fresh one */
    assert_false(atoll_expected_store_has_room(store, a, 1024, 0));
    assert_false(atoll_expected_store_has_room(store, a, 0, 1));
    printed(1, 1, 2048, 256);
    printed(1, 2, 2048, 256);
    printed(2, 1, 4096, 256); /* others make room */
    atoll_expected_store_give(store, take(1, 0, 9, 3));
    assert_true(atoll_expected_store_has_room(store, a, 2048, 3));
    assert_false(atoll_expected_store_has_room(store, a, 2048, 2));
    assert_false(atoll_expected_store_has_room(store, a, 3 * 1024, 3));
}

/* Thousands of draws, as many as a pool may have. */
static void test_many_prints(void **state)
{
    (void)state;
    atoll_expected_store_reset(store, (uint64_t)4096 * 512 + 1024);
    for (uint64_t i = 0; i < 4096; i++)
        printed(1, i, 0, 512);
    struct atoll_sealed *a = take(1, 0, 0, 0);
    assert_true(a->print.is_sealed);
    assert_int_equal(atoll_expected_store_reserve(store, a, 1024), 0);
    assert_true(a->print.is_sealed && take(1, 0, 0, 1)->print.is_sealed);
    atoll_expected_store_forget(store, 1);
}

/* Beside what is sealed, between it and behind it; what would have to go first is no room. */
static void test_has_gap(void **state)
{
    struct atoll_sealed *all[10];
    (void)state;
    assert_int_equal(atoll_expected_store_has_gap(store, 10 * 1024), 1);
    assert_int_equal(atoll_expected_store_has_gap(store, 10 * 1024 + 1), 0);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(atoll_expected_store_has_gap(store, 1024), 1);
        all[i] = take(1, 0, 0, i);
        assert_int_equal(atoll_expected_store_reserve(store, all[i], 1024), 0);
        atoll_expected_store_give(store, all[i]);
    }
    assert_int_equal(atoll_expected_store_has_gap(store, 1), 0);
    atoll_expected_store_unseal(store, all[4]);
    assert_int_equal(atoll_expected_store_has_gap(store, 1024), 1);
    assert_int_equal(atoll_expected_store_has_gap(store, 1025), 0);
    atoll_expected_store_reset(store, 0);
    assert_int_equal(atoll_expected_store_has_gap(store, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_eviction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gaps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prints_have_places_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prints_go_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dear_and_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_print_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_room_for_whole_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_has_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_prints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reset, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
