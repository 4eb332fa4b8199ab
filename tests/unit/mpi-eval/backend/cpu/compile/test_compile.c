#include "tests/support/expect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/sandbox/sandbox.h"

static const struct atoll_compiler_settings usual = {"cc",    "-O1", NULL, 2, 120e9, UINT64_C(2) << 30,
                                                     16 << 20};
static char scratch[] = "/tmp/atoll-test-XXXXXX";
static struct atoll_compiler *compiler;

static struct atoll_compiler *create(const struct atoll_compiler_settings *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *made = atoll_cc_create(settings, &err);
    if (!made)
        fail_msg("%s", err.text);
    return made;
}

static size_t scratch_entries(void)
{
    size_t count = 0;
    DIR *dir = opendir(scratch);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static struct atoll_compiled run_as(struct atoll_compiler *with, const char *name, const char *text,
                                    const char *const *defines, size_t count)
{
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_compiler_run(with, name, text, strlen(text), defines, count, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_non_null(result.diagnostics);
    assert_true(strlen(result.diagnostics) < ATOLL_DIAGNOSTICS_BYTES);
    assert_null(strstr(result.diagnostics, scratch));
    return result;
}

/* A candidate's unit, which the rules judge. */
static struct atoll_compiled run(struct atoll_compiler *with, const char *text, const char *const *defines,
                                 size_t count)
{
    return run_as(with, ATOLL_CC_CANDIDATE, text, defines, count);
}

static void drop(struct atoll_compiled *result)
{
    atoll_compiled_fini(result);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(scratch) || setenv("ATOLL_SCRATCH", scratch, 1) != 0)
        return -1;
    compiler = create(&usual);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_compiler_destroy(compiler);
    assert_int_equal(scratch_entries(), 0);
    return rmdir(scratch);
}

static void test_bad_settings(void **state)
{
    (void)state;
    static const struct {
        const char *command, *flags;
        unsigned slots;
        double deadline_ns;
        enum atoll_code code;
        const char *text;
    } rows[] = {
        {"cc", "", 0, 1e9, ATOLL_E_LIMIT, "0 compile slots"},
        {"cc", "", 1, 0, ATOLL_E_LIMIT, "deadline"},
        {"no-such-compiler", "", 1, 120e9, ATOLL_E_MISSING, "apt install gcc"},
        {"/etc/passwd", "", 1, 120e9, ATOLL_E_MISSING, "no C compiler"},
        {"true", "", 1, 120e9, ATOLL_E_MISSING, "makes no shared object"},
        {"cc", "-fno-such-flag", 1, 120e9, ATOLL_E_MISSING, "-fno-such-flag"},
        {"cc", "-c", 1, 120e9, ATOLL_E_MISSING, "not a shared object"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compiler_settings settings = usual;
        struct atoll_err err = ATOLL_ERR_INIT;
        settings.command = rows[i].command;
        settings.flags = rows[i].flags;
        settings.slots = rows[i].slots;
        settings.deadline_ns = rows[i].deadline_ns;
        assert_null(atoll_cc_create(&settings, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s: %s", i, atoll_code_name(err.code), err.text);
    }
    assert_int_equal(scratch_entries(), 1);
}

static void test_no_scratch(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    setenv("ATOLL_SCRATCH", "/proc/no-such-folder", 1);
    assert_null(atoll_cc_create(&usual, &err));
    setenv("ATOLL_SCRATCH", scratch, 1);
    assert_non_null(strstr(err.text, "set ATOLL_SCRATCH"));
}

static void test_good_source(void **state)
{
    (void)state;
    static const char *const defines[] = {"TWO=2", "NAME=f"};
    struct atoll_compiled result = run(compiler, "int NAME(int i) { return i * TWO; }\n", defines, 2);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    assert_string_equal(result.diagnostics, "");
    assert_memory_equal(result.object, "\177ELF", 4);
    assert_true(result.object_length > 1000 && result.wall_ns > 0);
    drop(&result);
    assert_non_null(strstr(atoll_compiler_version(compiler), " -O1"));
}

/* Another process's folder, another slot, another time: the same bytes. */
static void test_equal_sources_give_equal_objects(void **state)
{
    (void)state;
    static const char text[] =
        "static const char *const at[] = {__FILE__, \"b\"};\nconst char *f(int i) { return at[i]; }\n";
    struct atoll_compiler *other = create(&usual);
    struct atoll_compiled a = run(compiler, text, NULL, 0), b = run(other, text, NULL, 0),
                          c = run(other, text, NULL, 0);
    assert_int_equal(a.object_length, b.object_length);
    assert_memory_equal(a.object, b.object, a.object_length);
    assert_memory_equal(a.object, c.object, a.object_length);
    assert_null(memmem(a.object, a.object_length, scratch, strlen(scratch)));
    drop(&a);
    drop(&b);
    drop(&c);
    atoll_compiler_destroy(other);
}

static void test_bad_sources(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        int needs_landlock;
    } rows[] = {
        {"int f(void)\n{\n    return missing_name;\n}\n", "unit.c:3:", 0},
        {"int f(void)\n{\n    return missing_name;\n}\n", "return missing_name;", 0},
        {"int f(void)\n{\n    return 1\n}\n", "expected", 0},
        {"int g(void);\nint f(void) { return g(); }\n", "undefined reference to `g'", 0},
        {"#include <no_such_header.h>\n", "no_such_header.h", 0},
        {"#include \"/etc/passwd\"\n", "/etc/passwd", 1},
        {"#include \"/proc/self/environ\"\n", "/proc/self/environ", 1},
        {"__asm__(\".incbin \\\"/etc/passwd\\\"\");\n", "/etc/passwd", 1},
        {"#error cc1: out of memory\n", "out of memory", 0},
        {"__asm__(\".error \\\"No space left on device\\\"\");\n", "No space left", 0},
        {"__asm__(\".error \\\"gcc: fatal error: cannot execute cc1\\\"\");\n", "cannot execute", 0},
        {"__asm__(\".print \\\"No space left on device\\\"\"); int f(void) { return x; }\n", "unit.c:1", 0},
        {"int f(void) { return 0; }\nint f(void) { return 1; }\n", "redefinition", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].needs_landlock && atoll_landlock_version() == 0) {
            print_message("row %zu skipped: this kernel has no Landlock\n", i);
            continue;
        }
        struct atoll_compiled result = run_as(compiler, "unit.c", rows[i].text, NULL, 0);
        assert_null(result.object);
        if (result.status != ATOLL_COMPILE_ERROR || !strstr(result.diagnostics, rows[i].says) ||
            strstr(result.diagnostics, "root:"))
            fail_msg("row %zu: status %d: %s", i, (int)result.status, result.diagnostics);
        drop(&result);
    }
}

/* A compiler that works until the file `broken` is there: then it says what the tools say on a full disk, whatever it is
 * given. */
static void test_a_machine_at_fault(void **state)
{
    (void)state;
    static const char *const words[] = {"as: No space left on device", "cc: cannot execute cc1"};
    char script[256], flag[256], text[1024];
    snprintf(script, sizeof(script), "%s/some-cc", scratch);
    snprintf(flag, sizeof(flag), "%s/broken", scratch);
    FILE *out = fopen(script, "we");
    assert_non_null(out);
    fprintf(out,
            "#!/bin/sh\nread words 2>/dev/null <%s && { echo \"$words\" >&2; exit 1; }\nexec cc \"$@\"\n",
            flag);
    fclose(out);
    assert_int_equal(chmod(script, 0700), 0);
    struct atoll_compiler_settings settings = usual;
    settings.command = script;
    struct atoll_compiler *some = create(&settings);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        out = fopen(flag, "we");
        fprintf(out, "%s\n", words[i]);
        fclose(out);
        struct atoll_compiled result = run(some, "int f;\n", NULL, 0);
        assert_int_equal(result.status, ATOLL_COMPILE_BROKEN);
        assert_string_equal(result.diagnostics, words[i]);
        drop(&result);
        snprintf(text, sizeof(text), "__asm__(\".error \\\"%s\\\"\");\n", words[i]);
        assert_int_equal(unlink(flag), 0);
        result = run_as(some, "unit.c", text, NULL, 0); /* the same words, and the machine works */
        assert_int_equal(result.status, ATOLL_COMPILE_ERROR);
        drop(&result);
    }
    atoll_compiler_destroy(some);
    assert_int_equal(unlink(script), 0);
}

/* The rules decide over what the preprocessor made, whatever the text looked like. */
static void test_preprocessed_text_is_judged(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"int gr\xc3\xb6\xc3\x9f"
         "e(int \xce\xb1) { return \xce\xb1; }\n",
         NULL},
        {"#if 0\nit's /* not read\n#endif\nint f(void) { return 1; }\n", NULL},
        {"[[gnu::noinline]] static int g(void) { return 1; }\n#pragma omp declare simd\nint f(int i)\n{\n"
         "    static const void *const t[] = {&&a, &&b};\n    goto *t[i];\na:\n    return g();\n"
         "b:\n    return __builtin_parity(2);\n}\n",
         NULL},
        {"#include <math.h>\nint f(float x) { return isnan(x) || signbit(x) || fpclassify(x) == FP_ZERO || x "
         "== INFINITY; }\n",
         NULL},
        {"#include <assert.h>\n#include <inttypes.h>\n#include <stdlib.h>\n#include <complex.h>\n"
         "float complex f(float complex a) { assert(a); return cexpf(a) * abs(3) + (int)INT64_C(3); }\n",
         NULL},
#if defined(__x86_64__)
        {"#include <x86intrin.h>\n#pragma GCC push_options\n#pragma GCC target(\"avx2\")\n"
         "void f(float *x) { _mm256_storeu_ps(x, _mm256_shuffle_ps(_mm256_loadu_ps(x), _mm256_setzero_ps(), "
         "5)); }\n"
         "#pragma GCC pop_options\n",
         NULL},
        {"#include <x86intrin.h>\n#define J(a, b) a##b\nlong f(void) { return J(__rd, tsc)(); }\n",
         "rule clock, line 3"},
#endif
        {"#define J(a, b) a##b\nJ(__as, m__)(\".incbin \\\"/etc/passwd\\\"\");\n", "rule assembly, line 2"},
        {"#define J(a, b) a##b\nextern long J(sys, call)(long);\nlong f(void) { return 1; }\n",
         "rule system, line 2"},
        {"#include <string.h>\nextern void __REDIRECT(g, (void), memcpy);\n", "rule assembly, line 2"},
        {"// x \r asm(\"nop\");\nint f(void);\n", "rule assembly"},
        {"// x \r#include <unistd.h>\n", "rule include"},
        {"#define attr section\n__attribute__((attr(\"x\"))) void f(void) {}\n", "rule attribute, line 2"},
        {"_Pragma(\"weak g\") int g(void);\n", "rule pragma"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compiled result = run(compiler, rows[i].text, NULL, 0);
        enum atoll_compile_status expected = rows[i].says ? ATOLL_COMPILE_FORBIDDEN : ATOLL_COMPILE_OK;
        if (result.status != expected || (rows[i].says && !strstr(result.diagnostics, rows[i].says)))
            fail_msg("row %zu: status %d: %s", i, (int)result.status, result.diagnostics);
        assert_true((result.object != NULL) == !rows[i].says);
        drop(&result);
    }
}

