/* Real NVRTC, no device.  Skips where there is none. */
#include "tests/support/expect.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/sandbox/sandbox.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/compile/toolkit.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

#define KERNEL "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] *= 2; }\n"

static char scratch[] = "/tmp/atoll-test-XXXXXX";
static struct atoll_compiler *compiler;
static int has_headers;
/* Half of the time here is NVRTC's with long texts, in a process of its own that no sanitizer sees: there the first is enough. */
#ifdef ATOLL_SANITIZED
#define LONG_TEXTS(count) 1
#else
#define LONG_TEXTS(count) (count)
#endif

static const struct atoll_nvrtc_settings usual = {.compiler = {.command = "nvrtc",
                                                               .flags = "",
                                                               .target = "sm_90a",
                                                               .slots = 2,
                                                               .deadline_ns = 60e9,
                                                               .memory_bytes = (uint64_t)4 << 30,
                                                               .output_bytes = (uint64_t)16 << 20},
                                                  .cache = ""};

static struct atoll_compiler *create(const struct atoll_nvrtc_settings *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *made = atoll_nvrtc_create(settings, &err);
    if (!made)
        fail_msg("%s", err.text);
    return made;
}

static struct atoll_compiled run(struct atoll_compiler *with, const char *text)
{
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_compiler_run(with, "candidate.cu", text, strlen(text), NULL, 0, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_non_null(result.diagnostics);
    assert_non_null(result.report);
    assert_true(strlen(result.diagnostics) < ATOLL_DIAGNOSTICS_BYTES);
    return result;
}

static void expect(struct atoll_compiler *with, const char *text, enum atoll_compile_status status,
                   const char *says)
{
    struct atoll_compiled result = run(with, text);
    if (result.status != status || !strstr(result.diagnostics, says))
        fail_msg("%.200s\nstatus %d: %s", text, (int)result.status, result.diagnostics);
    if (status == ATOLL_COMPILE_OK)
        assert_memory_equal(result.object, "\177ELF", 4);
    else
        assert_null(result.object);
    atoll_compiled_fini(&result);
}

/* The finished PTX decides, whatever the source looked like; what the harness compiles is not judged. */
static void test_finished_ptx_is_judged(void **state)
{
    (void)state;
    static const char clock[] = "extern \"C\" __global__ void f(long long *y) { y[0] = clock64(); }\n";
    expect(compiler, clock, ATOLL_COMPILE_FORBIDDEN, "rule assembly-clock, in the PTX");
    expect(compiler,
           "extern \"C\" __global__ void f(int *y) { asm(\"// a\\n\\tdiscard.global.L2 [%0], 128;\" "
           "::\"l\"(y)); }\n",
           ATOLL_COMPILE_FORBIDDEN, "rule assembly-persisting, in the PTX");
    expect(
        compiler,
        "extern \"C\" __global__ void f(int *y) { asm(\"// %clock\\n\\tmov.u32 %0, 1;\" : \"=r\"(*y)); }\n",
        ATOLL_COMPILE_OK, "");
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(
        atoll_compiler_run(compiler, "calibrate.cu", clock, strlen(clock), NULL, 0, &result, &err), 0);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    atoll_compiled_fini(&result);
}

/* An option of time alone is left out where NVRTC may not know it. */
static void test_options_of_newer_toolkits(void **state)
{
    static const struct {
        const char *version;
        size_t more;
    } rows[] = {{"13.0", 1}, {"14.1", 1}, {"12.9", 0}, {"9.2", 0}, {"", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_compiler_settings settings = {.target = "sm_90a", .flags = "--use_fast_math"};
        struct atoll_toolkit toolkit = {0};
        struct atoll_compile_options plain = {0}, fast = {0};
        struct atoll_err err = ATOLL_ERR_INIT;
        snprintf(toolkit.version, sizeof(toolkit.version), "%s", rows[i].version);
        assert_int_equal(atoll_compile_options_init(&plain, &settings, &toolkit, &err), 0);
        settings.flags = "--Ofast-compile=mid --use_fast_math";
        assert_int_equal(atoll_compile_options_init(&fast, &settings, &toolkit, &err), 0);
        if (fast.count != plain.count + rows[i].more)
            fail_msg("%s: %zu options, not %zu and %zu", rows[i].version, fast.count, plain.count,
                     rows[i].more);
        assert_string_equal(fast.texts[fast.count - 1], "--use_fast_math");
        atoll_compile_options_fini(&plain);
        atoll_compile_options_fini(&fast);
    }
}

static void test_good_source(void **state)
{
    (void)state;
    static const char *const defines[] = {"TWO=2", "NAME=twice"};
    static const char text[] = "extern \"C\" __global__ void NAME(float *x) { x[threadIdx.x] *= TWO; }\n";
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(
        atoll_compiler_run(compiler, "candidate.cu", text, strlen(text), defines, 2, &result, &err), 0);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    assert_memory_equal(result.object, "\177ELF", 4);
    assert_non_null(memmem(result.object, result.object_length, "twice", 5));
    assert_non_null(strstr(result.report, "entry function 'twice' for 'sm_90a'"));
    assert_non_null(strstr(result.report, " registers"));
    assert_string_equal(result.diagnostics, "");
    assert_int_equal(result.from_cache, 0);
    assert_true(result.wall_ns > 0);
    atoll_compiled_fini(&result);
    assert_memory_equal(atoll_compiler_version(compiler), "nvrtc 1", 7);
    assert_non_null(strstr(atoll_compiler_version(compiler), " sm_90a"));
}

static void test_headers(void **state)
{
    (void)state;
    static const char *const headers[] = {"cuda_fp16.h",   "cuda_bf16.h",          "cuda_fp8.h",
                                          "mma.h",         "cooperative_groups.h", "cuda/barrier",
                                          "cuda/pipeline", "cuda/std/limits"};
    if (!has_headers) {
        print_message("skipped: this NVRTC has no toolkit headers\n");
        return;
    }
    for (size_t i = 0; i < LONG_TEXTS(sizeof(headers) / sizeof(headers[0])); i++) {
        char text[256];
        snprintf(text, sizeof(text), "#include <%s>\n" KERNEL, headers[i]);
        expect(compiler, text, ATOLL_COMPILE_OK, "");
    }
    struct atoll_compiled result =
        run(compiler, "#include <cuda_fp16.h>\n__global__ void f() { __half h = __hadd(1); }\n");
    assert_int_equal(result.status, ATOLL_COMPILE_ERROR);
    assert_null(strstr(result.diagnostics, "/include/")); /* no folder of ours */
    atoll_compiled_fini(&result);
}

/* Instructions of one architecture, which "sm_90" has not. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, ATOLL_SOURCE_LIMIT);
    if (!file || !text || fread(text, 1, ATOLL_SOURCE_LIMIT - 1, file) == 0)
        fail_msg("%s cannot be read", path);
    fclose(file);
    return text;
}

/* Level 1 to 3 of a kernel of bench/kernels, whose plans have paths: prepared, compiled, and every launch of every path fits
 * the image. */
static void kernel_check(const char *name)
{
    static struct atoll_cubin cubin;
    char path[PATH_MAX], detail[ATOLL_DETAIL_BYTES] = "";
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body = NULL;
    snprintf(path, sizeof(path), "%s/suites/gpu/%s", ATOLL_SOURCE_DIR, name);
    struct atoll_task *task = atoll_task_load(path, &err);
    struct atoll_arena *arena = atoll_arena_create(1u << 22, &err);
    snprintf(path, sizeof(path), "%s/bench/kernels/%s.cu", ATOLL_SOURCE_DIR, name);
    char *text = text_of(path);
    struct atoll_order_candidate c = {.language = "cuda", .source = text};
    const struct atoll_plan *plan =
        task && arena ? atoll_plan_parse(arena, task, "cuda", text, &body, &err) : NULL;
    if (!plan)
        fail_msg("%s: %s", name, err.text);
    atoll_plan_first_choice(plan, &c.choice);
    struct atoll_prepared *p = atoll_prepared_create(task, &atoll_backend_cuda, &c, NULL, &err);
    if (!p || p->verdict != ATOLL_V_CORRECT)
        fail_msg("%s: %s %s", name, err.text, p ? p->detail : "");
    assert_int_equal(p->symbol_count, 2);
    struct atoll_compiled result = run(compiler, p->unit_text);
    if (result.status != ATOLL_COMPILE_OK)
        fail_msg("%s: %s", name, result.diagnostics);
    if (atoll_cuda_image_check(p, result.object, result.object_length, result.report, &cubin, detail) !=
        ATOLL_V_CORRECT)
        fail_msg("%s: %s", name, detail);
    atoll_compiled_fini(&result);
    atoll_prepared_destroy(p);
    free(text);
    atoll_arena_destroy(arena);
    atoll_task_destroy(task);
}

static void test_kernels_with_paths(void **state)
{
    if (!has_headers) {
        print_message("skipped: this NVRTC has no toolkit headers\n");
        skip();
    }
    static const char *const names[] = {"rmsnorm_matmul", "gemm_bf16", "flash_attention_causal"};
    for (size_t i = 0; i < LONG_TEXTS(sizeof(names) / sizeof(names[0])); i++)
        kernel_check(names[i]);
}

static void test_architecture_specific_target(void **state)
{
    (void)state;
    static const char text[] = "extern \"C\" __global__ void f() {\n"
                               "  asm volatile(\"wgmma.fence.sync.aligned;\");\n"
                               "  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n}\n";
    struct atoll_nvrtc_settings settings = usual;
    settings.compiler.target = "sm_90";
    struct atoll_compiler *plain = create(&settings);
    expect(compiler, text, ATOLL_COMPILE_OK, "");
    expect(plain, text, ATOLL_COMPILE_ERROR, "wgmma");
    atoll_compiler_destroy(plain);
}

/* Where NVRTC drops the assembler's words, what the report says of shared memory is told. */
static void test_shared_memory_of_an_older_target(void **state)
{
    (void)state;
    static const char text[] = "extern \"C\" __global__ void f(float *y) {\n"
                               "  __shared__ float tile[16384];\n"
                               "  tile[threadIdx.x] = y[threadIdx.x];\n"
                               "  __syncthreads();\n"
                               "  y[threadIdx.x] = tile[16383 - threadIdx.x];\n}\n";
    struct atoll_nvrtc_settings settings = usual;
    settings.compiler.target = "sm_80";
    struct atoll_compiler *older = create(&settings);
    expect(older, text, ATOLL_COMPILE_ERROR, "uses too much shared data (65536 bytes are declared");
    atoll_compiler_destroy(older);
}

static void test_bad_sources(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"__global__ void f() {\n  missing_name();\n}\n", "candidate.cu(2): error:"},
        {"__global__ void f() {\n  missing_name();\n}\n", "  missing_name();"},
        {"#line 7 \"candidate.cu\"\nint f(void) { return 1 }\n", "candidate.cu(7): error: expected"},
        {"__global__ void f() { asm volatile(\"garbage;\"); }\n", "garbage"},
        {"#include <no_such_header.h>\n", "no_such_header.h"},
        {"#include <stdio.h>\n", "stdio.h"}, /* no host headers */
        {"#error ptxas fatal: out of memory\n", "out of memory"},
        {"__global__ void f() { extern __device__ int g(); g(); }\n", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect(compiler, rows[i].text, ATOLL_COMPILE_ERROR, rows[i].says);
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_compiler_run(compiler, "candidate.cu", KERNEL "\0x", sizeof(KERNEL) + 1, NULL, 0,
                                        &result, &err),
                     0);
    assert_int_equal(result.status, ATOLL_COMPILE_ERROR);
    assert_string_equal(result.diagnostics, "the source has a NUL byte");
    atoll_compiled_fini(&result);
}

/* Nothing but the toolkit's headers can be read, or be seen to exist. */
static void test_hostile_includes(void **state)
{
    (void)state;
    static const char *const files[] = {
        "/etc/passwd",   "/proc/self/environ", "/proc/self/maps", "../../../etc/passwd",
        "/etc/hostname", "/dev/zero",          "etc/passwd",      "../../../../../../etc/passwd"};
    if (atoll_landlock_version() == 0) {
        print_message("skipped: this kernel has no Landlock\n");
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "#include \"%s\"\n" KERNEL, files[i]);
        struct atoll_compiled result = run(compiler, text);
        if (result.status != ATOLL_COMPILE_ERROR || strstr(result.diagnostics, "root:"))
            fail_msg("%s: status %d: %s", files[i], (int)result.status, result.diagnostics);
        atoll_compiled_fini(&result);
        snprintf(text, sizeof(text),
                 "#if __has_include(\"%s\") || __has_include(<%s>)\n#error it is there\n#endif\n" KERNEL,
                 files[i], files[i]);
        expect(compiler, text, ATOLL_COMPILE_OK, "");
    }
    expect(compiler,
           "#ifdef __has_embed\nconst char x[] = {\n#embed \"/etc/passwd\"\n};\n#else\n#error no "
           "embed\n#endif\n",
           ATOLL_COMPILE_ERROR, "");
    expect(compiler, "__global__ void f() { asm volatile(\".include \\\"/etc/passwd\\\"\"); }\n",
           ATOLL_COMPILE_ERROR, "");
    expect(compiler, KERNEL, ATOLL_COMPILE_OK, "");
}

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
    fprintf(out, "__device__ const char data[] = {M%d};\n", depth);
    fclose(out);
    return text;
}

