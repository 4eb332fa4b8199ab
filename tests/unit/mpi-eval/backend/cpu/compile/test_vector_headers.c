#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/vector_headers.h"

static struct atoll_parsed_headers all;

static int set_up(void **state)
{
    (void)state;
    all = (struct atoll_parsed_headers){.folder_fd = -1, .table = atoll_vector_headers};
    while (atoll_vector_headers[all.count].name)
        all.count++;
    return all.count <= ATOLL_PARSED_HEADERS_LIMIT ? 0 : -1;
}

static const char *file_for(const char *text)
{
    size_t header = atoll_parsed_headers_find(&all, text);
    return header ? all.table[header - 1].file : "";
}

static void test_which_units_do_with_less(void **state)
{
    (void)state;
    static const struct {
        const char *text, *file;
    } rows[] = {
        {"int f;\n", ""},
        {"#include <immintrin.h>\nint a = 512, my_target, k_mm512;\n", "narrow-immintrin.h"},
        {"#include <x86intrin.h>\n__m256 f(__m256 a) { return _mm256_mul_ps(a, a); }\n",
         "narrow-x86intrin.h"},
        {"#include <immintrin.h>\n#if VW == 16 && defined(__AVX512F__)\nf(_mm512_setzero_ps());\n#endif\n",
         "narrow-immintrin.h"},
        {"#include <immintrin.h>\n #  ifdef _mm512_setr_ps\nint a;\n#endif\n", "immintrin.h"},
        {"#include <immintrin.h>\n#if 0\n#elif a && \\\n defined(_mm512_setr_ps)\n#endif\n", "immintrin.h"},
        {"#include <immintrin.h>\n#if a\r\n_mm512_setr_ps\n#endif\n#if", "narrow-immintrin.h"},
        {"#include <immintrin.h>\n#define F(x) _mm256_##x\n", "immintrin.h"},
        {"#include <immintrin.h>\n__attribute__((target(\"arch=skylake-avx512\"))) void f(void);\n",
         "immintrin.h"},
        {"#include <x86intrin.h>\n#pragma GCC target(\"avx512vl\")\n", "x86intrin.h"},
        {"#include <immintrin.h>\nf(_tile_zero(0));\n", "immintrin.h"},
        {"#include <immintrin.h>\n#ifdef _MM_CMPINT_EQ\nint a;\n#endif\n", "immintrin.h"},
        {"#include <arm_neon.h>\n", "arm_neon.h"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(file_for(rows[i].text), rows[i].file) != 0)
            fail_msg("row %zu: %s", i, file_for(rows[i].text));
    all.states[0] = ATOLL_PARSED_NEVER; /* it could not be made: the whole one serves */
    assert_string_equal(file_for(rows[1].text), "immintrin.h");
    all.states[0] = ATOLL_PARSED_UNASKED;
}

static void test_own_declarations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int suits;
    } rows[] = {
        {"", 1},
        {"void f(float *x, __m256 y)\n{\n    _mm256_storeu_ps(x, y);\n}\n", 1},
        {"const char *s = \"{ _mm\\\"_mm\", c = '\"', d = '\\'';\nint my_mm, x_mm256;\n", 1},
        {"static __m256i _mm256_rol_epi32(__m256i a) { return a; }\n", 0},
        {"void f(void) { char c = '{'; }\nint _mm_x(int);\n", 0},
        {"void f(void) { g(\"{\"); }\ntypedef float __v16sf __attribute__((vector_size(64)));\n", 0},
        {"int _kand_x;\n", 0},
        {"\"", 1},
        {"'\\", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (atoll_vector_headers_suit(rows[i].text) != rows[i].suits)
            fail_msg("row %zu", i);
}

#if defined(__x86_64__)
/* Gives the macros that gcc has after a header's text, a line each; 0: it did not take the text. */
static int macros_of(size_t header, const char *flags, char **ret_text)
{
    char text[4096], *lines = NULL;
    size_t length = 0, n = 0;
    atoll_parsed_headers_unit(&all, header, text, sizeof(text));
    assert_true(strlen(text) < sizeof(text) - 1);
    assert_int_equal(setenv("ATOLL_TEST_TEXT", text, 1), 0);
    assert_int_equal(setenv("ATOLL_TEST_FLAGS", flags, 1), 0);
    FILE *from = popen(
        "printf %s \"$ATOLL_TEST_TEXT\" | cc $ATOLL_TEST_FLAGS -E -dM -x c - 2>/dev/null || echo '#error'",
        "r");
    FILE *to = open_memstream(ret_text, &length);
    assert_true(from && to);
    fputc('\n', to);
    while (getline(&lines, &n, from) > 0)
        fputs(lines, to);
    free(lines);
    fclose(to);
    pclose(from);
    return !strstr(*ret_text, "#error");
}

/* A macro is the one thing of a header that a unit can ask for: each that is left out is one of the words. */
static void test_macros_that_are_left_out(void **state)
{
    (void)state;
    char *narrow = NULL, *whole = NULL, *line = NULL, *rest = NULL, unit[512];
    int is_made = macros_of(1, "-O1", &narrow) && macros_of(3, "-O1", &whole);
    size_t left_out = 0;
    for (line = is_made ? strtok_r(whole, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        size_t length = strlen(line), name = strcspn(line + 8, " (");
        char *at = strstr(narrow, line);
        if (at && at[-1] == '\n' && at[length] == '\n')
            continue;
        snprintf(unit, sizeof(unit), "#include <immintrin.h>\n#if %.*s\n", (int)name, line + 8);
        if (strncmp(line + 8, "__DISABLE_", 10) != 0 && strcmp(file_for(unit), "immintrin.h") != 0)
            fail_msg("no word for %s", line);
        left_out++;
    }
    free(narrow);
    free(whole);
    if (!is_made)
        print_message("skipped: no header of gcc 12 or later could be made smaller\n"), skip();
    assert_true(left_out > 20);
}

/* There is none where the target has what would be left out, or where functions are macros. */
static void test_where_all_of_it_is_wanted(void **state)
{
    (void)state;
    static const char *const flags[] = {"-O1 -mavx512f", "-O3 -march=skylake-avx512", "-O1 -mamx-tile",
                                        "-O0"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        char *text = NULL;
        assert_int_equal(macros_of(1, flags[i], &text), 0);
        free(text);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_units_do_with_less),
        cmocka_unit_test(test_own_declarations),
#if defined(__x86_64__)
        cmocka_unit_test(test_macros_that_are_left_out),
        cmocka_unit_test(test_where_all_of_it_is_wanted),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
