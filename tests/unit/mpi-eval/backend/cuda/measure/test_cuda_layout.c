/* Buffers of a sample: alignment, guard zones, rotation, shifts, and whom a stray write is charged to. */
#include "tests/support/expect.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/layout.h"

#define BASE 0x7f0000000000ull

static const uint64_t sizes[] = {1000003, 4096, 1, 255 * 4};
#define COUNT (sizeof(sizes) / sizeof(*sizes))

/* Zones and buffers follow each other without a hole of 8 bytes or more, within the arena. */
static void check(const struct atoll_layout *l, const struct atoll_span *arena, uint64_t guard)
{
    uint64_t at = l->guards[0].address;
    assert_int_equal(l->count, COUNT);
    assert_true(at >= arena->address);
    for (size_t i = 0; i < l->count; i++) {
        assert_int_equal(l->guards[i].address, at);
        assert_true(l->guards[i].bytes >= guard && l->guards[i].bytes % 8 == 0);
        assert_int_equal(l->guards[i].address + l->guards[i].bytes, l->buffers[i].address);
        assert_int_equal(l->buffers[i].address % ATOLL_LAYOUT_ALIGN, 0);
        assert_int_equal(l->buffers[i].bytes, sizes[i]);
        at = (l->buffers[i].address + l->buffers[i].bytes + 7) / 8 * 8;
    }
    assert_int_equal(l->guards[l->count].address, at);
    assert_true(l->guards[l->count].bytes >= guard && l->guards[l->count].bytes % 8 == 0);
    assert_true(at + l->guards[l->count].bytes <= arena->address + arena->bytes);
}

static void test_places(void **state)
{
    static const struct {
        unsigned places; /* that the arena has room for; 0: only the least */
        uint64_t guard;
        unsigned expected;
    } cases[] = {{0, ATOLL_LAYOUT_GUARD_LEAST, 1},
                 {1, ATOLL_LAYOUT_GUARD, 1},
                 {2, ATOLL_LAYOUT_GUARD, 2},
                 {5, ATOLL_LAYOUT_GUARD, 5},
                 {100, ATOLL_LAYOUT_GUARD, 8}};
    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, cases[c].places) + 300};
        unsigned seen = 0;
        for (uint64_t key = 1; key < 200; key++) {
            struct atoll_layout l;
            assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &l, NULL), 0);
            check(&l, &arena, cases[c].guard);
            assert_int_equal(l.places, cases[c].expected);
            assert_true(l.place < l.places);
            seen |= 1u << l.place;
        }
        assert_int_equal(seen, (1u << cases[c].expected) - 1);
    }
}

static void test_key_decides(void **state)
{
    struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, 2)};
    struct atoll_layout a, b;
    unsigned moved = 0;
    (void)state;
    for (uint64_t key = 1; key < 50; key++) {
        assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &a, NULL), 0);
        assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &b, NULL), 0);
        assert_memory_equal(&a, &b, sizeof(a));
        assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, (int)a.place, &b, NULL), 0);
        assert_int_not_equal(a.place, b.place);
        assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key + 1, -1, &b, NULL), 0);
        moved += a.buffers[1].address - a.buffers[0].address != b.buffers[1].address - b.buffers[0].address;
    }
    assert_true(moved > 40); /* buffers shift against each other, too */
}

static uint64_t shift(const struct atoll_layout *l, const struct atoll_span *arena, size_t buffer)
{
    return (l->buffers[buffer].address - arena->address) % ATOLL_LAYOUT_GRAIN;
}

/* Few turns of a series lie evenly, wherever its secret lets them begin; both sides of a pair, which share the whole key, lie
 * alike. */
static void test_turns_lie_evenly(void **state)
{
    struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, 100)};
    (void)state;
    for (uint64_t series = 1; series <= 20; series++) {
        unsigned halves[COUNT][2] = {{0}};
        for (uint64_t turn = 0; turn < 16; turn++) {
            struct atoll_layout a, b;
            uint64_t key = atoll_placement_at(atoll_random_at(series, 0), turn);
            assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &a, NULL), 0);
            assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &b, NULL), 0);
            assert_memory_equal(&a, &b, sizeof(a));
            assert_int_equal((a.guards[0].address - arena.address) % ATOLL_LAYOUT_GRAIN, 0);
            for (size_t i = 0; i < COUNT; i++)
                halves[i][a.guards[i].bytes - ATOLL_LAYOUT_GUARD >= ATOLL_LAYOUT_SHIFT / 2]++;
        }
        for (size_t i = 0; i < COUNT; i++)
            assert_in_range(halves[i][0], 6, 10);
    }
}