/* The deadline is for candidates: what is of ours or of the task has a longer one. */
static void own_units_have_time(struct atoll_nvrtc_settings settings)
{
    struct atoll_compiled result;
    struct atoll_err err = ATOLL_ERR_INIT;
    char *text = bomb(5);
    settings.compiler.deadline_ns = 0.03e9;
    struct atoll_compiler *hasty = create(&settings);
    expect(hasty, text, ATOLL_COMPILE_TIMEOUT, "was not done after ");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "reference.cu" : "support.cu";
        assert_int_equal(atoll_compiler_run(hasty, name, text, strlen(text), NULL, 0, &result, &err), 0);
        assert_int_equal(result.status, ATOLL_COMPILE_OK);
        assert_true(result.wall_ns > settings.compiler.deadline_ns);
        atoll_compiled_fini(&result);
    }
    atoll_compiler_destroy(hasty);
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    static const char endless[] =
        "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) s += i % 7; return s; }\n"
        "template <int A, int B> struct t { static const long v = t<A - 1, B>::v + t<A - 1, B + 1>::v; };\n"
        "template <int B> struct t<0, B> { static const long v = B; };\n"
        "__device__ const long x = t<600, 0>::v + f(1L << 60);\n";
    static const char deep[] = "template <int N> struct t { static const int v = t<N + 1>::v + 1; };\n"
                               "__device__ const int x = t<0>::v;\n";
    struct atoll_nvrtc_settings settings = usual;
    char *big = bomb(9);
    settings.compiler.slots = 1;
    settings.compiler.deadline_ns = 0.5e9;
    struct atoll_compiler *hasty = create(&settings);
    expect(hasty, big, ATOLL_COMPILE_TIMEOUT, "was not done after ");
    expect(hasty, KERNEL, ATOLL_COMPILE_OK, "");
    atoll_compiler_destroy(hasty);
    own_units_have_time(settings);
    settings.compiler.deadline_ns = 60e9;
    settings.compiler.memory_bytes = (uint64_t)320 << 20;
    struct atoll_compiler *poor = create(&settings);
    expect(poor, big, ATOLL_COMPILE_MEMORY, "memory");
    expect(poor, KERNEL, ATOLL_COMPILE_OK, "");
    expect(poor, deep, ATOLL_COMPILE_ERROR, "");
    struct atoll_compiled result = run(poor, endless);
    assert_int_not_equal(result.status, ATOLL_COMPILE_OK);
    assert_int_not_equal(result.status, ATOLL_COMPILE_BROKEN);
    atoll_compiled_fini(&result);
    expect(poor, KERNEL, ATOLL_COMPILE_OK, "");
    atoll_compiler_destroy(poor);
    free(big);
}

