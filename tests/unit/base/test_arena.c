#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/arena.h"

static void test_gives_zeroed_aligned_memory(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(4u << 20, NULL);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 4096, 5000, 70000, 300000, 8};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            unsigned char *p = atoll_arena_alloc(arena, sizes[i], NULL);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t j = 0; j < sizes[i]; j++)
                assert_int_equal(p[j], 0);
            memset(p, 0xff, sizes[i]);
        }
        atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
    atoll_arena_destroy(NULL);
}

static void test_keeps_allocations_apart(void **state)
{
    enum { COUNT = 3000 };
    struct atoll_arena *arena = atoll_arena_create(64u << 20, NULL);
    unsigned char *blocks[COUNT];
    size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = i * 7919 % (i % 50 ? 300 : 20000) + 1;
        blocks[i] = atoll_arena_alloc(arena, sizes[i], NULL);
        assert_non_null(blocks[i]);
        memset(blocks[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(blocks[i][0], i % 251);
        assert_int_equal(blocks[i][sizes[i] - 1], i % 251);
    }
    atoll_arena_destroy(arena);
}

static void test_stops_at_its_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create(100, NULL);
    assert_non_null(atoll_arena_alloc(arena, 60, &err));
    assert_null(atoll_arena_alloc(arena, 60, &err));
    expect_err(&err, ATOLL_E_LIMIT, "limit of 100 bytes");
    atoll_err_clear(&err);
    assert_non_null(atoll_arena_alloc(arena, 36, &err));
    assert_int_equal(err.code, ATOLL_OK);
    assert_null(atoll_arena_alloc(arena, 1, &err));
    atoll_arena_reset(arena);
    assert_non_null(atoll_arena_alloc(arena, 100, &err));
    atoll_arena_destroy(arena);
}

static void test_refuses_sizes_that_overflow(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(SIZE_MAX, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_arena_alloc(arena, SIZE_MAX, &err));
    expect_err(&err, ATOLL_E_LIMIT, "limit");
    assert_null(atoll_arena_alloc(arena, SIZE_MAX - 8, &err));
    assert_null(atoll_arena_alloc_array(arena, SIZE_MAX / 2, 3, &err));
    expect_err(&err, ATOLL_E_LIMIT, "3 bytes");
    assert_null(atoll_arena_text(arena, "x", SIZE_MAX, &err));
    atoll_arena_destroy(arena);
}

static void test_copies_texts_and_arrays(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(10000, NULL);
    assert_string_equal(atoll_arena_text(arena, "abcdef", 3, NULL), "abc");
    assert_string_equal(atoll_arena_text(arena, NULL, 0, NULL), "");
    double *array = atoll_arena_alloc_array(arena, 10, sizeof(*array), NULL);
    assert_non_null(array);
    assert_true(array[9] == 0.0);
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_zeroed_aligned_memory),
        cmocka_unit_test(test_keeps_allocations_apart),
        cmocka_unit_test(test_stops_at_its_limit),
        cmocka_unit_test(test_refuses_sizes_that_overflow),
        cmocka_unit_test(test_copies_texts_and_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
