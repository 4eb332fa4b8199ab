#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/prepare.h"

static struct atoll_task *task;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err);
    if (!task)
        print_error("%s\n", err.text);
    return task ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_task_destroy(task);
    return 0;
}

#define PLAN(rest) "/* atoll-plan {\"version\": 1, " rest "} */\n"
#define LAUNCH     "\"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": [\"x\", \"y\", \"i32:N\"]}]"
#define BODY       "void f(long b, long e, const float *x, float *y, int n) { y[b] = x[e - 1] * (float)n; }\n"

static const struct {
    const char *language, *source;
    size_t choice_count;
    int64_t choice;
    enum atoll_verdict verdict;
    const char *says;
} cases[] = {
    {"c", PLAN(LAUNCH) BODY, 0, 0, ATOLL_V_CORRECT, ""},
    {"c", BODY, 0, 0, ATOLL_V_BAD_PLAN, "plan"},
    {"cuda", PLAN(LAUNCH) BODY, 0, 0, ATOLL_V_BAD_PLAN, "language"},
    {"c", PLAN(LAUNCH) BODY, 1, 4, ATOLL_V_BAD_PLAN, "the choice has 1 values, the plan has 0 params"},
    {"c", PLAN("\"params\": {\"T\": [4, 8]}, " LAUNCH) BODY, 0, 0, ATOLL_V_BAD_PLAN,
     "the choice has 0 values"},
    {"c", PLAN("\"params\": {\"T\": [4, 8]}, " LAUNCH) BODY, 1, 8, ATOLL_V_CORRECT, ""},
    {"c", PLAN("\"params\": {\"T\": [4, 8]}, \"require\": [\"T < 8\"], " LAUNCH) BODY, 1, 8, ATOLL_V_BAD_PLAN,
     "T=8"},
    {"c", PLAN("\"launch\": [{\"function\": \"f\", \"units\": \"M - 100\", \"args\": [\"x\"]}]") BODY, 0, 0,
     ATOLL_V_BAD_PLAN, "units \"M - 100\" is -81 at variant check"},
    {"c",
     PLAN("\"launch\": [{\"function\": \"f\", \"units\": \"M\", \"args\": [\"i32:N * 100000000\"]}]") BODY, 0,
     0, ATOLL_V_BAD_PLAN, "is 3700000000 at variant check"},
    {"c", PLAN("\"scratch\": {\"s\": \"4 - M\"}, " LAUNCH) BODY, 0, 0, ATOLL_V_BAD_PLAN,
     "scratch \"4 - M\" is -15"},
    {"c", PLAN("\"scratch\": {\"s\": \"4000000000000\"}, " LAUNCH) BODY, 0, 0, ATOLL_V_BAD_PLAN,
     "is 4.0 TB at variant"},
    {"c", PLAN(LAUNCH) BODY "\nint atoll_mine;\n", 0, 0, ATOLL_V_FORBIDDEN, "rule harness, line 4"},
    {"c", PLAN(LAUNCH) BODY "/* atoll_mine */ const char *t = \"atoll_\"; int not_atoll_ = 1;\n", 0, 0,
     ATOLL_V_CORRECT, ""},
    /* Paths: each is judged where it is taken, N is 37 at check and 512 at bench. */
    {"c",
     PLAN("\"scratch\": {\"s\": \"N - 512\"}, \"paths\": [{\"when\": \"N % 8 == 0\", " LAUNCH "}, {" LAUNCH
          "}]") BODY,
     0, 0, ATOLL_V_BAD_PLAN, "scratch \"N - 512\" is -475 at variant check"},
    {"c",
     PLAN("\"scratch\": {\"s\": \"N - 50\"}, \"paths\": [{\"when\": \"N % 8 == 0\", \"launch\": "
          "[{\"function\": "
          "\"f\", \"units\": \"N - 40\", \"args\": [\"x\", \"s\", \"i32:N\"]}]}, {" LAUNCH "}]") BODY,
     0, 0, ATOLL_V_CORRECT, ""},
    {"c", PLAN("\"paths\": [{\"when\": \"N == 512 && M == 192\", " LAUNCH "}, {" LAUNCH "}]") BODY, 0, 0,
     ATOLL_V_BAD_PLAN,
     "plan: field 'paths[0]': variant 'bench' takes it, no check variant does, and no shape of at most half "
     "the size "
     "that the task allows; it cannot be checked"},
    {"c",
     PLAN("\"params\": {\"T\": [4, 8]}, \"paths\": [{\"when\": \"N % 8 == 0\", \"require\": [\"T < "
          "8\"], " LAUNCH "}, {" LAUNCH "}]") BODY,
     1, 8, ATOLL_V_BAD_PLAN, "the choice T=8 does not meet"},
    {"c", PLAN(LAUNCH) "#include <unistd.h>\n" BODY, 0, 0, ATOLL_V_FORBIDDEN, "line"},
};

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_order_candidate c = {.language = cases[i].language, .source = cases[i].source};
        c.choice.count = cases[i].choice_count;
        c.choice.values[0] = cases[i].choice;
        struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, &err);
        if (!p)
            fail_msg("case %zu: %s", i, err.text);
        if (p->verdict != cases[i].verdict || !strstr(p->detail, cases[i].says))
            fail_msg("case %zu: %s, \"%s\"", i, atoll_verdict_name(p->verdict), p->detail);
        assert_int_equal(p->unit_text != NULL, p->verdict == ATOLL_V_CORRECT);
        assert_int_equal(p->plan != NULL, p->verdict != ATOLL_V_BAD_PLAN);
        atoll_prepared_destroy(p);
    }
}

