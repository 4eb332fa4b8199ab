/* test_plan_limits.c - plans against the limits of a device: each limit passed and broken. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/message.h"
#include "core/plan/plan.h"

static struct atoll_task *task; /* rowsum: check B=3 N=17, bench.large B=128 N=4096, hidden B=5 N=129 */
static struct atoll_arena *arena;

/* Figures of compute capability 9.0. */
static const struct atoll_device_limits hopper = {.compute_capability = 90,
                                                  .multiprocessors = 132,
                                                  .warp_size = 32,
                                                  .threads_per_block = 1024,
                                                  .threads_per_multiprocessor = 2048,
                                                  .blocks_per_multiprocessor = 32,
                                                  .shared_bytes_per_block = 232448,
                                                  .shared_bytes_per_multiprocessor = 233472,
                                                  .cluster_blocks = 16,
                                                  .cooperative = 1,
                                                  .grid = {2147483647, 65535, 65535},
                                                  .block = {1024, 1024, 64},
                                                  .memory_bytes = 150e9};
static const struct atoll_device_limits unknown;
static struct atoll_device_limits old; /* no clusters, no cooperative launches */

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    arena = atoll_arena_create(64u << 20, NULL);
    old = hopper;
    old.cluster_blocks = old.cooperative = 0;
    return task && arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    return 0;
}

static const struct atoll_plan *parse(const char *language, const char *scratch, const char *launch)
{
    char source[4096];
    const char *body = NULL;
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(source, sizeof(source),
             "/* atoll-plan {\"version\": 1, \"scratch\": {%s}, \"launch\": [{%s}]} */", scratch, launch);
    const struct atoll_plan *p = atoll_plan_parse(arena, task, language, source, &body, &err);
    if (!p)
        fail_msg("%s: %s", launch, err.text);
    return p;
}

#define KERNEL     "\"kernel\": \"k\", \"args\": [\"x\"], "
#define ONE        "\"grid\": [1], \"block\": [1]"
#define MAPPED(m)  "\"kernel\": \"k\", " ONE ", \"args\": [\"tensormap(" m ")\"]"
#define CHECK      ATOLL_PLAN_KIND(ATOLL_VARIANT_CHECK)
#define BENCH      ATOLL_PLAN_KIND(ATOLL_VARIANT_BENCH)
#define EVERYTHING ATOLL_PLAN_KIND_ALL

