/* test_plan_cover.c - the shapes that paths need beside a task's: which, when none, and every refusal with its words. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/plan/plan_cover.h"

static struct atoll_task
    *task; /* rowsum: check 3 x 17, bench 64 x 512 (cpu), bench.large 128 x 4096, hidden 5 x 129 */
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

#define F    "\"launch\": [{\"function\": \"f\", \"units\": \"B\", \"args\": [\"x\"]}]"
#define LAST ", {" F "}]}"

static int cover(const char *json, uint64_t salt, struct atoll_plan_cover *ret, struct atoll_err *err)
{
    char source[4096];
    const char *body = NULL;
    struct atoll_choice choice;
    struct atoll_err why = ATOLL_ERR_INIT;
    snprintf(source, sizeof(source), "/* atoll-plan %s */", json);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, "c", source, &body, &why);
    if (!plan)
        fail_msg("%s: %s", json, why.text);
    atoll_plan_first_choice(plan, &choice);
    return atoll_plan_cover(task, plan, &choice, salt, ret, err);
}

static const struct {
    const char *paths;
    const char *made; /* check variants: "path0 3x24 " */
    size_t count, hidden;
} rows[] = {
    /* Both bench variants take it, the small ones do not. */
    {"[{\"when\": \"N % 8 == 0\", " F "}" LAST, "path[0] 3x24;", 2, 1},
    /* A path of large shapes: as large as it must be. */
    {"[{\"when\": \"N >= 300\", " F "}" LAST, "path[0] 3x511;", 2, 1},
    /* Requirements of the path and bounds of its launches hold at what is made. */
    {"[{\"when\": \"N % 8 == 0\", \"require\": [\"N > 100\"], " F "}" LAST, "path[0] 3x120;", 2, 1},
    {"[{\"when\": \"N % 8 == 0\", \"launch\": [{\"function\": \"f\", \"units\": \"N / 200\", \"args\": "
     "[\"x\"]}]}" LAST,
     "path[0] 3x248;", 2, 1},
    /* One extent alone can be halved. */
    {"[{\"when\": \"N == 512\", " F "}" LAST, "path[0] 3x512;", 2, 1},
    /* A path that nothing is measured on needs nothing. */
    {"[{\"when\": \"N > 5000\", " F "}" LAST, "", 0, 0},
    /* Every shape takes the first one; the last is of nobody. */
    {"[{\"when\": \"N > 0\", " F "}" LAST, "", 0, 0},
    /* A check variant is there, a hidden one is not. */
    {"[{\"when\": \"N % 8 == 0 || N == 17\", " F "}" LAST, "", 1, 1},
};

static size_t path_of(const struct atoll_plan_cover *c, size_t i)
{
    return c->paths[i];
}

static void test_made(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_plan_cover c;
        struct atoll_err err = ATOLL_ERR_INIT;
        char json[2048], said[256] = "";
        size_t hidden = 0;
        snprintf(json, sizeof(json), "{\"version\": 1, \"paths\": %s", rows[i].paths);
        if (cover(json, 0, &c, &err) != 0)
            fail_msg("%s: %s", rows[i].paths, err.text);
        for (size_t k = 0; k < c.count; k++) {
            const struct atoll_variant *v = &c.variants[k];
            hidden += v->kind == ATOLL_VARIANT_HIDDEN;
            assert_string_equal(v->backend, "cpu");
            if (v->kind == ATOLL_VARIANT_CHECK)
                snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s %dx%d;", v->name + 6,
                         (int)v->dims[0], (int)v->dims[1]);
            assert_int_equal(path_of(&c, k), 0);
        }
        if (strcmp(said, rows[i].made) != 0 || c.count != rows[i].count || hidden != rows[i].hidden)
            fail_msg("%s: %s (%zu, %zu hidden)", rows[i].paths, said, c.count, hidden);
    }
}