static void test_output_limit(void **state)
{
    (void)state;
    struct atoll_nvrtc_settings settings = usual;
    settings.compiler.output_bytes = 64 << 10;
    struct atoll_compiler *tight = create(&settings);
    expect(tight, "__device__ int x[100000] = {1};\n" KERNEL, ATOLL_COMPILE_ERROR,
           "no cubin of at most 65536 bytes");
    expect(tight, KERNEL, ATOLL_COMPILE_OK, "");
    atoll_compiler_destroy(tight);
}

/* ---- children ---- */

static size_t children(pid_t *ret_pids, size_t limit)
{
    char path[64];
    size_t count = 0;
    long pid;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
    FILE *in = fopen(path, "r");
    if (!in)
        return 0;
    while (count < limit && fscanf(in, "%ld", &pid) == 1)
        ret_pids[count++] = (pid_t)pid;
    fclose(in);
    return count;
}

static void wait_for(struct atoll_compiler *from, struct atoll_compiled *ret_result)
{
    while (!atoll_compiler_collect(from, ret_result)) {
        struct pollfd fds[4];
        poll(fds, (nfds_t)atoll_compiler_pollfds(from, fds, 4), 20);
    }
}

static void test_many_jobs(void **state)
{
    (void)state;
    unsigned seen = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    for (uint64_t job = 0; job < 8; job++) {
        const char *text = job % 2 ? "broken" : KERNEL;
        assert_int_equal(
            atoll_compiler_submit(compiler, job, "candidate.cu", text, strlen(text), NULL, 0, &err), 0);
    }
    expect(compiler, KERNEL, ATOLL_COMPILE_OK, "");
    for (int i = 0; i < 8; i++) {
        struct atoll_compiled result;
        wait_for(compiler, &result);
        assert_int_equal(result.status, result.job % 2 ? ATOLL_COMPILE_ERROR : ATOLL_COMPILE_OK);
        assert_int_equal(seen & (1u << result.job), 0);
        seen |= 1u << result.job;
        atoll_compiled_fini(&result);
    }
    assert_int_equal(seen, 0xff);
    assert_int_equal(atoll_compiler_timeout_ms(compiler), -1);
    pid_t pids[8];
    assert_int_equal(children(pids, 8), 2);
    atoll_compiler_pause(compiler); /* does nothing */
    expect(compiler, KERNEL, ATOLL_COMPILE_OK, "");
    atoll_compiler_resume(compiler);
    pid_t later[8];
    assert_int_equal(children(later, 8), 2);
    assert_memory_equal(pids, later, 2 * sizeof(pids[0])); /* reused */
}