/* What hostile kernels ask of their pointers: the turn whose shifts these would be, were the multiples not begun in secret. */
static long turn_told(const struct atoll_layout *l)
{
    uint64_t first = (l->buffers[0].address - ATOLL_LAYOUT_GUARD) % ATOLL_LAYOUT_GRAIN;
    int64_t second = (int64_t)(l->buffers[1].address - l->buffers[0].address) -
                     (int64_t)((sizes[0] + 255) / 256 * 256 + ATOLL_LAYOUT_GUARD);
    for (long t = 1; t <= 64; t++) {
        double u = (double)t * sqrt(2), v = (double)t * sqrt(3);
        if ((uint64_t)((u - floor(u)) * 257) * 256 == first &&
            (int64_t)((v - floor(v)) * 257) * 256 == second)
            return t - 1;
    }
    return -1;
}

static void test_addresses_tell_no_turn(void **state)
{
    struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, 100)};
    unsigned told = 0, alike = 0;
    struct atoll_layout last = {.count = 0};
    (void)state;
    for (uint64_t series = 1; series <= 25; series++)
        for (uint64_t turn = 0; turn < 16; turn++) {
            struct atoll_layout l;
            uint64_t key = atoll_placement_at(atoll_random_at(series, 7), turn);
            assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, key, -1, &l, NULL), 0);
            told += turn_told(&l) == (long)turn;
            if (turn == 3) { /* the same turn of another series */
                alike += series > 1 && shift(&l, &arena, 0) == shift(&last, &arena, 0);
                last = l;
            }
        }
    assert_in_range(told, 0, 2); /* by luck; all 400 before */
    assert_in_range(alike, 0, 2);
}

static void test_too_small(void **state)
{
    struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, 0) - 1};
    uint64_t many[ATOLL_LAYOUT_BUFFER_LIMIT + 1] = {0}, huge[] = {UINT64_MAX - 100};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_layout l;
    (void)state;
    assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, 1, -1, &l, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_non_null(strstr(err.text, "device has"));
    atoll_err_clear(&err);
    assert_int_equal(atoll_layout_make(&arena, many, ATOLL_LAYOUT_BUFFER_LIMIT + 1, 1, -1, &l, &err), -1);
    atoll_err_clear(&err);
    assert_int_equal(atoll_layout_make(&arena, huge, 1, 1, -1, &l, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

static void test_trespass(void **state)
{
    struct atoll_span arena = {BASE, atoll_layout_need(sizes, COUNT, 1)};
    struct atoll_layout l;
    int64_t distance;
    (void)state;
    assert_int_equal(atoll_layout_make(&arena, sizes, COUNT, 7, -1, &l, NULL), 0);
    assert_int_equal(atoll_layout_trespass(&l, 0, 0, &distance), 0);
    assert_int_equal(distance, -(int64_t)l.guards[0].bytes);
    assert_int_equal(atoll_layout_trespass(&l, 1, 0, &distance), 0); /* right behind the first */
    assert_int_equal(distance, 5);                                   /* 1000003 rounds up to a word */
    assert_int_equal(atoll_layout_trespass(&l, 1, l.guards[1].bytes / 8 - 1, &distance), 1);
    assert_int_equal(distance, -8);
    assert_int_equal(atoll_layout_trespass(&l, COUNT, l.guards[COUNT].bytes / 8 - 1, &distance), COUNT - 1);
    assert_true(distance > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),           cmocka_unit_test(test_key_decides),
        cmocka_unit_test(test_turns_lie_evenly), cmocka_unit_test(test_addresses_tell_no_turn),
        cmocka_unit_test(test_too_small),        cmocka_unit_test(test_trespass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
