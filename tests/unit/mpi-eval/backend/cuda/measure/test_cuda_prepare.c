/* Levels 1 and 2 of the cuda backend, and what an image is refused for before a device sees it. */
#include "tests/support/expect.h"

#include <stdlib.h>

#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "mpi-eval/backend/backends.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

#define PLAN(block, rest)                                                                                    \
    "/* atoll-plan {\"version\": 1, \"params\": {\"T\": [128, 2048]}, \"launch\": [{\"kernel\": \"k\", "     \
    "\"grid\": [\"M\"], \"block\": [" block "], \"args\": [\"x\", \"w\", \"y\", \"i32:N\"]" rest "}]} */\n"
#define BODY                                                                                                 \
    "extern \"C\" __global__ void k(const float *x, const float *w, float *y, int n)\n"                      \
    "{\n    for (int j = threadIdx.x; j < n; j += T) y[blockIdx.x * n + j] = x[j] * w[j];\n}\n"

static struct atoll_device_info device_info(void)
{
    struct atoll_device_info d;
    memset(&d, 0, sizeof(d));
    d.limits = (struct atoll_device_limits){.compute_capability = 90,
                                            .multiprocessors = 132,
                                            .warp_size = 32,
                                            .threads_per_block = 1024,
                                            .threads_per_multiprocessor = 2048,
                                            .blocks_per_multiprocessor = 32,
                                            .registers_per_multiprocessor = 65536,
                                            .registers_per_block = 65536,
                                            .shared_bytes_per_block = 232448,
                                            .shared_bytes_per_multiprocessor = 233472,
                                            .cluster_blocks = 8,
                                            .cooperative = 1,
                                            .grid = {2147483647, 65535, 65535},
                                            .block = {1024, 1024, 64},
                                            .memory_bytes = 140e9};
    return d;
}

static const struct {
    const char *source;
    int64_t choice;
    enum atoll_verdict verdict;
    const char *says;
} cases[] = {
    {PLAN("\"T\"", "") BODY, 128, ATOLL_V_CORRECT, ""},
    {PLAN("\"T\"", "") BODY, 2048, ATOLL_V_BAD_PLAN, "1024"},
    {PLAN("\"T\"", ", \"shared_bytes\": \"300000\"") BODY, 128, ATOLL_V_BAD_PLAN, "232448"},
    {PLAN("\"T\"", ", \"cluster\": [4]") BODY, 128, ATOLL_V_BAD_PLAN, "cluster"},
    {PLAN("\"T\"", ", \"cooperative\": true") BODY, 128, ATOLL_V_CORRECT, ""},
    {"int f;\n", 128, ATOLL_V_BAD_PLAN, "plan"},
    {PLAN("\"T\"", "") BODY "__device__ int atoll_mine;\n", 128, ATOLL_V_FORBIDDEN, "rule harness"},
};

static void test_cases(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_device_info device = device_info();
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    (void)state;
    assert_non_null(task);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_order_candidate c = {
            .language = "cuda", .source = cases[i].source, .choice = {1, {cases[i].choice}}};
        struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cuda, &c, &device, &err);
        if (!p)
            fail_msg("case %zu: %s", i, err.text);
        if (p->verdict != cases[i].verdict || !strstr(p->detail, cases[i].says))
            fail_msg("case %zu: %s: %s", i, atoll_verdict_name(p->verdict), p->detail);
        if (p->verdict == ATOLL_V_CORRECT) {
            assert_string_equal(p->symbols[0], "k");
            assert_non_null(strstr(p->unit_text, "#define T 128\n"));
            assert_non_null(strstr(p->unit_text, BODY));
            assert_null(strstr(p->unit_text, "atoll_shim"));
        }
        atoll_prepared_destroy(p);
    }
    atoll_task_destroy(task);
}

/* Before a device is open its limits are not known: the device will say the rest. */
static void test_no_device(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    struct atoll_order_candidate c = {
        .language = "cuda", .source = PLAN("\"T\"", "") BODY, .choice = {1, {128}}};
    (void)state;
    assert_non_null(task);
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cuda, &c, NULL, &err);
    assert_non_null(p);
    assert_int_equal(p->verdict, ATOLL_V_CORRECT);
    atoll_prepared_destroy(p);
    atoll_task_destroy(task);
}

static void test_image(void **state)
{
    static const unsigned char junk[200] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct cuda_candidate c;
    struct atoll_cubin *cubin = calloc(1, sizeof(*cubin));
    char detail[ATOLL_DETAIL_BYTES] = "";
    (void)state;
    assert_non_null(cubin);
    cuda_candidate_open(&c,
                        CUDA_PLAN("{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [\"x\"]}"));
    assert_int_equal(atoll_cuda_image_check(&c.prepared, junk, sizeof(junk), NULL, cubin, detail),
                     ATOLL_V_LAUNCH_ERROR);
    assert_true(detail[0] != 0);
    assert_int_equal(atoll_cuda_image_check(&c.prepared, "", 0, "", cubin, detail), ATOLL_V_LAUNCH_ERROR);
    cuda_candidate_close(&c);
    free(cubin);
}

static void test_target(void **state)
{
    char target[16];
    (void)state;
    atoll_cuda_target(90, target, sizeof(target));
    assert_string_equal(target, "sm_90a");
    atoll_cuda_target(80, target, sizeof(target));
    assert_string_equal(target, "sm_80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_no_device),
                                       cmocka_unit_test(test_image), cmocka_unit_test(test_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
