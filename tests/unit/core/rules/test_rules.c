/* test_rules.c - every rule breaks on its own snippet, and honest sources pass. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/rules/rules.h"

static const struct {
    const char *rule;
    int line;
    const char *source;
} forbidden[] = {
    {"trigraph", 2,
     "int x;\n?"
     "?=define A 1\n"},
    {"comment", 2, "int a;\n/* open"},
    {"odd-byte", 1, "int caf\\u00e9;"},
    {"odd-byte", 1, "int \xc3\xa9;"},
    {"odd-byte", 1, "int a$b;"},
    {"odd-byte", 2, "int a;\nchar c = 'x;\n"},
    {"digraph", 1, "int a<:3:>;"},
    {"digraph", 1, "%:define A 1"},
    {"pasting", 1, "#define J(a, b) a##b\n"},
    {"raw-string", 1, "const char *s = R\"(/*)\";"},
    {"raw-string", 1, "const char *s = u8R\"(/*)\";"},
    {"directive", 1, "#line 7 \"x\"\n"},
    {"directive", 1, "# 7 \"x\"\n"},
    {"directive", 1, "#include_next <math.h>\n"},
    {"directive", 1, "#embed \"/etc/passwd\"\n"},
    {"directive", 1, "#ident \"x\"\n"},
    {"directive", 3, "int a;\n\n# /* c */ import <a.h>\n"},
    {"directive", 1, "#inc\\\nlude_next <math.h>\n"},
    {"include", 1, "#include <stdio.h>\n"},
    {"include", 1, "#include \"math.h\"\n"},
    {"include", 1, "#include HEADER\n"},
    {"include", 1, "#include <math.h/../stdio.h>\n"},
    {"include", 1, "#include </etc/passwd>\n"},
    {"include", 1, "#include < math.h>\n"},
    {"include", 2, "#inc\\\nlude <stdio.h>\n"},
    {"pragma", 1, "#pragma GCC poison x\n"},
    {"pragma", 1, "#pragma weak f\n"},
    {"pragma", 1, "#pragma redefine_extname f g\n"},
    {"pragma", 1, "#pragma omp parallel for\n"},
    {"pragma", 1, "#pragma\nGCC ivdep\n"},
    {"probe", 1, "#if __has_include(<stdio.h>)\n#endif\n"},
    {"stamp", 1, "const char *t = __TIME__;"},
    {"pragma-operator", 1, "_Pragma(\"weak f\")"},
    {"assembly", 1, "void f(void) { asm(\"nop\"); }"},
    {"assembly", 2, "void f(void) {\n__asm__ volatile(\"syscall\"); }"},
    {"assembly", 1, "#define NOP __asm(\"nop\")\n"},
    {"assembly", 1, "void f(void) { as\\\nm(\"nop\"); }"},
    {"attribute", 1, "__attribute__((constructor)) void f(void) {}"},
    {"attribute", 1, "__attribute__((aligned(8), __destructor__)) void f(void) {}"},
    {"attribute", 1, "__attribute__((ifunc(\"r\"))) void f(void);"},
    {"attribute", 1, "int x __attribute__((section(\".init_array\")));"},
    {"attribute", 1, "__attribute((alias(\"g\"))) void f(void);"},
    {"attribute", 1, "__attribute__((aligned(8))"},
    {"attribute", 1, "#define A constructor\n__attribute__(A) void f(void);"},
    {"bracket-attribute", 1, "[[gnu::constructor]] void f(void);"},
    {"label-address", 1, "void f(void) { void *p = &&l; l:; }"},
    {"label-address", 1, "void f(void *p) { goto *p; }"},
    {"label-address", 1, "void *f(void) { l: return &&l; }"},
    {"builtin", 1, "void f(void) { __builtin_trap(); }"},
    {"builtin", 1, "void *f(void) { return __builtin_return_address(0); }"},
    {"builtin", 1, "int f(void) { return __builtin_cpu_supports(\"avx2\"); }"},
    {"system", 1, "long syscall(long, ...);"},
    {"system", 1, "int f(void) { return fork(); }"},
    {"file", 1, "void f(void) { printf(\"x\"); }"},
    {"network", 1, "int f(void) { return socket(1, 2, 3); }"},
    {"thread", 1, "void f(void) { pthread_create(0, 0, 0, 0); }"},
    {"thread", 1, "int f(void) { return omp_get_thread_num(); }"},
    {"thread", 1, "void f(void) { longjmp(0, 1); }"},
    {"clock", 1, "long f(void) { return __rdtsc(); }"},
    {"clock", 1, "void f(void) { clock_gettime(0, 0); }"},
    {"memory", 1, "void *f(void) { return malloc(8); }"},
    {"memory", 1, "void *f(void) { return mmap(0, 1, 2, 3, 4, 5); }"},
    {"loader", 1, "extern char **environ;"},
    {"loader", 1, "void *f(void) { return dlopen(0, 0); }"},
    {"loader", 1, "void _init(void) {}"},
    {"call", 1, "long f(void) { return time(0); }"},
    {"call", 1, "long f(int d, void *p) { return read(d, p, 8); }"},
    {"harness", 1, "void atoll_shim_0(void) {}"},
};

