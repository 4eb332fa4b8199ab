/* What an image and a plan say of each other, without a device. */
#include "tests/support/expect.h"

#include <elf.h>
#include <stdio.h>

#include "mpi-eval/backend/cuda/measure/describe.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

#define K_PLAN(kernel, args)                                                                                 \
    CUDA_PLAN("{\"kernel\": \"" kernel "\", \"grid\": [1], \"block\": [32], \"args\": [" args "]}")

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

static void test_image_check(void **state)
{
    static const struct {
        const char *file, *source;
        int globals_allowed;
        enum atoll_verdict verdict;
        const char *text;
    } rows[] = {
        /* globals that the rules did not see are reset before each sample */
        {"mixed_90a", K_PLAN("twice", "\"y\""), 0, ATOLL_V_CORRECT, ""},
        {"mixed_90a", K_PLAN("twice", "\"y\""), 1, ATOLL_V_CORRECT, ""},
        {"mixed_90a", K_PLAN("scale", "\"y\", \"x\", \"i64:N\", \"i32:N\""), 1, ATOLL_V_CORRECT, ""},
        {"mixed_90a", K_PLAN("scale", "\"y\", \"x\", \"i32:N\", \"i32:N\""), 1, ATOLL_V_LAUNCH_ERROR,
         "kernel scale: parameter 3 has 8 bytes, the plan's argument \"i32:N\" has 4"},
        {"mixed_90a", K_PLAN("scale", "\"y\", \"x\""), 1, ATOLL_V_LAUNCH_ERROR,
         "kernel scale takes 4 parameters, the plan's launch has 2 arguments"},
        {"mixed_90a", K_PLAN("other", "\"y\""), 1, ATOLL_V_LAUNCH_ERROR,
         "the source has no kernel \"other\" that the plan launches; it has"},
        {"needs_90a", K_PLAN("tell", "\"y\""), 1, ATOLL_V_FORBIDDEN,
         "rule no-device-runtime: the image needs \"vprintf\" from outside"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cuda_candidate c;
        char detail[ATOLL_DETAIL_BYTES] = "";
        cuda_candidate_open(&c, rows[i].source);
        c.task->allow_mutable_globals = rows[i].globals_allowed;
        size_t length = fixture(rows[i].file);
        enum atoll_verdict v = atoll_cuda_image_check(&c.prepared, image, length, "", &cubin, detail);
        if (v != rows[i].verdict || strncmp(detail, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("row %zu: %s, %s", i, atoll_verdict_name(v), detail);
        cuda_candidate_close(&c);
    }
}

/* What a model is told of an image. */
static void test_described(void **state)
{
    static const struct {
        const char *file, *source, *says;
    } rows[] = {
        {"mixed_90a", K_PLAN("twice", "\"y\""), "kernel twice: "},
        {"mixed_90a", K_PLAN("twice", "\"y\""), " registers a thread, "},
        {"mixed_90a", K_PLAN("twice", "\"y\""), " blocks of 32 threads, 0 bytes of dynamic shared memory"},
        {"mixed_90a", K_PLAN("other", "\"y\""),
         "it would not be launched: launch_error: the source has no kernel"},
        {"needs_90a", K_PLAN("tell", "\"y\""), "forbidden: rule no-device-runtime"},
        {"stack_90a", K_PLAN("both", "\"y\""), " bytes of stack (local memory that no spill takes"},
    };
    static const struct atoll_device_info device = {.limits = {.warp_size = 32,
                                                               .threads_per_block = 1024,
                                                               .threads_per_multiprocessor = 2048,
                                                               .blocks_per_multiprocessor = 32,
                                                               .registers_per_multiprocessor = 65536,
                                                               .shared_bytes_per_block = 232448,
                                                               .shared_bytes_per_multiprocessor = 233472}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cuda_candidate c;
        struct atoll_buffer out, listing;
        atoll_buffer_init(&out, 1 << 20);
        atoll_buffer_init(&listing, 1 << 20);
        cuda_candidate_open(&c, rows[i].source);
        size_t length = fixture(rows[i].file);
        atoll_cuda_image_describe(&c.prepared, image, length, &device, &out, i % 2 ? &listing : NULL);
        atoll_cuda_image_describe(&c.prepared, "garbage", 7, NULL, &out, &listing);
        atoll_buffer_put_u8(&out, 0);
        if (!strstr((char *)out.data, rows[i].says) || (listing.length > 0) != (i % 2 == 1))
            fail_msg("row %zu: %s", i, (char *)out.data);
        cuda_candidate_close(&c);
        atoll_buffer_fini(&out);
        atoll_buffer_fini(&listing);
    }
}

/* The launch that a diagnosis needs: blocks of the largest one, how many a multiprocessor holds, and what limits them. */
static void test_launch_is_told(void **state)
{
    static const struct atoll_device_limits limits = {.warp_size = 32,
                                                      .threads_per_block = 1024,
                                                      .threads_per_multiprocessor = 2048,
                                                      .blocks_per_multiprocessor = 32,
                                                      .registers_per_multiprocessor = 65536,
                                                      .shared_bytes_per_block = 232448,
                                                      .shared_bytes_per_multiprocessor = 233472};
    static const struct {
        const char *launch;
        uint32_t blocks, threads, resident, cluster;
        enum atoll_occupancy_limit by;
    } rows[] = {
        {"\"grid\": [528], \"block\": [512], \"args\": [\"y\"]", 528, 512, 4, 1, ATOLL_OCCUPANCY_WARPS},
        {"\"grid\": [6, 2], \"block\": [32], \"args\": [\"y\"]", 12, 32, 32, 1, ATOLL_OCCUPANCY_BLOCKS},
        {"\"grid\": [8], \"block\": [64], \"cluster\": [2], \"shared_bytes\": 100000, \"args\": [\"y\"]", 8,
         64, 2, 2, ATOLL_OCCUPANCY_SHARED}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char source[512];
        struct cuda_candidate c;
        struct atoll_resources r;
        snprintf(source, sizeof(source), CUDA_PLAN("{\"kernel\": \"twice\", %s}"), rows[i].launch);
        cuda_candidate_open(&c, source);
        size_t length = fixture("mixed_90a");
        assert_int_equal(atoll_cubin_read(image, length, "", &cubin, NULL), 0);
        atoll_cuda_resources(&c.prepared, &c.task->variants[0], &cubin, &limits, &r);
        assert_int_equal(r.kernel_count, 1);
        assert_int_equal(r.blocks, rows[i].blocks);
        assert_int_equal(r.threads_per_block, rows[i].threads);
        assert_int_equal(r.resident_blocks, rows[i].resident);
        assert_int_equal(r.cluster_blocks, rows[i].cluster);
        assert_int_equal(r.occupancy_by, rows[i].by);
        cuda_candidate_close(&c);
    }
}

/* An image that holds half-precision arithmetic, under a task of f32 alone. */
static void test_strict_precisions(void **state)
{
    static const struct {
        int is_strict;
        unsigned precisions;
        enum atoll_verdict verdict;
        const char *text;
    } rows[] = {
        {0, 1u << ATOLL_F32, ATOLL_V_CORRECT, ""},
        {1, 1u << ATOLL_F32 | 1u << ATOLL_F8E4M3, ATOLL_V_CORRECT, ""},
        {1, 1u << ATOLL_F32, ATOLL_V_FORBIDDEN,
         "rule precisions-strict: the image of kernel \"tensor\" computes with tensor_f16, tensor_tf32, "
         "tensor_f8, which"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cuda_candidate c;
        char detail[ATOLL_DETAIL_BYTES] = "";
        cuda_candidate_open(
            &c,
            K_PLAN("tensor", "\"tensormap(x, [N, M], [32, 8], swizzle=128)\", \"y\", \"i64:N\", \"i64:N\""));
        c.task->precisions_strict = rows[i].is_strict;
        c.task->precisions = rows[i].precisions;
        size_t length = fixture("tensor_90a");
        enum atoll_verdict v = atoll_cuda_image_check(&c.prepared, image, length, "", &cubin, detail);
        if (v != rows[i].verdict || strncmp(detail, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("row %zu: %s, %s", i, atoll_verdict_name(v), detail);
        cuda_candidate_close(&c);
    }
}

/* The first instruction of a kernel becomes another one. */
static void instruction_set(size_t length, const char *kernel, uint64_t low, uint64_t high)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, s;
    memcpy(&head, image, sizeof(head));
    memcpy(&names, image + head.e_shoff + head.e_shstrndx * sizeof(names), sizeof(names));
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&s, image + head.e_shoff + i * sizeof(s), sizeof(s));
        const char *name = (const char *)image + names.sh_offset + s.sh_name;
        if (strncmp(name, ".text.", 6) != 0 || strcmp(name + 6, kernel) != 0)
            continue;
        assert_true(s.sh_offset + 16 <= length);
        memcpy(image + s.sh_offset, &low, 8);
        memcpy(image + s.sh_offset + 8, &high, 8);
        return;
    }
    fail_msg("no code of %s", kernel);
}

/* Whatever text it came from: what ptxas makes of %clock, %globaltimer, discard and others is refused. */
static void test_instructions(void **state)
{
    static const struct {
        uint64_t low, high;
        const char *text; /* NULL: nothing is wrong with it */
    } rows[] = {
        {0x0000000000057805, 0x000fcc0000005000, "reads a clock"}, /* %clock */
        {0x0000000000047805, 0x000fcc0000015000, "reads a clock"}, /* %clock64 */
        {0x0000000000047805, 0x000fcc0000015200, "reads a clock"}, /* %globaltimer */
        {0x0000000000057919, 0x000e2e0000005300, "reads a clock"}, /* by S2R */
        {0x0000000000057805, 0x000fe20000006400, "reads a performance monitor"},
        {0x0000000000057805, 0x000fe20000007200, "reads a performance monitor"}, /* %pm7 */
        {0x00000c00ff047b82, 0x000e220000000a00, "number of its launch"}, /* %gridid of 9.0: LDC c[0][0x30] */
        {0x00006400ff047b82, 0x000e220000000a00, "number of its launch"}, /* %current_graph_exec */
        {0x00008400ff027b82, 0x000e240000000a00, NULL},                   /* the first parameter */
        {0x0000820000047ab9, 0x000fce0000000a00, NULL},                   /* ULDC of a descriptor */
        {0x000000000200798f, 0x001fe20005800100, "discards lines"},
        {0x000000000200798f, 0x001fe20005000100, "makes lines stay"},
        {0x000000000200798f, 0x001fe20004800100, "makes lines stay"}, /* prefetch.L2::evict_last */
        {0x000000000000782e, 0x000fca0000000000, "another launch"},
        {0x000000000000782d, 0x000fe20000000000, "another launch"},
        {0x000000000200798f, 0x001fe20000800100, NULL}, /* prefetch */
        {0x0000000000057919, 0x000e2e0000002100, NULL}, /* %tid */
        {0x0000000000057919, 0x000e2e0000004300, NULL}, /* %smid */
        {0x000000640000795d, 0x000fea0003800000, NULL}, /* nanosleep */
    };
    static const char *const kernels[] = {"twice", "remember"}; /* launched or not */
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
        struct cuda_candidate c;
        char detail[ATOLL_DETAIL_BYTES] = "";
        cuda_candidate_open(&c, K_PLAN("twice", "\"y\""));
        size_t length = fixture("mixed_90a");
        instruction_set(length, kernels[i % 2], rows[i / 2].low, rows[i / 2].high);
        enum atoll_verdict v = atoll_cuda_image_check(&c.prepared, image, length, "", &cubin, detail);
        int is_good = rows[i / 2].text ? v == ATOLL_V_FORBIDDEN && strstr(detail, rows[i / 2].text) &&
                                             strstr(detail, kernels[i % 2])
                                       : v == ATOLL_V_CORRECT;
        if (!is_good)
            fail_msg("row %zu: %s, %s", i / 2, atoll_verdict_name(v), detail);
        cuda_candidate_close(&c);
    }
}

/* A conversion alone is enough where the task is strict. */
static void test_strict_conversions(void **state)
{
    static const struct {
        uint64_t low, high;
        int is_strict;
        unsigned precisions;
        const char *says; /* NULL: it may */
    } rows[] = {
        {0x000000050005723e, 0x004fca00000010ff, 1, 1u << ATOLL_F32, "numbers of, fp16"}, /* cvt.bf16x2.f32 */
        {0x000000050005723e, 0x004fca00000010ff, 0, 1u << ATOLL_F32, NULL},
        {0x000000050005723e, 0x004fca00000010ff, 1, 1u << ATOLL_F32 | 1u << ATOLL_BF16, NULL},
        {0x000000050005723e, 0x004fca00048070ff, 1, 1u << ATOLL_BF16,
         "numbers of, tensor_f8"},                                          /* cvt.e4m3x2.f32 */
        {0x00000000ff05723e, 0x004fca00020006ff, 1, 1u << ATOLL_F32, NULL}, /* cvt.f16x2.e4m3x2 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cuda_candidate c;
        char detail[ATOLL_DETAIL_BYTES] = "";
        cuda_candidate_open(&c, K_PLAN("twice", "\"y\""));
        c.task->precisions_strict = rows[i].is_strict;
        c.task->precisions = rows[i].precisions;
        size_t length = fixture("mixed_90a");
        instruction_set(length, "twice", rows[i].low, rows[i].high);
        enum atoll_verdict v = atoll_cuda_image_check(&c.prepared, image, length, "", &cubin, detail);
        if (v != (rows[i].says ? ATOLL_V_FORBIDDEN : ATOLL_V_CORRECT) ||
            (rows[i].says && !strstr(detail, rows[i].says)))
            fail_msg("row %zu: %s, %s", i, atoll_verdict_name(v), detail);
        cuda_candidate_close(&c);
    }
}

static void test_no_image(void **state)
{
    struct cuda_candidate c;
    char detail[ATOLL_DETAIL_BYTES] = "";
    (void)state;
    cuda_candidate_open(&c, K_PLAN("twice", "\"y\""));
    assert_int_equal(atoll_cuda_image_check(&c.prepared, "ELF", 3, NULL, &cubin, detail),
                     ATOLL_V_LAUNCH_ERROR);
    assert_non_null(strstr(detail, "is no device image"));
    cuda_candidate_close(&c);
}

/* A scratch of no bytes has an address of its own. */
static void test_empty_scratch(void **state)
{
    static const char source[] = "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"N - N\"}, "
                                 "\"launch\": [{\"kernel\": \"twice\", "
                                 "\"grid\": [1], \"block\": [32], \"args\": [\"s\"]}]} */\n";
    struct cuda_candidate c;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count = 0;
    (void)state;
    cuda_candidate_open(&c, source);
    assert_int_equal(atoll_cuda_buffer_bytes(&c.prepared, &c.task->variants[0], bytes, &count, NULL), 0);
    assert_int_equal(count, 4);
    assert_int_equal(bytes[3], 1);
    cuda_candidate_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image_check),    cmocka_unit_test(test_described),
        cmocka_unit_test(test_launch_is_told), cmocka_unit_test(test_strict_precisions),
        cmocka_unit_test(test_instructions),   cmocka_unit_test(test_strict_conversions),
        cmocka_unit_test(test_no_image),       cmocka_unit_test(test_empty_scratch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
