#include "tests/unit/bench/recorded.h"

#include <math.h>

#include "bench/rival.h"

static struct atoll_tuner_rivals *rivals_load(const char *text, size_t budget, struct atoll_err *err)
{
    struct recorded_file file;
    recorded_write(&file, "kt.json", text, strlen(text));
    struct atoll_tuner_rivals *rivals = atoll_tuner_rivals_load(file.path, 1e6, budget, err);
    recorded_remove(&file);
    return rivals;
}

#define FILE_OF(strategies)                                                                                  \
    "{\"space\": \"small\", \"budget\": 10, \"versions\": {\"tuner\": \"1.5\", \"python\": \"3\"}, "         \
    "\"strategies\": {" strategies "}}"
#define STRATEGY(name, runs, evaluations)                                                                    \
    "\"" name "\": {\"runs\": [" runs "], \"evaluations\": [" evaluations                                    \
    "], \"seconds\": 2.5, \"error\": \"why\"}"

static void curves_of_improvements(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_tuner_rivals *rivals = rivals_load(
        FILE_OF(STRATEGY("climb", "[[2, 3.5], [4, 3]], []", "10, 3") "," STRATEGY("none", "", "")), 5, &err);
    if (!rivals)
        fail_msg("%s", err.text);
    assert_string_equal(rivals->space, "small");
    assert_string_equal(rivals->versions, "tuner 1.5, python 3");
    assert_int_equal(rivals->count, 2);
    const struct atoll_tuner_rival *climb = &rivals->list[0];
    static const double expected[] = {INFINITY, 3.5e6, 3.5e6, 3e6, 3e6};
    assert_string_equal(climb->name, "climb");
    assert_string_equal(climb->note, "why");
    assert_int_equal(climb->curves.runs, 2);
    assert_int_equal(climb->least_evaluations, 3);
    assert_memory_equal(climb->curves.best, expected, sizeof(expected));
    assert_true(isinf(climb->curves.best[9]));
    assert_int_equal(rivals->list[1].curves.runs, 0);
    atoll_tuner_rivals_destroy(rivals);
    atoll_tuner_rivals_destroy(NULL);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text;
        size_t budget;
        const char *complaint;
    } cases[] = {
        {"x", 5, "line 1"},
        {"{}", 5, "no 'space'"},
        {FILE_OF(""), 11, "less than 11 evaluations"},
        {FILE_OF("\"a\": 1"), 5, "'a': fields 'runs' and 'evaluations'"},
        {FILE_OF(STRATEGY("a", "[]", "")), 5, "'a': fields 'runs' and 'evaluations'"},
        {FILE_OF(STRATEGY("a", "7", "1")), 5, "run 0 is no list"},
        {FILE_OF(STRATEGY("a", "[[0, 1]]", "1")), 5, "run 0: improvement 0"},
        {FILE_OF(STRATEGY("a", "[[2, 1], [2, 0.5]]", "1")), 5, "run 0: improvement 1"},
        {FILE_OF(STRATEGY("a", "[[1, -1]]", "1")), 5, "run 0: improvement 0"},
        {FILE_OF(STRATEGY("a", "[7]", "1")), 5, "run 0: improvement 0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_null(rivals_load(cases[i].text, cases[i].budget, &err));
        expect_err(&err, ATOLL_E_INPUT, cases[i].complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_of_improvements),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
