/* test_plan.c - plans: what they say, every refusal with its field and words, choices. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/candidate.h"
#include "core/plan/plan.h"
#include "base/random.h"

static struct atoll_task *task; /* rowsum: dims B N, tensors x total count */
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
    char source[8192];
    const char *body = NULL;
    snprintf(source, sizeof(source), "/* atoll-plan %s */ int body;", json);
    const struct atoll_plan *plan = atoll_plan_parse(arena, task, language, source, &body, err);
    if (plan)
        assert_string_equal(body, " int body;");
    return plan;
}

static const char full[] =
    "{\"launch\": [{\"args\": [\"x\", \"partial\", \"i64:N\", \"i32:TM * 2\", \"f32:0.5\", \"f64:-1e-3\"],"
    " \"units\": \"cdiv(N, TM)\", \"function\": \"first\"}, {\"function\": \"second\", \"units\": 1, "
    "\"args\": []}],"
    " \"params\": {\"TM\": [32, 8], \"U\": [4, 1, 2]}, \"version\": 1,"
    " \"require\": [\"TM % U == 0\", \"TM <= N\"], \"scratch\": {\"partial\": \"8 * cdiv(N, TM)\"}}";

static const struct atoll_plan *parse_full(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *plan = parse("c", full, &err);
    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

static void test_full(void **state)
{
    const struct atoll_plan *p = parse_full();
    assert_int_equal(p->param_count, 2);
    assert_string_equal(p->params[1].name, "U");
    assert_int_equal(p->params[1].value_count, 3);
    assert_int_equal(p->params[1].values[0], 4);
    assert_int_equal(p->require_count, 2);
    assert_string_equal(p->scratch[0].name, "partial");
    assert_int_equal(p->launch_count, 2);
    assert_string_equal(p->launches[0].symbol, "first");
    assert_int_equal(p->launches[0].arg_count, 6);
    const struct atoll_arg *a = p->launches[0].args;
    assert_true(a[0].kind == ATOLL_ARG_TENSOR && a[0].index == 0);
    assert_true(a[1].kind == ATOLL_ARG_SCRATCH && a[1].index == 0);
    assert_true(a[2].kind == ATOLL_ARG_INTEGER && a[2].width == ATOLL_I64);
    assert_true(a[3].kind == ATOLL_ARG_INTEGER && a[3].width == ATOLL_I32);
    assert_true(a[4].kind == ATOLL_ARG_FLOAT && a[4].width == ATOLL_F32 && a[4].number == 0.5);
    assert_true(a[5].kind == ATOLL_ARG_FLOAT && a[5].width == ATOLL_F64 && a[5].number == -1e-3);
    assert_string_equal(a[3].text, "i32:TM * 2");
    assert_string_equal(p->backend, "cpu");
    assert_null(p->launches[0].grid[0]);
    assert_null(strchr(p->canonical, '\n'));
    assert_int_equal(strncmp(p->canonical, "{\"version\":1,\"params\":{\"TM\":[32,8],\"U\"", 37), 0);
}

static void test_canonical_is_stable(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *first = parse_full();
    const struct atoll_plan *second = parse("c", first->canonical, &err);
    if (!second)
        fail_msg("%s", err.text);
    assert_string_equal(first->canonical, second->canonical);
}

static void test_device(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *p =
        parse("cuda",
              "{\"version\": 1, \"launch\": [{\"kernel\": \"k\", \"grid\": [\"B\", 2], \"block\": [128], "
              "\"cluster\": [2], \"shared_bytes\": \"4 * N\", \"cooperative\": true, \"args\": [\"x\"]}]}",
              &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_non_null(p->launches[0].grid[1]);
    assert_null(p->launches[0].grid[2]);
    assert_int_equal(p->launches[0].cooperative, 1);
    assert_string_equal(p->backend, "cuda");
}

#define LAUNCH(args) "\"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [" args "]}]"
#define PLAN(rest)   "{\"version\": 1, " rest ", " LAUNCH("\"x\"") "}"

static const struct {
    const char *json, *says;
} refused[] = {
    {"[1]", "the JSON must be an object"},
    {"{", "plan: line 1: not valid JSON"},
    {"\n\n{\"version\": 1,}", "plan: line 3: not valid JSON"},
    {"{\"version\": 1, \"version\": 1}", "duplicate"},
    {"{}", "field 'version': is missing"},
    {"{\"version\": 1}", "field 'launch': is missing"},
    {"{\"version\": \"1\", " LAUNCH("") "}", "field 'version': this program reads version 1"},
    {"{\"version\": 1, \"launch\": []}", "field 'launch': is empty"},
    {"{\"version\": 1, \"launch\": {}}", "field 'launch': a list is expected"},
    {"{\"version\": 1, \"launch\": [1]}", "field 'launch[0]': an object is expected"},
    {"{\"version\": 1, \"lunch\": []}", "field 'lunch': unknown key; did you mean 'launch'?"},
    {"{\"version\": 1, \"wwwwwwww\": []}", "field 'wwwwwwww': unknown key for language c"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"unit\": 1, \"args\": []}]}",
     "field 'launch[0].unit': unknown key; did you mean 'units'?"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": 1}]}",
     "field 'launch[0].args': is missing"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": 1, \"args\": [], \"grid\": [1]}]}",
     "field 'launch[0].grid': unknown key"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"1f\", \"units\": 1, \"args\": []}]}",
     "no C function name"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"atoll_x\", \"units\": 1, \"args\": []}]}",
     "no C function name"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f(); g\", \"units\": 1, \"args\": []}]}",
     "no C function name"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": 1.5, \"args\": []}]}",
     "an expression is expected"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N *\", \"args\": []}]}",
     "field 'launch[0].units'"},
    {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"x\", \"args\": []}]}",
     "unknown name 'x'"},
    {"{\"version\": 1, " LAUNCH("\"q\"") "}", "field 'launch[0].args[0]': unknown name 'q'; "},
    {"{\"version\": 1, " LAUNCH("\"x\", \"totl\"") "}",
     "field 'launch[0].args[1]': unknown name 'totl'; did you mean 'total'?"},
    {"{\"version\": 1, " LAUNCH("\"N\"") "}", "needs a width; write \"i64:N\" or \"i32:N\""},
    {"{\"version\": 1, " LAUNCH("1") "}", "a text is expected"},
    {"{\"version\": 1, " LAUNCH("\"i16:N\"") "}", "starts with i32:, i64:, f32: or f64:"},
    {"{\"version\": 1, " LAUNCH("\"i32:3000000000\"") "}", "does not fit i32"},
    {"{\"version\": 1, " LAUNCH("\"i32:1/0\"") "}", "zero"},
    {"{\"version\": 1, " LAUNCH("\"i64:K\"") "}", "unknown name 'K'"},
    {"{\"version\": 1, " LAUNCH("\"f32:1e99\"") "}", "no finite number"},
    {"{\"version\": 1, " LAUNCH("\"f64:nan\"") "}", "no finite number"},
    {"{\"version\": 1, " LAUNCH("\"f32:\"") "}", "no finite number"},
    {"{\"version\": 1, " LAUNCH("\"f32:N\"") "}", "no finite number"},
    {"{\"version\": 1, " LAUNCH("\"tensormap(x)\"") "}", "tensormap arguments are not available"},
    {PLAN("\"params\": [1]"), "field 'params': an object is expected"},
    {PLAN("\"params\": {\"T\": []}"), "field 'params.T': a list of 1 to 64 integers"},
    {PLAN("\"params\": {\"T\": 4}"), "field 'params.T': a list of 1 to 64 integers"},
    {PLAN("\"params\": {\"T\": [1, 2.5]}"), "field 'params.T[1]': an integer"},
    {PLAN("\"params\": {\"T\": [1, 99999999999]}"), "field 'params.T[1]': an integer"},
    {PLAN("\"params\": {\"T\": [1, 2, 1]}"), "field 'params.T[2]': value 1 stands here twice"},
    {PLAN("\"params\": {\"N\": [1]}"), "is taken by a dim"},
    {PLAN("\"params\": {\"x\": [1]}"), "is taken by a dim, tensor"},
    {PLAN("\"params\": {\"for\": [1]}"), "is no free C name"},
    {PLAN("\"params\": {\"__T\": [1]}"), "is no free C name"},
    {PLAN("\"params\": {\"T U\": [1]}"), "is no free C name"},
    {PLAN("\"scratch\": {\"x\": 8}"), "is taken"},
    {PLAN("\"scratch\": {\"s\": \"K\"}"), "field 'scratch.s': unknown name 'K'"},
    {PLAN("\"scratch\": {\"s\": null}"), "field 'scratch.s': an expression"},
    {PLAN("\"require\": \"N > 1\""), "field 'require': a list is expected"},
    {PLAN("\"require\": [\"N > 1\", \"N >\"]"), "field 'require[1]'"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (parse("c", refused[i].json, &err))
            fail_msg("parsed: %s", refused[i].json);
        if (!strstr(err.text, refused[i].says) || strncmp(err.text, "plan: ", 6) != 0)
            fail_msg("%s gave '%s', expected '%s'", refused[i].json, err.text, refused[i].says);
        assert_int_equal(err.code, ATOLL_E_INPUT);
    }
}

static void test_comment(void **state)
{
    static const struct {
        const char *language, *source, *says;
    } rows[] = {
        {"c", "int f;", "must start with a comment"},
        {"c", "", "must start with a comment"},
        {"c", "/* hello */", "must start with 'atoll-plan'"},
        {"c", "/* atoll-plan {", "never ends"},
        {"c", "\n\n/*\n atoll-plan\n {\"a\" 1} */", "plan: line 5: "},
        {"fortran", "", "unknown language 'fortran'; known: c, cuda, triton, opencl"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *body = "untouched";
        assert_null(atoll_plan_parse(arena, task, rows[i].language, rows[i].source, &body, &err));
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s' gave '%s'", rows[i].source, err.text);
        assert_string_equal(body, "untouched");
    }
}

/* Counts beyond the limits of the header, and texts that are too long. */
static void test_limits(void **state)
{
    static char text[400000];
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t n = (size_t)sprintf(text, "{\"version\": 1, \"params\": {");
    for (int i = 0; i < ATOLL_PLAN_PARAM_LIMIT + 1; i++)
        n += (size_t)sprintf(text + n, "%s\"P%d\": [1]", i ? ", " : "", i);
    sprintf(text + n, "}, " LAUNCH("") "}");
    assert_null(parse("c", text, &err));
    assert_non_null(strstr(err.text, "17 entries, at most 16"));
    for (int launches = ATOLL_PLAN_LAUNCH_LIMIT; launches <= ATOLL_PLAN_LAUNCH_LIMIT + 1; launches++) {
        n = (size_t)sprintf(text, "{\"version\": 1, \"launch\": [");
        for (int i = 0; i < launches; i++) {
            n += (size_t)sprintf(text + n, "%s{\"function\": \"f%d\", \"units\": \"1\", \"args\": [\"i32:1\"",
                                 i ? ", " : "", i);
            for (int k = 1; k < ATOLL_PLAN_ARG_LIMIT && i == 1; k++)
                n += (size_t)sprintf(text + n, ", \"i64:%d\"", k);
            n += (size_t)sprintf(text + n, "]}");
        }
        sprintf(text + n, "]}");
        const struct atoll_plan *plan = parse("c", text, &err);
        assert_int_equal(plan != NULL, launches == ATOLL_PLAN_LAUNCH_LIMIT);
        if (plan) {
            assert_int_equal(plan->launches[1].arg_count, ATOLL_PLAN_ARG_LIMIT);
            assert_string_equal(plan->launches[63].symbol, "f63");
        }
    }
    assert_non_null(strstr(err.text, "65 entries, at most 64"));
    memset(text, ' ', sizeof(text));
    memcpy(text, "/* atoll-plan", 13);
    memcpy(text + 40000, "*/", 3);
    assert_null(atoll_plan_parse(arena, task, "c", text, &(const char *){NULL}, &err));
    assert_non_null(strstr(err.text, "at most 32768 are allowed"));
    memset(text, ' ', sizeof(text));
    text[sizeof(text) - 1] = 0;
    assert_null(atoll_plan_parse(arena, task, "c", text, &(const char *){NULL}, &err));
    assert_non_null(strstr(err.text, "more than 262144 bytes"));
}

static void test_choices(void **state)
{
    static const struct {
        int64_t tm, u;
        int legal;
    } rows[] = {{8, 4, 1}, {8, 2, 1}, {32, 4, 0 /* N is 17 at check */}, {8, 3, 0}, {9, 1, 0}};
    const struct atoll_plan *p = parse_full();
    struct atoll_choice choice;
    char text[64];
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_plan_first_choice(p, &choice);
    assert_string_equal(atoll_choice_text(p, &choice, text, sizeof(text)), "TM=32 U=4");
    assert_string_equal(atoll_choice_text(p, &choice, text, 6), "TM=32");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        choice.values[0] = rows[i].tm;
        choice.values[1] = rows[i].u;
        assert_int_equal(atoll_plan_choice_legal(task, p, &choice, &err), rows[i].legal);
    }
    choice.count = 1;
    assert_int_equal(atoll_plan_choice_legal(task, p, &choice, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INPUT);
}

static void test_bad_requirement(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice;
    const struct atoll_plan *p =
        parse("c", PLAN("\"params\": {\"T\": [0]}, \"require\": [\"N / T > 1\"]"), &err);
    assert_non_null(p);
    atoll_plan_first_choice(p, &choice);
    assert_int_equal(atoll_plan_choice_legal(task, p, &choice, &err), -1);
    assert_non_null(strstr(err.text, "require[0]"));
}

static void test_choice_check(void **state)
{
    static const struct {
        const char *json, *says; /* NULL: fine */
    } rows[] = {
        {full, NULL},
        {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N - 17\", \"args\": []}]}",
         "field 'launch[0].units': 'N - 17' is 0 at variant 'check'"},
        {"{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N / (B - 3)\", \"args\": []}]}",
         "field 'launch[0].units' at variant 'check'"},
        {"{\"version\": 1, " LAUNCH("\"x\", \"i32:N * 1000000\"") "}", "field 'launch[0].args[1]'"},
        {PLAN("\"scratch\": {\"s\": \"N - 18\"}"), "field 'scratch.s': 'N - 18' is -1 at variant 'check'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice;
        const struct atoll_plan *p = parse("c", rows[i].json, &err);
        if (!p)
            fail_msg("%s", err.text);
        atoll_plan_first_choice(p, &choice);
        int rc = atoll_plan_choice_check(task, p, &choice, &err);
        if (rc != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("%s gave %d '%s'", rows[i].json, rc, err.text);
    }
}

static void test_backend_of_variants(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_choice choice;
    struct atoll_task other = *task;
    const struct atoll_plan *p = parse("c", PLAN("\"require\": [\"N != 512\"]"), &err);
    assert_non_null(p);
    atoll_plan_first_choice(p, &choice);
    assert_int_equal(atoll_plan_choice_legal(&other, p, &choice, &err), 0);
    other.variants[1].backend = "cuda";
    assert_int_equal(atoll_plan_choice_legal(&other, p, &choice, &err), 1);
}

static void test_mutations(void **state)
{
    struct atoll_random r = {5, 0};
    static const char bytes[] = "\"{}[]:,0 1e-*/+TMxNi\\\x01";
    for (int round = 0; round < 3000; round++) {
        char source[sizeof(full) + 32];
        const char *body;
        snprintf(source, sizeof(source), "/* atoll-plan %s */", full);
        size_t length = strlen(source);
        for (int k = 0; k < 3; k++)
            source[atoll_random_below(atoll_random_next(&r), length)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        struct atoll_arena *own = atoll_arena_create(4u << 20, NULL);
        assert_non_null(own);
        const struct atoll_plan *p = atoll_plan_parse(own, task, "c", source, &body, NULL);
        if (p) {
            struct atoll_choice choice;
            atoll_plan_first_choice(p, &choice);
            atoll_plan_choice_legal(task, p, &choice, NULL);
            atoll_plan_choice_check(task, p, &choice, NULL);
        }
        atoll_arena_destroy(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),         cmocka_unit_test(test_canonical_is_stable),
        cmocka_unit_test(test_device),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_comment),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_choices),      cmocka_unit_test(test_bad_requirement),
        cmocka_unit_test(test_choice_check), cmocka_unit_test(test_backend_of_variants),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
