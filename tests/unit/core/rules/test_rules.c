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
    {"odd-byte", 1, "int \xc3;"},
    {"odd-byte", 2, "#if 1\nint don't;\n#endif\n"},
    {"odd-byte", 4, "#if 0\nit's\n#else\nit's\n#endif\n"},
    {"control-byte", 1, "// hidden \r asm(\"nop\");\n"},
    {"control-byte", 2, "int a;\n// x \r#include </etc/passwd>\n"},
    {"control-byte", 1, "int a;\f\n"},
    {"control-byte", 1, "// \x01\n"},
    {"control-byte", 1, "// \x7f\n"},
    {"control-byte", 1, "// \v\n"},
    {"control-byte", 1, "int a;\r"},
    {"control-byte", 1, "// hidden \\\r \nasm(\"nop\");\n"},
    {"control-byte", 1,
     "\xef\xbb\xbf"
     "asm(\"nop\");\n"},
    {"system", 1, "int f(void) { return _rdpid_u32(); }"},
    {"system", 1, "void f(void *p) { _xsave64(p, 1); }"},
    {"stamp", 1, "const char *f(void) { return __FILE_NAME__; }"},
    {"probe", 1, "#if __has_include__(<stdio.h>)\n#endif\n"},
    {"splice", 1, "// hidden \\ \nasm(\"nop\");\n"},
    {"splice", 1, "// hidden \\\t\nasm(\"nop\");\n"},
    {"splice", 2, "int a;\n// the line that comes \\"},
    {"define", 1, "#define aligned section\n__attribute__((aligned(\".text\"))) void zz(void) {}\n"},
    {"define", 1, "#define __aligned__ section\n"},
    {"define", 2, "\n#define F(aligned) __attribute__((aligned))\n"},
    {"define", 1, "#define const\n"},
    {"define", 1, "#  undef __REDIRECT\n"},
    {"define", 1, "#define /* c */ __OPTIMIZE__ 1\n"},
    {"define", 1, "#define G(_Bool) _Bool\n"},
    {"odd-byte", 1, "int a$b;"},
    {"odd-byte", 2, "int a;\nchar c = 'x;\n"},
    {"digraph", 1, "int a<:3:>;"},
    {"digraph", 1, "%:define A 1"},
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
    {"assembly", 1, "void f(void) { __asm__ volatile (\"tilezero\\t%%tmm\" \"8\" ::); }"},
    {"assembly", 1, "void f(void) { __asm__ volatile (\"tilezero\\t%%tmm\" \"0\" \"; syscall\" ::); }"},
    {"assembly", 1, "void f(void) { __asm__ volatile (\"tilezero\\t%%tmm\" \"0\" :: : \"rbx\"); }"},
    {"assembly", 1, "void f(long x) { __asm__ volatile (\"tilezero\\t%%tmm\" \"0\" : \"=r\"(x)); }"},
    {"assembly", 1, "void f(void) { __asm__ volatile (\"tilezero\\t%%tmm\" \"0\" ::"},
    {"assembly", 1,
     "void f(void) { __asm__ volatile (\"tilezero\\t%%tmm\" \"0\" :: \"r\" (({ asm(\"nop\"); 1L; }))); }"},
    {"assembly", 1, "void f(void) { __asm__ (\"tilezero\\t%%tmm\" \"0\"); }"},
    {"attribute", 1, "__attribute__((constructor)) void f(void) {}"},
    {"attribute", 1, "__attribute__((aligned(8), __destructor__)) void f(void) {}"},
    {"attribute", 1, "__attribute__((ifunc(\"r\"))) void f(void);"},
    {"attribute", 1, "int x __attribute__((section(\".init_array\")));"},
    {"attribute", 1, "__attribute((alias(\"g\"))) void f(void);"},
    {"attribute", 1, "__attribute__((aligned(8))"},
    {"attribute", 1, "#define A constructor\n__attribute__(A) void f(void);"},
    {"bracket-attribute", 1, "[[gnu::constructor]] void f(void);"},
    {"bracket-attribute", 1, "[[maybe_unused, gnu::section(\".text\")]] void f(void);"},
    {"bracket-attribute", 1, "[[using gnu: alias(\"g\")]] void f(void);"},
    {"bracket-attribute", 1, "[[gnu::unused"},
    {"bracket-attribute", 1, "__declspec(dllexport) int a;"},
    {"pragma", 1, "#pragma omp declare target\n"},
    {"pragma", 1, "#pragma GCC\n"},
    {"builtin", 1, "long f(void) { return __builtin_ia32_rdtsc(); }"},
    {"builtin", 1, "void f(void *p) { __builtin_ia32_clflush(p); }"},
    {"builtin", 1, "int f(void) { return __builtin_ia32_xbegin(); }"},
    {"builtin", 1, "void f(void) { __builtin_ia32_tpause(0, 1); }"},
    {"clock", 1, "void f(void *p) { _mm_clflush(p); }"},
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
        if (atoll_rules_check("c", forbidden[i].source, 1, &err) == 0)
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
        assert_int_equal(atoll_rules_check("c", rows[i].source, 1, &err), -1);
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
    "#define _GNU_SOURCE\n#define J(a, b) a##b\n#define LONG \\\n    1\n#define CRLF \\\r\n    1\r\n",
    "#include <xmmintrin.h>\n#include <emmintrin.h>\n#include <x86intrin.h>\n#include <inttypes.h>\n",
    "#include <stdlib.h>\n#include <assert.h>\n#include <complex.h>\nint f(int a) { assert(a); return "
    "abs(a); }\n",
    "#pragma GCC optimize(\"O3\")\n#pragma GCC push_options\n#pragma GCC target(\"avx2\")\n#pragma GCC "
    "pop_options\n",
    "#pragma omp declare simd notinbranch\nfloat f(float a);\n",
    "[[maybe_unused]] static int a; [[gnu::aligned(32), gnu::unused]] static float b[8]; [[__gnu__::hot]] "
    "int f(void);",
    "void f(float *a) { __builtin_ia32_storeups(a, __builtin_ia32_loadups(a)); }",
    "int f(unsigned a) { char *p = __builtin_alloca(16); p[0] = 1; return __builtin_parity(a) + p[0]; }",
    "#if 0\nit's /* not read\n#if 1\nnor's that\n#endif\n#endif\nint a;\n",
    "int f(int i) { static const void *const t[] = {&&a, &&b}; goto *t[i]; a: return 1; b: return 2; }",
    "float gr\xc3\xb6\xc3\x9f"
    "e(float \xce\xb1) { return \xce\xb1; }",
};

