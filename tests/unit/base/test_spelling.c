/* test_spelling.c - which known word a misspelt one means. */
#include "tests/support/expect.h"

#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
