/* test_facts.c - devices in words: all facts, none, hostile texts, too little room. */
#include "tests/support/expect.h"

#include <string.h>

#include "core/facts.h"

static struct atoll_device_info gpu(void)
{
    struct atoll_device_info d = {.backend = "cuda",
                                  .model = "NVIDIA H200",
                                  .uuid = "GPU-secret",
                                  .node = "node17",
                                  .bandwidth_bytes_per_s = 4.2e12,
                                  .empty_launch_ns = 2150,
                                  .last_level_cache_bytes = 60 * 1048576.0,
                                  .limits = {.compute_capability = 90,
                                             .multiprocessors = 132,
                                             .warp_size = 32,
                                             .threads_per_block = 1024,
                                             .threads_per_multiprocessor = 2048,
                                             .blocks_per_multiprocessor = 32,
                                             .registers_per_multiprocessor = 65536,
                                             .shared_bytes_per_block = 232448,
                                             .shared_bytes_per_multiprocessor = 233472,
                                             .cluster_blocks = 16,
                                             .cooperative = 1,
                                             .memory_bytes = 139.8 * 1073741824.0,
                                             .clock_hz = 1.98e9,
                                             .target = "sm_90a"}};
    d.peak_flops[ATOLL_F32] = 60.25e12;
    d.peak_flops[ATOLL_I32] = 29e12;
    d.limits.tensor_flops[ATOLL_BF16] = 801e12;
    d.limits.tensor_flops[ATOLL_DTYPE_COUNT] = 410e12;
    return d;
}

static const char expected[] =
    "NVIDIA H200, compute capability 9.0 (compile target sm_90a), 132 multiprocessors at up to 1.98 GHz. "
    "Each multiprocessor holds 2048 threads, 32 blocks, 65536 registers of 32 bits, 228 KiB of shared "
    "memory, 32 "
    "threads in a warp. A block has at most 1024 threads and 232448 bytes of shared memory, static and "
    "dynamic "
    "together; a cluster has at most 16 blocks; cooperative launches are possible. Memory: 139.8 GiB. "
    "Last-level "
    "cache: 60 MiB. Measured copy bandwidth: 4.2 TB/s. Measured arithmetic peaks: f32 60.2 TFLOP/s, i32 29 "
    "TOP/s. "
    "Measured tensor peaks: bf16 801 TFLOP/s, tf32 410 TFLOP/s. An empty launch takes 2.15 us.";

static void test_all(void **state)
{
    struct atoll_device_info d = gpu();
    char text[ATOLL_FACTS_BYTES], again[ATOLL_FACTS_BYTES];
    assert_string_equal(atoll_device_facts(&d, text, sizeof(text)), expected);
    assert_string_equal(atoll_device_facts(&d, again, sizeof(again)), text);
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "node17"));
}

static void test_little(void **state)
{
    static const struct {
        struct atoll_device_info device;
        const char *text;
    } rows[] = {
        {{.key = 1}, "A device."},
        {{.model = "CPU", .threads = 8, .bandwidth_bytes_per_s = 9.996e11},
         "CPU, 8 threads. Measured copy bandwidth: 1000 GB/s."},
        {{.model = "CPU", .threads = 8, .limits = {.memory_bytes = 1e9}}, "CPU, 8 threads."},
        {{.model = "old", .limits = {.threads_per_block = 512}},
         "old. A block has at most 512 threads; there are no clusters; cooperative launches are not "
         "possible."},
        {{.model = "a\n\x1b\xff"}, "a???."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[ATOLL_FACTS_BYTES];
        assert_string_equal(atoll_device_facts(&rows[i].device, text, sizeof(text)), rows[i].text);
    }
}

/* Everything fits; with less room the text is a prefix. */
static void test_room(void **state)
{
    struct atoll_device_info d = gpu();
    char text[ATOLL_FACTS_BYTES];
    memset(d.model, 'M', sizeof(d.model)); /* not ended */
    memset(d.limits.target, 't', sizeof(d.limits.target));
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        d.peak_flops[i] = d.limits.tensor_flops[i] = 1.23e12;
    assert_true(strlen(atoll_device_facts(&d, text, sizeof(text))) < sizeof(text) - 200);
    for (size_t room = 1; room < 300; room++) {
        char small[300];
        memset(small, 'x', sizeof(small));
        atoll_device_facts(&d, small, room);
        assert_int_equal(strlen(small), room - 1);
        assert_memory_equal(small, text, room - 1);
    }
    char none = 'n';
    atoll_device_facts(&d, &none, 0);
    assert_int_equal(none, 'n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_little),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
