/* Floors, and how cores are shared. */
#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/cpu/measure/device.h"
#include "mpi-eval/referee/sampling.h"

#define BIT(t) (1u << (t))

static void test_floors(void **state)
{
    /* 1 GB/s is 1 byte a ns; peaks of 10 and 5 operations a ns; a cache of 1000 bytes; an empty launch of 50
     * ns. */
    static const struct {
        struct atoll_work work;
        unsigned precisions;
        double hard_ns, audit_ns, reporting_ns;
    } cases[] = {
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 0}, BIT(ATOLL_F32), 4000, 0, 4000},
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 900}, BIT(ATOLL_F32), 4000, 0, 4000},
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 3000}, BIT(ATOLL_F32), 6000, 0, 6000},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, BIT(ATOLL_F32), 4000, 1e5, 1e5},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, BIT(ATOLL_F64), 4000, 2e5, 2e5},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0},
         BIT(ATOLL_F64) | BIT(ATOLL_F32),
         4000,
         1e5,
         1e5},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, BIT(ATOLL_BF16), 4000, 1e5, 1e5},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, BIT(ATOLL_DTYPE_COUNT), 4000, 1e5, 1e5},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, 0, 4000, 0, 4000},
        {{.flops = 0, .read_bytes = 10, .write_bytes = 10}, BIT(ATOLL_F32), 50, 0, 50},
    };
    struct atoll_device_info device;
    (void)state;
    memset(&device, 0, sizeof(device));
    device.bandwidth_bytes_per_s = 1e9;
    device.peak_flops[ATOLL_F32] = 10e9;
    device.peak_flops[ATOLL_F64] = 5e9;
    device.last_level_cache_bytes = 1000;
    device.empty_launch_ns = 50;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_floor f = atoll_floor_of(&cases[i].work, cases[i].precisions, &device, 0);
        if (f.hard_ns != cases[i].hard_ns || f.audit_ns != cases[i].audit_ns ||
            f.reporting_ns != cases[i].reporting_ns)
            fail_msg("case %zu: %g %g %g", i, f.hard_ns, f.audit_ns, f.reporting_ns);
    }
    device.limits.tensor_flops[ATOLL_DTYPE_COUNT] = 100e9; /* tf32 */
    device.limits.tensor_flops[ATOLL_F64] = 20e9;
    assert_true(atoll_floor_of(&cases[3].work, BIT(ATOLL_F32), &device, 0).audit_ns == 1e5);
    assert_true(atoll_floor_of(&cases[3].work, BIT(ATOLL_F64), &device, 0).audit_ns == 5e4);
    assert_true(
        atoll_floor_of(&cases[3].work, BIT(ATOLL_F32) | BIT(ATOLL_DTYPE_COUNT), &device, 0).audit_ns == 1e4);
    memset(&device, 0, sizeof(device));
    struct atoll_floor f = atoll_floor_of(&cases[3].work, BIT(ATOLL_F32), &device, 0);
    assert_true(f.hard_ns == 0 && f.audit_ns == 0); /* not calibrated: nothing is impossible */
}

