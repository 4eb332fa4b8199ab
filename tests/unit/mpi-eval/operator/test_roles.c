#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/operator/roles.h"

static void one_model_is_for_all(void **state)
{
    struct atoll_roles roles;
    struct atoll_llm_request request;
    (void)state;
    assert_int_equal(atoll_roles_parse("strong", NULL, &roles, NULL), 0);
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
        atoll_llm_request_init(&request);
        atoll_roles_apply(&roles, (enum atoll_model_role)i, 0, &request);
        assert_string_equal(request.model, "strong");
        assert_string_equal(request.purpose, atoll_model_role_name((enum atoll_model_role)i));
        assert_true(isnan(request.temperature) && isnan(request.top_p));
        assert_int_equal(request.effort, ATOLL_LLM_EFFORT_UNSAID);
    }
}

static void roles_have_their_own(void **state)
{
    struct atoll_roles roles;
    struct atoll_llm_request request;
    struct atoll_search search;
    (void)state;
    assert_int_equal(
        atoll_roles_parse("planner=A, executor=B,*=org/C:free",
                          "planner:temperature=0.3,top-p=0.9,effort=high,max-tokens=8000,candidates=5;"
                          "executor:candidates=7,tools=0; templater:candidates=3;writer:candidates=4;"
                          "refiner:candidates=6; *:context=32000",
                          &roles, NULL),
        0);
    atoll_llm_request_init(&request);
    atoll_roles_apply(&roles, ATOLL_MODEL_ROLE_PLANNER, 0, &request);
    assert_string_equal(request.model, "A");
    assert_true(request.temperature == 0.3 && request.top_p == 0.9);
    assert_int_equal(request.effort, ATOLL_LLM_EFFORT_HIGH);
    assert_int_equal(request.max_output_tokens, 8000);
    assert_string_equal(roles.of[ATOLL_MODEL_ROLE_EXECUTOR].model, "B");
    assert_string_equal(roles.of[ATOLL_MODEL_ROLE_WRITER].model, "org/C:free");
    assert_int_equal(atoll_roles_prompt_bytes(&roles, ATOLL_MODEL_ROLE_PLANNER), 32000);
    assert_int_equal(atoll_roles_prompt_bytes(&roles, ATOLL_MODEL_ROLE_WRITER), 16000);
    assert_int_equal(roles.of[ATOLL_MODEL_ROLE_EXECUTOR].tools, 0);
    assert_int_equal(roles.of[ATOLL_MODEL_ROLE_PLANNER].tools, UINT32_MAX);
    atoll_search_defaults(&search);
    atoll_roles_candidates(&roles, &search);
    assert_int_equal(search.beam_plans, 5);
    assert_int_equal(search.beam_attempts, 7);
    assert_int_equal(search.template_count, 3);
    assert_int_equal(search.ask_candidates, 4);
    search.strategy = ATOLL_STRATEGY_STAGED;
    atoll_roles_candidates(&roles, &search);
    assert_int_equal(search.ask_candidates, 6);
    assert_int_equal(atoll_roles_parse("planner=A", NULL, &roles, NULL), 0);
    assert_string_equal(roles.of[ATOLL_MODEL_ROLE_WRITER].model, "");
    assert_int_equal(atoll_roles_prompt_bytes(&roles, ATOLL_MODEL_ROLE_WRITER), 0);
}

