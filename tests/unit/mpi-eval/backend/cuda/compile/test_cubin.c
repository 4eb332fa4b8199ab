#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/cubin.h"

static unsigned char image[1 << 16];
static struct atoll_cubin cubin;

static size_t fixture(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/fixtures/cubin/%s.cubin", ATOLL_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t length = fread(image, 1, sizeof(image), f);
    fclose(f);
    assert_true(length > 0 && length < sizeof(image));
    return length;
}

static void read_fixture(const char *name, const char *report)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cubin_read(image, fixture(name), report, &cubin, &err) != 0)
        fail_msg("%s: %s", name, err.text);
}

static void kernels_and_resources(void **state)
{
    static const char report[] = "ptxas info    : Function properties for scale\n"
                                 "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                                 "ptxas info    : Function properties for nobody\n    1 bytes stack frame, 1 "
                                 "bytes spill stores, 1 bytes "
                                 "spill loads\n";
    static const struct {
        const char *name;
        unsigned target;
    } rows[] = {{"mixed_80", 80}, {"mixed_90a", 90}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        read_fixture(rows[i].name, report);
        assert_int_equal(cubin.target, rows[i].target);
        assert_int_equal(cubin.kernel_count, 3);
        const struct atoll_cubin_kernel *k = atoll_cubin_find(&cubin, "scale");
        assert_non_null(k);
        assert_true(k->registers >= 8 && k->registers <= 32);
        assert_int_equal(k->static_shared_bytes, 1024);
        assert_int_equal(k->threads_limit, 256);
        assert_int_equal(k->spill_store_bytes, 12);
        assert_int_equal(k->spill_load_bytes, 8);
        assert_int_equal(k->param_count, 4);
        assert_int_equal(k->params[1].offset, 8);
        assert_int_equal(k->params[3].offset, 24);
        assert_int_equal(k->params[3].bytes, 4);
        assert_int_equal(k->mix[ATOLL_MIX_GLOBAL_LOAD], 1);
        assert_int_equal(k->mix[ATOLL_MIX_GLOBAL_STORE], 1);
        assert_int_equal(k->mix[ATOLL_MIX_SHARED], 2);
        assert_int_equal(k->mix[ATOLL_MIX_BARRIER], 1);
        assert_int_equal(k->mix[ATOLL_MIX_FP32], 1);
        assert_int_equal(atoll_cubin_find(&cubin, "twice")->mix[ATOLL_MIX_FP64], 1);
        assert_null(atoll_cubin_find(&cubin, "scal"));
    }
}

static void globals_and_needs(void **state)
{
    read_fixture("mixed_90a", "");
    assert_int_equal(cubin.state_bytes, 4 + 64 + 16); /* and the addresses of both */
    assert_string_equal(cubin.undefined_name, "");
    read_fixture("needs_90a", "");
    assert_int_equal(cubin.state_bytes, 0x1b + 0x18); /* texts and tables can be written to as well */
    assert_string_equal(cubin.undefined_name, "vprintf");
}

/* The most of the kernels asked for, none of which may be missing. */
static void stacks(void **state)
{
    static const char *const mixed[] = {"scale", "twice"}, *const missing[] = {"scale", "nobody"};
    struct atoll_err err = ATOLL_ERR_INIT;
    uint32_t bytes = 7;
    (void)state;
    size_t length = fixture("mixed_90a");
    assert_int_equal(atoll_cubin_stack(image, length, mixed, 2, &bytes, &err), 0);
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_int_equal(atoll_cubin_stack(image, length, missing, 2, &bytes, &err), -1);
    assert_true(err.code == ATOLL_E_INPUT && strstr(err.text, "nobody"));
    assert_int_equal(bytes, 7);
    read_fixture("needs_90a", ""); /* what it prints lies in local memory */
    const char *const needs = cubin.kernels[0].name;
    length = fixture("needs_90a");
    assert_int_equal(atoll_cubin_stack(image, length, &needs, 1, &bytes, &err), 0);
    assert_int_equal(bytes, 40);
}