#if defined(__x86_64__)
/* Whether a header lies parsed in the folder of the one compiler that has one. */
static int has_parsed(const char *header)
{
    char path[512];
    int found = 0;
    DIR *dir = opendir(scratch);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        snprintf(path, sizeof(path), "%s/%.200s/headers/%s.gch", scratch, e->d_name, header);
        found |= e->d_name[0] != '.' && access(path, R_OK) == 0;
    }
    closedir(dir);
    return found;
}

/* Waits for headers that are being parsed; whether one lies there then. */
static int await_parsed(struct atoll_compiler *with, const char *header)
{
    struct atoll_compiled none;
    struct pollfd fds[4];
    double until = atoll_clock_mono_ns() + 60e9;
    while (atoll_compiler_collect(with, &none) == 0 && atoll_compiler_timeout_ms(with) >= 0 &&
           atoll_clock_mono_ns() < until)
        poll(fds, (nfds_t)atoll_compiler_pollfds(with, fds, 4), 100);
#if __GNUC__ >= 12 && !defined(__clang__)
    if (!has_parsed(header))
        fail_msg("%s was not parsed", header);
#endif
    return has_parsed(header);
}

/* The object of a unit with a header that is parsed meanwhile is the one that it has by itself.  1; 0: nothing was parsed. */
static int gives_equal_objects(struct atoll_compiler *with, const char *text, const char *header)
{
    struct atoll_compiled first = run(with, text, NULL, 0), again;
    if (first.status != ATOLL_COMPILE_OK)
        fail_msg("status %d: %s", (int)first.status, first.diagnostics);
    int is_parsed = await_parsed(with, header);
    again = run(with, text, NULL, 0);
    if (again.status != ATOLL_COMPILE_OK)
        fail_msg("status %d: %s", (int)again.status, again.diagnostics);
    assert_int_equal(again.object_length, first.object_length);
    assert_memory_equal(again.object, first.object, first.object_length);
    drop(&again);
    drop(&first);
    return is_parsed;
}

