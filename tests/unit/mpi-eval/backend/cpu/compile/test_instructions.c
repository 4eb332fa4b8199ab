/* Counts of real objects, as objdump shows them; damaged ones are counted or not, and never read beyond their end. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi-eval/backend/cpu/compile/instructions.h"

static unsigned char object[1 << 16];

static size_t fixture(unsigned level)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/fixtures/x86/vectors_v%u.so", ATOLL_SOURCE_DIR, level);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t length = fread(object, 1, sizeof(object), f);
    fclose(f);
    assert_true(length > 0 && length < sizeof(object));
    return length;
}

static void levels(void **state)
{
    static const struct {
        unsigned level, all;
        uint32_t fp32, fp64, v128, v256, v512, fused, scalar, gather;
    } rows[] = {{2, 146, 8, 5, 7, 0, 0, 0, 6, 0},
                {3, 144, 6, 7, 6, 2, 0, 9, 5, 1},
                {4, 189, 10, 11, 4, 4, 2, 15, 11, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t mix[ATOLL_MIX_COUNT] = {0};
        size_t length = fixture(rows[i].level);
        atoll_instructions_count(object, length, mix);
        assert_int_equal(mix[ATOLL_MIX_FP32] + mix[ATOLL_MIX_FP64] + mix[ATOLL_MIX_OTHER], rows[i].all);
        assert_int_equal(mix[ATOLL_MIX_FP32], rows[i].fp32);
        assert_int_equal(mix[ATOLL_MIX_FP64], rows[i].fp64);
        assert_int_equal(mix[ATOLL_MIX_VECTOR_128], rows[i].v128);
        assert_int_equal(mix[ATOLL_MIX_VECTOR_256], rows[i].v256);
        assert_int_equal(mix[ATOLL_MIX_VECTOR_512], rows[i].v512);
        assert_int_equal(mix[ATOLL_MIX_FUSED], rows[i].fused);
        assert_int_equal(mix[ATOLL_MIX_SCALAR], rows[i].scalar);
        assert_int_equal(mix[ATOLL_MIX_GATHER], rows[i].gather);
    }
}

static void hostile(void **state)
{
    size_t length = fixture(4);
    uint32_t mix[ATOLL_MIX_COUNT] = {0};
    (void)state;
    for (size_t cut = 0; cut < length; cut += cut < 128 ? 1 : 13) {
        unsigned char *copy = malloc(cut + 1); /* the sanitizer sees its end */
        memcpy(copy, object, cut);
        atoll_instructions_count(copy, cut, mix);
        free(copy);
    }
    for (size_t at = 0; at < length; at += at < 64 ? 1 : 7) {
        object[at] ^= 0xff;
        atoll_instructions_count(object, length, mix);
        object[at] ^= 0xff;
    }
    memset(mix, 0, sizeof(mix));
    object[18] = 183; /* another machine */
    atoll_instructions_count(object, length, mix);
    for (unsigned i = 0; i < ATOLL_MIX_COUNT; i++)
        assert_int_equal(mix[i], 0);
    assert_true(!*atoll_instructions_level() || strncmp(atoll_instructions_level(), "x86-64-v", 8) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