/* A stack that moves and calls that no frame counts: what a function that calls itself may leave is within reach. */
static void local_memory(void **state)
{
    static const struct {
        const char *fixture, *kernel;
        uint32_t stack_bytes, local_bytes;
    } rows[] = {{"stack_90a", "called", 400, 400 + 1024},
                {"stack_90a", "itself", 0, 1024},
                {"stack_90a", "both", 608, 608 + 1024},
                {"slow_path_90a", "slow_path", 3072, 3072}, /* what it calls has no stack */
                {"mixed_90a", "scale", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        read_fixture(rows[i].fixture, "");
        const struct atoll_cubin_kernel *k = atoll_cubin_find(&cubin, rows[i].kernel);
        assert_non_null(k);
        assert_int_equal(k->stack_bytes, rows[i].stack_bytes);
        assert_int_equal(k->local_bytes, rows[i].local_bytes);
    }
}

static void tensor_units_and_maps(void **state)
{
    read_fixture("tensor_90a", "");
    const struct atoll_cubin_kernel *k = atoll_cubin_find(&cubin, "tensor");
    assert_non_null(k);
    assert_int_equal(cubin.state_bytes, 0);
    assert_int_equal(k->mix[ATOLL_MIX_TENSOR_F16], 1);
    assert_int_equal(k->mix[ATOLL_MIX_TENSOR_TF32], 1);
    assert_int_equal(k->mix[ATOLL_MIX_TENSOR_F8], 1);
    assert_int_equal(k->mix[ATOLL_MIX_ASYNC_COPY], 1);
    assert_int_equal(k->mix[ATOLL_MIX_BULK_COPY], 1);
    assert_int_equal(k->mix[ATOLL_MIX_WARPGROUP], 3);
    assert_int_equal(k->mix[ATOLL_MIX_WIDE_ACCESS], 0);
    assert_int_equal(k->static_shared_bytes, 4096 + 8);
    assert_int_equal(k->params[0].bytes, 128);
    assert_int_equal(k->params[0].offset, 48); /* aligned with the bank that starts at 0x210 */
    assert_string_equal(cubin.undefined_name, "");
}

/* What is counted besides the classes: 128 bits against 32 and 64, bulk copies against cp.async. */
static void features(void **state)
{
    static const struct {
        const char *name;
        uint32_t loads, async, wide, bulk, warpgroup;
    } rows[] = {{"wide", 3, 0, 2, 0, 0},
                {"async4", 0, 1, 0, 0, 0},
                {"bulk", 0, 1, 0, 1, 0},
                {"product", 0, 0, 0, 0, 1}};
    read_fixture("copies_90a", "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_cubin_kernel *k = atoll_cubin_find(&cubin, rows[i].name);
        assert_non_null(k);
        assert_int_equal(k->mix[ATOLL_MIX_GLOBAL_LOAD], rows[i].loads);
        assert_int_equal(k->mix[ATOLL_MIX_ASYNC_COPY], rows[i].async);
        assert_int_equal(k->mix[ATOLL_MIX_WIDE_ACCESS], rows[i].wide);
        assert_int_equal(k->mix[ATOLL_MIX_BULK_COPY], rows[i].bulk);
        assert_int_equal(k->mix[ATOLL_MIX_WARPGROUP], rows[i].warpgroup);
    }
}

/* Every prefix and every damaged byte is an answer or an error, never more (address sanitizer looks on). */
static void hostile(void **state)
{
    size_t length = fixture("mixed_90a");
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t cut = 0; cut < length; cut += cut < 256 ? 1 : 61) {
        unsigned char *copy = malloc(cut + 1);
        memcpy(copy, image, cut);
        atoll_cubin_read(copy, cut, "", &cubin, NULL);
        free(copy);
    }
    for (size_t at = 0; at < length; at += 3) {
        unsigned char old = image[at];
        image[at] = (unsigned char)(old ^ 0xff);
        atoll_cubin_read(image, length, "", &cubin, NULL);
        image[at] = old;
    }
    assert_int_equal(atoll_cubin_read("hello", 5, "", &cubin, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
}

/* The figures of an H200. */
static const struct atoll_device_limits hopper = {.compute_capability = 90,
                                                  .multiprocessors = 132,
                                                  .warp_size = 32,
                                                  .threads_per_block = 1024,
                                                  .threads_per_multiprocessor = 2048,
                                                  .blocks_per_multiprocessor = 32,
                                                  .registers_per_multiprocessor = 65536,
                                                  .shared_bytes_per_block = 232448,
                                                  .shared_bytes_per_multiprocessor = 233472};

static void occupancy(void **state)
{
    static const struct {
        uint32_t registers, shared, threads, dynamic;
        double occupancy;
        const char *by;
    } rows[] = {
        {32, 0, 256, 0, 1.0, "warps"},
        {64, 0, 256, 0, 0.5, "registers"},
        {255, 0, 256, 0, 0.125, "registers"},
        {32, 0, 32, 0, 0.5, "blocks"},
        {32, 0, 256, 100000, 0.25, "shared memory"},
        {32, 49152, 128, 0, 0.25, "shared memory"},
        {168, 0, 384, 0, 0.1875, "registers"},
        {32, 0, 2048, 0, 0, "unknown"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_cubin_kernel k = {.registers = rows[i].registers, .static_shared_bytes = rows[i].shared};
        enum atoll_occupancy_limit by;
        double got = atoll_cubin_occupancy(&k, &hopper, rows[i].threads, rows[i].dynamic, &by);
        if (got != rows[i].occupancy || strcmp(atoll_occupancy_limit_name(by), rows[i].by) != 0)
            fail_msg("row %zu: %g by %s, expected %g by %s", i, got, atoll_occupancy_limit_name(by),
                     rows[i].occupancy, rows[i].by);
    }
}

/* What a model sees of an image: operations in their order, the width of accesses, predicates. */
static void listing(void **state)
{
    static const struct {
        const char *file, *says;
    } rows[] = {
        {"copies_90a", "wide:\n"},    {"copies_90a", " LDG.128\n"}, {"copies_90a", " LDG\n"},
        {"copies_90a", " STG.128\n"}, {"copies_90a", " LDGSTS\n"},  {"copies_90a", " UBLKCP\n"},
        {"copies_90a", " HGMMA\n"},   {"copies_90a", " EXIT\n"},    {"copies_90a", "@P0 ELECT\n"},
    };
    struct atoll_buffer out;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = fixture(rows[i].file);
        atoll_buffer_init(&out, 1 << 20);
        assert_int_equal(atoll_cubin_list(image, length, &out, NULL), 0);
        atoll_buffer_put_u8(&out, 0);
        if (!strstr((char *)out.data, rows[i].says))
            fail_msg("no '%s' in: %s", rows[i].says, (char *)out.data);
        assert_null(strstr((char *)out.data, "NOP"));
        for (size_t n = 0; n < length; n += 37)
            atoll_cubin_list(image, n, &out, NULL);
        atoll_buffer_fini(&out);
    }
    atoll_buffer_init(&out, 1 << 20);
    assert_int_equal(atoll_cubin_list("no image", 8, &out, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "too short");
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_resources),
        cmocka_unit_test(globals_and_needs),
        cmocka_unit_test(stacks),
        cmocka_unit_test(local_memory),
        cmocka_unit_test(tensor_units_and_maps),
        cmocka_unit_test(features),
        cmocka_unit_test(hostile),
        cmocka_unit_test(listing),
        cmocka_unit_test(occupancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
