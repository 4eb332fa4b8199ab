#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#include "mpi-eval/referee/fill.h"
#include "mpi-eval/backend/cpu/measure/memory.h"

static void test_layout(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 64, 4095, 4096, 100000};
    struct atoll_memory *m = atoll_memory_create((size_t)64 << 20, 0, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (uint64_t key = 1; key < 50; key++) {
            struct atoll_block b;
            int64_t where;
            assert_int_equal(atoll_block_open(m, sizes[i], key, &b, NULL), 0);
            assert_int_equal(b.offset % ATOLL_MEMORY_LINE_BYTES, 0);
            assert_true(b.offset >= ATOLL_MEMORY_GUARD_BYTES);
            assert_true(b.file_bytes - b.offset - b.bytes >= ATOLL_MEMORY_GUARD_BYTES);
            assert_int_equal(b.file_bytes % 4096, 0);
            memset(atoll_block_data(&b), 0x77, sizes[i]);
            assert_int_equal(atoll_block_guards_intact(&b, &where), 1);
            atoll_memory_flush(m, &b, 1);
            atoll_block_close(m, &b);
        }
    atoll_memory_destroy(m);
}

static void test_guards(void **state)
{
    static const int64_t places[] = {-1, -64, -4096, 1000, 1003, 1000 + 4095};
    struct atoll_memory *m = atoll_memory_create((size_t)1 << 20, 0, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        struct atoll_block b;
        int64_t where = 0;
        assert_int_equal(atoll_block_open(m, 1000, 5, &b, NULL), 0);
        ((unsigned char *)atoll_block_data(&b))[places[i]] ^= 1;
        assert_int_equal(atoll_block_guards_intact(&b, &where), 0);
        assert_int_equal(where, places[i]);
        atoll_block_close(m, &b);
    }
    atoll_memory_destroy(m);
}

/* Who sees a word of a guard cannot tell the next one (the pattern was once a bijection of key + index), and no pattern
 * comes twice. */
static uint64_t unmix(uint64_t x)
{
    uint64_t y = x; /* a finaliser of xor-shifts and odd factors, backwards */
    for (int i = 0; i < 3; i++)
        y = x ^ y >> 31;
    y *= 0x319642b2d24d8ec3ull;
    for (uint64_t i = 0, z = y; i < 3; i++)
        y = z ^ y >> 27;
    y *= 0x96de1b173f119089ull;
    for (uint64_t i = 0, z = y; i < 3; i++)
        y = z ^ y >> 30;
    return y;
}

static void test_guards_tell_nothing(void **state)
{
    struct atoll_memory *m = atoll_memory_create((size_t)1 << 20, 0, NULL);
    struct atoll_block b;
    uint64_t first[256], second[256];
    int64_t where;
    (void)state;
    assert_true(unmix(atoll_mix64(12345)) == 12345);
    assert_int_equal(atoll_block_open(m, 1000, 5, &b, NULL), 0);
    memcpy(first, b.base, sizeof(first));
    for (size_t i = 1; i < 256; i++)
        assert_true(unmix(first[i]) - unmix(first[i - 1]) != 0x9e3779b97f4a7c15ull);
    atoll_block_guard(m, &b);
    memcpy(second, b.base, sizeof(second));
    for (size_t i = 0; i < 256; i++)
        assert_true(first[i] != second[i]);
    assert_int_equal(atoll_block_guards_intact(&b, &where), 1);
    memcpy(b.base, first, 8); /* what stood there is no longer right */
    assert_int_equal(atoll_block_guards_intact(&b, &where), 0);
    atoll_block_close(m, &b);
    atoll_memory_destroy(m);
}

static void test_rotation(void **state)
{
    struct atoll_memory *m = atoll_memory_create((size_t)1 << 20, 0, NULL);
    struct atoll_block b;
    int fds[4];
    size_t offsets = 0, last = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(atoll_block_open(m, 1000, (uint64_t)i, &b, NULL), 0);
        fds[i] = b.fd;
        offsets += b.offset != last ? 1 : 0;
        last = b.offset;
        atoll_block_close(m, &b);
    }
    assert_int_not_equal(fds[0], fds[1]);
    assert_int_equal(fds[0], fds[2]);
    assert_int_equal(fds[1], fds[3]);
    assert_true(offsets >= 3);
    atoll_memory_destroy(m);
}