#define UNSEEN "#if 0\n#include <immintrin.h>\n#endif\n" /* shows what was there before the first line */

/* Candidates that include what takes gcc long to parse get it parsed, without AVX-512 where they name nothing of it: same
 * objects, lines and rules, and no error that they have not by themselves. */
static void test_large_headers_are_parsed_once(void **state)
{
    (void)state;
    static const char good[] = "#define N 4\n#include <math.h>\n#if N\n#include <immintrin.h>\n#endif\n"
                               "void f(float *x) { _mm_stream_ps(x, _mm_set1_ps(sqrtf(x[N]))); }\n";
    static const char wide[] =
        "#include <immintrin.h>\n__attribute__((target(\"amx-tile,amx-bf16,amx-int8\"))) void f(float *p)\n"
        "{ _tile_zero(0); _tile_loadd(1, p, 64); _tile_stream_loadd(2, p, 64); _tile_dpbf16ps(0, 1, 2); "
        "_tile_dpbssd(3, 1, 2);\n"
        "  _tile_dpbsud(3, 1, 2); _tile_dpbusd(3, 1, 2); _tile_dpbuud(3, 1, 2); _tile_stored(0, p, 64); "
        "_tile_release(); }\n"
        "#pragma GCC target(\"avx512f,avx512vl\")\n"
        "void g(float *x) { _mm512_storeu_ps(x, _mm512_add_ps(_mm512_loadu_ps(x), _mm512_set1_ps(3))); }\n"
        "void h(__m256i *x) { *x = _mm256_rol_epi32(*x, 3); }\n";
    static const struct {
        const char *text;
        enum atoll_compile_status status;
        const char *says;
    } rows[] = {
        {"#include <immintrin.h>\n#define J(a, b) a##b\nlong f(void) { return J(__rd, tsc)(); }\n",
         ATOLL_COMPILE_FORBIDDEN, "rule clock, line 3"},
        {"#include <immintrin.h>\n__attribute__((target(\"amx-tile\"))) void f(void)\n{ _tile_zero(9); }\n",
         ATOLL_COMPILE_FORBIDDEN, "rule assembly, line 3"},
        {"#include <immintrin.h>\nint f(void)\n{\n    return y;\n}\n", ATOLL_COMPILE_ERROR, "candidate.c:4:"},
        {UNSEEN "int _mm_getcsr(int a) { return a; }\n", ATOLL_COMPILE_OK, ""},
        {"#pragma GCC pch_preprocess \"../headers/immintrin.h.gch\"\n#include <immintrin.h>\nint f;\n",
         ATOLL_COMPILE_FORBIDDEN, "rule pragma, line 1"},
        {UNSEEN "unsigned f(void) { return _mm_getcsr(); }\n", ATOLL_COMPILE_OK, ""},
        {UNSEEN "int f(void) { return _mm_getcsr() + sizeof(__v8df); }\n", ATOLL_COMPILE_ERROR, "__v8df"},
        {UNSEEN "/* target */ void f(__m512 *x) { *x += *x; }\n", ATOLL_COMPILE_OK, ""},
        /* a name that no word tells of, and one that is one's own */
        {"#include <immintrin.h>\nint f(void) { return _mm_getcsr() + sizeof(__v8df); }\n", ATOLL_COMPILE_OK,
         ""},
        {"#include <immintrin.h>\nstatic __m128i _mm_rol_epi32(__m128i a) { return a; }\n"
         "void f(__m128i *x) { *x = _mm_rol_epi32(*x); }\n",
         ATOLL_COMPILE_ERROR, "_mm_rol_epi32"},
    };
    struct atoll_compiler_settings settings = usual;
    settings.output_bytes = 64 << 20;
    struct atoll_compiler *some = create(&settings);
    assert_false(has_parsed("narrow-immintrin.h"));
    if (!gives_equal_objects(some, good, "narrow-immintrin.h"))
        skip();
    assert_false(has_parsed("immintrin.h") || has_parsed("narrow-x86intrin.h"));
    assert_int_equal(gives_equal_objects(some, wide, "immintrin.h"), 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compiled result = run(some, rows[i].text, NULL, 0);
        if (result.status != rows[i].status || !strstr(result.diagnostics, rows[i].says))
            fail_msg("row %zu: status %d: %s", i, (int)result.status, result.diagnostics);
        drop(&result);
    }
    atoll_compiler_destroy(some);
}
#endif