static const struct {
    const struct atoll_device_limits *limits;
    unsigned kinds;
    const char *scratch, *launch, *says; /* NULL: fine */
} rows[] = {
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [\"B\"], \"block\": [1024]", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [\"B\"], \"block\": [1025]",
     "field 'launch[0].block': 1025 threads at variant 'check'; at most 1024 on this device"},
    {&unknown, EVERYTHING, "", KERNEL "\"grid\": [\"B\"], \"block\": [1025]",
     "1025 threads at variant 'check'; at most 1024 on any device"},
    {NULL, EVERYTHING, "", KERNEL "\"grid\": [\"B\"], \"block\": [32, 33]", "1056 threads"},
    {&hopper, CHECK, "", KERNEL "\"grid\": [1], \"block\": [\"N\"]", NULL},
    {&hopper, CHECK | BENCH, "", KERNEL "\"grid\": [1], \"block\": [\"N\"]",
     "4096 threads at variant 'bench.large'"},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [1], \"block\": [1, 1, 65]",
     "field 'launch[0].block[2]': 65 in this axis"},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [2147483647, 65535], \"block\": [32]", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [1, 65536], \"block\": [32]",
     "field 'launch[0].grid[1]': 65536 in this axis at variant 'check'; at most 65535"},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [\"N - 17\"], \"block\": [32]",
     "field 'launch[0].grid[0]': 'N - 17' is 0"},
    {&hopper, EVERYTHING, "", KERNEL ONE ", \"shared_bytes\": 232448", NULL},
    {&hopper, EVERYTHING, "", KERNEL ONE ", \"shared_bytes\": 232449",
     "field 'launch[0].shared_bytes': 232449 bytes at variant 'check'; at most 232448 on this device"},
    {&unknown, EVERYTHING, "", KERNEL ONE ", \"shared_bytes\": 232449", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [32], \"block\": [1], \"cluster\": [16]", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [32], \"block\": [1], \"cluster\": [32]",
     "field 'launch[0].cluster': 32 blocks at variant 'check'; at most 16"},
    {&unknown, EVERYTHING, "", KERNEL "\"grid\": [32], \"block\": [1], \"cluster\": [32]",
     "at most 16 on any device"},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [\"B\"], \"block\": [1], \"cluster\": [2]",
     "field 'launch[0].cluster[0]': the grid's 3 is no multiple of 2 at variant 'check'"},
    {&old, EVERYTHING, "", KERNEL "\"grid\": [2], \"block\": [1], \"cluster\": [2]", "leave cluster out"},
    {&old, EVERYTHING, "", KERNEL "\"grid\": [2], \"block\": [1], \"cluster\": [1]", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [264], \"block\": [1024], \"cooperative\": true", NULL},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [265], \"block\": [1024], \"cooperative\": true",
     "field 'launch[0].grid': 265 blocks of a cooperative launch at variant 'check'; at most 264"},
    {&hopper, EVERYTHING, "",
     KERNEL "\"grid\": [133], \"block\": [64], \"shared_bytes\": 120000, \"cooperative\": true",
     "133 blocks of a cooperative launch at variant 'check'; at most 132"},
    {&hopper, EVERYTHING, "", KERNEL "\"grid\": [265], \"block\": [1024]", NULL},
    {&old, EVERYTHING, "", KERNEL ONE ", \"cooperative\": true", "the device has no cooperative launches"},
    {&unknown, EVERYTHING, "", KERNEL ONE ", \"cooperative\": true", NULL},
    {&hopper, EVERYTHING, "\"s\": \"B * 1200000000\"", KERNEL ONE,
     "field 'scratch': 153.6 GB at variant 'bench.large'"},
    {&hopper, CHECK, "\"s\": \"B * 1200000000\"", KERNEL ONE, NULL},
    {&unknown, EVERYTHING, "\"s\": \"B * 1200000000\"", KERNEL ONE, NULL},
    /* tensor maps: x is f16, packed */
    {&hopper, BENCH, "", MAPPED("x, [N, B], [64, 64], swizzle=128"), NULL},
    {&hopper, CHECK, "", MAPPED("x, [N, B], [64, 64], swizzle=128"),
     "field 'launch[0].args[0].stride[0]': 34 bytes at variant 'check', must be a multiple of 16"},
    {&unknown, BENCH, "", MAPPED("x, [N, B], [128, 64], swizzle=128"),
     "field 'launch[0].args[0].box[0]': 256 bytes at variant 'bench.large', at most the swizzle's 128"},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [128, 64]"), NULL},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [4, 64]"),
     "box[0]': 8 bytes at variant 'bench.large', must be a multiple"},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [257, 1]"), "box[0]': '257' is 257"},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [256, 256]"), NULL},
    {&hopper, BENCH, "", MAPPED("x, [64, 64, 32], [64, 64, 32]"),
     "args[0].box': 262144 bytes at variant 'bench.large', at most the shared memory's 232448"},
    {&hopper, BENCH, "", MAPPED("x, [N, B + 1], [64, 1]"),
     "args[0].extent': 1056768 bytes at variant 'bench.large', but the tensor has 1048576"},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [16, 1], dtype=f64"), "but the tensor has 1048576"},
    {&hopper, BENCH, "", MAPPED("x, [N / 4, B], [16, 1], dtype=f64"), NULL},
    {&hopper, BENCH, "", MAPPED("x, [N, B / 2], [64, 1], stride=[4 * N]"), NULL},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [64, 1], stride=[4 * N]"), "but the tensor has"},
    {&hopper, BENCH, "", MAPPED("x, [N, B], [64, 1], stride=[2 * N + 8]"), "must be a multiple of 16"},
    {&hopper, BENCH, "\"s\": \"4 * B\"", MAPPED("s, [B], [4], dtype=f32"), NULL},
    {&hopper, BENCH, "\"s\": \"4 * B\"", MAPPED("s, [B + 1], [4], dtype=f32"), "but the scratch has 512"},
    {&hopper, BENCH, "\"s\": 64", MAPPED("s, [4294967296, 4294967296, 4294967296], [4, 1, 1], dtype=f32"),
     "stride[1]': 9223372036854775807 bytes at variant 'bench.large', at most 1099511627775"},
};

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const struct atoll_plan *p = parse("cuda", rows[i].scratch, rows[i].launch);
        struct atoll_choice choice = {0, {0}};
        int rc = atoll_plan_limits_check(task, p, &choice, rows[i].kinds, rows[i].limits, &err);
        if (rc != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s gave %d '%s', expected '%s'", i, rows[i].launch, rc, err.text,
                     rows[i].says ? rows[i].says : "no error");
        assert_int_equal(err.code, rows[i].says ? ATOLL_E_INPUT : ATOLL_OK);
    }
}

/* Variants of other backends are nobody's concern: bench is for cpu only. */
static void test_variants(void **state)
{
    struct atoll_choice choice = {0, {0}};
    const struct atoll_plan *p = parse("cuda", "", KERNEL "\"grid\": [1], \"block\": [\"N * 2\"]");
    struct atoll_task other = *task;
    other.variants[2].backend = "cpu";
    assert_int_equal(atoll_plan_limits_check(task, p, &choice, BENCH, &hopper, NULL), -1);
    assert_int_equal(atoll_plan_limits_check(&other, p, &choice, BENCH, &hopper, NULL), 0);
}

static void test_other_languages(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice = {0, {0}};
    const struct atoll_plan *p =
        parse("c", "\"s\": \"B * 1200000000\"", "\"function\": \"f\", \"units\": \"N\", \"args\": []");
    assert_int_equal(atoll_plan_limits_check(task, p, &choice, EVERYTHING, &hopper, &err), 0);
    choice.count = 1;
    assert_int_equal(atoll_plan_limits_check(task, p, &choice, EVERYTHING, &hopper, &err), -1);
    assert_non_null(strstr(err.text, "1 values chosen for 0 params"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_other_languages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
