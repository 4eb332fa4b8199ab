/* test_plan_paths.c - plans with several paths: what they say, every refusal with its words, which path a variant takes,
 * and what is judged there. */
#include "tests/support/expect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/candidate.h"
#include "core/message.h"
#include "core/plan/plan_cover.h"

static struct atoll_task
    *task; /* rowsum: check 3 x 17, bench 64 x 512, bench.large 128 x 4096, hidden 5 x 129 */
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

static const struct atoll_plan *parse(const char *language, const char *json, struct atoll_err *err)
{
    char source[16384];
    const char *body = NULL;
    snprintf(source, sizeof(source), "/* atoll-plan %s */", json);
    return atoll_plan_parse(arena, task, language, source, &body, err);
}

static const struct atoll_plan *parsed(const char *language, const char *json)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *plan = parse(language, json, &err);
    if (!plan)
        fail_msg("%s: %s", json, err.text);
    return plan;
}

#define F(name, units) "{\"function\": \"" name "\", \"units\": \"" units "\", \"args\": [\"x\"]}"
#define LAUNCH(list)   "\"launch\": [" list "]"
#define PATHS(list)    "{\"version\": 1, \"paths\": [" list "]}"
#define FAST           "{\"when\": \"N % 8 == 0\", " LAUNCH(F("fast", "B")) "}"
#define SLOW           "{" LAUNCH(F("slow", "B")) "}"

static const char three[] = "{\"paths\": [{\"launch\": [" F("a", "B") ", " F(
    "b", "B") "], \"when\": \"N % 8 == 0 && N < 1000\"},"
              " {\"when\": \"N % 8 == 0\", \"require\": [\"T <= 64\", \"N > T\"], \"launch\": ["
              "{\"function\": \"c\", \"units\": \"N / 512\", \"args\": [\"part\"]}]}, " SLOW "],"
              " \"scratch\": {\"part\": \"N - 4000\"}, \"params\": {\"T\": [32, 128]}, \"version\": 1}";

static void test_three(void **state)
{
    const struct atoll_plan *p = parsed("c", three);
    static const struct {
        size_t first, count;
    } paths[] = {{0, 2}, {2, 1}, {3, 1}};
    char field[ATOLL_PLAN_FIELD_BYTES];
    assert_int_equal(p->path_count, 3);
    assert_int_equal(p->launch_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(p->paths[i].first, paths[i].first);
        assert_int_equal(p->paths[i].count, paths[i].count);
    }
    assert_int_equal(p->paths[1].require_count, 2);
    assert_null(p->paths[2].when);
    assert_string_equal(p->launches[2].symbol, "c");
    assert_string_equal(atoll_plan_launch_field(p, 1, field), "paths[0].launch[1]");
    assert_string_equal(atoll_plan_launch_field(p, 3, field), "paths[2].launch[0]");
    assert_int_equal(strncmp(p->canonical,
                             "{\"version\":1,\"params\":{\"T\":[32,128]},\"scratch\":{\"part\":\"N - 4000\"},"
                             "\"paths\":[{\"when\":\"N % 8 == 0 && N < 1000\",\"launch\":[",
                             110),
                     0);
    assert_string_equal(parsed("c", p->canonical)->canonical, p->canonical);
    const struct atoll_plan *plain = parsed("c", "{\"version\": 1, " LAUNCH(F("slow", "B")) "}");
    assert_int_equal(plain->path_count, 1);
    assert_int_equal(plain->paths[0].count, 1);
    assert_string_equal(atoll_plan_launch_field(plain, 0, field), "launch[0]");
}