static void test_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_memory *m = atoll_memory_create((size_t)1 << 20, 0, NULL);
    struct atoll_block a, b;
    (void)state;
    assert_int_equal(atoll_block_open(m, (size_t)4000000000000, 1, &a, &err), -1);
    assert_non_null(strstr(err.text, "a buffer of 4.0 TB is more than the 1048576 bytes"));
    assert_non_null(strstr(err.text, "smaller"));
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_block_open(m, (size_t)2 << 20, 1, &a, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_int_equal(atoll_block_open(m, 700000, 1, &a, NULL), 0);
    atoll_err_clear(&err);
    assert_int_equal(atoll_block_open(m, 700000, 1, &b, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_block_close(m, &a);
    assert_int_equal(atoll_block_open(m, 600000, 1, &b, NULL), 0); /* the closed one makes room */
    atoll_block_close(m, &b);
    atoll_memory_destroy(m);
}

static void test_hash(void **state)
{
    unsigned char bytes[1000];
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    uint64_t before = atoll_memory_hash(NULL, 9, bytes, sizeof(bytes));
    assert_true(before == atoll_memory_hash(NULL, 9, bytes, sizeof(bytes)));
    assert_true(before != atoll_memory_hash(NULL, 8, bytes, sizeof(bytes)));
    assert_true(before != atoll_memory_hash(NULL, 9, bytes, sizeof(bytes) - 1));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 1;
        assert_true(before != atoll_memory_hash(NULL, 9, bytes, sizeof(bytes)));
        bytes[i] ^= 1;
    }
}

static void test_fills(void **state)
{
    enum { COUNT = 5000 };
    static double stale[COUNT];
    static unsigned char base[COUNT * 8];
    unsigned seen = 0;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        stale[i] = i * 0.25;
    for (int t = 0; t < ATOLL_DTYPE_COUNT; t++)
        for (uint64_t key = 0; key < 40; key++) {
            struct atoll_fill f;
            atoll_fill_init(&f, (enum atoll_dtype)t, COUNT, stale, key);
            seen |= 1u << f.kind;
            atoll_fill_write(&f, NULL, base);
            for (size_t i = 0; i < COUNT; i += 13)
                assert_int_equal(atoll_fill_holds(&f, base, i), 1);
            base[1021 * atoll_dtype_bytes((enum atoll_dtype)t)] ^= 1;
            assert_int_equal(atoll_fill_holds(&f, base, 1021), 0);
            assert_int_equal(atoll_fill_holds(&f, base, 1020), 1);
        }
    assert_int_equal(seen, (1u << ATOLL_FILL_COUNT) - 1);
    struct atoll_fill f;
    for (uint64_t key = 0; key < 40; key++) {
        atoll_fill_init(&f, ATOLL_F32, COUNT, NULL, key);
        assert_true(f.kind != ATOLL_FILL_STALE);
    }
}

/* What is given comes back for what has its size; the oldest go beyond the limits. */
static void test_arrays(void **state)
{
    struct atoll_arrays arrays = {.limit_bytes = 10 << 20};
    const size_t big = 3 << 20, small = 70000;
    void *first = atoll_arrays_take(&arrays, big), *second;
    (void)state;
    assert_non_null(first);
    atoll_arrays_give(&arrays, first, big);
    assert_int_equal(arrays.count, 1);
    second = atoll_arrays_take(&arrays, small);
    assert_ptr_not_equal(second, first);
    atoll_arrays_give(&arrays, second, small);
    assert_ptr_equal(atoll_arrays_take(&arrays, big), first);
    assert_ptr_equal(atoll_arrays_take(&arrays, small), second);
    assert_int_equal(arrays.count + arrays.bytes, 0);
    atoll_arrays_give(&arrays, second, small);
    atoll_arrays_give(&arrays, first, big);
    for (int i = 0; i < 3; i++)
        atoll_arrays_give(&arrays, atoll_memory_array(big), big);
    assert_int_equal(arrays.count, 3);
    assert_int_equal(arrays.bytes, 3 * big);
    for (int i = 0; i < 2 * ATOLL_ARRAYS_LIMIT; i++)
        atoll_arrays_give(&arrays, atoll_memory_array(small), small);
    assert_int_equal(arrays.count, ATOLL_ARRAYS_LIMIT);
    atoll_arrays_give(&arrays, atoll_memory_array(100), 100); /* not worth it */
    atoll_arrays_give(&arrays, atoll_memory_array(11 << 20), 11 << 20);
    atoll_arrays_give(&arrays, NULL, small);
    assert_int_equal(arrays.count, ATOLL_ARRAYS_LIMIT);
    free(atoll_arrays_take(NULL, big));
    atoll_arrays_fini(&arrays);
    atoll_arrays_fini(&arrays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),   cmocka_unit_test(test_layout),
        cmocka_unit_test(test_guards),   cmocka_unit_test(test_guards_tell_nothing),
        cmocka_unit_test(test_rotation), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_hash),     cmocka_unit_test(test_fills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
