/* test_rules_page.c - docs/spec/rules.md says what the tables refuse, word for word.  With an argument: prints the part of
 * the page that comes from the tables. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/rules_row.h"

#define PAGE      ATOLL_SOURCE_DIR "/docs/spec/rules.md"
#define BEGIN     "<!-- from the tables: build/tests/bin/test_core_rules_page print -->\n"
#define END       "<!-- end of the tables -->\n"
#define WORD_LINE 150

/* " a b " as a list that is folded, each word in a form such as "`%s*`". */
static void put_words(FILE *out, const char *words, const char *before, const char *behind)
{
    size_t column = 0;
    for (const char *w = words + 1; *w; w += strcspn(w, " ") + 1) {
        size_t n = strcspn(w, " ");
        column += n + 6;
        fprintf(out, "%s`%s%.*s%s`", column > WORD_LINE ? "\n  " : " ", before, (int)n, w, behind);
        column = column > WORD_LINE ? n : column;
    }
}

static void put_language(FILE *out, const char *title, const struct atoll_rule *rules, size_t count)
{
    fprintf(out, "\n## %s\n\n| rule | says |\n|---|---|\n", title);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "| `%s` | ", rules[i].id);
        for (const char *p = rules[i].why; *p; p++)
            fprintf(out, *p == '|' || *p == '<' || *p == '*' ? "\\%c" : "%c", *p);
        fprintf(out, " |\n");
    }
    fprintf(out, "\nNames that are refused wherever they stand; those with `*` are beginnings, those with "
                 "`()` are refused as calls only:\n\n");
    for (size_t i = 0; i < count; i++) {
        if (!rules[i].names && !rules[i].prefixes && !rules[i].calls)
            continue;
        fprintf(out, "* %s:", rules[i].id);
        if (rules[i].names)
            put_words(out, rules[i].names, "", "");
        if (rules[i].prefixes)
            put_words(out, rules[i].prefixes, "", "*");
        if (rules[i].calls)
            put_words(out, rules[i].calls, "", "()");
        fprintf(out, "\n");
    }
}

static char *tables(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fputs(BEGIN, out);
    put_language(out, "Language c", atoll_rules_c, atoll_rules_c_count);
    put_language(out, "Language cuda", atoll_rules_cuda, atoll_rules_cuda_count);
    put_language(out, "Language triton", atoll_rules_triton, atoll_rules_triton_count);
    fprintf(out, "\n## Words of attributes\n\nIn `__attribute__((...))`, with or without `__` around them, "
                 "and in C's `[[...]]`:\n\n");
    put_words(out, atoll_rule_attributes, "", "");
    fprintf(out, "\n\n## Builtins\n\n");
    put_words(out, atoll_rule_builtins, "__builtin_", "");
    put_words(out, atoll_rule_builtin_prefixes, "__builtin_", "*");
    fprintf(out, "\n\nand of the latter not:\n\n");
    put_words(out, atoll_rule_builtins_refused, "__builtin_", "*");
    fprintf(out, "\n\n" END);
    fclose(out);
    return text;
}

static void test_page(void **state)
{
    (void)state;
    FILE *in = fopen(PAGE, "r");
    assert_non_null(in);
    char *page = calloc(1, 1 << 17), *expected = tables();
    assert_non_null(page);
    assert_true(fread(page, 1, (1 << 17) - 1, in) > 0);
    fclose(in);
    if (!strstr(page, expected))
        fail_msg(
            "docs/spec/rules.md does not say what the tables refuse: put what 'test_core_rules_page print' "
            "prints between its two marks");
    free(page);
    free(expected);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        char *text = tables();
        fputs(text, stdout);
        free(text);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
