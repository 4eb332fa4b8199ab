/* test_model_options.c - which model a run asks: what is refused, and what a gateway's offer adds to what was said. */
#include "tests/support/expect.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi-eval/operator/roles.h"
#include "scheduler/campaign/model_options.h"

static char folder[] = "/tmp/atoll-model-options-XXXXXX", spool[64];

static int setup(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(spool, sizeof(spool), "spool:%s", folder);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    return remove(path);
}

static int teardown(void **state)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_offer(const char *text)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/offer", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static const struct atoll_search_options nothing;

/* What the gateway says of context and candidates is kept, and what is said here holds. */
static void an_offer_is_kept(void **state)
{
    static const struct {
        const char *model, *role, *roles;
    } cases[] = {
        {"big", NULL, "planner:context=128000;planner:candidates=4;executor:context=128000;"},
        {"roles", NULL, "planner:context=9000;planner:candidates=4;executor:context=128000;"},
        {"planner=big,executor=other", "executor:temperature=0.5",
         "planner:context=128000;planner:candidates=4;executor:temperature=0.5"},
        {"tiny", "planner:candidates=2,tools=3",
         "planner:tools=0;writer:tools=0;planner:candidates=4;planner:candidates=2,tools=3"},
    };
    write_offer(
        "{\"data\":[{\"id\":\"big\",\"atoll\":{\"context_tokens\":128000}},{\"id\":\"small\",\"atoll\":{"
        "\"context_tokens\":9000}},{\"id\":\"tiny\",\"atoll\":{\"context_tokens\":9,\"tools\":false}}],"
        "\"atoll\":{\"roles\":{"
        "\"planner\":{\"model\":\"small\",\"candidates\":4},\"executor\":{\"model\":\"big\"}}}}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_model_options options = {.model = cases[i].model, .gateway = spool};
        struct atoll_search search;
        struct atoll_roles roles;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_search_defaults(&search);
        if (cases[i].role)
            options.role.items[options.role.count++] = cases[i].role;
        if (atoll_model_options_apply(&options, &nothing, &search, &err))
            fail_msg("%s", err.text);
        /* every other role of "big" has its context, too */
        for (const char *part = cases[i].roles; *part;) {
            char one[64];
            size_t length = strcspn(part, ";");
            snprintf(one, sizeof(one), "%.*s", (int)length, part);
            if (!strstr(options.roles, one))
                fail_msg("'%s' is not in '%s'", one, options.roles);
            part += length + (part[length] != 0);
        }
        assert_int_equal(atoll_roles_parse(options.model, options.roles, &roles, &err), 0);
        assert_int_equal(roles.of[ATOLL_MODEL_ROLE_PLANNER].candidates, i == 3 ? 2 : 4);
        assert_int_equal(roles.of[ATOLL_MODEL_ROLE_PLANNER].tools, i == 3 ? 3 : UINT32_MAX);
        assert_int_equal(roles.of[ATOLL_MODEL_ROLE_WRITER].tools, i == 3 ? 0 : UINT32_MAX);
        assert_int_equal(search.beam_plans, i == 3 ? 2 : 4);
        assert_int_equal(roles.of[ATOLL_MODEL_ROLE_EXECUTOR].context_tokens, i < 2 ? 128000 : 0);
        atoll_model_options_fini(&options);
    }
}

/* What nobody offers, or what is no offer, adds nothing. */
static void no_offer_adds_nothing(void **state)
{
    const char *const gateways[] = {spool, "unix:/nowhere/door"};
    write_offer("{\"data\":");
    for (size_t i = 0; i < 2; i++) {
        struct atoll_model_options options = {.model = "big", .gateway = gateways[i]};
        struct atoll_search search;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_search_defaults(&search);
        if (atoll_model_options_apply(&options, &nothing, &search, &err))
            fail_msg("%s", err.text);
        assert_string_equal(options.roles, "");
        assert_true(search.ask_share == ATOLL_MODEL_ASK_SHARE);
        atoll_model_options_fini(&options);
    }
}

