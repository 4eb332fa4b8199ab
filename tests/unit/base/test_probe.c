#include "tests/support/expect.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/probe.h"

static json_t *say(void *context)
{
    return json_pack("{s:s, s:i}", "text", (const char *)context, "pid", (int)getpid());
}

static json_t *say_nothing(void *context)
{
    return NULL;
}

static json_t *leave(void *context)
{
    _exit(7);
}

static json_t *crash(void *context)
{
    signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
    raise(SIGSEGV);
    return NULL;
}

static json_t *hang(void *context)
{
    for (;;) {
        pause();
    }
    return NULL;
}

static json_t *flood(void *context)
{
    char *text = malloc(ATOLL_PROBE_BYTES_LIMIT + 1);

    memset(text, 'x', ATOLL_PROBE_BYTES_LIMIT);
    text[ATOLL_PROBE_BYTES_LIMIT] = '\0';
    return json_pack("{s:s}", "text", text);
}

static void test_answers(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char told[] = "here";
    json_t *object = atoll_probe(say, told, "a friend", 60, &err);

    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "text")), "here");
    assert_int_not_equal(json_integer_value(json_object_get(object, "pid")), getpid());
    json_decref(object);
}

static void test_everything_else_is_an_error(void **state)
{
    static const struct {
        atoll_probe_function *function;
        double deadline_s;
        enum atoll_code code;
        const char *text;
    } cases[] = {
        {say_nothing, 60, ATOLL_E_CHILD, "the thing gave no answer"},
        {leave, 60, ATOLL_E_CHILD, "the thing gave no answer"},
        {crash, 60, ATOLL_E_CHILD, "the thing crashed the process that asked it"},
        {hang, 0.05, ATOLL_E_TIMEOUT, "the thing did not answer within 0.05 s"},
        {flood, 60, ATOLL_E_LIMIT, "the thing answered more than"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        assert_null(atoll_probe(cases[i].function, NULL, "the thing", cases[i].deadline_s, &err));
        expect_err(&err, cases[i].code, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_everything_else_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