static void test_killed_children(void **state)
{
    (void)state;
    struct atoll_nvrtc_settings settings = usual;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiled result;
    pid_t before[8], pids[8];
    size_t others = children(before, 8);
    settings.compiler.slots = 1;
    settings.compiler.deadline_ns = 1e9;
    struct atoll_compiler *alone = create(&settings);
    char *big = bomb(9);
    assert_int_equal(children(pids, 8), others + 1);
    kill(pids[others], SIGKILL); /* between jobs */
    expect(alone, KERNEL, ATOLL_COMPILE_OK, "");
    for (int kills = 1; kills <= 2; kills++) {
        assert_int_equal(atoll_compiler_submit(alone, 1, "candidate.cu", big, strlen(big), NULL, 0, &err), 0);
        pid_t victim = 0;
        for (int killed = 0; killed < kills;) {
            struct pollfd fds[4];
            assert_int_equal(atoll_compiler_collect(alone, &result), 0);
            poll(fds, (nfds_t)atoll_compiler_pollfds(alone, fds, 4), 10);
            if (children(pids, 8) == others + 1 && pids[others] != victim) {
                victim = pids[others];
                kill(victim, SIGKILL);
                killed++;
            }
        }
        wait_for(alone, &result);
        assert_int_equal(result.status, kills == 1 ? ATOLL_COMPILE_TIMEOUT : ATOLL_COMPILE_BROKEN);
        if (kills == 2)
            assert_string_equal(result.diagnostics, "compile children die (signal 9)");
        atoll_compiled_fini(&result);
        expect(alone, KERNEL, ATOLL_COMPILE_OK, "");
    }
    assert_int_equal(atoll_compiler_submit(alone, 1, "candidate.cu", big, strlen(big), NULL, 0, &err), 0);
    atoll_compiler_destroy(alone); /* with a job under way */
    assert_int_equal(children(pids, 8), others);
    free(big);
}

