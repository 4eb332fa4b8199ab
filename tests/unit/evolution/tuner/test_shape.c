#include "tests/support/simulation.h"

#include <math.h>

#include "evolution/tuner/shape_trials.h"
#include "evolution/tuner/tune.h"

static const struct atoll_device_shape hopper = {
    .compute_capability = 90,
    .multiprocessors = 132,
    .warp_size = 32,
    .threads_per_block = 1024,
    .threads_per_multiprocessor = 2048,
    .blocks_per_multiprocessor = 32,
    .registers_per_multiprocessor = 65536,
    .shared_bytes_per_block = 232448,
    .shared_bytes_per_multiprocessor = 233472,
};

static struct atoll_shape_problem product(double m, double n, double k)
{
    return (struct atoll_shape_problem){
        .family = ATOLL_SHAPE_MATRIX, .is_device = 1, .m = m, .n = n, .k = k, .batch = 1, .element_bytes = 2};
}

/* No larger than the dim, tall where there are few columns, wide where there are few rows, a split sum where there are few
 * tiles and only there. */
static void tiles_follow_the_dims(void **state)
{
    static const struct {
        double m, n, k;
        int shape; /* -1 wide, 0 either, 1 tall */
        int is_split;
    } cases[] = {{4096, 4096, 4096, 0, 0}, {16, 28672, 4096, -1, 0}, {65536, 32, 1024, 1, 0},
                 {256, 256, 16384, 0, 1},  {128, 128, 64, 0, 0},     {3, 5, 7, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_shape_problem p = product(cases[i].m, cases[i].n, cases[i].k);
        struct atoll_shape shapes[ATOLL_SHAPE_LIMIT];
        size_t count = atoll_shape_suggest(&p, &hopper, shapes);
        assert_true(count > 0 && count <= ATOLL_SHAPE_LIMIT);
        for (size_t s = 0; s < count; s++) {
            int64_t m = shapes[s].values[ATOLL_SHAPE_TILE_M], n = shapes[s].values[ATOLL_SHAPE_TILE_N];
            assert_true((double)m <= fmax(16, cases[i].m) && (double)n <= fmax(16, cases[i].n));
            assert_true(shapes[s].shared_bytes <= hopper.shared_bytes_per_block);
            assert_true(shapes[s].resident >= 1 && shapes[s].registers <= 255);
            assert_true(shapes[s].waves == shapes[s].blocks / (shapes[s].resident * 132));
            assert_true(s == 0 || shapes[s - 1].cost <= shapes[s].cost);
        }
        int64_t m = shapes[0].values[ATOLL_SHAPE_TILE_M], n = shapes[0].values[ATOLL_SHAPE_TILE_N];
        assert_true(cases[i].shape == 0 || (cases[i].shape > 0 ? m > n : m < n));
        assert_int_equal(shapes[0].values[ATOLL_SHAPE_SPLIT] > 1, cases[i].is_split);
    }
}

/* Of each pair of tile sizes two at most: twelve neighbours would say one thing. */
static void suggestions_differ(void **state)
{
    struct atoll_shape_problem p = product(4096, 4096, 4096);
    struct atoll_shape shapes[ATOLL_SHAPE_LIMIT];
    size_t count = atoll_shape_suggest(&p, &hopper, shapes);
    assert_int_equal(count, ATOLL_SHAPE_LIMIT);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t k = 0; k < count; k++)
            same += shapes[k].values[ATOLL_SHAPE_TILE_M] == shapes[i].values[ATOLL_SHAPE_TILE_M] &&
                    shapes[k].values[ATOLL_SHAPE_TILE_N] == shapes[i].values[ATOLL_SHAPE_TILE_N] &&
                    shapes[k].values[ATOLL_SHAPE_SPLIT] == shapes[i].values[ATOLL_SHAPE_SPLIT];
        assert_true(same <= 2);
    }
}

static void what_a_device_cannot_hold(void **state)
{
    struct atoll_shape_problem p = product(4096, 4096, 4096), on_cpu = p;
    struct atoll_device_shape unknown = {0}, cpu = {.threads = 8};
    struct atoll_shape shape = {
        .values = {[ATOLL_SHAPE_TILE_M] = 128, [ATOLL_SHAPE_TILE_N] = 128, [ATOLL_SHAPE_WARPS] = 8}};
    struct atoll_shape fits = shape, large = shape, many = shape, wide = shape, shapes[ATOLL_SHAPE_LIMIT];
    assert_int_equal(atoll_shape_rate(&p, &hopper, &fits), 1);
    assert_true(fits.threads == 256 && fits.blocks == 1024 && fits.registers > 100 && fits.cost > 1);
    assert_true(fits.shared_bytes == 2 * 32 * 256 * 2);
    large.shared_bytes = 232449;
    assert_int_equal(atoll_shape_rate(&p, &hopper, &large), 0);
    many.values[ATOLL_SHAPE_WARPS] = 33;
    assert_int_equal(atoll_shape_rate(&p, &hopper, &many), 0);
    wide.values[ATOLL_SHAPE_TILE_N] = 1024; /* more sums than registers: spilled, at a price */
    assert_int_equal(atoll_shape_rate(&p, &hopper, &wide), 1);
    assert_true(wide.cost > 2 * fits.cost);
    assert_int_equal(atoll_shape_rate(&p, &unknown, &fits), 0);
    assert_int_equal(atoll_shape_suggest(&p, &unknown, shapes), 0);
    on_cpu.is_device = 0;
    assert_int_equal(atoll_shape_suggest(&on_cpu, &cpu, shapes), 0);
}