/* A campaign's prompts are as long as the models that it was made with could read, and offer tools where these could call some. */
static void a_resume_wants_as_much(void **state)
{
    static const struct {
        const char *model, *gateway, *roles, *words;
        uint32_t tools;
    } cases[] = {
        {"big", NULL, "planner:context=128000;", NULL, 0},
        {"small", NULL, "planner:context=9000;writer:context=9000;", NULL, 0},
        {"small", NULL, "writer:context=9001;", "role writer has a context of 9000 tokens", 0},
        {"*=big,executor=small", NULL, "executor:context=128000", "role executor", 0},
        {"*=big,executor=small", NULL, "planner:context=128000", NULL, 0},
        {NULL, NULL, "planner:context=128000;", "role planner", 0}, /* the campaign's own, elsewhere */
        {"unheard-of", NULL, "planner:context=128000;", NULL, 0},
        {"small", "none", "planner:context=128000;", NULL, 0},
        {"small", NULL, NULL, NULL, 0},
        {"mute", NULL, NULL, "role writer can call no tools", 8},
        {"mute", "none", NULL, NULL, 8},
        {"mute", NULL, NULL, NULL, 0},
        {"mute", NULL, "*:tools=0", NULL, 8},
        {"*=big,judge=mute", NULL, NULL, NULL, 8}, /* which is offered none */
        {"*=big,refiner=mute", NULL, "*:tools=0;refiner:tools=2;", "role refiner can call no tools", 8},
        {"*=big,@1=mute", NULL, NULL, "can call no tools", 8},
    };
    write_offer(
        "{\"data\":[{\"id\":\"big\",\"atoll\":{\"context_tokens\":128000}},{\"id\":\"mute\",\"atoll\":{"
        "\"tools\":false}},{\"id\":\"small\",\"atoll\":{"
        "\"context_tokens\":9000}}],\"atoll\":{\"roles\":{}}}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_model_options options = {.model = cases[i].model, .gateway = cases[i].gateway};
        const struct atoll_model_kept kept = {
            .model = "small", .roles = cases[i].roles, .gateway = spool, .tools = cases[i].tools};
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_model_options_complete(&options, &err), 0);
        int rc = atoll_model_options_fit(&options, &kept, &err);
        if ((rc == 0) != !cases[i].words)
            fail_msg("case %zu: %s", i, rc ? err.text : "taken");
        if (rc != 0)
            expect_err(&err, ATOLL_E_USAGE, cases[i].words);
        atoll_model_options_fini(&options);
    }
}

/* What a request alone says may be another; behind what the campaign keeps, so that it holds. */
static void a_resume_says_more_of_roles(void **state)
{
    static const struct {
        const char *kept, *role, *roles, *words;
    } cases[] = {
        {NULL, NULL, NULL, NULL},
        {NULL, "writer:temperature=0.3", "writer:temperature=0.3", NULL},
        {"", "*:effort=low", "*:effort=low", NULL},
        {"writer:context=9000;", "*:top-p=0.5", "writer:context=9000;*:top-p=0.5", NULL},
        {"writer:effort=high", "writer:effort=low", "writer:effort=high;writer:effort=low", NULL},
        {"writer:context=9000;", "writer:context=9000", "writer:context=9000;writer:context=9000", NULL},
        {"writer:context=9000;", "writer:context=9001", NULL, "context of the writer cannot be changed"},
        {NULL, "planner:candidates=3", NULL, "candidates of the planner cannot be changed"},
        {NULL, "*:tools=0", NULL, "tools of the writer cannot be changed"},
        {NULL, "judge:max-tokens=5", NULL, "max-tokens of the judge cannot be changed"},
        {NULL, "writer:temprature=1", NULL, "temprature"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_model_options options = {.model = NULL};
        const struct atoll_model_kept kept = {.roles = cases[i].kept};
        const char *arguments[8];
        struct atoll_err err = ATOLL_ERR_INIT;
        if (cases[i].role)
            options.role.items[options.role.count++] = cases[i].role;
        assert_int_equal(atoll_model_options_resume_roles(&options, &kept, &err), cases[i].words ? -1 : 0);
        assert_int_equal(atoll_model_options_arguments(&options, arguments), cases[i].roles ? 2 : 0);
        if (cases[i].words)
            expect_err(&err, ATOLL_E_USAGE, cases[i].words);
        else if (cases[i].roles)
            assert_string_equal(arguments[1], cases[i].roles);
        atoll_model_options_fini(&options);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        struct atoll_model_options options;
        const char *words;
    } cases[] = {
        {{.model = "m"}, "--model m needs a gateway"},
        {{.gateway = "unix:/x"}, "--gateway needs --model NAME"},
        {{.role = {.count = 1, .items = {"planner:effort=high"}}}, "--role needs --model"},
        {{.model = "planer=m", .gateway = "unix:/x"}, "planer"},
    };
    unsetenv("ATOLL_GATEWAY");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_model_options options = cases[i].options;
        struct atoll_search search;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_search_defaults(&search);
        assert_int_equal(atoll_model_options_apply(&options, &nothing, &search, &err), -1);
        expect_err(&err, ATOLL_E_USAGE, cases[i].words);
        atoll_model_options_fini(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_is_kept),
        cmocka_unit_test(no_offer_adds_nothing),
        cmocka_unit_test(a_resume_wants_as_much),
        cmocka_unit_test(a_resume_says_more_of_roles),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("scheduler.model-options", tests, setup, teardown);
}