static void test_cache(void **state)
{
    (void)state;
    char folder[64];
    struct atoll_nvrtc_settings settings = usual;
    snprintf(folder, sizeof(folder), "%s/cache", scratch);
    settings.cache = folder;
    for (int round = 0; round < 2; round++) {
        struct atoll_compiler *cached = create(&settings);
        struct atoll_compiled first = run(cached, KERNEL), again = run(cached, KERNEL),
                              other = run(cached, KERNEL "\n");
        assert_int_equal(first.from_cache, round);
        assert_int_equal(again.from_cache, 1);
        assert_int_equal(other.from_cache, round);
        assert_int_equal(again.status, ATOLL_COMPILE_OK);
        assert_int_equal(first.object_length, again.object_length);
        assert_memory_equal(first.object, again.object, first.object_length);
        assert_string_equal(first.report, again.report);
        atoll_compiled_fini(&first);
        atoll_compiled_fini(&again);
        atoll_compiled_fini(&other);
        first = run(cached, "broken");
        again = run(cached, "broken");
        assert_int_equal(again.from_cache, 0); /* only what compiles is kept */
        atoll_compiled_fini(&first);
        atoll_compiled_fini(&again);
        atoll_compiler_destroy(cached);
    }
    settings.compiler.flags = "--use_fast_math";
    struct atoll_compiler *fast = create(&settings);
    struct atoll_compiled result = run(fast, KERNEL);
    assert_int_equal(result.from_cache, 0);
    atoll_compiled_fini(&result);
    atoll_compiler_destroy(fast);
    assert_int_equal(chmod(folder, 0755), 0); /* not ours alone: no cache, and all works */
    settings.compiler.flags = "";
    struct atoll_compiler *without = create(&settings);
    result = run(without, KERNEL);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    assert_int_equal(result.from_cache, 0);
    atoll_compiled_fini(&result);
    atoll_compiler_destroy(without);
}