/* A source whose expansion has 10^depth tokens. */
static char *bomb(int depth)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fputs("#define M0 1,\n", out);
    for (int i = 1; i <= depth; i++)
        fprintf(out, "#define M%d M%d M%d M%d M%d M%d M%d M%d M%d M%d M%d\n", i, i - 1, i - 1, i - 1, i - 1,
                i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    fprintf(out, "const char data[] = {M%d};\n", depth);
    fclose(out);
    return text;
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        int depth;
        double deadline_ns;
        uint64_t memory_bytes, output_bytes;
        enum atoll_compile_status status;
        const char *says;
    } rows[] = {
        {9, 2e9, UINT64_C(2) << 30, 16 << 20, ATOLL_COMPILE_TIMEOUT, "was not done after "},
        {7, 60e9, UINT64_C(160) << 20, 16 << 20, ATOLL_COMPILE_MEMORY, "memory"},
        {5, 120e9, UINT64_C(2) << 30, 64 << 10, ATOLL_COMPILE_ERROR, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compiler_settings settings = {
            "cc", "-O1", NULL, 1, rows[i].deadline_ns, rows[i].memory_bytes, rows[i].output_bytes};
        struct atoll_compiler *limited = create(&settings);
        char *text = bomb(rows[i].depth);
        struct atoll_compiled result = run(limited, text, NULL, 0);
        if (result.status != rows[i].status || !strstr(result.diagnostics, rows[i].says))
            fail_msg("row %zu: status %d: %s", i, (int)result.status, result.diagnostics);
        drop(&result);
        result = run(limited, "int f;\n", NULL, 0); /* the slot serves again */
        assert_int_equal(result.status, ATOLL_COMPILE_OK);
        drop(&result);
        free(text);
        atoll_compiler_destroy(limited);
    }
}