static void test_forbidden(void **state)
{
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char prefix[64];
        snprintf(prefix, sizeof(prefix), "rule %s, line ", forbidden[i].rule);
        if (atoll_rules_check("c", forbidden[i].source, &err) == 0)
            fail_msg("passed: %s", forbidden[i].source);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        if (strncmp(err.text, prefix, strlen(prefix)) != 0)
            fail_msg("%s gave '%s', expected rule %s", forbidden[i].source, err.text, forbidden[i].rule);
    }
}

static void test_lines(void **state)
{
    static const struct {
        int line;
        const char *source;
    } rows[] = {
        {1, "asm"},
        {3, "int a;\n\nasm"},
        {4, "/* a\n b */ int\n c;\nasm"},
        {3, "int a; \\\n int b;\nasm"},
        {3, "// a \\\n still a comment asm\nasm"},
        {2, "\r\nasm"},
        {1, "const char *s = \"asm\"; asm"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char prefix[64];
        snprintf(prefix, sizeof(prefix), "rule assembly, line %d: ", rows[i].line);
        assert_int_equal(atoll_rules_check("c", rows[i].source, &err), -1);
        if (strncmp(err.text, prefix, strlen(prefix)) != 0)
            fail_msg("'%s' gave '%s', expected line %d", rows[i].source, err.text, rows[i].line);
    }
}

static const char *const honest[] = {
    "",
    "\n",
    "#include <math.h>\n#include <immintrin.h>\n#include <stdint.h> /* c */\nvoid f(long b, long e) {}\n",
    "#define TILE 8\n#ifdef TILE\n#pragma GCC ivdep\n#pragma GCC unroll 4\n#endif\n#\nint a;",
    "#pragma omp simd reduction(+ : s)\n#pragma clang loop vectorize(enable)\n#pragma STDC FP_CONTRACT ON\n",
    ("typedef float v8 __attribute__((vector_size(32), aligned(4)));\nstatic inline "
     "__attribute__((__always_inline__)) int f(void);"),
    "int f(int a, int b) { return a &&b; }",
    "int f(int *a, int b) { return a[0] && b && (a[1]) &&b; }",
    "/* fork() system(\"rm\") */ // asm\nconst char *s = \"asm /* fork\"; char c = '\"';",
    "void f(float *signal, int time, int read, int link) { signal[time] = (float)(read + link); }",
    "float f(float x) { return __builtin_fmaf(x, x, 1.0f) + __builtin_sqrtf(x); }",
    "int a[2][2]; int f(int i) { return a[a[0][1]][i]; }",
    "int f(int a) { return a ? 1 : 2; }\nint g(unsigned a) { return a % 3 > 1; }",
    "void f(int *p) { __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); goto done; done:; }",
    "double x = 1e-5, y = 0x1p-3, z = .5f;",
    "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#if defined(__AVX2__) && TILE >= 8\n#endif\n",
};

static void test_honest(void **state)
{
    for (size_t i = 0; i < sizeof(honest) / sizeof(*honest); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (atoll_rules_check("c", honest[i], &err) != 0)
            fail_msg("'%s' gave '%s'", honest[i], err.text);
        assert_int_equal(err.code, ATOLL_OK);
    }
}

static void test_rows(void **state)
{
    unsigned count = atoll_rules_count("c");
    assert_true(count > 20);
    assert_int_equal(atoll_rules_count("pascal"), 0);
    assert_null(atoll_rules_id("c", count));
    assert_null(atoll_rules_why("pascal", 0));
    for (unsigned i = 0; i < count; i++) {
        assert_true(strlen(atoll_rules_why("c", i)) > 10);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(atoll_rules_id("c", i), atoll_rules_id("c", k));
    }
}

static void test_every_rule_has_a_case(void **state)
{
    for (unsigned i = 0; i < atoll_rules_count("c"); i++) {
        int found = 0;
        for (size_t k = 0; k < sizeof(forbidden) / sizeof(*forbidden); k++)
            found |= strcmp(forbidden[k].rule, atoll_rules_id("c", i)) == 0;
        if (!found)
            fail_msg("no case for rule %s", atoll_rules_id("c", i));
    }
}

static void test_unknown_language(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_rules_check("pascal", "", &err), -1);
    assert_non_null(strstr(err.text, "pascal"));
}

/* Mutations of honest and forbidden texts: any answer is fine, a crash is not. */
static void test_mutations(void **state)
{
    struct atoll_random r = {7, 0};
    static const char bytes[] = "\\\n\"'/*#<>%:?()[]&aR_ \r\t\x80\x01";
    size_t total = sizeof(forbidden) / sizeof(*forbidden) + sizeof(honest) / sizeof(*honest);
    for (int round = 0; round < 3000; round++) {
        size_t pick = (size_t)atoll_random_below(atoll_random_next(&r), total);
        const char *from = pick < sizeof(forbidden) / sizeof(*forbidden)
                               ? forbidden[pick].source
                               : honest[pick - sizeof(forbidden) / sizeof(*forbidden)];
        size_t length = strlen(from);
        char *text = malloc(length + 1);
        assert_non_null(text);
        memcpy(text, from, length + 1);
        for (int k = 0; k < 3 && length; k++)
            text[atoll_random_below(atoll_random_next(&r), length)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        atoll_rules_check("c", text, NULL);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_unknown_language),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
