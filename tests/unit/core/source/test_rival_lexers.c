/* test_rival_lexers.c - our tokens against those of gcc and clang: random texts of all that splices, quotes and opens
 * comments, those that the rules let pass, through "cc -E"; what comes out must hold the same tokens in the same order.
 * argv: rounds, first seed.  Without one it is of the day, so that each day has other texts, and is printed. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/process.h"
#include "base/random.h"
#include "core/rules/rules_row.h"

#define TEXTS_PER_ROUND 300
#define TEXT_BYTES      400
#define LEXER_BYTES     ((size_t)1 << 22)

static const char *const compilers[] = {"gcc", "clang"};
static unsigned rounds = 12;
static atoll_u64 first_seed;

/* No directive that includes, defines or asks: what they do is not a lexer's business.  #if 0 stands for all groups. */
static const char *const fair[] = {
    "a",
    "b1",
    "_c",
    "asm",
    "int",
    "L",
    "u8",
    "1",
    "1.5e+3",
    ".5",
    "0x1p-2",
    "e",
    "E",
    "p",
    "+",
    "-",
    "\"s\"",
    "'c'",
    "\"a\\\"b\"",
    "'\\''",
    "\\\n",
    "\\\n",
    "\\\r\n",
    "\n",
    "\n",
    "\r\n",
    "\t",
    " ",
    " ",
    "/* b ' */",
    "/*\n\\\n\"*/",
    "/",
    "*",
    "// x ' \" /* \n",
    "//\\\nx\n",
    "/**/",
    "/*/*/",
    "\n#",
    "##",
    "\n#if 0\n",
    "\n#endif\n",
    "\n#if 0\ndon't /* so\n#endif\n",
    "\n#if 0\nit's \"/*\n#if 1\n'\n#endif\n#endif\n",
    "\n#pragma GCC ivdep\n",
    "\n# \n",
    "? ?",
    "<",
    ">",
    "<<=",
    "...",
    ".",
    "->",
    "--",
    "&&",
    "|",
    "=",
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "!",
    "~",
    "^",
    "\xc3\xa9",
    "\xce\xb1",
    "\"//\"",
    "\"/*\"",
    "'\"'",
    "\"\\\\\"",
    "\"\\\n\"",
    "%",
    ":",
    ",",
};
/* What the rules mostly refuse, or what a neighbour makes good. */
static const char *const foul[] = {
    "R",  "1'0", "\"", "'",    "\\\"", "\\'",     "\\",   "\\\\", "\\ \n", "\\\r",       "\r",     "\v",
    "\f", "/*",  "*/", "//",   "#",    "%:",      "<:",   "%>",   "<%",    "?",          "?\?/",   "?\?=",
    "$",  "@",   "`",  "\xc3", "\x80", "\\u00e9", "\x01", "\x7f", "don't", "it's /* so", "\\\\\n",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void make_text(atoll_u64 key, char *ret_text)
{
    size_t used = 0, count = 1 + (size_t)atoll_random_below(atoll_random_at(key, 0), 30);
    ret_text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        atoll_u64 bits = atoll_random_at(key, 2 * i + 1), pick = atoll_random_at(key, 2 * i + 2);
        const char *piece = atoll_random_below(bits, 20) ? fair[atoll_random_below(pick, COUNT(fair))]
                                                         : foul[atoll_random_below(pick, COUNT(foul))];
        if (used + strlen(piece) + 1 > TEXT_BYTES)
            return;
        memcpy(ret_text + used, piece, strlen(piece) + 1);
        used += strlen(piece);
    }
}

/* Whether the rules that are about how a text is written let it pass, and no group stays open behind it. */
static int passes(const char *text)
{
    char whole[TEXT_BYTES + 16];
    struct atoll_token_list list;
    snprintf(whole, sizeof(whole), "%s\nend\n", text);
    if (atoll_token_list_init(&list, whole, NULL) != 0)
        return 0;
    struct atoll_rule_site s = {list.tokens, list.count, 0};
    int good = !atoll_rule_control_byte(text, &list) && !atoll_rule_splice(text, &list) &&
               !atoll_rule_trigraph(text, &list) && !atoll_rule_open_comment(text, &list) && list.count > 0 &&
               !list.tokens[list.count - 1].dead;
    for (; good && s.at < s.count; s.at++) {
        const struct atoll_token *t = &list.tokens[s.at];
        good = (t->dead || !atoll_rule_odd_byte(&s)) && !atoll_rule_digraph(&s) && !atoll_rule_raw_string(&s);
    }
    atoll_token_list_fini(&list);
    return good;
}

