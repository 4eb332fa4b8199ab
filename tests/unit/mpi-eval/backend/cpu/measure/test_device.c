/* Probes of the device's cores: what they are worth against what they were lately. */
#include "tests/support/expect.h"

#include "mpi-eval/backend/cpu/measure/device.h"

static void test_pace(void **state)
{
    struct atoll_probes probes = {0};
    (void)state;
    for (int i = 0; i < 8; i++)
        expect_close(atoll_probes_pace(&probes, i ? 15e3 : 90e3), 1, 0); /* nothing to hold it against yet */
    expect_close(atoll_probes_pace(&probes, 15e3), 1, 1e-12);
    expect_close(atoll_probes_pace(&probes, 18e3), 1.2, 1e-12);
    expect_close(atoll_probes_pace(&probes, 4.5e6), 300, 1e-9);
    expect_close(atoll_probes_pace(&probes, 12e3), 0.8, 1e-12);
}

/* A device that is slow half of the time is seen to be; one that has settled at another clock is as usual. */
static void test_lasting(void **state)
{
    struct atoll_probes probes = {0};
    int slow = 0;
    (void)state;
    for (int i = 0; i < 200; i++)
        slow += atoll_probes_pace(&probes, i % 2 ? 15e3 : 25e3) > 1.5;
    assert_true(slow >= 90);
    for (int i = 0; i < 2 * ATOLL_PROBE_KEPT; i++)
        atoll_probes_pace(&probes, 25e3);
    expect_close(atoll_probes_pace(&probes, 25e3), 1, 1e-12);
    expect_close(atoll_probes_pace(&probes, 50e3), 2, 1e-12);
}

/* Flags of a compiler are told whole. */
static void test_described(void **state)
{
    const struct atoll_device device = {.core_count = 1};
    char flags[300] = "";
    struct atoll_device_info info;
    (void)state;
    memset(flags, 'f', sizeof(flags) - 1);
    atoll_device_describe(&device, flags, &info);
    assert_string_equal(info.toolchain, flags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pace), cmocka_unit_test(test_lasting),
                                       cmocka_unit_test(test_described)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
