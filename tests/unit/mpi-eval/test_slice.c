#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "mpi-eval/slice.h"

static cpu_set_t cores(unsigned long bits)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (size_t i = 0; i < 64; i++) {
        if (bits >> i & 1) {
            CPU_SET(i, &set);
        }
    }
    return set;
}

static void slices_are_disjoint_and_whole(void **state)
{
    static const struct {
        struct atoll_slice slice;
        unsigned long mask;
        int online;
        unsigned long expected;
    } cases[] =
        {
            {{0, 1}, 0x3, 2, 0x3},   {{0, 2}, 0x3, 2, 0x1},
            {{1, 2}, 0x3, 2, 0x2},   {{0, 3}, 0xff, 8, 0x03},
            {{1, 3}, 0xff, 8, 0x1c}, {{2, 3}, 0xff, 8, 0xe0},
            {{1, 2}, 0x0f, 8, 0x0f}, /* bound by the launcher: its own */
            {{0, 4}, 0x3, 2, 0x1},   {{1, 4}, 0x3, 2, 0x1},
            {{3, 4}, 0x3, 2, 0x2}, /* shared: more evaluators than cores */
            {{0, 0}, 0x3, 2, 0x3},
        };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cpu_set_t mask = cores(cases[i].mask), expected = cores(cases[i].expected), got;

        atoll_slice_cores(&cases[i].slice, &mask, cases[i].online, &got);
        assert_true(CPU_EQUAL(&got, &expected));
    }
}

static void slice_of_rank_follows_the_launcher(void **state)
{
    static const struct {
        const char *rank, *local, *size;
        struct atoll_slice expected;
    } cases[] = {
        {NULL, NULL, NULL, {0, 1}}, {"1", "1", "3", {0, 2}},  {"2", "2", "3", {1, 2}},
        {"4", "1", "3", {1, 3}},    {"0", "0", "3", {0, 1}},  {"2", "5", "3", {0, 1}},
        {"x", "1", "3", {0, 1}},    {"1", "1", "-3", {0, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct atoll_slice got;

        unsetenv("OMPI_COMM_WORLD_RANK");
        if (cases[i].rank) {
            setenv("OMPI_COMM_WORLD_RANK", cases[i].rank, 1);
            setenv("OMPI_COMM_WORLD_LOCAL_RANK", cases[i].local, 1);
            setenv("OMPI_COMM_WORLD_LOCAL_SIZE", cases[i].size, 1);
        }
        got = atoll_slice_of_rank();
        assert_int_equal(got.index, cases[i].expected.index);
        assert_int_equal(got.count, cases[i].expected.count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slices_are_disjoint_and_whole),
                                       cmocka_unit_test(slice_of_rank_follows_the_launcher)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