static void test_honest(void **state)
{
    for (size_t i = 0; i < sizeof(honest) / sizeof(*honest); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (atoll_rules_check("c", honest[i], 1, &err) != 0)
            fail_msg("'%s' gave '%s'", honest[i], err.text);
        assert_int_equal(err.code, ATOLL_OK);
    }
}

/* What gcc and clang say in front of a unit. */
#define GCC_HEAD                                                                                             \
    "# 0 \"candidate.c\"\n# 0 \"<built-in>\"\n# 0 \"<command-line>\"\n# 1 \"/usr/include/stdc-predef.h\" 1 " \
    "3 4\n"                                                                                                  \
    "# 0 \"<command-line>\" 2\n# 1 \"candidate.c\"\n"
#define CLANG_HEAD                                                                                           \
    "# 1 \"candidate.c\"\n# 1 \"<built-in>\" 1\n# 1 \"<built-in>\" 3\n# 409 \"<built-in>\" 3\n"              \
    "# 1 \"<command line>\" 1\n# 1 \"<built-in>\" 2\n# 1 \"candidate.c\" 2\n"
#define MATH                                                                                                 \
    "# 1 \"/usr/include/math.h\" 1 3 4\nextern int g(void) __asm__(\"g2\");\n# 1 \"/usr/include/bits/x.h\" " \
    "1 3 4\n"                                                                                                \
    "# 2 \"/usr/include/math.h\" 2 3 4\n# 5 \"candidate.c\" 2\n"