static void test_unit(void **state)
{
    static const char *const wanted[] = {
        "#define T 8\n#line 1 \"candidate\"\n\nvoid f(",
        "void atoll_shim_0(long atoll_b_, long atoll_e_, const union atoll_run_word_ *atoll_w_);",
        "#line 1 \"plan.launch[1]\"\n",
        "void atoll_shim_1(",
        "    g(atoll_b_, atoll_e_, atoll_w_[0].atoll_p_, atoll_w_[1].atoll_p_, (long "
        "long)atoll_w_[2].atoll_i_, "
        "(float)atoll_w_[3].atoll_d_, (double)atoll_w_[4].atoll_d_, (int)atoll_w_[5].atoll_i_);\n",
    };
    struct atoll_order_candidate c = {
        .language = "c",
        .source = PLAN(
            "\"params\": {\"T\": [4, 8]}, \"scratch\": {\"s\": \"4 * N\"}, \"launch\": [{\"function\": "
            "\"f\", "
            "\"units\": \"M\", \"args\": [\"x\", \"y\", \"i32:N\"]}, {\"function\": \"g\", \"units\": \"1\", "
            "\"args\": [\"y\", \"s\", \"i64:N\", \"f32:0.5\", \"f64:2\", \"i32:T\"]}]") BODY,
        .choice = {1, {8}}};
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, NULL);
    (void)state;
    assert_non_null(p);
    assert_string_equal(p->detail, "");
    assert_int_equal(p->symbol_count, 2);
    assert_string_equal(p->symbols[1], "atoll_shim_1");
    assert_int_equal(strlen(p->unit_text), p->unit_length);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (!strstr(p->unit_text, wanted[i]))
            fail_msg("\"%s\" is not in\n%s", wanted[i], p->unit_text);
    atoll_prepared_destroy(p);
}

/* What is made for a path that only bench takes; every launch of every path has its shim. */
static void test_paths(void **state)
{
    struct atoll_order_candidate c = {
        .language = "c",
        .source = PLAN("\"paths\": [{\"when\": \"N % 8 == 0\", " LAUNCH "}, {" LAUNCH "}]") BODY};
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, NULL);
    (void)state;
    assert_non_null(p);
    assert_string_equal(p->detail, "");
    assert_int_equal(p->symbol_count, 2);
    assert_non_null(strstr(p->unit_text, "#line 1 \"plan.paths[1].launch[0]\"\n"));
    assert_int_equal(p->cover.count, 2);
    assert_string_equal(p->cover.variants[0].name, "check.path[0]");
    assert_int_equal(p->cover.variants[0].dims[1], 56);
    assert_string_equal(p->cover.variants[1].name, "hidden.path[0]");
    atoll_prepared_destroy(p);
}

/* Lines keep their numbers where the plan's comment leaves room for the parameters. */
static void test_lines(void **state)
{
    struct atoll_order_candidate c = {
        .language = "c",
        .source = "/* atoll-plan {\n\"version\": 1,\n\"params\": {\"T\": [4, 8]},\n" LAUNCH "\n} */\n" BODY,
        .choice = {1, {4}}};
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, NULL);
    (void)state;
    assert_non_null(p);
    assert_string_equal(p->detail, "");
    assert_memory_equal(p->unit_text, "#define T 4\n\n\n\n\nvoid f(", 23);
    atoll_prepared_destroy(p);
}

static void test_limits(void **state)
{
    static char huge[ATOLL_SOURCE_LIMIT + 2];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate c = {.language = "c", .source = huge};
    (void)state;
    memset(huge, ' ', sizeof(huge) - 1);
    assert_null(atoll_prepared_create(task, &atoll_backend_cpu, &c, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_prepared_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts), cmocka_unit_test(test_unit),
                                       cmocka_unit_test(test_paths), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
