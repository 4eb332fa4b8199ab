#include "tests/support/expect.h"

#include "core/model_role.h"

static void names_go_both_ways(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
        const char *name = atoll_model_role_name((enum atoll_model_role)i);
        assert_int_equal(atoll_model_role_find(name, strlen(name)), i);
        assert_int_equal(atoll_model_role_find(name, strlen(name) - 1), ATOLL_MODEL_ROLE_COUNT);
    }
    assert_int_equal(atoll_model_role_find("", 0), ATOLL_MODEL_ROLE_COUNT);
    assert_string_equal(atoll_model_role_name(ATOLL_MODEL_ROLE_COUNT), "unknown");
}

static void each_ask_has_its_role(void **state)
{
    static const struct {
        enum atoll_ask_kind kind;
        enum atoll_operator op;
        enum atoll_model_role role;
    } rows[] = {
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_UNIVERSAL, ATOLL_MODEL_ROLE_WRITER},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_INITIALISE, ATOLL_MODEL_ROLE_DRAFTER},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_TRANSLATE, ATOLL_MODEL_ROLE_WRITER},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXECUTE, ATOLL_MODEL_ROLE_EXECUTOR},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_STAGED, ATOLL_MODEL_ROLE_REFINER},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_TEMPLATE, ATOLL_MODEL_ROLE_TEMPLATER},
        {ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXTRACT, ATOLL_MODEL_ROLE_EXTRACTOR},
        {ATOLL_ASK_SUMMARISE, ATOLL_OPERATOR_PLAN, ATOLL_MODEL_ROLE_SUMMARIZER},
        {ATOLL_ASK_DISTIL, ATOLL_OPERATOR_PLAN, ATOLL_MODEL_ROLE_DISTILLER},
        {ATOLL_ASK_META, ATOLL_OPERATOR_PLAN, ATOLL_MODEL_ROLE_PROMPTER},
        {ATOLL_ASK_JUDGE, ATOLL_OPERATOR_UNIVERSAL, ATOLL_MODEL_ROLE_JUDGE},
        {ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN, ATOLL_MODEL_ROLE_PLANNER},
        {ATOLL_ASK_ANALYSE, ATOLL_OPERATOR_STAGED, ATOLL_MODEL_ROLE_ANALYSER},
        {ATOLL_ASK_ORDER, ATOLL_OPERATOR_STAGED, ATOLL_MODEL_ROLE_ORDERER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_ask ask = {.kind = rows[i].kind, .op = rows[i].op};
        assert_int_equal(atoll_model_role_of_ask(&ask), rows[i].role);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(each_ask_has_its_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