/* Matrix products are held against the matrix units, the rest against the ordinary ones; without matrix units all is. */
static void test_split_floors(void **state)
{
    static const struct {
        double flops, matrix_flops;
        unsigned precisions;
        double audit_ns;
    } cases[] = {
        {1e6, 0, BIT(ATOLL_BF16), 1e5},          {1e6, 1e6, BIT(ATOLL_BF16), 1e5},
        {1e5, 1e7, BIT(ATOLL_BF16), 1e5},        {0, 1e6, BIT(ATOLL_BF16), 1e4},
        {1e6, 1e6, BIT(ATOLL_F32), 2e5},         {0, 1e6, BIT(ATOLL_F32) | BIT(ATOLL_BF16), 1e4},
        {1e6, 1e6, BIT(ATOLL_DTYPE_COUNT), 2e5},
    };
    struct atoll_device_info device;
    (void)state;
    memset(&device, 0, sizeof(device));
    device.peak_flops[ATOLL_F32] = 10e9;
    device.limits.tensor_flops[ATOLL_BF16] = 100e9;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_work work = {
            .flops = cases[i].flops, .matrix_flops = cases[i].matrix_flops, .is_split = 1};
        struct atoll_floor f = atoll_floor_of(&work, cases[i].precisions, &device, 0);
        if (f.audit_ns < cases[i].audit_ns * 0.999999 || f.audit_ns > cases[i].audit_ns * 1.000001 ||
            !f.is_split)
            fail_msg("case %zu: %g", i, f.audit_ns);
        /* told together they stand at the faster unit's peak, which is no more */
        struct atoll_work one = {.flops = cases[i].flops + cases[i].matrix_flops};
        struct atoll_floor g = atoll_floor_of(&one, cases[i].precisions, &device, 0);
        assert_true(!g.is_split);
        if (cases[i].flops > 0 && cases[i].precisions == BIT(ATOLL_BF16) && cases[i].matrix_flops < 1e7)
            assert_true(g.audit_ns < f.audit_ns);
    }
}

/* The same device: 1000 bytes of 1 byte a ns are at hand. */
static void test_warm_floors(void **state)
{
    static const struct {
        struct atoll_work work;
        double hard_ns;
    } cases[] = {
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 0}, 3000},
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 900}, 3900},
        {{.flops = 0, .read_bytes = 4000, .write_bytes = 3000}, 6000},
        {{.flops = 0, .read_bytes = 900, .write_bytes = 100}, 50},
        {{.flops = 0, .read_bytes = 1040, .write_bytes = 0}, 50},
        {{.flops = 0, .read_bytes = 500, .write_bytes = 700}, 200},
        {{.flops = 0, .read_bytes = 0, .write_bytes = 3000}, 2000},
        {{.flops = 0, .read_bytes = 0, .write_bytes = 0}, 50},
        {{.flops = 1e6, .read_bytes = 4000, .write_bytes = 0}, 3000},
    };
    struct atoll_device_info device;
    (void)state;
    memset(&device, 0, sizeof(device));
    device.bandwidth_bytes_per_s = 1e9;
    device.peak_flops[ATOLL_F32] = 10e9;
    device.last_level_cache_bytes = 1000;
    device.empty_launch_ns = 50;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_floor f = atoll_floor_of(&cases[i].work, BIT(ATOLL_F32), &device, 1);
        if (f.hard_ns != cases[i].hard_ns)
            fail_msg("case %zu: %g", i, f.hard_ns);
        assert_true(f.audit_ns == cases[i].work.flops / 10);
        assert_true(f.hard_ns <= atoll_floor_of(&cases[i].work, BIT(ATOLL_F32), &device, 0).hard_ns);
    }
}

static void test_cores(void **state)
{
    static const int cores[] = {4, 5, 6, 7};
    static const struct {
        size_t count;
        uint32_t threads;
        size_t wanted;
        int first, spin;
    } cases[] = {{4, 0, 3, 5, 1}, {4, 2, 2, 5, 1}, {4, 4, 4, 4, 0},
                 {1, 0, 1, 4, 0}, {2, 0, 1, 5, 1}, {2, 9, 1, 5, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static struct atoll_device d;
        memset(&d, 0, sizeof(d));
        atoll_device_share(cores, cases[i].count, cases[i].threads, &d);
        if (d.core_count != cases[i].wanted || d.cores[0] != cases[i].first || d.spin != cases[i].spin ||
            d.referee_core != 4)
            fail_msg("case %zu: %zu cores from %d, spin %d", i, d.core_count, d.cores[0], d.spin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_floors), cmocka_unit_test(test_split_floors),
                                       cmocka_unit_test(test_warm_floors), cmocka_unit_test(test_cores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