/* Hidden shapes differ with the salt, are never the ones that are shown, and take their path; the others stay. */
static void test_salt(void **state)
{
    static const char json[] = "{\"version\": 1, \"paths\": [{\"when\": \"N % 8 == 0\", " F "}" LAST;
    size_t different = 0;
    struct atoll_plan_cover first, other;
    assert_int_equal(cover(json, 1, &first, NULL), 0);
    assert_int_equal(first.variants[1].kind, ATOLL_VARIANT_HIDDEN);
    assert_string_equal(first.variants[1].name, "hidden.path[0]");
    for (uint64_t salt = 2; salt < 40; salt++) {
        assert_int_equal(cover(json, salt, &other, NULL), 0);
        assert_memory_equal(other.variants[0].dims, first.variants[0].dims, sizeof(first.variants[0].dims));
        assert_memory_not_equal(other.variants[1].dims, first.variants[0].dims, 2 * sizeof(int64_t));
        assert_int_equal(other.variants[1].dims[1] % 8, 0);
        different += memcmp(other.variants[1].dims, first.variants[1].dims, 2 * sizeof(int64_t)) != 0;
    }
    assert_true(different > 20);
}

static void test_refused(void **state)
{
    static const struct {
        const char *paths, *says;
    } refused[] = {
        {"[{\"when\": \"N == 512 && B == 64\", " F "}" LAST,
         "plan: field 'paths[0]': variant 'bench' takes it, no check variant does, and no shape of at most "
         "half "
         "the size that the task allows; it cannot be checked: widen its condition, or move its launches to "
         "a "
         "path that smaller shapes take"},
        {"[{\"when\": \"N == 3000\", " F "}, {\"when\": \"N > 4000 && B > 100\", " F "}" LAST,
         "plan: field 'paths[1]': variant 'bench.large' takes it, no check variant does"},
        {"[{\"when\": \"N == 17 || N == 512 && B == 64\", " F "}" LAST,
         "plan: field 'paths[0]': variant 'bench' takes it, and no smaller shape that the task allows but "
         "those "
         "that are listed; it cannot be checked at one that nobody knows: widen its condition"},
        {"[{\"when\": \"B / (N - 129)\", " F "}" LAST, "plan: field 'paths[0].when' at variant 'hidden': "},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_plan_cover c;
        struct atoll_err err = ATOLL_ERR_INIT;
        char json[2048];
        snprintf(json, sizeof(json), "{\"version\": 1, \"paths\": %s", refused[i].paths);
        if (cover(json, 7, &c, &err) != -1 ||
            strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
            fail_msg("%s: '%s'", refused[i].paths, err.text);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        assert_int_equal(c.count, 0);
    }
}

/* A seed of the fixtures for devices: a scratch that has no sense off its path, more rows than any small variant has. */
static void test_device(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *rows_task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/plans/scale_rows", &err);
    assert_non_null(rows_task);
    size_t i = 0;
    while (i < rows_task->seed_count && strcmp(rows_task->seeds[i].name, "paths") != 0)
        i++;
    assert_in_range(i, 1, rows_task->seed_count - 1);
    const char *body = NULL;
    struct atoll_choice choice;
    struct atoll_plan_cover c;
    const struct atoll_plan *p =
        atoll_plan_parse(arena, rows_task, "cuda", rows_task->seeds[i].source, &body, &err);
    if (!p)
        fail_msg("%s", err.text);
    atoll_plan_first_choice(p, &choice);
    if (atoll_plan_choice_legal(rows_task, p, &choice, &err) != 1 ||
        atoll_plan_choice_check(rows_task, p, &choice, &err) != 0 ||
        atoll_plan_limits_check(rows_task, p, &choice, ATOLL_PLAN_KIND_ALL, NULL, &err) != 0 ||
        atoll_plan_cover(rows_task, p, &choice, 0, &c, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.variants[0].dims[0], 4096);
    assert_int_equal(c.variants[0].dims[1], 512);
    assert_true(c.variants[1].dims[0] >= 4096 && c.variants[1].dims[0] < 8192);
    atoll_task_destroy(rows_task);
}

/* Without paths nothing is made, whatever shapes there are. */
static void test_plain(void **state)
{
    struct atoll_plan_cover c = {.count = 9};
    assert_int_equal(cover("{\"version\": 1, " F "}", 0, &c, NULL), 0);
    assert_int_equal(c.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),   cmocka_unit_test(test_salt),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_device), cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