/* rule NULL: honest. */
static void test_preprocessed(void **state)
{
    static const struct {
        const char *rule, *text;
    } rows[] = {
        {NULL, ""},
        {NULL, GCC_HEAD MATH
         "int f(void);\n# 7 \"candidate.c\" 3 4\n(__builtin_nanf (\"\"))\n# 7 \"candidate.c\"\n;\n"},
        {NULL, CLANG_HEAD MATH "int f(void);\n#pragma GCC ivdep\nint g(void);\n"},
        {NULL, "# 1 \"candidate.c\"\n#pragma GCC unroll 4\n# 15 \"candidate.c\"\nint a;\n"},
        {NULL, GCC_HEAD "int a;\n# 1 \"plan\"\nint atoll_x;\n# 1 \"plan.launch[0]\"\nint atoll_y;\n"},
        {NULL, GCC_HEAD "# 9 \"candidate\"\nint a;\n"},
        {"assembly, line 5", GCC_HEAD MATH "extern void gg (void) __asm__ (\"\" \"memcpy; .incbin\");\n"},
        {NULL, GCC_HEAD "void f(const char *a, float *c) { __asm__ volatile (\"{tileloadd\\t(%0,%1,1), "
                        "%%tmm\"\"1\"\"|tileloadd\\t%%tmm\"\"1\"\", "
                        "[%0+%1*1]}\" :: \"r\" ((const void*) (a)), \"r\" ((long) (64)));\n __asm__ volatile "
                        "(\"tilezero\\t%%tmm\"\"0\" ::);\n"
                        " __asm__ volatile (\"{tdpbf16ps\\t%%tmm\"\"2\"\", %%tmm\"\"1\"\", "
                        "%%tmm\"\"0\"\"|tdpbf16ps\\t%%tmm\"\"0\"\", %%tmm\"\"1\"\", %%tmm\"\"2\"\"}\" ::);\n"
                        " __asm__ volatile (\"{tilestored\\t%%tmm\"\"0\"\", "
                        "(%0,%1,1)|tilestored\\t[%0+%1*1], %%tmm\"\"0\"\"}\" :: \"r\" ((void*) (c)), \"r\" "
                        "((long) (64)) : \"memory\"); }\n"},
        {"assembly, line 6", CLANG_HEAD MATH "\nasm(\"nop\");\n"},
        {"assembly, line 12", GCC_HEAD "int a;\n# 12 \"candidate.c\"\nasm(\"nop\");\n"},
        {"attribute, line 1", GCC_HEAD "__attribute__((section(\"x\"))) void f(void);\n"},
        {"system, line 2", GCC_HEAD "\nlong f(void) { return syscall(1); }\n"},
        {"pragma, line 1", GCC_HEAD "#pragma weak f\n"},
        {"directive, line 1", GCC_HEAD " # define asm2 asm\n"},
        {"include, line 1", GCC_HEAD "# 1 \"/usr/include/unistd.h\" 1 3 4\nint x;\n# 2 \"candidate.c\" 2\n"},
        {"include, line 1", CLANG_HEAD "# 1 \"/usr/include/xmath.h\" 1 3 4\n# 2 \"candidate.c\" 2\n"},
        {"directive, line 2", GCC_HEAD "int a;\n# 1 \"/usr/include/math.h\" 3 4\nasm(\"nop\");\n"},
        {"directive, line 2", GCC_HEAD "int a;\n# 1 \"plan\"\nasm(\"nop\");\n# 1 \"plan\"\nint atoll_x;\n"},
        {"harness, line 1", GCC_HEAD "int atoll_x;\n# 1 \"plan\"\n"},
    };
    static const struct atoll_rules_unit unit = {"candidate.c", "candidate", "plan"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        char prefix[64];
        snprintf(prefix, sizeof(prefix), "rule %s: ", rows[i].rule ? rows[i].rule : "");
        int failed = atoll_rules_check_preprocessed("c", rows[i].text, &unit, &err);
        if (failed != (rows[i].rule ? -1 : 0) || (failed && strncmp(err.text, prefix, strlen(prefix)) != 0))
            fail_msg("row %zu gave '%s'", i, err.text);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t bytes = (size_t)2 << 20;
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, 'a', bytes);
    text[bytes] = 0;
    assert_int_equal(atoll_rules_check_preprocessed("c", text, &unit, &err), -1);
    assert_non_null(strstr(err.text, "rule expansion"));
    free(text);
}

/* Lines count from the file's first, whatever stands before the body. */
static void test_first_line(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_rules_check("c", "\nasm(\"nop\");", 7, &err), -1);
    assert_memory_equal(err.text, "rule assembly, line 8:", 22);
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_rules_check("c", "\n// \r", 7, &err), -1);
    assert_memory_equal(err.text, "rule control-byte, line 8:", 26);
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
    assert_int_equal(atoll_rules_check("pascal", "", 1, &err), -1);
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
        atoll_rules_check("c", text, 1, NULL);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_preprocessed),
        cmocka_unit_test(test_first_line),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_unknown_language),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
