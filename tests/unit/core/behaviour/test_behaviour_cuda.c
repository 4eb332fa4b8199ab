/* test_behaviour_cuda.c - small CUDA kernels, each in a file whose name is its cell: mXaYcZ_what.cu. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/behaviour/behaviour.h"
#include "core/rules/rules.h"

#define FOLDER     ATOLL_SOURCE_DIR "/tests/fixtures/behaviour/cuda"
#define FILE_BYTES 16384

static struct atoll_task *task; /* rowsum, for fixtures with a plan */
static struct atoll_arena *arena;

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    arena = atoll_arena_create(64u << 20, NULL);
    return task && arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    return 0;
}

static void read_file(const char *name, char *ret_text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", FOLDER, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(ret_text, 1, FILE_BYTES - 1, f);
    ret_text[n] = 0;
    fclose(f);
}

/* Classifies one fixture; it must pass the rules too. */
static struct atoll_behaviour classify(const char *name)
{
    static char text[FILE_BYTES];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice = {0, {0}};
    const struct atoll_plan *plan = NULL;
    const char *body = text;
    read_file(name, text);
    if (strncmp(text, "/* atoll-plan", 13) == 0) {
        plan = atoll_plan_parse(arena, task, "cuda", text, &body, &err);
        if (!plan)
            fail_msg("%s: %s", name, err.text);
    }
    if (atoll_rules_check("cuda", body, 1, &err))
        fail_msg("%s: %s", name, err.text);
    return atoll_behaviour_classify("cuda", body, plan, &choice);
}

static void test_corpus(void **state)
{
    unsigned seen[3][ATOLL_BEHAVIOUR_LEVELS] = {{0}}, count = 0, wrong = 0;
    DIR *dir = opendir(FOLDER);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        unsigned m, a, c;
        if (sscanf(e->d_name, "m%1ua%1uc%1u_", &m, &a, &c) != 3)
            continue;
        assert_true(m < 4 && a < 4 && c < 4);
        struct atoll_behaviour b = classify(e->d_name);
        if (b.memory != m || b.algorithm != a || b.coordination != c) {
            print_error("%s: %u %u %u\n", e->d_name, b.memory, b.algorithm, b.coordination);
            wrong++;
        }
        seen[0][m]++, seen[1][a]++, seen[2][c]++, count++;
    }
    closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(count >= 24);
    for (unsigned d = 0; d < 3; d++)
        for (unsigned l = 0; l < ATOLL_BEHAVIOUR_LEVELS; l++)
            if (!seen[d][l])
                fail_msg("no fixture for %s level %u", atoll_behaviour_dimension_name(d), l);
}

static struct atoll_behaviour cell_of(const char *body)
{
    return atoll_behaviour_classify("cuda", body, NULL, NULL);
}

/* One construct counts once, and where it belongs. */
static void test_signs(void **state)
{
    static const struct {
        const char *body;
        unsigned memory, algorithm, coordination;
    } rows[] = {
        {"", 0, 0, 0},
        {"/* atomicAdd */ // __shfl_sync\n", 0, 0, 0},
        {"__syncthreads();", 0, 0, 1},
        {"atomicAdd(x, 1);", 0, 0, 3},
        {"asm(\"red.global.add.f32 [%0], %1;\");", 0, 0, 3},
        {"asm(\"shfl.sync.bfly.b32 a, b, 1, 31, -1;\");", 0, 0, 2},
        {"cp_async_wait(); asm(\"cp.async.wait_all;\");", 0, 0, 0}, /* several levels need a tile */
        {"asm(\"cp.async.cg.shared.global [a], [b], 16;\");", 0, 0, 0},
        {"__shared__ __align__(16) struct tiles t;", 2, 0, 0},
        {"extern __shared__ float pool[];", 2, 0, 0},
        {"__shared__ float part[32];", 0, 0, 0},
        {"void producer();", 0, 0, 0},
        {"void producer(); void consumer();", 0, 0, 2},
        {"float x = __ldg(p);", 0, 0, 0},
        {"struct __align__(16) S {}; x = __ldg(p);", 1, 0, 0},
        {"for (int t = blockIdx.x; t < n; t += gridDim.x) f(t);", 0, 0, 3},
        {"for (int t = blockIdx.x * blockDim.x; t < n; t += blockDim.x * gridDim.x) f(t);", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_behaviour b = cell_of(rows[i].body);
        if (b.memory != rows[i].memory || b.algorithm != rows[i].algorithm ||
            b.coordination != rows[i].coordination)
            fail_msg("%s: %u %u %u", rows[i].body, b.memory, b.algorithm, b.coordination);
    }
    /* texts say nothing in C */
    struct atoll_behaviour b =
        atoll_behaviour_classify("c", "f(\"red.global.add.f32 ldmatrix\");", NULL, NULL);
    assert_int_equal(atoll_behaviour_cell(b), 0);
}

static void test_choice(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body = NULL;
    const struct atoll_plan *plan =
        atoll_plan_parse(arena, task, "cuda",
                         "/* atoll-plan {\"version\": 1, \"params\": {\"VEC\": [1, 4]}, \"launch\": "
                         "[{\"kernel\": \"k\", \"grid\": [1], "
                         "\"block\": [1], \"args\": [\"x\"]}]} */\n#if VEC == 4\nfloat4 v;\n#endif\n",
                         &body, &err);
    assert_non_null(plan);
    struct atoll_choice narrow = {1, {1}}, wide = {1, {4}};
    assert_int_equal(atoll_behaviour_classify("cuda", body, plan, &narrow).memory, 0);
    assert_int_equal(atoll_behaviour_classify("cuda", body, plan, &wide).memory, 1);
}

static void test_texts(void **state)
{
    assert_string_equal(atoll_behaviour_level_text_of("cuda", 0, 2), "tiles in shared memory");
    assert_string_equal(atoll_behaviour_level_text_of("c", 0, 2), "cache blocking");
    assert_string_equal(atoll_behaviour_level_text_of("cuda", 3, 0), "unknown");
    assert_string_equal(atoll_behaviour_level_text_of("cuda", 2, 4), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