/* What is not a candidate's is needed in any case, however busy the machine is. */
static void test_own_units_have_time(void **state)
{
    (void)state;
    static const struct atoll_compiler_settings hasty = {"cc",    "-O1", NULL, 1, 1e6, UINT64_C(2) << 30,
                                                         16 << 20};
    static const struct {
        const char *name;
        enum atoll_compile_status status;
    } rows[] = {{ATOLL_CC_CANDIDATE, ATOLL_COMPILE_TIMEOUT},
                {"reference.c", ATOLL_COMPILE_OK},
                {"calibrate.c", ATOLL_COMPILE_OK}};
    struct atoll_compiler *with = create(&hasty); /* its probe is no candidate, either */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compiled result = run_as(with, rows[i].name, "int f;\n", NULL, 0);
        assert_int_equal(result.status, rows[i].status);
        drop(&result);
    }
    atoll_compiler_destroy(with);
}

static void submit(struct atoll_compiler *to, uint64_t job, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_compiler_submit(to, job, "candidate.c", text, strlen(text), NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
}

/* Waits for `count` jobs; returns the bits of their numbers. */
static unsigned collect(struct atoll_compiler *from, int count)
{
    unsigned seen = 0;
    while (count > 0) {
        struct atoll_compiled result;
        if (atoll_compiler_collect(from, &result)) {
            assert_int_equal(result.status, result.job % 2 ? ATOLL_COMPILE_ERROR : ATOLL_COMPILE_OK);
            assert_int_equal(seen & (1u << result.job), 0);
            seen |= 1u << result.job;
            drop(&result);
            count--;
            continue;
        }
        struct pollfd fds[4];
        assert_true(atoll_compiler_timeout_ms(from) >= 0);
        poll(fds, (nfds_t)atoll_compiler_pollfds(from, fds, 4), 100);
    }
    return seen;
}

static void test_many_jobs(void **state)
{
    (void)state;
    struct atoll_compiled result;
    for (uint64_t job = 0; job < 8; job++)
        submit(compiler, job, job % 2 ? "broken" : "int f(int i) { return i; }\n");
    result = run(compiler, "int g;\n", NULL, 0); /* takes its own result only */
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    drop(&result);
    assert_int_equal(collect(compiler, 8), 0xff);
    /* no job is left; a header that tests before this one included may still be parsed */
    struct pollfd fds[4];
    double until = atoll_clock_mono_ns() + 60e9;
    do
        assert_int_equal(atoll_compiler_collect(compiler, &result), 0);
    while (atoll_compiler_timeout_ms(compiler) >= 0 && atoll_clock_mono_ns() < until &&
           poll(fds, (nfds_t)atoll_compiler_pollfds(compiler, fds, 4), 100) >= 0);
    assert_int_equal(atoll_compiler_timeout_ms(compiler), -1);
}

static void test_nothing_runs_while_paused(void **state)
{
    (void)state;
    struct pollfd fds[4];
    submit(compiler, 0, "int f;\n"); /* runs, and is stopped where it is */
    atoll_compiler_pause(compiler);
    atoll_compiler_pause(compiler);
    submit(compiler, 2, "int f;\n");
    submit(compiler, 4, "int f;\n");
    assert_true(atoll_compiler_pollfds(compiler, fds, 4) <= 1);
    atoll_compiler_resume(compiler);
    atoll_compiler_resume(compiler);
    assert_int_equal(collect(compiler, 3), 0x15);
}

static void test_destroy_ends_all(void **state)
{
    (void)state;
    for (int paused = 0; paused < 2; paused++) {
        struct atoll_compiler *busy = create(&usual);
        char *text = bomb(9);
        for (uint64_t job = 0; job < 4; job++)
            submit(busy, job, text);
        if (paused)
            atoll_compiler_pause(busy);
        atoll_compiler_destroy(busy);
        free(text);
        assert_int_equal(scratch_entries(), 1);
    }
    atoll_compiler_destroy(NULL);
}

static void test_bad_jobs(void **state)
{
    (void)state;
    static const char *const names[] = {"", "c", ".c", "x.h", "../x.c", "a/b.c", "-x.c", "a b.c", "x\n.c"};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(atoll_compiler_submit(compiler, 0, names[i], "", 0, NULL, 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
    assert_int_equal(atoll_compiler_submit(compiler, 0, "x.c", "", SIZE_MAX, NULL, 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

static void make_folder(const char *name, int old)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/0", scratch, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    struct timespec times[2] = {{1, 0}, {1, 0}};
    if (old)
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What a killed process left goes; what a living one holds, and what is young, stays. */
static void test_stale_scratch_goes(void **state)
{
    (void)state;
    char path[256];
    make_folder("atoll-scratch-stale0", 1);
    make_folder("atoll-scratch-locked", 1);
    make_folder("atoll-scratch-young0", 0);
    snprintf(path, sizeof(path), "%s/atoll-scratch-locked", scratch);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    atoll_compiler_destroy(create(&usual));
    assert_int_equal(scratch_entries(), 3); /* the suite's own, locked, young */
    close(fd);
    snprintf(path, sizeof(path), "rm -r %s/atoll-scratch-locked %s/atoll-scratch-young0", scratch, scratch);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_no_scratch),
        cmocka_unit_test(test_good_source),
        cmocka_unit_test(test_equal_sources_give_equal_objects),
        cmocka_unit_test(test_bad_sources),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_own_units_have_time),
        cmocka_unit_test(test_a_machine_at_fault),
        cmocka_unit_test(test_preprocessed_text_is_judged),
        cmocka_unit_test(test_many_jobs),
        cmocka_unit_test(test_nothing_runs_while_paused),
        cmocka_unit_test(test_destroy_ends_all),
        cmocka_unit_test(test_bad_jobs),
        cmocka_unit_test(test_stale_scratch_goes),
#if defined(__x86_64__)
        cmocka_unit_test(test_large_headers_are_parsed_once),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
