/* Level 7 with a backend's table that counts what it is asked. */
#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/trial.h"

static void test_wanted(void **state)
{
    static const struct {
        double ratio;
        uint32_t all;
        double incumbent_ns, time_ns;
        int wanted;
    } rows[] = {{0, 0, 0, 1e6, 0},       {0, 1, 0, 1e6, 0},     {1.5, 0, 0, 1e6, 1},  {1.5, 0, 1e6, 1.5e6, 1},
                {1.5, 0, 1e6, 1.6e6, 0}, {1.5, 1, 1e6, 9e6, 1}, {1.5, 0, 1e6, 1e5, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_setup setup = {.profile_ratio = rows[i].ratio, .profile_all = rows[i].all};
        if (atoll_counting_wanted(&setup, rows[i].incumbent_ns, rows[i].time_ns) != rows[i].wanted)
            fail_msg("row %zu", i);
    }
}

static unsigned calls;

static void counters_read(struct atoll_referee *referee, struct atoll_case *known,
                          struct atoll_loaded_candidate *candidate, uint32_t variant,
                          struct atoll_profile *ret_profile)
{
    calls++;
    assert_int_equal(variant, 3);
    assert_non_null(candidate);
    ret_profile->tier = ATOLL_TIER_COUNTERS;
    ret_profile->counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 88;
    ret_profile->counters[ATOLL_COUNTER_SM_THROUGHPUT] = 30;
}

static void count(const struct atoll_backend *backend, double ratio, double incumbent_ns, double clock_hz,
                  uint32_t kernels, struct atoll_evaluation *ret_evaluation)
{
    struct atoll_referee referee = {.backend = backend, .setup = {.profile_ratio = ratio}};
    struct atoll_case known = {.number = 0};
    struct atoll_loaded_candidate candidate = {.resources = {.kernel_count = kernels, .registers = 42}};
    struct atoll_order order = {.incumbent_ns = incumbent_ns};
    referee.info.empty_launch_ns = 2000;
    calls = 0;
    atoll_evaluation_init(ret_evaluation);
    ret_evaluation->profile.clock_hz = clock_hz;
    atoll_counting_run(&referee, &known, &candidate, &order, 3, 1e6, ret_evaluation);
}

static void test_run(void **state)
{
    static const struct atoll_backend with = {.name = "x", .profile = counters_read}, without = {.name = "y"};
    static const struct {
        const struct atoll_backend *backend;
        double ratio, incumbent_ns, clock_hz;
        uint32_t kernels;
        unsigned calls;
        enum atoll_tier tier;
        enum atoll_limiter limiter;
        const char *reason;
    } rows[] = {
        {&with, 1.5, 0, 1e9, 1, 1, ATOLL_TIER_COUNTERS, ATOLL_LIMITER_MEMORY, ""},
        {&with, 1.5, 1e5, 1e9, 1, 0, ATOLL_TIER_STATIC, ATOLL_LIMITER_UNKNOWN,
         "too far behind the elite of its cell"},
        {&with, 0, 0, 1e9, 0, 0, ATOLL_TIER_MONITOR, ATOLL_LIMITER_UNKNOWN, "counters are switched off"},
        {&without, 1.5, 0, 0, 0, 0, ATOLL_TIER_TIMES, ATOLL_LIMITER_UNKNOWN, "this backend has no counters"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_evaluation e;
        count(rows[i].backend, rows[i].ratio, rows[i].incumbent_ns, rows[i].clock_hz, rows[i].kernels, &e);
        assert_int_equal(calls, rows[i].calls);
        assert_int_equal(e.profile.tier, rows[i].tier);
        assert_int_equal(e.profile.limiter, rows[i].limiter);
        assert_string_equal(e.profile.reason, rows[i].reason);
        assert_int_equal(e.profile.resources.registers, 42);
        assert_true(rows[i].calls ? e.profile.wall_ns > 0 : e.profile.wall_ns == 0);
        atoll_evaluation_fini(&e);
    }
}

/* By name; no name is the cpu. */
static void test_find(void **state)
{
    (void)state;
    assert_ptr_equal(atoll_backend_find(""), &atoll_backend_cpu);
    assert_ptr_equal(atoll_backend_find("cpu"), &atoll_backend_cpu);
    assert_ptr_equal(atoll_backend_find("cuda"), &atoll_backend_cuda);
    assert_null(atoll_backend_find("cp"));
    assert_null(atoll_backend_find("nonsense"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wanted), cmocka_unit_test(test_run),
                                       cmocka_unit_test(test_find)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
