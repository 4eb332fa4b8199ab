/* Which cores, over topologies made of a line of text and one captured from a machine. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "mpi-eval/node/binding.h"

#define SMALL "pack:2 numa:1 core:8 pu:2" /* 32 threads, two of a core side by side: node 0 has 0-15 */

static hwloc_topology_t synthetic(const char *text)
{
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, text), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    return topology;
}

static hwloc_bitmap_t set_of(const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
    return set;
}

static void expect_list(hwloc_const_bitmap_t set, const char *expected, size_t row)
{
    char text[256];
    hwloc_bitmap_list_snprintf(text, sizeof(text), set);
    if (strcmp(text, expected) != 0)
        fail_msg("row %zu: %s instead of %s", row, text, expected);
}

static void test_choice(void **state)
{
    static const struct {
        const char *topology, *mask, *pool, *local;
        unsigned index, count;
        enum atoll_locality expected;
        const char *cores;
    } rows[] = {
        /* bound by the launcher, or alone: what is near of the mask */
        {SMALL, "0-31", "0-31", "16-31", 0, 1, ATOLL_LOCALITY_NEAR, "16-31"},
        {SMALL, "8-23", "8-23", "16-31", 0, 1, ATOLL_LOCALITY_NEAR, "16-23"},
        {SMALL, "8-23", "8-23", "16-31", 1, 4, ATOLL_LOCALITY_NEAR, "16-23"},
        {SMALL, "0-3", "0-3", "0-15", 0, 1, ATOLL_LOCALITY_NEAR, "0-3"},
        /* nothing near, nothing known: as it is */
        {SMALL, "0-7", "0-7", "16-31", 0, 1, ATOLL_LOCALITY_FAR, "0-7"},
        {SMALL, "0-7", "0-7", NULL, 0, 1, ATOLL_LOCALITY_UNKNOWN, "0-7"},
        {SMALL, "0-7", "0-7", "", 0, 1, ATOLL_LOCALITY_UNKNOWN, "0-7"},
        /* a slice by number that is far from the device: another one of what all share */
        {SMALL, "0-7", "0-31", "16-31", 0, 2, ATOLL_LOCALITY_NEAR, "16-23"},
        {SMALL, "24-31", "0-31", "16-31", 1, 2, ATOLL_LOCALITY_NEAR, "24-31"},
        {SMALL, "0-7", "0-15", "16-31", 0, 2, ATOLL_LOCALITY_FAR, "0-7"},
        /* both threads of a core to the same */
        {SMALL, "0-1", "0-31", "0-15", 1, 3, ATOLL_LOCALITY_NEAR, "4-9"},
        /* threads numbered as machines do: a core's second one in the upper half */
        {"pack:2 numa:1 core:4 pu:2(indexes=2*8:1*2)", "0-3", "0-15", "0-3,8-11", 1, 2, ATOLL_LOCALITY_NEAR,
         "2-3,10-11"},
        /* more evaluators than cores: one core each, some twice */
        {"pack:1 core:2 pu:1", "0", "0-1", "0-1", 0, 3, ATOLL_LOCALITY_NEAR, "0"},
        {"pack:1 core:2 pu:1", "0", "0-1", "0-1", 1, 3, ATOLL_LOCALITY_NEAR, "0"},
        {"pack:1 core:2 pu:1", "0", "0-1", "0-1", 2, 3, ATOLL_LOCALITY_NEAR, "1"},
        /* four NUMA nodes of two packages; a device may be near a whole package */
        {"pack:2 numa:2 core:4 pu:1", "0-15", "0-15", "4-7", 0, 1, ATOLL_LOCALITY_NEAR, "4-7"},
        {"pack:2 numa:2 core:4 pu:1", "0-3", "0-15", "8-15", 1, 4, ATOLL_LOCALITY_NEAR, "10-11"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        hwloc_topology_t topology = synthetic(rows[i].topology);
        hwloc_bitmap_t mask = set_of(rows[i].mask), pool = set_of(rows[i].pool);
        hwloc_bitmap_t local = rows[i].local ? set_of(rows[i].local) : NULL, cores = hwloc_bitmap_alloc();
        const struct atoll_locality_request request = {mask, pool, local, rows[i].index, rows[i].count};
        enum atoll_locality found = atoll_locality_choose(topology, &request, cores);
        if (found != rows[i].expected)
            fail_msg("row %zu: %d", i, (int)found);
        expect_list(cores, rows[i].cores, i);
        hwloc_bitmap_free(mask);
        hwloc_bitmap_free(pool);
        hwloc_bitmap_free(local);
        hwloc_bitmap_free(cores);
        hwloc_topology_destroy(topology);
    }
}

/* Parts of a set are disjoint and make it whole, as long as there is a core for each. */
static void parts_check(hwloc_topology_t topology, hwloc_const_bitmap_t set, unsigned count)
{
    hwloc_bitmap_t all = hwloc_bitmap_alloc(), part = hwloc_bitmap_alloc();
    for (unsigned i = 0; i < count; i++) {
        atoll_locality_part(topology, set, i, count, part);
        assert_false(hwloc_bitmap_iszero(part));
        assert_false(hwloc_bitmap_intersects(all, part));
        hwloc_bitmap_or(all, all, part);
    }
    assert_true(hwloc_bitmap_isequal(all, set));
    hwloc_bitmap_free(all);
    hwloc_bitmap_free(part);
}

static void test_parts(void **state)
{
    hwloc_topology_t topology = synthetic(SMALL);
    hwloc_bitmap_t whole = set_of("0-31"), some = set_of("2-9,20,22-27"), far = set_of("100-101");
    hwloc_bitmap_t got = hwloc_bitmap_alloc();
    (void)state;
    for (unsigned count = 1; count <= 16; count++)
        parts_check(topology, whole, count);
    for (unsigned count = 1; count <= 8; count++)
        parts_check(topology, some, count);
    atoll_locality_part(topology, far, 1, 2, got); /* cores nobody knows */
    assert_true(hwloc_bitmap_isequal(got, far));
    atoll_locality_part(topology, whole, 3, 2, got); /* no such part */
    assert_true(hwloc_bitmap_isequal(got, whole));
    hwloc_bitmap_free(whole);
    hwloc_bitmap_free(some);
    hwloc_bitmap_free(far);
    hwloc_bitmap_free(got);
    hwloc_topology_destroy(topology);
}

/* Captured from a virtual machine: caches and cores as the kernel tells them. */
static void test_captured(void **state)
{
    hwloc_topology_t topology;
    (void)state;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(
        hwloc_topology_set_xml(topology, ATOLL_SOURCE_DIR "/tests/fixtures/topology/two-cores.xml"), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
    hwloc_bitmap_t cores = hwloc_bitmap_alloc(), first = hwloc_bitmap_alloc();
    hwloc_bitmap_set(first, (unsigned)hwloc_bitmap_first(all));
    const struct atoll_locality_request alone = {all, all, all, 0, 1}, shares = {first, all, all, 0, 1};
    assert_int_equal(atoll_locality_choose(topology, &alone, cores), ATOLL_LOCALITY_NEAR);
    assert_true(hwloc_bitmap_isequal(cores, all));
    assert_int_equal(atoll_locality_choose(topology, &shares, cores), ATOLL_LOCALITY_NEAR);
    assert_true(hwloc_bitmap_isequal(cores, all));
    parts_check(topology, all, (unsigned)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
    hwloc_bitmap_free(cores);
    hwloc_bitmap_free(first);
    hwloc_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_captured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
