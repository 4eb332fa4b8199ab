/* test_bundled.c - the suites that come with the program: every seed is accepted as it stands, and its first choice
 * can be launched on a data-centre GPU. */
#include "tests/support/expect.h"
#include "tests/support/combinations.h"

#include <stdio.h>
#include <string.h>

#include "core/message.h"
#include "core/plan/plan.h"
#include "core/rules/rules.h"
#include "core/task/task.h"

#define COMBINATION_LIMIT 200000

/* What the driver says of an H200. */
static const struct atoll_device_limits device = {.compute_capability = 90,
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

/* The k-th combination of params, the first list fastest. */
static void pick(const struct atoll_plan *plan, uint64_t k, struct atoll_choice *ret_choice)
{
    ret_choice->count = plan->param_count;
    for (size_t i = 0; i < plan->param_count; i++) {
        ret_choice->values[i] = plan->params[i].values[k % plan->params[i].value_count];
        k /= plan->params[i].value_count;
    }
}

/* Every legal combination must evaluate at every variant; the first one must be legal. */
static size_t check_choices(const struct atoll_task *task, const struct atoll_plan *plan, const char *seed)
{
    uint64_t count = combination_count(plan);
    size_t legal = 0;

    assert_true(count <= COMBINATION_LIMIT);
    for (uint64_t k = 0; k < count; k++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice;
        pick(plan, k, &choice);
        int rc = atoll_plan_choice_legal(task, plan, &choice, &err);
        if (rc < 0 || (k == 0 && rc != 1))
            fail_msg("%s/%s: combination %zu: %s", task->name, seed, (size_t)k,
                     rc < 0 ? err.text : "the first is illegal");
        if (rc == 1 && atoll_plan_choice_check(task, plan, &choice, &err) != 0)
            fail_msg("%s/%s: combination %zu: %s", task->name, seed, (size_t)k, err.text);
        legal += rc == 1;
    }
    return legal;
}

static void check_limits(const struct atoll_task *task, const struct atoll_plan *plan, const char *seed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice first;
    atoll_plan_first_choice(plan, &first);
    if (atoll_plan_limits_check(task, plan, &first, ATOLL_PLAN_KIND_ALL, &device, &err) != 0)
        fail_msg("%s/%s: %s", task->name, seed, err.text);
}

static void check_seed(const struct atoll_task *task, const struct atoll_seed *seed)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, &err);
    const char *body = NULL;

    assert_non_null(arena);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, seed->language, seed->source, &body, &err);
    if (!plan)
        fail_msg("%s/%s (%s): %s", task->name, seed->name, seed->language, err.text);
    if (atoll_rules_check(seed->language, body, 1, &err) != 0)
        fail_msg("%s/%s (%s): %s", task->name, seed->name, seed->language, err.text);
    check_limits(task, plan, seed->name);
    size_t legal = check_choices(task, plan, seed->name);
    if (plan->param_count && legal < 2)
        fail_msg("%s/%s: a template with %zu legal combinations", task->name, seed->name, legal);
    atoll_arena_destroy(arena);
}

static int has_bench(const struct atoll_task *task, const char *backend)
{
    for (size_t i = 0; i < task->variant_count; i++)
        if (task->variants[i].kind == ATOLL_VARIANT_BENCH &&
            (!task->variants[i].backend || strcmp(task->variants[i].backend, backend) == 0))
            return 1;
    return 0;
}

/* The first baseline of a language, without which nothing is measured on its backend. */
static int has_baseline(const struct atoll_task *task, const char *language)
{
    for (size_t i = 0; i < task->seed_count; i++)
        if (task->seeds[i].is_baseline && strcmp(task->seeds[i].language, language) == 0)
            return 1;
    return 0;
}

static int check_task(void *context, const char *dir, struct atoll_err *err)
{
    struct atoll_task *task = atoll_task_load(dir, err);

    if (!task)
        fail_msg("%s", err->text);
    for (size_t i = 0; i < task->seed_count; i++)
        check_seed(task, &task->seeds[i]);
    if (!has_bench(task, "cuda") || !has_baseline(task, "cuda"))
        fail_msg("%s: no bench variant or no baseline for cuda", task->name);
    if (has_bench(task, "cpu") != has_baseline(task, "c"))
        fail_msg("%s: a bench variant for the cpu and a C baseline come together", task->name);
    atoll_task_destroy(task);
    ++*(size_t *)context;
    return 0;
}

static void test_suite(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t tasks = 0;
    char dir[512];

    snprintf(dir, sizeof(dir), "%s/suites/%s", ATOLL_SOURCE_DIR, (const char *)*state);
    assert_int_equal(atoll_suite_visit(dir, check_task, &tasks, &err), 0);
    assert_true(tasks >= 13);
}

int main(void)
{
    static char starter[] = "starter", gpu[] = "gpu", hpc[] = "hpc";
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_suite, starter),
                                       cmocka_unit_test_prestate(test_suite, gpu),
                                       cmocka_unit_test_prestate(test_suite, hpc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