static void submit(struct atoll_compiler *to, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_compiler_submit(to, 1, "candidate.cu", text, strlen(text), NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
}

/* Two that share a cache compile the same once: who comes second waits for the first, keeps its children for other work, and
 * compiles where the first fails or goes. */
static void test_compiled_once_on_a_node(void **state)
{
    (void)state;
    char folder[64];
    struct atoll_compiled first, second;
    struct atoll_nvrtc_settings settings = usual;
    snprintf(folder, sizeof(folder), "%s/shared", scratch);
    settings.cache = folder;
    settings.compiler.slots = 1;
    struct atoll_compiler *one = create(&settings), *two = create(&settings);
    submit(one, KERNEL);
    submit(two, KERNEL);
    assert_int_equal(atoll_compiler_idle_count(one), 0);
    assert_int_equal(atoll_compiler_idle_count(two), 1);
    assert_in_range(atoll_compiler_timeout_ms(two), 0, 100);
    second = run(two, "broken"); /* meanwhile */
    assert_int_equal(second.status, ATOLL_COMPILE_ERROR);
    atoll_compiled_fini(&second);
    wait_for(one, &first);
    wait_for(two, &second);
    assert_int_equal(first.status, ATOLL_COMPILE_OK);
    assert_int_equal(first.from_cache, 0);
    assert_int_equal(second.from_cache, 1);
    assert_memory_equal(first.object, second.object, first.object_length);
    atoll_compiled_fini(&first);
    atoll_compiled_fini(&second);
    submit(one, "also broken");
    submit(two, "also broken");
    wait_for(one, &first);
    wait_for(two, &second);
    assert_int_equal(first.status, ATOLL_COMPILE_ERROR);
    assert_int_equal(second.status, ATOLL_COMPILE_ERROR);
    atoll_compiled_fini(&first);
    atoll_compiled_fini(&second);
    submit(one, KERNEL "\n");
    submit(two, KERNEL "\n");
    atoll_compiler_destroy(one);
    wait_for(two, &second);
    assert_int_equal(second.status, ATOLL_COMPILE_OK);
    assert_int_equal(second.from_cache, 0);
    atoll_compiled_fini(&second);
    submit(two, KERNEL "\n\n");
    atoll_compiler_destroy(two); /* with a claim, and nothing stays of it */
    one = create(&settings);
    first = run(one, KERNEL "\n\n");
    assert_int_equal(first.from_cache, 0);
    atoll_compiled_fini(&first);
    atoll_compiler_destroy(one);
}

static void test_include_path(void **state)
{
    (void)state;
    char folder[64], command[512];
    struct atoll_nvrtc_settings settings = usual;
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(folder, sizeof(folder), "%s/library", scratch);
    snprintf(command, sizeof(command),
             "mkdir -p %s/include/lib %s/tools/util/include && echo '#define A 1' > %s/include/lib/a.h && "
             "echo '#define B 1' > %s/tools/util/include/b.h",
             folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    settings.include_path = folder;
    struct atoll_compiler *with = create(&settings);
    expect(with, "#include <lib/a.h>\n#include \"b.h\"\n__device__ int x = A + B;\n", ATOLL_COMPILE_OK, "");
    atoll_compiler_destroy(with);
    expect(compiler, "#include <lib/a.h>\n", ATOLL_COMPILE_ERROR, "lib/a.h");
    settings.include_path = "/no/such/folder";
    assert_null(atoll_nvrtc_create(&settings, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "/no/such/folder is no folder"));
}

static void test_bad_settings(void **state)
{
    (void)state;
    static const struct {
        const char *command, *flags, *target;
        unsigned slots;
        double deadline_ns;
        enum atoll_code code;
        const char *text;
    } rows[] = {
        {"nvrtc", "", "sm_90a", 0, 1e9, ATOLL_E_LIMIT, "0 compile slots"},
        {"nvrtc", "", "sm_90a", 1, 0, ATOLL_E_LIMIT, "deadline"},
        {"nvrtc", "", NULL, 1, 1e9, ATOLL_E_INPUT, "no target"},
        {"nvrtc", "", "sm_", 1, 1e9, ATOLL_E_INPUT, "no target"},
        {"nvrtc", "", "sm_90a -I/", 1, 1e9, ATOLL_E_INPUT, "no target"},
        {"nvrtc", "-I/etc", "sm_90a", 1, 9e9, ATOLL_E_INPUT, "-I/etc"},
        {"nvrtc", "--fmad=false @/etc/passwd", "sm_90a", 1, 9e9, ATOLL_E_INPUT, "@/etc/passwd"},
        {"nvrtc", "--pre-include=/etc/passwd", "sm_90a", 1, 9e9, ATOLL_E_INPUT, "--pre-include"},
        {"nvrtc", "--use_fast_mathematics", "sm_90a", 1, 9e9, ATOLL_E_INPUT, "--use_fast_mathematics"},
        {"/no/such/nvcc", "", "sm_90a", 1, 9e9, ATOLL_E_MISSING, "/no/such/nvcc"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_nvrtc_settings settings = usual;
        struct atoll_err err = ATOLL_ERR_INIT;
        settings.compiler.command = rows[i].command;
        settings.compiler.flags = rows[i].flags;
        settings.compiler.target = rows[i].target;
        settings.compiler.slots = rows[i].slots;
        settings.compiler.deadline_ns = rows[i].deadline_ns;
        assert_null(atoll_nvrtc_create(&settings, &err));
        if (err.code != rows[i].code || !strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s: %s", i, atoll_code_name(err.code), err.text);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_compiler_submit(compiler, 0, "x.c", "", 0, NULL, 0, &err), -1);
    assert_int_equal(atoll_compiler_submit(compiler, 0, "x.cu", "", SIZE_MAX, NULL, 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

/* By name, and where NVRTC cannot be opened. */
static void test_nvcc(void **state)
{
    (void)state;
    char *nvcc = atoll_toolkit_find_program("nvcc");
    if (!nvcc || !has_headers) {
        free(nvcc);
        print_message("skipped: no nvcc, or no headers for it, here\n");
        return;
    }
    free(nvcc);
    struct atoll_nvrtc_settings settings = usual;
    settings.compiler.command = "nvcc";
    struct atoll_compiler *by_name = create(&settings);
    struct atoll_compiled result = run(by_name, KERNEL);
    assert_int_equal(result.status, ATOLL_COMPILE_OK);
    assert_memory_equal(result.object, "\177ELF", 4);
    assert_non_null(strstr(result.report, "entry function 'f' for 'sm_90a'"));
    assert_null(strstr(result.report, "Compile time"));
    atoll_compiled_fini(&result);
    expect(by_name, "__global__ void f() {\n  missing_name();\n}\n", ATOLL_COMPILE_ERROR,
           "candidate.cu(2): error:");
    expect(by_name, "#include \"/etc/passwd\"\n", ATOLL_COMPILE_ERROR, "/etc/passwd");
    assert_memory_equal(atoll_compiler_version(by_name), "Cuda compilation tools", 22);
    atoll_compiler_destroy(by_name);
    settings.compiler.command = "nvrtc";
    setenv("ATOLL_NVRTC", "/no/such/libnvrtc.so", 1);
    struct atoll_compiler *instead = create(&settings);
    unsetenv("ATOLL_NVRTC");
    assert_memory_equal(atoll_compiler_version(instead), "Cuda compilation tools", 22);
    atoll_compiler_destroy(instead);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(scratch) && setenv("ATOLL_SCRATCH", scratch, 1) == 0 && (compiler = create(&usual)) ? 0
                                                                                                       : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    atoll_compiler_destroy(compiler);
    snprintf(command, sizeof(command), "rm -rf %s", scratch);
    return system(command);
}

int main(void)
{
    struct atoll_toolkit toolkit;
    struct atoll_err err = ATOLL_ERR_INIT;
    setenv("ATOLL_COMPILE_CUDA", ATOLL_BUILD_DIR "/atoll-compile-cuda", 1);
    if (atoll_toolkit_init(&toolkit, NULL, NULL, &err) != 0) {
        printf("skipped: %s\n", err.text);
        return err.code == ATOLL_E_MISSING && access(getenv("ATOLL_COMPILE_CUDA"), X_OK) == 0 ? 77 : 1;
    }
    has_headers = toolkit.toolkit_include_count > 0;
    atoll_toolkit_fini(&toolkit);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_of_newer_toolkits),
        cmocka_unit_test(test_good_source),
        cmocka_unit_test(test_finished_ptx_is_judged),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_kernels_with_paths),
        cmocka_unit_test(test_architecture_specific_target),
        cmocka_unit_test(test_shared_memory_of_an_older_target),
        cmocka_unit_test(test_bad_sources),
        cmocka_unit_test(test_hostile_includes),
        cmocka_unit_test(test_many_jobs),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_output_limit),
        cmocka_unit_test(test_killed_children),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_include_path),
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_nvcc),
        cmocka_unit_test(test_compiled_once_on_a_node),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
