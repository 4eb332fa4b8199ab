/* A problem's texts as the torch process gets them, and the hash that tells whether they changed. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "scheduler/import/problem_request.h"

static char folder[] = "/tmp/atoll-problem-request-XXXXXX";
static char source[64], spec[64];

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(source, sizeof(source), "%s/source", folder);
    snprintf(spec, sizeof(spec), "%s/spec", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(source);
    unlink(spec);
    return rmdir(folder);
}

static struct atoll_problem problem_of(size_t file_count)
{
    return (struct atoll_problem){.name = "level1/7_shift",
                                  .level = 1,
                                  .number = 7,
                                  .is_backward = 1,
                                  .file_count = file_count,
                                  .files = {{"source", source}, {"spec", spec}}};
}

static const char *text_of(const json_t *request, const char *name)
{
    return json_string_value(json_object_get(request, name));
}

static void test_texts(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_problem problem = problem_of(2);
    char hash[ATOLL_ID_HEX], other[ATOLL_ID_HEX];
    json_t *request, *again;
    (void)state;
    put(source, "class Model: # \xc3\xa4\n");
    put(spec, "shapes:\n  x: [3, N]\nname: \"a b\"\nempty: []\n");
    assert_int_equal(atoll_problem_request("ai-bench", &problem, &request, hash, &err), 0);
    assert_string_equal(text_of(request, "op"), "inspect");
    assert_string_equal(text_of(request, "format"), "ai-bench");
    assert_string_equal(text_of(request, "title"), "7_shift");
    assert_int_equal(json_integer_value(json_object_get(request, "level")), 1);
    assert_true(json_is_true(json_object_get(request, "backward")));
    const json_t *files = json_object_get(request, "files");
    assert_string_equal(text_of(files, "source"), "class Model: # \xc3\xa4\n");
    assert_string_equal(text_of(files, "spec"),
                        "{\"shapes\": {\"x\": [\"3\", \"N\"]}, \"name\": \"a b\", \"empty\": \"\"}");

    put(spec, "shapes:\n  x: [4, N]\nname: \"a b\"\nempty: []\n"); /* another hash with another text */
    assert_int_equal(atoll_problem_request("ai-bench", &problem, &again, other, &err), 0);
    assert_int_equal(strlen(hash), ATOLL_ID_HEX - 1);
    assert_string_not_equal(hash, other);
    json_decref(request);
    json_decref(again);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *source, *spec; /* NULL: not there */
        enum atoll_code code;
    } cases[] = {{NULL, "a: b\n", ATOLL_E_NOTFOUND},
                 {"x\n", NULL, ATOLL_E_NOTFOUND},
                 {"x\n", "a: [\n", ATOLL_E_INPUT}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_problem problem = problem_of(2);
        char hash[ATOLL_ID_HEX];
        json_t *request;
        unlink(source);
        unlink(spec);
        if (cases[i].source)
            put(source, cases[i].source);
        if (cases[i].spec)
            put(spec, cases[i].spec);
        if (atoll_problem_request("ai-bench", &problem, &request, hash, &err) != -1 ||
            err.code != cases[i].code)
            fail_msg("case %zu: %d, \"%s\"", i, (int)err.code, err.text);
        assert_null(request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