/* The tokens of a text that are no directive's and not left out, one a line. */
static char *flatten(const char *text)
{
    struct atoll_token_list list;
    char *flat = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&flat, &length);
    assert_int_equal(atoll_token_list_init(&list, text, NULL), 0);
    for (size_t i = 0; i < list.count; i++)
        if (!list.tokens[i].directive && !list.tokens[i].dead)
            fprintf(out, "%.*s\n", (int)list.tokens[i].length, list.tokens[i].text);
    atoll_token_list_fini(&list);
    fclose(out);
    return flat;
}

/* gcc writes letters beyond ASCII as \U and eight digits. */
static void undo_escapes(char *text)
{
    char *to = text;
    for (const char *p = text; *p;) {
        unsigned long code =
            p[0] == '\\' && p[1] == 'U' && strspn(p + 2, "0123456789abcdef") >= 8
                ? strtoul((char[9]){p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], 0}, NULL, 16)
                : 0;
        if (code >= 0x80 && code < 0x800) {
            *to++ = (char)(0xc0 | code >> 6);
            *to++ = (char)(0x80 | (code & 0x3f));
            p += 10;
        } else {
            *to++ = *p++;
        }
    }
    *to = 0;
}

/* What a compiler's preprocessor leaves of a text; NULL: there is no such compiler.  It may complain: it goes on. */
static char *preprocess(const char *compiler, const char *text)
{
    const char *const argv[] = {compiler, "-E", "-P", "-w", "-x", "c", "-", NULL};
    struct atoll_process process = {.what = compiler, .argv = argv, .input = text, .deadline_s = 60};
    struct atoll_process_result result;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_process_run(&process, LEXER_BYTES, &result, &err) != 0) {
        if (err.code != ATOLL_E_MISSING)
            fail_msg("%s", err.text);
        return NULL;
    }
    char *out = strndup((const char *)result.out.data, result.out.length);
    atoll_process_result_fini(&result);
    assert_non_null(out);
    undo_escapes(out);
    return out;
}

/* 0: the same tokens; 1: others; -1: no such compiler. */
static int compare(const char *compiler, const char *text)
{
    char *theirs = preprocess(compiler, text);
    if (!theirs)
        return -1;
    char *a = flatten(text), *b = flatten(theirs);
    int differs = strcmp(a, b) != 0;
    free(a);
    free(b);
    free(theirs);
    return differs;
}

/* Of the texts of a round that differ together, the first that differs alone. */
static void blame(const char *compiler, atoll_u64 key)
{
    for (size_t i = 0; i < TEXTS_PER_ROUND; i++) {
        char text[TEXT_BYTES], whole[TEXT_BYTES + 16];
        make_text(atoll_random_at(key, i), text);
        snprintf(whole, sizeof(whole), "%s\nend\n", text);
        if (!passes(text) || compare(compiler, whole) == 0)
            continue;
        char *theirs = preprocess(compiler, whole), *a = flatten(whole), *b = flatten(theirs);
        print_error("text:\n%s\nours:\n%s\ntheirs:\n%s\n", whole, a, b);
        fail_msg("%s reads another program (text %zu): test_core_rival_lexers 1 %llu shows it again",
                 compiler, i, key);
    }
    fail_msg("%s reads another program, but only of all texts together: test_core_rival_lexers 1 %llu shows "
             "it again",
             compiler, key);
}

static void test_same_tokens(void **state)
{
    size_t compared = 0, found = 0;
    print_message("%u rounds from seed %llu on\n", rounds, first_seed);
    for (unsigned round = 0; round < rounds; round++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        for (size_t i = 0; i < TEXTS_PER_ROUND; i++) {
            char one[TEXT_BYTES];
            make_text(atoll_random_at(first_seed + round, i), one);
            if (passes(one)) {
                fprintf(out, "%s\nend%zu\n", one, i);
                compared++;
            }
        }
        fclose(out);
        found = 0;
        for (size_t c = 0; c < sizeof(compilers) / sizeof(*compilers); c++) {
            int differs = compare(compilers[c], text);
            found += differs >= 0;
            if (differs > 0)
                blame(compilers[c], first_seed + round);
        }
        free(text);
    }
    print_message("%zu texts, %zu compilers\n", compared, found);
    assert_true(found == 0 || compared > rounds * TEXTS_PER_ROUND / 4);
    if (found == 0) {
        print_message("skipped: neither gcc nor clang is here\n");
        skip();
    }
}

/* The comparison finds what it is for: texts that the rules refuse, since compilers read them in another way. */
static void test_finds_differences(void **state)
{
    static const char *const texts[] = {"// x \r asm\n", "// x \\ \nasm\n", "// x \\\r \n /* \nasm */\n"};
    size_t differing = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_false(passes(texts[i]));
        for (size_t c = 0; c < sizeof(compilers) / sizeof(*compilers); c++)
            differing += compare(compilers[c], texts[i]) != 0;
    }
    assert_true(differing > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_tokens),
                                       cmocka_unit_test(test_finds_differences)};
    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : rounds;
    first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (atoll_u64)(time(NULL) / 86400) * 1000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
