#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-eval/node/gpus.h"

static char folder[] = ATOLL_BUILD_DIR "/gpus-XXXXXX";
static const char *const nodes[] = {"nvidia0",    "nvidia1", "nvidia10", "nvidiactl",
                                    "nvidia-uvm", "nvidia",  "null"};

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, nodes[i]);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, nodes[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/* Three devices are there. */
static void test_list(void **state)
{
    static const struct {
        const char *visible;
        unsigned count;
        const char *names[3];
    } rows[] = {
        {NULL, 3, {"0", "1", "2"}},
        {"", 0, {NULL}},
        {"-1", 0, {NULL}},
        {"NoDevFiles", 0, {NULL}},
        {"2", 1, {"2"}},
        {"2,0", 2, {"2", "0"}},
        {" 1 , 2 ", 2, {"1", "2"}},
        {"0,3,1", 1, {"0"}},
        {"0,,1", 1, {"0"}},
        {"1,", 1, {"1"}},
        {"GPU-8f6d,1", 2, {"GPU-8f6d", "1"}},
        {"MIG-3c,x,1", 1, {"MIG-3c"}},
        {"0x1", 0, {NULL}},
        {"GPU-0123456789012345678901234567890123456789012345678901234567890123456789", 0, {NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_gpus gpus;
        atoll_gpus_list(rows[i].visible, folder, &gpus);
        if (gpus.count != rows[i].count)
            fail_msg("row %zu: %u devices", i, gpus.count);
        for (unsigned k = 0; k < gpus.count; k++)
            assert_string_equal(gpus.names[k], rows[i].names[k]);
    }
}

static void test_share(void **state)
{
    struct atoll_gpus gpus;
    struct atoll_slice slice = {1, 4};
    (void)state;
    atoll_gpus_list("2,0", folder, &gpus);
    assert_string_equal(atoll_gpus_of(&gpus, &slice), "0");
    slice.index = 2;
    assert_string_equal(atoll_gpus_of(&gpus, &slice), ATOLL_GPU_SURPLUS);
    atoll_gpus_list("0", folder, &gpus); /* each rank sees one, and all call it the same: its lock decides */
    for (slice.index = 0; slice.index < 4; slice.index++)
        assert_string_equal(atoll_gpus_of(&gpus, &slice), "0");
    atoll_gpus_list("MIG-3c", folder, &gpus);
    assert_string_equal(atoll_gpus_of(&gpus, &(struct atoll_slice){3, 4}), "MIG-3c");
    atoll_gpus_list(NULL, folder, &gpus); /* nobody chose: numbers go by place */
    assert_string_equal(atoll_gpus_of(&gpus, &(struct atoll_slice){2, 4}), "2");
    assert_string_equal(atoll_gpus_of(&gpus, &(struct atoll_slice){3, 4}), ATOLL_GPU_SURPLUS);
    slice.index = 2;
    atoll_gpus_list("", folder, &gpus); /* what is hidden is not taken */
    assert_string_equal(atoll_gpus_of(&gpus, &slice), ATOLL_GPU_SURPLUS);
    atoll_gpus_list("", "/nowhere", &gpus);
    assert_null(atoll_gpus_of(&gpus, &slice));
    atoll_gpus_list(NULL, "/nowhere", &gpus);
    assert_int_equal(gpus.count, 0);
    assert_null(atoll_gpus_of(&gpus, &slice));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_share)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
