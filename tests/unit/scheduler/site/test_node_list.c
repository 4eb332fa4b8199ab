#include "tests/support/expect.h"

#include <stdlib.h>

#include "scheduler/site/node_list.h"

static void test_lists_are_expanded(void **state)
{
    static const struct {
        const char *text, *names;
    } cases[] = {{"", ""},
                 {"n1", "n1"},
                 {"n1,n2", "n1 n2"},
                 {"n[1-3]", "n1 n2 n3"},
                 {"n[1-2,7],login", "n1 n2 n7 login"},
                 {"gpu-[08-11]-ib", "gpu-08-ib gpu-09-ib gpu-10-ib gpu-11-ib"},
                 {"r[0-1]c[2-3]", "r0c2 r0c3 r1c2 r1c3"},
                 {"nid[001234,001240-001241]", "nid001234 nid001240 nid001241"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_node_list list;
        char joined[256] = "";
        assert_int_equal(atoll_node_list_parse(cases[i].text, &list, NULL), 0);
        for (size_t k = 0; k < list.count; k++)
            strcat(strcat(joined, k ? " " : ""), list.names[k]);
        assert_string_equal(joined, cases[i].names);
        assert_true(list.count == 0 || list.names[list.count] == NULL);
        assert_int_equal(atoll_node_list_has(&list, "n2"), strstr(cases[i].names, "n2") != NULL);
        atoll_node_list_fini(&list);
    }
}

static void test_what_is_no_list_is_refused(void **state)
{
    static const char *const cases[] = {
        "n[",     "n[]", "n[3-1]", "n[1-",  "n[a]",  "n]",       ",n1", "n1,",
        "n1,,n2", "n 1", "n[1]]",  "n[1,]", "n[-2]", "n[1-2-3]", "[",   "n[1-99999999999]"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_node_list list = {0};
        assert_int_equal(atoll_node_list_parse(cases[i], &list, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, "is no list of nodes");
        assert_int_equal(list.count, 0);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_node_list list;
    assert_int_equal(atoll_node_list_parse("a[1-9999]b[1-9999]", &list, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "more than 16384 nodes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists_are_expanded),
                                       cmocka_unit_test(test_what_is_no_list_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
