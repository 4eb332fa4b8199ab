#include "tests/unit/bench/recorded.h"

#define FILE_OF(unit, results) "{\"metadata\": {\"timeunit\": \"" unit "\"}, \"results\": [" results "]}"
#define RESULT(configuration, invalidity, value)                                                             \
    "{\"configuration\": {" configuration "}, \"invalidity\": \"" invalidity "\", \"correctness\": 1, "      \
    "\"times\": {\"compilation\": 7, \"runtimes\": [1, 2.5, -1, \"x\"]}, \"objectives\": [\"time\"], "       \
    "\"measurements\": [{\"name\": \"other\", \"value\": 9}, {\"name\": \"time\", \"value\": " value "}]}"

/* X has integers out of order, T text, R real numbers: those two become positions. */
#define SMALL                                                                                                \
    FILE_OF(                                                                                                 \
        "miliseconds",                                                                                       \
        RESULT("\"X\": 32, \"T\": \"b\", \"R\": 0.5", "correct", "2") "," RESULT(                            \
            "\"X\": 8, \"T\": \"a\", \"R\": 1", "correct",                                                   \
            "1.5") "," RESULT("\"X\": 8, \"T\": \"b\", \"R\": 1", "compile",                                 \
                              "\"CompilationFailedConfig\"") "," RESULT("\"X\": 16, \"T\": \"a\", \"R\": 1", \
                                                                        "runtime",                           \
                                                                        "1") "," RESULT("\"X\": 32, \"T\": " \
                                                                                        "\"a\", \"R\": 1",   \
                                                                                        "constraints",       \
                                                                                        "1") "," RESULT("\"" \
                                                                                                        "X"  \
                                                                                                        "\"" \
                                                                                                        ": " \
                                                                                                        "16" \
                                                                                                        ", " \
                                                                                                        "\"" \
                                                                                                        "T"  \
                                                                                                        "\"" \
                                                                                                        ": " \
                                                                                                        "\"" \
                                                                                                        "b"  \
                                                                                                        "\"" \
                                                                                                        ", " \
                                                                                                        "\"" \
                                                                                                        "R"  \
                                                                                                        "\"" \
                                                                                                        ": " \
                                                                                                        "1", \
                                                                                                        "co" \
                                                                                                        "rr" \
                                                                                                        "ec" \
                                                                                                        "t", \
                                                                                                        "0"))

static void small_check(const struct atoll_t4 *t4)
{
    assert_string_equal(t4->name, "small-device");
    assert_int_equal(t4->space.count, 3);
    assert_string_equal(t4->space.params[0].name, "X");
    assert_int_equal(t4->space.params[0].value_count, 3);
    assert_int_equal(t4->space.params[0].values[0], 8);
    assert_int_equal(t4->space.params[0].values[2], 32);
    assert_int_equal(t4->space.params[1].value_count, 2);
    assert_int_equal(t4->space.params[1].values[1], 1);
    assert_int_equal(t4->space.params[2].values[1], 1);
    assert_int_equal(t4->count, 5);
    assert_int_equal(t4->constraint_count, 1);
}

static const struct {
    uint8_t digits[3];
    int legal;
    enum atoll_t4_status status;
    double time_ns;
} points[] = {
    {{2, 1, 0}, 1, ATOLL_T4_CORRECT, 2e6}, {{0, 0, 1}, 1, ATOLL_T4_CORRECT, 1.5e6},
    {{0, 1, 1}, 1, ATOLL_T4_COMPILE, 0},   {{1, 0, 1}, 1, ATOLL_T4_RUNTIME, 0},
    {{1, 1, 1}, 1, ATOLL_T4_INCORRECT, 0}, /* "correct" with a time of 0 */
    {{2, 0, 1}, 0, ATOLL_T4_CORRECT, 0},   /* excluded by a constraint */
    {{0, 0, 0}, 0, ATOLL_T4_CORRECT, 0},   /* not recorded */
};

static void points_check(const struct atoll_t4 *t4)
{
    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
        struct atoll_point point = {{0}};
        memcpy(point.digits, points[i].digits, sizeof(points[i].digits));
        const struct atoll_t4_entry *entry = atoll_t4_find(t4, &point);
        assert_int_equal(entry != NULL, points[i].legal);
        assert_int_equal(t4->space.legal(t4->space.context, &point), points[i].legal);
        if (!entry)
            continue;
        assert_int_equal(entry->status, points[i].status);
        expect_close(entry->time_ns, points[i].time_ns, 1e-12);
        assert_int_equal(entry->run_count, entry->status == ATOLL_T4_CORRECT ? 2 : 0);
        expect_close(entry->compile_ns, 7e6, 1e-12);
    }
}

