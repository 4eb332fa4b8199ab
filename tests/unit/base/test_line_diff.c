/* Unified diffs: what is printed, and that both texts can be had back from one. */
#include "tests/support/expect.h"

#include <stdio.h>

#include "base/line_diff.h"
#include "base/random.h"

#define LIMIT ((size_t)1 << 20)

static int diff(const char *a, const char *b, size_t context, struct atoll_buffer *out)
{
    atoll_buffer_init(out, LIMIT);
    int status = atoll_line_diff("A", a, "B", b, context, out, NULL);
    atoll_buffer_put_u8(out, 0);
    return status;
}

static void test_hunks(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t context;
        const char *text; /* behind the two names; NULL: equal */
    } rows[] = {
        {"", "", 3, NULL},
        {"x\ny\n", "x\ny\n", 3, NULL},
        {"", "x\n", 3, "@@ -0,0 +1,1 @@\n+x\n"},
        {"x\n", "", 3, "@@ -1,1 +0,0 @@\n-x\n"},
        {"1\n2\n3\n4\n5\n", "1\n2\nthree\n4\n5\n", 1, "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n"},
        {"a\n1\n2\n3\nb\n", "A\n1\n2\n3\nB\n", 1,
         "@@ -1,2 +1,2 @@\n-a\n+A\n 1\n@@ -4,2 +4,2 @@\n 3\n-b\n+B\n"},
        {"a\n1\n2\nb\n", "A\n1\n2\nB\n", 1, "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n-b\n+B\n"},
        {"x\ny", "x\ny\n", 0, "@@ -2,1 +2,1 @@\n-y\n\\ No newline at end of file\n+y\n"},
        {"k\nk\nl\n", "k\nl\n", 0, "@@ -2,1 +1,0 @@\n-k\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_buffer out;
        assert_int_equal(diff(rows[i].a, rows[i].b, rows[i].context, &out), rows[i].text != NULL);
        char expected[256] = "";
        if (rows[i].text)
            snprintf(expected, sizeof(expected), "--- A\n+++ B\n%s", rows[i].text);
        assert_string_equal((char *)out.data, expected);
        atoll_buffer_fini(&out);
    }
}

static unsigned below(struct atoll_random *random, unsigned bound)
{
    return (unsigned)atoll_random_below(atoll_random_next(random), bound);
}

/* With all lines around the changes, a diff holds both texts. */
static void test_texts_are_in_it(void **state)
{
    (void)state;
    struct atoll_random random = {.key = 7};
    for (int round = 0; round < 200; round++) {
        char a[512] = "", b[512] = "", from[512] = "", to[512] = "";
        for (unsigned i = below(&random, 40); i > 0; i--)
            snprintf(a + strlen(a), 8, "%u\n", below(&random, 5));
        for (unsigned i = below(&random, 40); i > 0; i--)
            snprintf(b + strlen(b), 8, "%u\n", below(&random, 5));
        struct atoll_buffer out;
        if (diff(a, b, 1000, &out) == 0) {
            assert_string_equal(a, b);
        } else {
            for (char *line = strtok(strstr((char *)out.data, "@@\n") + 3, "\n"); line;
                 line = strtok(NULL, "\n")) {
                if (*line != '+')
                    snprintf(from + strlen(from), 8, "%s\n", line + 1);
                if (*line != '-')
                    snprintf(to + strlen(to), 8, "%s\n", line + 1);
            }
            assert_string_equal(from, a);
            assert_string_equal(to, b);
        }
        atoll_buffer_fini(&out);
    }
}

/* A middle above the table's limit is replaced as a whole, and no memory is asked for it. */
static void test_long_texts(void **state)
{
    (void)state;
    static char a[8192 * 4 + 8], b[8192 * 4 + 8];
    for (size_t i = 0; i < 8192; i++) {
        memcpy(a + 4 * i, "one\n", 5);
        memcpy(b + 4 * i, "two\n", 5);
    }
    struct atoll_buffer out;
    assert_int_equal(diff(a, b, 3, &out), 1);
    assert_non_null(strstr((char *)out.data, "@@ -1,8192 +1,8192 @@\n-one\n"));
    atoll_buffer_fini(&out);
    atoll_buffer_init(&out, 64);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_line_diff("A", a, "B", b, 3, &out, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hunks),
        cmocka_unit_test(test_texts_are_in_it),
        cmocka_unit_test(test_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