static void roles_by_name(void **state)
{
    struct atoll_shape_problem p = product(1, 1, 1);
    static const struct {
        enum atoll_shape_family family;
        const char *param;
        enum atoll_shape_role role;
    } cases[] = {{ATOLL_SHAPE_MATRIX, "BM", ATOLL_SHAPE_TILE_M},
                 {ATOLL_SHAPE_MATRIX, "BK", ATOLL_SHAPE_TILE_K},
                 {ATOLL_SHAPE_ATTENTION, "BK", ATOLL_SHAPE_TILE_N},
                 {ATOLL_SHAPE_ATTENTION, "BLOCKS", ATOLL_SHAPE_RESIDENT},
                 {ATOLL_SHAPE_GRID, "block_size_x", ATOLL_SHAPE_THREADS_X},
                 {ATOLL_SHAPE_GRID, "RUN", ATOLL_SHAPE_WORK_Z},
                 {ATOLL_SHAPE_STREAM, "RUN", ATOLL_SHAPE_WORK},
                 {ATOLL_SHAPE_STREAM, "BX", ATOLL_SHAPE_NONE},
                 {ATOLL_SHAPE_MATRIX, "AHEAD", ATOLL_SHAPE_NONE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        p.family = cases[i].family;
        assert_int_equal(atoll_shape_role_of(&p, cases[i].param), cases[i].role);
    }
}

/* Problems of the suites' own tasks. */
static void problems_of_tasks(void **state)
{
    static const struct {
        const char *dir;
        enum atoll_shape_family family;
        double m, n, k, batch;
    } cases[] = {{"gpu/gemm_bf16", ATOLL_SHAPE_MATRIX, 4096, 4096, 4096, 1},
                 {"gpu/batch_matmul", ATOLL_SHAPE_MATRIX, 4096, 4096, 64, 4},
                 {"gpu/conv1d", ATOLL_SHAPE_MATRIX, 2048 * 96, 200, 288, 1},
                 {"attention/attention_qwen_8k", ATOLL_SHAPE_ATTENTION, 32 * 8192, 8192, 128, 1},
                 {"starter/layernorm", ATOLL_SHAPE_ROWS, 768, 1536, 1, 1},
                 {"hpc/stencil7_f32", ATOLL_SHAPE_GRID, 128, 192, 96, 1},
                 {"gpu/silu", ATOLL_SHAPE_STREAM, 1, 4096 * 7168, 1, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char dir[512];
        struct atoll_shape_problem p;
        struct atoll_err err = ATOLL_ERR_INIT;
        snprintf(dir, sizeof(dir), "%s/suites/%s", ATOLL_SOURCE_DIR, cases[i].dir);
        struct atoll_task *task = atoll_task_load(dir, &err);
        size_t v = 0;
        if (!task)
            fail_msg("%s", err.text);
        while (task->variants[v].kind != ATOLL_VARIANT_BENCH)
            v++;
        assert_int_equal(atoll_shape_problem_of(task, &task->variants[v], "cuda", &p, &err), 0);
        assert_int_equal(p.family, cases[i].family);
        assert_true(p.m == cases[i].m && p.k == cases[i].k && p.batch == cases[i].batch);
        assert_true(fabs(p.n / cases[i].n - 1) < 0.02); /* keys follow from what it costs */
        atoll_task_destroy(task);
    }
}

/* Legal, each once, and what a tuner tries first; nothing for C, nothing on a device that nobody knows. */
static void trials_of_templates(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/gpu/gemm_bf16", &err);
    struct atoll_arena *arena = atoll_arena_create(1u << 24, NULL);
    struct atoll_choice choices[ATOLL_SHAPE_LIMIT], proposed;
    size_t count, templates = 0;
    for (size_t i = 0; i < task->seed_count; i++) {
        const struct atoll_seed *seed = &task->seeds[i];
        const char *body;
        const struct atoll_plan *plan =
            atoll_plan_parse(arena, task, seed->language, seed->source, &body, &err);
        if (!plan || !plan->param_count)
            continue;
        templates++;
        assert_int_equal(
            atoll_shape_trials_of_plan(task, plan, seed->language, &hopper, 12, choices, &count, &err), 0);
        if (!strcmp(seed->name, "warp")) { /* its tile is no param: nothing follows from shapes */
            assert_int_equal(count, 0);
            continue;
        }
        assert_int_equal(count, 12);
        struct atoll_tune *tune = atoll_tune_create(task, plan, &err);
        struct atoll_random random = {1, 0};
        assert_false(atoll_tune_has_suggestions(tune));
        atoll_tune_suggest(tune, choices, count);
        assert_true(atoll_tune_has_suggestions(tune));
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(atoll_plan_choice_legal(task, plan, &choices[k], NULL), 1);
            assert_int_equal(atoll_tune_propose(tune, &random, NULL, &proposed, NULL), 1);
            assert_memory_equal(proposed.values, choices[k].values, proposed.count * sizeof(int64_t));
        }
        assert_int_equal(atoll_tune_propose(tune, &random, NULL, &proposed, NULL), 1);
        atoll_tune_destroy(tune);
        assert_int_equal(atoll_shape_trials_of_plan(task, plan, seed->language,
                                                    &(struct atoll_device_shape){0}, 12, choices, &count,
                                                    &err),
                         0);
        assert_int_equal(count, 0);
        assert_int_equal(atoll_shape_trials_of_plan(task, plan, "c", &hopper, 12, choices, &count, &err), 0);
        assert_int_equal(count, 0);
    }
    assert_int_equal(templates, 4);
    atoll_arena_destroy(arena);
    atoll_task_destroy(task);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_follow_the_dims),     cmocka_unit_test(suggestions_differ),
        cmocka_unit_test(what_a_device_cannot_hold), cmocka_unit_test(roles_by_name),
        cmocka_unit_test(problems_of_tasks),         cmocka_unit_test(trials_of_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