/* The first whose condition holds, at hidden variants too. */
static void test_taken(void **state)
{
    static const size_t expected[] = {2, 0, 1, 2};
    const struct atoll_plan *p = parsed("c", three);
    for (size_t i = 0; i < task->variant_count; i++) {
        size_t path = 9;
        assert_int_equal(atoll_plan_path_at(task, p, &task->variants[i], &path, NULL), 0);
        assert_int_equal(path, expected[i]);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t path = 9;
    p = parsed("c", PATHS("{\"when\": \"B / (N - 17)\", " LAUNCH(F("f", "B")) "}, " SLOW));
    assert_int_equal(atoll_plan_path_at(task, p, &task->variants[0], &path, &err), -1);
    assert_non_null(strstr(err.text, "plan: field 'paths[0].when' at variant 'check': "));
    assert_int_equal(path, 9);
}

static void test_refused(void **state)
{
    static const struct {
        const char *json, *says;
    } rows[] = {
        {PATHS(FAST), "plan: field 'paths': 1 entries; with fewer than 2 paths write 'launch'"},
        {PATHS(""), "plan: field 'paths': 0 entries; with fewer than 2 paths write 'launch'"},
        {"{\"version\": 1, \"paths\": {}}", "plan: field 'paths': a list is expected, like [...]"},
        {PATHS("1, 2"), "plan: field 'paths[0]': an object is expected"},
        {PATHS(SLOW ", " SLOW),
         "plan: field 'paths[0].when': is missing; only the last path has no condition"},
        {PATHS(FAST ", " FAST),
         "plan: field 'paths[1].when': the last path takes every shape that is left and "
         "has no condition; leave it out, or add a path behind it"},
        {"{\"version\": 1, " LAUNCH(F("f", "B")) ", \"paths\": [" FAST ", " SLOW "]}",
         "plan: field 'paths': stands beside 'launch'; a plan has one of the two"},
        {PATHS("{\"when\": \"N > 1\"}, " SLOW), "plan: field 'paths[0].launch': is missing; add it"},
        {PATHS("{\"when\": \"N > 1\", \"launch\": []}, " SLOW),
         "plan: field 'paths[0].launch': is empty; a plan launches something"},
        {PATHS("{\"when\": \"N > 1\", \"launch\": {}}, " SLOW),
         "plan: field 'paths[0].launch': a list is expected"},
        {PATHS("{\"wen\": \"N > 1\", " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].wen': unknown key; did you mean 'when'?"},
        {PATHS("{\"when\": \"N > 1\", \"scratch\": {\"s\": 8}, " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].scratch': unknown key for language c"},
        {PATHS("{\"when\": true, " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].when': an expression is expected"},
        {PATHS("{\"when\": \"K > 1\", " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].when': unknown name 'K'"},
        {PATHS("{\"when\": \"2 > 1\", " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].when': '2 > 1' names no dim, so it holds everywhere or nowhere; write a "
         "condition like \"K % 8 == 0\""},
        {"{\"version\": 1, \"params\": {\"T\": [8]}, \"paths\": [{\"when\": \"N % T == 0\", " LAUNCH(
             F("f", "B")) "}, " SLOW "]}",
         "plan: field 'paths[0].when': 'T' is a param; a condition speaks of dims alone, write it as a "
         "requirement"},
        {PATHS("{\"when\": \"N > 1\", \"require\": \"N > 2\", " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].require': a list is expected"},
        {PATHS("{\"when\": \"N > 1\", \"require\": [\"N >\"], " LAUNCH(F("f", "B")) "}, " SLOW),
         "plan: field 'paths[0].require[0]': "},
        {PATHS(FAST ", {" LAUNCH("{\"function\": \"f\", \"units\": \"B\", \"args\": [\"q\"]}") "}"),
         "plan: field 'paths[1].launch[0].args[0]': unknown name 'q'"},
        {PATHS(FAST ", " FAST ", " FAST ", " FAST ", " FAST ", " FAST ", " FAST ", " FAST ", " SLOW),
         "plan: field 'paths': 9 entries, at most 8 are allowed"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (parse("c", rows[i].json, &err))
            fail_msg("parsed: %s", rows[i].json);
        if (strncmp(err.text, rows[i].says, strlen(rows[i].says)) != 0 || err.code != ATOLL_E_INPUT)
            fail_msg("%s gave '%s', expected '%s'", rows[i].json, err.text, rows[i].says);
    }
}

/* The limit of launches is one for all paths. */
static void test_many_launches(void **state)
{
    for (int extra = 0; extra <= 1; extra++) {
        char text[12000] = "";
        struct atoll_err err = ATOLL_ERR_INIT;
        size_t n = (size_t)sprintf(text, "{\"version\": 1, \"paths\": [%s, {\"launch\": [", FAST);
        for (int i = 0; i < ATOLL_PLAN_LAUNCH_LIMIT - 1 + extra; i++)
            n += (size_t)sprintf(text + n, "%s" F("f", "B"), i ? ", " : "");
        sprintf(text + n, "]}]}");
        assert_int_equal(parse("c", text, &err) != NULL, !extra);
        if (extra)
            assert_string_equal(err.text, "plan: field 'paths[1].launch': 65 entries, at most 64 are allowed "
                                          "in all paths together");
    }
}

/* A path's requirements hold where it is taken: at bench.large alone, where N is 4096. */
static void test_legal(void **state)
{
    static const struct {
        const char *require;
        int legal;
    } rows[] = {{"N > 4000", 1}, {"N > 5000", 0}, {"T <= 32", 1}, {"T > 32", 0}, {"N / (T - 32)", -1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char json[1024];
        struct atoll_choice choice;
        struct atoll_err err = ATOLL_ERR_INIT;
        snprintf(json, sizeof(json),
                 "{\"version\": 1, \"params\": {\"T\": [32]}, \"paths\": [{\"when\": \"N > 1000\", "
                 "\"require\": [\"1\", \"%s\"], " LAUNCH(F("f", "B")) "}, " SLOW "]}",
                 rows[i].require);
        const struct atoll_plan *p = parsed("c", json);
        atoll_plan_first_choice(p, &choice);
        int legal = atoll_plan_choice_legal(task, p, &choice, &err);
        if (legal != rows[i].legal)
            fail_msg("%s: %d %s", rows[i].require, legal, err.text);
        if (legal < 0)
            assert_non_null(strstr(err.text, "; while checking plan field 'paths[0].require[1]'"));
    }
    /* No variant of this backend takes it: nothing is asked of it. */
    struct atoll_choice choice;
    const struct atoll_plan *p =
        parsed("c", PATHS("{\"when\": \"N > 9999\", \"require\": [\"0\"], " LAUNCH(F("f", "B")) "}, " SLOW));
    atoll_plan_first_choice(p, &choice);
    assert_int_equal(atoll_plan_choice_legal(task, p, &choice, NULL), 1);
}

/* Launches and scratch are judged where their path is taken; the texts name the path. */
static void test_choice_check(void **state)
{
    static const struct {
        const char *json, *says; /* NULL: fine */
    } rows[] = {
        {three, NULL}, /* N / 512 and N - 4000 would be wrong at all variants but bench.large */
        {"{\"version\": 1, \"paths\": [{\"when\": \"N == 512\", " LAUNCH(F("f", "N - 512")) "}, " SLOW "]}",
         "plan: field 'paths[0].launch[0].units': 'N - 512' is 0 at variant 'bench', must lie between"},
        {"{\"version\": 1, \"scratch\": {\"s\": \"N - 513\"}, \"paths\": [{\"when\": \"N == 512\", "
         "\"launch\": "
         "[{\"function\": \"f\", \"units\": 1, \"args\": [\"s\"]}]}, " SLOW "]}",
         "plan: field 'scratch.s': 'N - 513' is -1 at variant 'bench'"},
        {"{\"version\": 1, \"scratch\": {\"s\": \"N - 18\"}, \"paths\": [" FAST ", " SLOW "]}",
         "plan: field 'scratch.s': 'N - 18' is -1 at variant 'check'"}, /* nobody's: everybody's */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice;
        const struct atoll_plan *p = parsed("c", rows[i].json);
        atoll_plan_first_choice(p, &choice);
        int rc = atoll_plan_choice_check(task, p, &choice, &err);
        if (rc != (rows[i].says ? -1 : 0) ||
            (rows[i].says && strncmp(err.text, rows[i].says, strlen(rows[i].says)) != 0))
            fail_msg("%s gave %d '%s'", rows[i].json, rc, err.text);
    }
}

/* What the issue began with: a map that is sound at multiples of 8 alone, without any bending.  It is judged there. */
static void test_tensor_map(void **state)
{
    static const struct {
        const char *when, *says;
    } rows[] = {{"N % 8 == 0", NULL},
                {"N % 2 == 1",
                 "plan: field 'paths[0].launch[0].args[0].stride[0]': 34 bytes at variant 'check', "
                 "must be a multiple of 16"}};
    for (size_t i = 0; i < 2; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice;
        char json[1024];
        snprintf(
            json, sizeof(json),
            "{\"version\": 1, \"paths\": [{\"when\": \"%s\", \"launch\": [{\"kernel\": \"k\", \"grid\": [1], "
            "\"block\": [1], \"args\": [\"tensormap(x, [N, B], [8, 8])\"]}]}, {\"launch\": [{\"kernel\": "
            "\"s\", \"grid\": [1], \"block\": [1], \"args\": [\"x\"]}]}]}",
            rows[i].when);
        const struct atoll_plan *p = parsed("cuda", json);
        atoll_plan_first_choice(p, &choice);
        int rc = atoll_plan_limits_check(task, p, &choice, ATOLL_PLAN_KIND_ALL, NULL, &err);
        if (rc != (rows[i].says ? -1 : 0) ||
            (rows[i].says && strncmp(err.text, rows[i].says, strlen(rows[i].says)) != 0))
            fail_msg("%s gave %d '%s'", rows[i].when, rc, err.text);
    }
}

/* Bytes that are not what they were: parsed or refused, never more. */
static void test_mutations(void **state)
{
    struct atoll_random r = {7, 0};
    static const char bytes[] = "0123 +*/%=NB\"{]";
    size_t parsed_count = 0;
    for (int round = 0; round < 2000; round++) {
        char source[sizeof(three) + 32];
        const char *body;
        struct atoll_plan_cover cover;
        snprintf(source, sizeof(source), "/* atoll-plan %s */", three);
        for (int k = 0; k < 1 + round % 2; k++)
            source[16 + atoll_random_below(atoll_random_next(&r), sizeof(three) - 2)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        struct atoll_arena *own = atoll_arena_create(4u << 20, NULL);
        const struct atoll_plan *p = atoll_plan_parse(own, task, "c", source, &body, NULL);
        if (p) {
            struct atoll_choice choice;
            parsed_count++;
            atoll_plan_first_choice(p, &choice);
            atoll_plan_choice_legal(task, p, &choice, NULL);
            atoll_plan_choice_check(task, p, &choice, NULL);
            atoll_plan_cover(task, p, &choice, 1, &cover, NULL);
        }
        atoll_arena_destroy(own);
    }
    assert_in_range(parsed_count, 50, 1900);
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s is not there", path);
    char *text = calloc(1, ATOLL_SOURCE_LIMIT);
    assert_non_null(text);
    assert_true(fread(text, 1, ATOLL_SOURCE_LIMIT - 1, file) > 0);
    fclose(file);
    return text;
}

/* The kernels that paths were made for: sound at every variant of their tasks on a Hopper, bench takes the fast way, and nothing
 * has to be made for them. */
static void test_kernels(void **state)
{
    static const char *const names[] = {"gemm_bf16", "flash_attention_causal", "rmsnorm_matmul"};
    static const struct atoll_device_limits hopper = {.threads_per_block = 1024,
                                                      .shared_bytes_per_block = 232448,
                                                      .cluster_blocks = 8,
                                                      .multiprocessors = 132,
                                                      .compute_capability = 90};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[PATH_MAX];
        const char *body = NULL;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice;
        struct atoll_plan_cover cover;
        snprintf(path, sizeof(path), "%s/suites/gpu/%s", ATOLL_SOURCE_DIR, names[i]);
        struct atoll_task *of = atoll_task_load(path, &err);
        snprintf(path, sizeof(path), "%s/bench/kernels/%s.cu", ATOLL_SOURCE_DIR, names[i]);
        char *text = text_of(path);
        const struct atoll_plan *p = of ? atoll_plan_parse(arena, of, "cuda", text, &body, &err) : NULL;
        if (!p)
            fail_msg("%s: %s", path, err.text);
        atoll_plan_first_choice(p, &choice);
        if (atoll_plan_choice_legal(of, p, &choice, &err) != 1 ||
            atoll_plan_choice_check(of, p, &choice, &err) ||
            atoll_plan_limits_check(of, p, &choice, ATOLL_PLAN_KIND_ALL, &hopper, &err) ||
            atoll_plan_cover(of, p, &choice, 0, &cover, &err))
            fail_msg("%s: %s", path, err.text);
        assert_int_equal(cover.count, 0);
        for (size_t v = 0; v < of->variant_count; v++) {
            size_t taken = 9;
            assert_int_equal(atoll_plan_path_at(of, p, &of->variants[v], &taken, NULL), 0);
            assert_true(of->variants[v].kind != ATOLL_VARIANT_BENCH || taken == 0);
        }
        free(text);
        atoll_task_destroy(of);
    }
}

/* The way through the launches is part of what a candidate is; a path's requirement is not. */
static void test_identity(void **state)
{
    static const char *const plans[] = {
        PATHS("{\"when\": \"N > 100\", " LAUNCH(F("f", "B")) "}, " SLOW),
        PATHS("{\"when\": \"N > 101\", " LAUNCH(F("f", "B")) "}, " SLOW),
        "{\"version\": 1, " LAUNCH(F("f", "B") ", " F("slow", "B")) "}",
        PATHS("{\"when\": \"N > 100\", \"require\": [\"N > 1\"], " LAUNCH(F("f", "B")) "}, " SLOW),
    };
    struct atoll_id ids[4];
    for (size_t i = 0; i < 4; i++) {
        struct atoll_choice choice;
        const struct atoll_plan *p = parsed("c", plans[i]);
        atoll_plan_first_choice(p, &choice);
        ids[i] = atoll_candidate_id(task, "c", p, "body", &choice);
    }
    assert_memory_not_equal(&ids[0], &ids[1], sizeof(ids[0]));
    assert_memory_not_equal(&ids[0], &ids[2], sizeof(ids[0]));
    assert_memory_equal(&ids[0], &ids[3], sizeof(ids[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three),      cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_many_launches),
        cmocka_unit_test(test_legal),      cmocka_unit_test(test_choice_check),
        cmocka_unit_test(test_tensor_map), cmocka_unit_test(test_identity),
        cmocka_unit_test(test_mutations),  cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