/* The narrowest holds: the role on its island, its base there, the island, the role, all. */
static void islands_have_their_own(void **state)
{
    static const struct {
        enum atoll_model_role role;
        uint32_t island;
        const char *model;
    } rows[] = {
        {ATOLL_MODEL_ROLE_WRITER, 0, "A"},  {ATOLL_MODEL_ROLE_WRITER, 1, "B"},
        {ATOLL_MODEL_ROLE_WRITER, 2, "W"},  {ATOLL_MODEL_ROLE_PLANNER, 0, "C"},
        {ATOLL_MODEL_ROLE_PLANNER, 1, "B"}, {ATOLL_MODEL_ROLE_DRAFTER, 0, "A"},
        {ATOLL_MODEL_ROLE_DRAFTER, 1, "D"}, {ATOLL_MODEL_ROLE_DRAFTER, 2, "W"},
    };
    struct atoll_roles roles;
    struct atoll_llm_request request;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    assert_int_equal(atoll_roles_parse("writer=W,writer@0=A,@1=B,drafter@1=D,*=C",
                                       "writer:effort=low,tools=3", &roles, NULL),
                     0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(atoll_roles_model(&roles, rows[i].role, rows[i].island), rows[i].model);
        atoll_llm_request_init(&request);
        atoll_roles_apply(&roles, rows[i].role, rows[i].island, &request);
        assert_string_equal(request.model, rows[i].model);
    }
    assert_int_equal(roles.of[ATOLL_MODEL_ROLE_DRAFTER].effort, ATOLL_LLM_EFFORT_LOW);
    assert_int_equal(atoll_roles_check_islands(&roles, 2, NULL), 0);
    assert_int_equal(atoll_roles_check_islands(&roles, 1, &err), -1);
    expect_err(&err, ATOLL_E_USAGE, "there is no island 1: the search has 1");
    assert_int_equal(
        atoll_roles_parse("*=C,drafter=D", "drafter:effort=high;writer:effort=low,tools=3", &roles, NULL), 0);
    assert_string_equal(atoll_roles_model(&roles, ATOLL_MODEL_ROLE_DRAFTER, 5), "D");
    assert_int_equal(roles.of[ATOLL_MODEL_ROLE_DRAFTER].effort, ATOLL_LLM_EFFORT_HIGH);
    assert_int_equal(roles.of[ATOLL_MODEL_ROLE_DRAFTER].tools, 3);
}

static void what_does_not_fit_is_said(void **state)
{
    static const struct {
        const char *models, *parameters, *part;
    } rows[] = {
        {"painter=A", NULL, "no role is called 'painter'; there are writer, planner"},
        {"plannr=A", NULL, "judge, drafter and *; did you mean 'planner'?"},
        {"A", "planner:temprature=1", "did you mean 'temperature'?"},
        {"plannr@0=A", NULL, "did you mean 'planner'?"},
        {"planner@16=A", NULL, "'@16' is no island; they are numbered from 0 to 15"},
        {"planner@=A", NULL, "is no island"},
        {"planner@-1=A", NULL, "is no island"},
        {"@1=", NULL, "is no name of a model"},
        {"@1=A,*@1=B", NULL, "'*@1' has two models"},
        {"planner=A,planner=B", NULL, "'planner' has two models"},
        {"A,B", NULL, "'*' has two models"},
        {"planner=", NULL, "is no name of a model"},
        {"A", "painter:effort=low", "no role is called 'painter'"},
        {"A", "planner", "say it as planner:temperature=0.3"},
        {"A", "planner:temperature=3", "temperature is a number from 0 to 2, not '3'"},
        {"A", "planner:temperature=", "temperature is a number"},
        {"A", "planner:temperature=nan", "temperature is a number"},
        {"A", "planner:candidates=1.5", "candidates is a whole number from 1 to 64"},
        {"A", "judge:candidates=2", "--role judge:candidates has no effect"},
        {"A", "analyser:effort=low,candidates=2", "--role analyser:candidates has no effect"},
        {"jugde=A", NULL, "summarizer, distiller, prompter, judge, drafter and *; did you mean 'judge'?"},
        {"A", "planner:effort=hihg", "or high, not 'hihg'; did you mean 'high'?"},
        {"A", "planner:efort=low", "'efort' is not known; did you mean 'effort'?"},
        {"A", "planner:tools=21", "tools is a whole number from 0 to 20"},
        {"A", "planner:effort=huge", "effort is minimal, low, medium or high, not 'huge'"},
        {"A", "planner:colour=red", "'colour' is not known"},
        {"A", "planner:effort", "effort is minimal"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_roles roles;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_roles_parse(rows[i].models, rows[i].parameters, &roles, &err), -1);
        expect_err(&err, ATOLL_E_USAGE, rows[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_is_for_all),
        cmocka_unit_test(roles_have_their_own),
        cmocka_unit_test(islands_have_their_own),
        cmocka_unit_test(what_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
