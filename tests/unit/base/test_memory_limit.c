/* test_memory_limit.c - the least of a group's limit and of those that it is in; what cannot be read limits nothing. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory_limit.h"

static char root[] = "/tmp/atoll-limit-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", root, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void test_groups(void **state)
{
    static const struct {
        const char *membership, *job, *step;
        uint64_t bytes;
    } rows[] = {
        {"0::/job/step\n", "4096\n", "max\n", 4096},
        {"0::/job/step\n", "8192\n", "4096\n", 4096},
        {"0::/job/step\n", "max\n", "max\n", UINT64_MAX},
        {"0::/job\n", "8192\n", "4096\n", 8192},
        {"3:cpu:/x\n0::/job/step\n", "8192\n", "", 8192},
        {"0::/elsewhere\n", "8192\n", "4096\n", UINT64_MAX},
        {"0::/\n", "8192\n", "4096\n", UINT64_MAX},
        {"1:memory:/job\n", "8192\n", "4096\n", UINT64_MAX},
        {"", "8192\n", "99999999999999999999999\n", UINT64_MAX},
    };
    char membership[256], folder[256];
    assert_non_null(mkdtemp(root));
    snprintf(membership, sizeof(membership), "%s/membership", root);
    snprintf(folder, sizeof(folder), "%s/job", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(folder, sizeof(folder), "%s/job/step", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        put("/membership", rows[i].membership);
        put("/job/memory.max", rows[i].job);
        put("/job/step/memory.max", rows[i].step);
        assert_int_equal(atoll_memory_limit_group_bytes(membership, root), rows[i].bytes);
    }
    static const char *const left[] = {
        "/job/step/memory.max", "/job/memory.max", "/membership", "/job/step", "/job", ""};
    for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
        snprintf(folder, sizeof(folder), "%s%s", root, left[i]);
        assert_int_equal(remove(folder), 0);
    }
    assert_int_equal(atoll_memory_limit_group_bytes(membership, root), UINT64_MAX);
}

static void test_this_process(void **state)
{
    uint64_t bytes = atoll_memory_limit_bytes();
    assert_true(bytes > (1u << 20) &&
                bytes <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
