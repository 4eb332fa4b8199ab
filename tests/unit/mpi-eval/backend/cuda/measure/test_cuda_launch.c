/* A plan's launch as the device gets it: extents, parameters where the calling convention has them, tensor maps. */
#include "tests/support/expect.h"

#include <stdio.h>

#include "mpi-eval/backend/cuda/measure/launch.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

#define LAUNCH(args)                                                                                         \
    CUDA_PLAN("{\"kernel\": \"k\", \"grid\": [\"cdiv(M, 2)\", \"N\"], \"block\": [128], "                    \
              "\"shared_bytes\": \"4 * N\", \"args\": [" args "]}")

static struct atoll_layout layout_of(const struct cuda_candidate *c, const struct atoll_variant *v)
{
    struct atoll_layout l;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count;
    struct atoll_span arena = {0x7f0000000000ull, (uint64_t)64 << 20};
    assert_int_equal(atoll_cuda_buffer_bytes(&c->prepared, v, bytes, &count, NULL), 0);
    assert_int_equal(atoll_layout_make(&arena, bytes, count, 5, -1, &l, NULL), 0);
    return l;
}

static void test_buffers(void **state)
{
    struct cuda_candidate c;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count = 0;
    (void)state;
    cuda_candidate_open(&c, LAUNCH("\"x\""));
    assert_int_equal(atoll_cuda_buffer_bytes(&c.prepared, &c.task->variants[0], bytes, &count, NULL), 0);
    assert_int_equal(count, 4); /* x, w, y, scratch */
    assert_int_equal(bytes[0], 19 * 37 * 4);
    assert_int_equal(bytes[1], 37 * 4);
    assert_int_equal(bytes[3], 4 * 37);
    cuda_candidate_close(&c);
}

static void test_packing(void **state)
{
    struct cuda_candidate c;
    struct atoll_device_command_launch l;
    struct atoll_layout layout;
    char text[256];
    uint64_t address;
    int32_t narrow;
    int64_t wide;
    float single;
    double number;
    (void)state;
    cuda_candidate_open(
        &c, LAUNCH("\"i32:N\", \"x\", \"f32:0.5\", \"s\", \"i32:0 - M\", \"i64:M * N\", \"f64:0.25\""));
    layout = layout_of(&c, &c.task->variants[0]);
    assert_int_equal(atoll_cuda_launch_make(&c.prepared, &c.task->variants[0], 0, &layout, &l, NULL), 0);
    assert_true(l.grid[0] == 10 && l.grid[1] == 37 && l.grid[2] == 1);
    assert_true(l.block[0] == 128 && l.block[1] == 1 && l.block[2] == 1 && l.cluster[0] == 0);
    assert_int_equal(l.shared_bytes, 148);
    assert_int_equal(l.param_bytes, 56); /* 0 i32, 8 ptr, 16 f32, 24 ptr, 32 i32, 40 i64, 48 f64 */
    memcpy(&narrow, l.params, 4);
    assert_int_equal(narrow, 37);
    memcpy(&address, l.params + 8, 8);
    assert_int_equal(address, layout.buffers[0].address);
    memcpy(&single, l.params + 16, 4);
    assert_true(single == 0.5f);
    memcpy(&address, l.params + 24, 8);
    assert_int_equal(address, layout.buffers[3].address);
    memcpy(&narrow, l.params + 32, 4);
    assert_int_equal(narrow, -19);
    memcpy(&wide, l.params + 40, 8);
    assert_int_equal(wide, 19 * 37);
    memcpy(&number, l.params + 48, 8);
    assert_true(number == 0.25);
    assert_string_equal(atoll_cuda_launch_text(&l, text, sizeof(text)),
                        "grid [10, 37, 1], block [128, 1, 1], 148 bytes of dynamic shared memory");
    assert_int_equal(strlen(atoll_cuda_launch_text(&l, text, 12)), 11);
    cuda_candidate_close(&c);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *args, *says;
    } cases[] = {
        {"\"i32:M * 1000000000\"", "argument \"M * 1000000000\" is 19000000000 at variant check"},
        {"\"i64:1 / (M - 19)\"", "argument \"1 / (M - 19)\" at variant check"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct cuda_candidate c;
        struct atoll_device_command_launch l;
        char source[1024];
        snprintf(source, sizeof(source), LAUNCH("%s"), cases[i].args);
        cuda_candidate_open(&c, source);
        assert_int_equal(atoll_cuda_launch_make(&c.prepared, &c.task->variants[0], 0, NULL, &l, &err), -1);
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
        cuda_candidate_close(&c);
    }
}

static void test_maps(void **state)
{
    static const struct {
        const char *map, *says; /* NULL: fine */
    } cases[] = {
        {"tensormap(x, [N, M], [32, 8], swizzle=128)", NULL},
        {"tensormap(x, [N, M], [64, 8], swizzle=128)", "a swizzle of 128 takes at most 128"},
        {"tensormap(x, [N, M], [3, 8])", "multiple of 16"},
        {"tensormap(x, [N, M], [300, 8])", "must lie between 1 and 256"},
        {"tensormap(x, [N, M + 1], [32, 8])", "reach beyond the 393216 bytes of x"},
        {"tensormap(x, [N - 1, M], [32, 8])", "multiple of 16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct cuda_candidate c;
        struct atoll_device_command_launch l;
        char source[1024];
        snprintf(source, sizeof(source), LAUNCH("\"i32:N\", \"%s\""), cases[i].map);
        cuda_candidate_open(&c, source);
        struct atoll_layout layout = layout_of(&c, &c.task->variants[1]);
        int rc = atoll_cuda_launch_make(&c.prepared, &c.task->variants[1], 0, &layout, &l, &err);
        if (rc != (cases[i].says ? -1 : 0) || (cases[i].says && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %d %s", i, rc, err.text);
        if (rc == 0) {
            assert_int_equal(l.map_count, 1);
            assert_int_equal(l.maps[0].offset, 8);
            assert_int_equal(l.param_count, 2);
            assert_int_equal(l.param_offset[1], 8);
            assert_int_equal(l.maps[0].address, layout.buffers[0].address);
            assert_int_equal(l.maps[0].stride_bytes[0], 2048);
            assert_true(l.maps[0].extent[0] == 512 && l.maps[0].extent[1] == 192 && l.maps[0].box[0] == 32);
            assert_int_equal(l.param_bytes, 8 + 128);
        }
        cuda_candidate_close(&c);
    }
}

static void test_fits(void **state)
{
    struct cuda_candidate c;
    struct atoll_cubin_kernel k = {.name = "k", .param_count = 3, .params = {{0, 8}, {8, 4}, {16, 8}}};
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    cuda_candidate_open(&c, LAUNCH("\"x\", \"i32:N\", \"i64:M\""));
    const struct atoll_launch *l = &c.prepared.plan->launches[0];
    assert_int_equal(atoll_cuda_launch_fits(l, &k, &err), 0);
    k.params[2].bytes = 4;
    assert_int_equal(atoll_cuda_launch_fits(l, &k, &err), -1);
    assert_string_equal(err.text, "kernel k: parameter 3 has 4 bytes, the plan's argument \"i64:M\" has 8");
    k.params[2].bytes = 8;
    k.param_count = 2;
    assert_int_equal(atoll_cuda_launch_fits(l, &k, &err), -1);
    assert_string_equal(err.text, "kernel k takes 2 parameters, the plan's launch has 3 arguments");
    cuda_candidate_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_buffers), cmocka_unit_test(test_packing),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_maps),
                                       cmocka_unit_test(test_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