static void a_small_file(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_t4 *t4 = recorded_load(SMALL, &err);
    if (!t4)
        fail_msg("%s", err.text);
    small_check(t4);
    points_check(t4);
    const struct atoll_t4_entry *fast = atoll_t4_find(t4, &(struct atoll_point){{0, 0, 1}});
    expect_close(t4->runs_ns[fast->first], 1e6, 1e-12);
    expect_close(t4->runs_ns[fast->first + 1], 2.5e6, 1e-12);
    atoll_t4_destroy(t4);
    atoll_t4_destroy(NULL);
}

static void gzipped(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct recorded_file file;
    char command[160];
    recorded_write(&file, "small-device_T4.json", SMALL, strlen(SMALL));
    snprintf(command, sizeof(command), "gzip %s", file.path);
    assert_int_equal(system(command), 0);
    strcat(file.path, ".gz");
    struct atoll_t4 *t4 = atoll_t4_load(file.path, &err);
    recorded_remove(&file);
    if (!t4)
        fail_msg("%s", err.text);
    small_check(t4);
    atoll_t4_destroy(t4);
}

static void a_prefix_is_refused_when_nothing_starts_with_it(void **state)
{
    struct atoll_t4 *t4 = recorded_load(SMALL, NULL);
    const struct atoll_space *space = &t4->space;
    static const struct {
        uint8_t digits[3];
        size_t known;
        int possible;
    } cases[] = {{{0, 0, 0}, 0, 1}, {{2, 0, 0}, 1, 1}, {{2, 1, 0}, 2, 1}, {{2, 0, 0}, 2, 0},
                 {{0, 0, 0}, 2, 1}, {{0, 0, 0}, 3, 0}, {{9, 0, 0}, 1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_point point = {{0}};
        memcpy(point.digits, cases[i].digits, sizeof(cases[i].digits));
        assert_int_equal(space->prefix(space->context, &point, cases[i].known), cases[i].possible);
    }
    atoll_t4_destroy(t4);
}

#define ONE RESULT("\"X\": 1", "correct", "1")

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "line 1: '[' or '{' expected"},
        {"{\"results\": []", "line 1: "},
        {"{\"results\": [], \"results\": []}", "duplicate object key"},
        {"[]", "field 'metadata.timeunit' is missing"},
        {"{\"metadata\": {\"timeunit\": \"weeks\"}}", "'weeks' is no unit of time"},
        {"{\"metadata\": {\"timeunit\": \"seconds\"}, \"results\": {}}", "field 'results' is no list"},
        {FILE_OF("seconds", ""), "no result is legal"},
        {FILE_OF("seconds", "17"), "result 0: field 'invalidity' is no text"},
        {FILE_OF("seconds", "{\"invalidity\": \"correct\"}"), "result 0: field 'configuration' is no object"},
        {FILE_OF("seconds", RESULT("\"X\": 1", "compile", "1")), "no result is correct"},
        {FILE_OF("seconds", ONE "," ONE), "a configuration stands there twice"},
        {FILE_OF("seconds", ONE "," RESULT("\"Y\": 1", "correct", "1")),
         "result 1: configuration: 'X' is missing"},
        {FILE_OF("seconds", ONE "," RESULT("\"X\": 1, \"Y\": 2", "correct", "1")),
         "2 parameters, others have 1"},
        {FILE_OF("seconds", RESULT("\"X\": [1]", "correct", "1")), "'X': a value is no number"},
        {FILE_OF("seconds",
                 RESULT("\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
                        "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1",
                        "correct", "1")),
         "17 parameters, at most 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_null(recorded_load(cases[i].text, &err));
        expect_err(&err, ATOLL_E_INPUT, cases[i].complaint);
    }
}

static void too_many_values(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char text[32768] = "{\"metadata\": {\"timeunit\": \"seconds\"}, \"results\": [" ONE;
    for (int i = 2; i <= ATOLL_PLAN_VALUE_LIMIT + 1; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used,
                 ",{\"configuration\": {\"X\": %d}, \"invalidity\": \"runtime\"}", i);
    }
    strcat(text, "]}");
    assert_null(recorded_load(text, &err));
    expect_err(&err, ATOLL_E_INPUT, "parameter 'X' has more than 64 values");
}

static void no_file_and_no_gzip(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct recorded_file file;
    assert_null(atoll_t4_load("/nowhere/x_T4.json", &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "/nowhere/x_T4.json");
    atoll_err_clear(&err);
    assert_null(atoll_t4_load("/nowhere/x_T4.json.gz", &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "/nowhere/x_T4.json.gz");
    atoll_err_clear(&err);
    recorded_write(&file, "plain_T4.json.gz", SMALL, strlen(SMALL));
    assert_null(atoll_t4_load(file.path, &err));
    recorded_remove(&file);
    expect_err(&err, ATOLL_E_INPUT, "plain_T4.json.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file),
        cmocka_unit_test(gzipped),
        cmocka_unit_test(a_prefix_is_refused_when_nothing_starts_with_it),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(no_file_and_no_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
