/* test_answer.c - what children of the zygote answer, one or several for a source, and what is made of it. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/triton/request.h"

#define PART_LIMIT ATOLL_TRITON_PART_LIMIT
#define IMAGE(name)                                                                                          \
    "{\"name\": \"" name "\", \"warps\": 4, \"shared\": 0, \"scratch\": 0, \"scratch_align\": 1, "           \
    "\"profile_scratch\": 0, \"passed\": [0]}"
#define OK(ptx, images, launches)                                                                            \
    "{\"ok\": true, \"ptx\": [" ptx "], \"images\": [" images "], \"launches\": " launches "}"
#define CLASSES       "[[0, 1], [2]]"
#define FAILED(words) "{\"ok\": false, \"kind\": \"plan\", \"error\": \"" words "\"}"
#define EVEN          OK("\"a\", null, \"c\"", IMAGE("k0") ", null, " IMAGE("k2"), CLASSES)
#define NONE          OK("null, null, null", "null, null, null", CLASSES)
#define ODD           OK("null, \"b\", null", "null, " IMAGE("k1") ", null", CLASSES)

static const char request[] = "{\"launches\": [{\"classes\": [\"D1\", \"DD\"]}, {\"classes\": [\"D\"]}]}";

static const struct {
    const char *answers[PART_LIMIT + 1];
    const char *ptx, *words, *wrong; /* what comes of them: one of these */
} rows[] = {
    {{OK("\"a\", \"b\", \"c\"", IMAGE("k0") ", " IMAGE("k1") ", " IMAGE("k2"), CLASSES)},
     "a\nb\nc",
     NULL,
     NULL},
    {{EVEN, ODD}, "a\nb\nc", NULL, NULL},
    {{OK("\"a\", null, null", IMAGE("k0") ", null, null", CLASSES),
      OK("null, \"b\", null", "null, " IMAGE("k1") ", null", CLASSES),
      OK("null, null, \"c\"", "null, null, " IMAGE("k2"), CLASSES), NONE, NONE, NONE, NONE, NONE},
     "a\nb\nc",
     NULL,
     NULL},
    {{EVEN, FAILED("mine")}, NULL, "mine", NULL},
    {{FAILED("first"), FAILED("second")}, NULL, "first", NULL},
    {{EVEN}, NULL, NULL, "no PTX"},
    {{ODD, EVEN}, NULL, NULL, "no PTX"},
    {{EVEN, ""}, NULL, NULL, "no answer"},
    {{EVEN, OK("null, \"b\"", "null, " IMAGE("k1"), CLASSES)}, NULL, NULL, "no PTX"},
    {{EVEN, OK("null, \"b\", null", "null, " IMAGE("k1"), CLASSES)}, NULL, NULL, "no PTX"},
    {{EVEN, OK("null, \"b\", null", "null, " IMAGE("k1") ", null", "[[1, 0], [2]]")},
     NULL,
     NULL,
     "another one each time"},
    {{EVEN, OK("null, \"b\", null", "null, " IMAGE("k0") ", null", CLASSES)},
     NULL,
     NULL,
     "two images of one name"},
    {{EVEN, OK("null, \"b\\u0000\", null", "null, " IMAGE("k1") ", null", CLASSES)}, NULL, NULL, "no answer"},
    {{EVEN, OK("null, \"b\", null", "null, null, null", CLASSES)}, NULL, NULL, "an image"},
    {{OK("", "", "[]")}, NULL, NULL, "no PTX"},
    {{"[]"}, NULL, NULL, "no answer"},
};

static void test_answers(void **state)
{
    struct atoll_triton_images *images = calloc(1, sizeof(*images));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_triton_answer answers[PART_LIMIT];
        struct atoll_err err = ATOLL_ERR_INIT;
        enum atoll_triton_answer_kind kind;
        char *ptx = NULL, *words = NULL;
        unsigned count = 0;
        for (; rows[i].answers[count]; count++)
            answers[count] =
                (struct atoll_triton_answer){rows[i].answers[count], strlen(rows[i].answers[count])};
        int rc = atoll_triton_answer_read(answers, count, request, &kind, images, &ptx, &words, &err);
        const char *said = rc != 0 ? err.text : kind == ATOLL_TRITON_ANSWER_PTX ? ptx : words;
        const char *wanted = rows[i].ptx ? rows[i].ptx : rows[i].words ? rows[i].words : rows[i].wrong;
        if ((rc != 0) != (rows[i].wrong != NULL) || (rows[i].ptx != NULL) != (ptx != NULL) ||
            (rows[i].wrong ? !strstr(said, wanted) : strcmp(said, wanted) != 0))
            fail_msg("row %zu: %d: %s", i, rc, said);
        if (rows[i].ptx) {
            assert_int_equal(images->image_count, 3);
            assert_string_equal(images->images[1].symbol, "k1");
            assert_int_equal(images->class_count, 3);
        }
        free(ptx);
        free(words);
    }
    free(images);
}

/* All images together have a limit. */
static void test_length(void **state)
{
    static const char head[] = "{\"ok\": true, \"ptx\": [\"",
                      tail[] = "\", \"\"], \"images\": [" IMAGE("k0") ", " IMAGE(
                          "k1") "], \"launches\": [[0, 1], [0]]}";
    char *text = malloc(sizeof(head) + ATOLL_TRITON_PTX_BYTES + sizeof(tail));
    struct atoll_triton_images *images = calloc(1, sizeof(*images));
    for (size_t more = 0; more < 2; more++) {
        size_t length = ATOLL_TRITON_PTX_BYTES - 1 + more; /* and an end of line between the two */
        struct atoll_err err = ATOLL_ERR_INIT;
        enum atoll_triton_answer_kind kind;
        char *ptx, *words;
        memcpy(text, head, sizeof(head) - 1);
        memset(text + sizeof(head) - 1, 'x', length);
        memcpy(text + sizeof(head) - 1 + length, tail, sizeof(tail));
        struct atoll_triton_answer answer = {text, strlen(text)};
        int rc = atoll_triton_answer_read(&answer, 1, request, &kind, images, &ptx, &words, &err);
        assert_int_equal(rc, more ? -1 : 0);
        assert_true(!more || strstr(err.text, "more than 4 MiB of PTX"));
        free(ptx);
    }
    free(text);
    free(images);
}

static void test_classes(void **state)
{
    assert_int_equal(atoll_triton_request_classes(request), 3);
    assert_int_equal(atoll_triton_request_classes("{\"launches\": []}"), 0);
    assert_int_equal(atoll_triton_request_classes("no request"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_length),
                                       cmocka_unit_test(test_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
