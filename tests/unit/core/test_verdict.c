#include "tests/support/expect.h"

#include "core/verdict.h"

static void test_names_are_distinct(void **state)
{
    for (unsigned a = 0; a < ATOLL_VERDICT_COUNT; a++) {
        assert_non_null(atoll_verdict_name((enum atoll_verdict)a));
        for (unsigned b = 0; b < a; b++) {
            assert_string_not_equal(atoll_verdict_name((enum atoll_verdict)a),
                                    atoll_verdict_name((enum atoll_verdict)b));
        }
    }
    assert_string_equal(atoll_verdict_name(ATOLL_V_CORRECT), "correct");
    assert_string_equal(atoll_verdict_name(ATOLL_V_INFRASTRUCTURE), "infrastructure");
    assert_string_equal(atoll_verdict_name(ATOLL_VERDICT_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_are_distinct)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
