/* test_spelling.c - which known word a misspelt one means. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/spelling.h"

static void test_rows(void **state)
{
    static const char *const known[] = {"dims", "dtype", "shape", "role", "units", "x"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {{"dims", "dims"},  {"dim", "dims"},    {"dimz", "dims"},     {"idms", "dims"},
                {"unit", "units"}, {"shpae", "shape"}, {"dtypes", "dtype"},  {"role_", "role"},
                {"qqqqq", NULL},   {"", NULL},         {"shapeshape", NULL}, {"y", "x"}};
    char longer[100];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *near = atoll_spelling_nearest(rows[i].word, known, sizeof(known) / sizeof(*known));
        if (!near != !rows[i].nearest || (near && strcmp(near, rows[i].nearest) != 0))
            fail_msg("%s gave %s", rows[i].word, near ? near : "nothing");
    }
    memset(longer, 'd', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_null(atoll_spelling_nearest(longer, known, 6));
    assert_null(atoll_spelling_nearest("dims", known, 0));
    assert_null(atoll_spelling_nearest("dims", (const char *const[]){longer}, 1));
}

/* What a message says behind an unknown word. */
static void test_hints(void **state)
{
    static const char *const known[] = {"softmax_rows", "row_reduce", "run"};
    static const struct {
        const char *word, *hint;
    } rows[] = {{"softmax_row", "did you mean 'softmax_rows'?"},
                {"rnu", "did you mean 'run'?"},
                {"soft", "did you mean 'softmax_rows'?"},
                {"so", "see the list"},
                {"matmul", "see the list"},
                {"", "see the list"}};
    char hint[ATOLL_SPELLING_HINT_BYTES];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(atoll_spelling_hint(rows[i].word, known, 3, "see the list", hint), rows[i].hint);
        assert_string_equal(
            atoll_spelling_hint_in(rows[i].word, "softmax_rows, row_reduce|run", "see the list", hint),
            rows[i].hint);
    }
    assert_string_equal(atoll_spelling_hint("run", NULL, 0, "", hint), "");
    assert_string_equal(atoll_spelling_hint_in("run", "", "none", hint), "none");
}

static void test_paths(void **state)
{
    char folder[] = "/tmp/atoll-spelling-XXXXXX", path[256], expected[300], near[256];
    char hint[ATOLL_SPELLING_HINT_BYTES];
    assert_non_null(mkdtemp(folder));
    static const char *const made[] = {"suites", "suites/starter", "suites/gpu", "suites/site.yaml.d",
                                       ".starter"};
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    static const struct {
        const char *path, *ending, *near;
    } rows[] = {{"suites/startre", "", "suites/starter"},
                {"suits/starter", "", "suites"},
                {"suites//startre/x", "", "suites//starter"},
                {"suites/gp", "", NULL}, /* too short to tell */
                {"suites/elsewhere", "", NULL},
                {"suites/siet", ".yaml.d", "suites/site"},
                {"nowhere/at/all", "", NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, rows[i].path);
        snprintf(expected, sizeof(expected), "%s/%s", folder, rows[i].near ? rows[i].near : "");
        if (atoll_spelling_near_path(path, rows[i].ending, near, sizeof(near)) != (rows[i].near != NULL) ||
            (rows[i].near && strcmp(near, expected) != 0))
            fail_msg("%s: %s", path, near);
    }
    snprintf(path, sizeof(path), "%s/suites/startre", folder);
    assert_non_null(strstr(atoll_spelling_hint_path(path, "", hint), "/suites/starter'?"));
    assert_int_equal(atoll_spelling_near_path(path, "", near, 10), 0);
    for (size_t i = 5; i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_hints),
                                       cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
