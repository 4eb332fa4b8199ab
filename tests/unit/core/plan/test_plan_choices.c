/* test_plan_choices.c - the combinations that are tried before a template is trusted: legal ones, each once, with what they promise. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_choices.h"

static struct atoll_task *task;
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

static const struct {
    const char *params, *require;
    const char *never; /* value of the first param that no legal choice has, NULL none */
    size_t cover_most; /* choices that a cover may need */
} rows[] = {
    {"", "", NULL, 1},
    {"\"P\": [1]", "", NULL, 1},
    {"\"P\": [1, 2, 4, 8]", "", NULL, 4},
    {"\"P\": [2, 1, 4, 8], \"Q\": [3, 5, 7, 9], \"R\": [1, 2]", "", NULL, 5},
    /* No value of one goes with the first of the others. */
    {"\"P\": [1, 2, 4, 8], \"Q\": [1, 2, 4, 8], \"R\": [1, 2, 4, 8]", "\"P == Q\", \"Q == R\"", NULL, 4},
    {"\"P\": [1, 2, 64], \"Q\": [1, 2]", "\"P < 64\"", "64", 3},
};

static const struct atoll_plan *plan_of(size_t row)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char source[2048];
    const char *body;
    snprintf(
        source, sizeof(source),
        "/* atoll-plan {\"version\": 1, \"params\": {%s}, \"require\": [%s], \"launch\": [{\"function\": "
        "\"f\", \"units\": \"B\", \"args\": [\"x\"]}]} */",
        rows[row].params, rows[row].require);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, "c", source, &body, &err);
    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

static int has(const struct atoll_plan_choices *c, size_t param, int64_t value)
{
    int is_there = 0;
    for (size_t i = 0; i < c->count; i++)
        is_there |= c->choices[i].values[param] == value;
    return is_there;
}

/* Legal, each another one, the first one first. */
static void look(const struct atoll_plan *plan, const struct atoll_plan_choices *c)
{
    struct atoll_choice first;
    atoll_plan_first_choice(plan, &first);
    assert_true(c->count > 0);
    assert_int_equal(c->choices[0].count, plan->param_count);
    for (size_t i = 0; i < plan->param_count; i++)
        assert_int_equal(c->choices[0].values[i], first.values[i]);
    for (size_t i = 0; i < c->count; i++) {
        assert_int_equal(atoll_plan_choice_legal(task, plan, &c->choices[i], NULL), 1);
        for (size_t k = 0; k < i; k++)
            assert_true(
                memcmp(c->choices[i].values, c->choices[k].values, plan->param_count * sizeof(int64_t)) != 0);
    }
}

static void test_cover(void **state)
{
    static struct atoll_plan_choices c, again;
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        const struct atoll_plan *plan = plan_of(r);
        atoll_plan_choices_cover(task, plan, &c);
        look(plan, &c);
        for (size_t i = 0; i < plan->param_count; i++)
            for (size_t k = 0; k < plan->params[i].value_count; k++) {
                int64_t value = plan->params[i].values[k];
                int is_never = i == 0 && rows[r].never && value == strtoll(rows[r].never, NULL, 10);
                if (has(&c, i, value) == is_never)
                    fail_msg("row %zu: %s %lld %s", r, plan->params[i].name, (long long)value,
                             is_never ? "is there" : "is not there");
            }
        if (c.count > rows[r].cover_most)
            fail_msg("row %zu: %zu choices, %zu are enough", r, c.count, rows[r].cover_most);
        atoll_plan_choices_cover(task, plan, &again);
        assert_int_equal(again.count, c.count);
        assert_memory_equal(again.choices, c.choices, c.count * sizeof(*c.choices));
    }
}

static void test_extremes(void **state)
{
    static struct atoll_plan_choices c;
    const struct atoll_plan *plan = plan_of(3);
    atoll_plan_choices_extremes(task, plan, 0, &c);
    look(plan, &c);
    assert_true(has(&c, 0, 1) && has(&c, 0, 8) && has(&c, 1, 3) && has(&c, 1, 9) && has(&c, 2, 2));
    assert_false(has(&c, 0, 4) || has(&c, 1, 5));
    size_t count = c.count;
    atoll_plan_choices_extremes(task, plan, 4, &c);
    look(plan, &c);
    assert_int_equal(c.count, count + 4);
    atoll_plan_choices_extremes(task, plan, 1000, &c); /* no more than there are */
    look(plan, &c);
    assert_int_equal(c.count, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cover), cmocka_unit_test(test_extremes)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
