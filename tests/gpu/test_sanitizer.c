/* The real compute-sanitizer: what each of its tools says of kernels that it should name and of kernels that it should not,
 * and final duels through it.  A line per tool and kernel, with the seconds it took; the tools of an honest kernel are all
 * asked, those of a faulty one only where they should find something.  Where a line is not as expected, the text says what
 * the tool or the device process had to say. */
#include "tests/gpu/device.h"

#include <time.h>

#include "mpi-eval/backend/sandbox/spawn.h"
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"
#include "tests/gpu/referee.h"
#include "tests/support/cheats.h"

#define TOOL_NS 30e9
#define BLEND(body)                                                                                          \
    "/* atoll-plan {\"version\": 1, \"scratch\": {\"s\": \"4 * M * N\"}, \"launch\": [{\"kernel\": "         \
    "\"blend\", "                                                                                            \
    "\"grid\": [\"cdiv(M * N, 256)\"], \"block\": [\"256\"], "                                               \
    "\"args\": [\"x\", \"w\", \"y\", \"s\", \"i64:M\", \"i64:N\"]}]} */\n"                                   \
    "extern \"C\" __global__ void blend(const float *x, const float *w, float *y, float *s,\n"               \
    "                                 long long m, long long n)\n{\n"                                        \
    "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, j = i % n;\n" body "}\n"
#define IN_BOUNDS "    if (i >= m * n)\n        return;\n"
#define RIGHT     "    y[i] = x[i] * w[j] + x[i - j + (j + 1) % n];\n"
#define ONE_WORD                                                                                             \
    BLEND("    __shared__ float word;\n"                                                                     \
          "    if (threadIdx.x == 0)\n        word = x[0];\n"                                                \
          "    if (threadIdx.x == 64)\n        word = w[0];\n"                                               \
          "    __syncthreads();\n" IN_BOUNDS RIGHT "    y[i] += word;\n")
#define TWO_BARRIERS                                                                                         \
    BLEND("    __shared__ float part[256];\n    float v = x[i % (m * n)];\n"                                 \
          "    if (threadIdx.x < 128) {\n        part[threadIdx.x] = v;\n        __syncthreads();\n"         \
          "        v += part[127 - threadIdx.x];\n    } else {\n        part[threadIdx.x] = 2.0f * v;\n"     \
          "        __syncthreads();\n        v -= part[383 - threadIdx.x];\n    }\n" IN_BOUNDS               \
          "    s[i] = v;\n" RIGHT)
#define HALF_WARPS                                                                                           \
    BLEND("    __shared__ float part[256];\n    part[threadIdx.x] = w[0];\n"                                 \
          "    if (threadIdx.x % 32 < 16)\n        __syncthreads();\n"                                       \
          "    part[threadIdx.x] += 1.0f;\n    __syncthreads();\n" IN_BOUNDS RIGHT                           \
          "    s[i] = part[threadIdx.x / 2];\n")

/* tools: bits of those that are asked; finder: which one must name it, TOOL_COUNT: none may.  source: a text, or NULL:
 * the fixture of that name. */
static const struct {
    const char *name;
    enum cheats_task task;
    const char *source;
    unsigned tools;
    enum atoll_sanitizer_tool finder;
    const char *says;
} kernels[] = {
    {"honest blend", CHEATS_BLEND, BLEND(IN_BOUNDS RIGHT), 15, ATOLL_SANITIZER_TOOL_COUNT, ""},
    {"d06_scratch.honest.cu", CHEATS_BLEND, NULL, 15, ATOLL_SANITIZER_TOOL_COUNT, ""},
    {"d15_no_barrier.honest.cu", CHEATS_LSE, NULL, 15, ATOLL_SANITIZER_TOOL_COUNT, ""},
    {"read past the end", CHEATS_BLEND, BLEND(IN_BOUNDS RIGHT "    y[i] += x[i + m * n];\n"), 1,
     ATOLL_SANITIZER_MEMCHECK, "Invalid __global__ read"},
    {"read before the start", CHEATS_BLEND, BLEND(IN_BOUNDS RIGHT "    y[i] += x[i - 64];\n"), 1,
     ATOLL_SANITIZER_MEMCHECK, "Invalid __global__ read"},
    {"write past the end of scratch", CHEATS_BLEND, BLEND(IN_BOUNDS RIGHT "    s[m * n + 5] = 1.0f;\n"), 1,
     ATOLL_SANITIZER_MEMCHECK, "Invalid __global__ write"},
    {"output that is read first", CHEATS_BLEND,
     BLEND(IN_BOUNDS "    float before = y[i];\n" RIGHT "    s[i] = before;\n"), 2, ATOLL_SANITIZER_INITCHECK,
     "Uninitialized __global__ memory read"},
    {"d06_scratch.cu", CHEATS_BLEND, NULL, 2, ATOLL_SANITIZER_INITCHECK,
     "Uninitialized __global__ memory read"},
    {"d06_poisoned_scratch.cu", CHEATS_BLEND, NULL, 2, ATOLL_SANITIZER_INITCHECK,
     "Uninitialized __global__ memory read"},
    {"d15_no_barrier.cu", CHEATS_LSE, NULL, 4, ATOLL_SANITIZER_RACECHECK, "Race reported between"},
    {"d15_race.cu", CHEATS_LSE, NULL, 4, ATOLL_SANITIZER_RACECHECK, "Race reported between"},
    {"two warps, one word", CHEATS_BLEND, ONE_WORD, 4, ATOLL_SANITIZER_RACECHECK, "Race reported between"},
    {"two barriers for one block", CHEATS_BLEND, TWO_BARRIERS, 8, ATOLL_SANITIZER_SYNCCHECK, "Barrier error"},
    {"half of each warp at a barrier", CHEATS_BLEND, HALF_WARPS, 8, ATOLL_SANITIZER_SYNCCHECK,
     "Barrier error"},
};

static struct atoll_task *tasks[CHEATS_TASK_COUNT];
static struct atoll_compiler *compiler;
static struct atoll_referee *referee;
static char *tool;
static uint64_t next_evaluation = 1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void introduce(void)
{
    char version[] = "--version", text[4096];
    char *argv[] = {tool, version, NULL};
    if (atoll_spawn_output(argv, NULL, 10000, text, sizeof(text), NULL) == 0)
        printf("%s\n%s\n", tool, text);
    fflush(stdout);
}

static void build(const char *name, const char *source, enum cheats_task task, struct cheats_built *b)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char *text = source ? strdup(source) : cheats_read(name, "", &err);
    int rc = text ? cheats_build(text, tasks[task], atoll_referee_device(referee), compiler, b, &err) : -1;
    free(text);
    if (rc != 0 || b->at)
        fail_msg("%s: %s%s", name, err.text, rc == 0 ? b->detail : "");
}

static int ask(size_t kernel, const struct atoll_loaded_candidate *candidate, enum atoll_sanitizer_tool t)
{
    static const char *const states[] = {"clean", "found", "unfinished"};
    struct atoll_sanitizer_report r;
    double begin = now_s();
    int is_wanted = t == kernels[kernel].finder;
    atoll_cuda_sanitize_with(referee, candidate, tool, t, TOOL_NS, &r);
    int is_good = is_wanted ? r.state == ATOLL_SANITIZER_FOUND && strstr(r.text, kernels[kernel].says)
                            : r.state == ATOLL_SANITIZER_CLEAN;
    printf("%s  %-30s %-10s %-10s %5.1f s  %llu errors, %llu warnings  %s\n", is_good ? "ok  " : "FAIL",
           kernels[kernel].name, atoll_sanitizer_name(t), states[r.state], now_s() - begin,
           (unsigned long long)r.errors, (unsigned long long)r.warnings, r.text);
    fflush(stdout);
    return is_good;
}

static void tools_name_what_is_wrong(void **state)
{
    size_t failed = 0, count = 0;
    double begin = now_s();
    (void)state;
    if (!tool)
        skip();
    atoll_cuda_device_drop(atoll_cuda_device_of(referee));
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        struct cheats_built b;
        build(kernels[k].name, kernels[k].source, kernels[k].task, &b);
        struct atoll_loaded_candidate candidate = {
            .prepared = b.prepared, .object = b.compiled.object, .object_length = b.compiled.object_length};
        for (unsigned t = 0; t < ATOLL_SANITIZER_TOOL_COUNT; t++)
            if (kernels[k].tools >> t & 1) {
                failed += !ask(k, &candidate, t);
                count++;
            }
        cheats_built_fini(&b);
        if (k == 0 && failed == count)
            fail_msg("no tool works here: the other kernels would say no more");
    }
    printf("SUMMARY tools: %zu runs, %zu failed, %.1f s\n", count, failed, now_s() - begin);
    assert_int_equal(failed, 0);
}

/* Right on every input set; a finalist is looked at more closely.  The defender is an honest kernel of the task. */
static void final_duels_say_it(void **state)
{
    static const struct {
        const char *name, *defender;
        enum cheats_task task;
        enum atoll_verdict verdict;
        const char *says;
    } rows[] = {
        {"d06_scratch.honest.cu", "d06_scratch.honest.cu", CHEATS_BLEND, ATOLL_V_CORRECT,
         "clean under compute-sanitizer (memcheck, initcheck, racecheck, synccheck)"},
        {"d01_scratch.cu", "d05_scan_near.honest.cu", CHEATS_PRODUCT, ATOLL_V_WRONG,
         "compute-sanitizer initcheck: Uninitialized __global__ memory read"},
        {"d05_scan_near.cu", "d05_scan_near.honest.cu", CHEATS_PRODUCT, ATOLL_V_WRONG,
         "compute-sanitizer memcheck: Invalid __global__ read"},
        /* once more: nothing is run again */
        {"d06_scratch.honest.cu", "d06_scratch.honest.cu", CHEATS_BLEND, ATOLL_V_CORRECT,
         "clean under compute-sanitizer (memcheck, initcheck, racecheck, synccheck)"},
    };
    size_t failed = 0;
    (void)state;
    if (!tool)
        skip();
    referee->setup.sanitize_deadline_ns = 4 * TOOL_NS;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cheats_built defender, challenger;
        struct atoll_duel d;
        struct atoll_order order = {.evaluation = next_evaluation++,
                                    .kind = ATOLL_ORDER_DUEL,
                                    .purpose = ATOLL_DUEL_FINAL,
                                    .baseline_ns = 1,
                                    .alpha = 0.01,
                                    .margin = 0.01,
                                    .pair_limit = 6};
        double begin = now_s();
        build(rows[i].defender, NULL, rows[i].task, &defender);
        build(rows[i].name, NULL, rows[i].task, &challenger);
        atoll_referee_duel(referee, rows[i].task, &order, defender.prepared, defender.compiled.object,
                           defender.compiled.object_length, challenger.prepared, challenger.compiled.object,
                           challenger.compiled.object_length, &d);
        int is_good = d.verdict == rows[i].verdict && strstr(d.detail, rows[i].says) != NULL;
        failed += !is_good;
        printf("%s  final duel of %-24s %-8s %5.1f s, occupied %.1f s  %s\n", is_good ? "ok  " : "FAIL",
               rows[i].name, atoll_verdict_name(d.verdict), now_s() - begin, d.occupied_ns / 1e9, d.detail);
        fflush(stdout);
        cheats_built_fini(&defender);
        cheats_built_fini(&challenger);
    }
    assert_int_equal(failed, 0);
}

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    int rc = gpu_referee_open(&compiler, &referee);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    for (unsigned i = 0; i < CHEATS_TASK_COUNT && rc == 0; i++) {
        tasks[i] = cheats_task_load((enum cheats_task)i, &err);
        rc = tasks[i] ? atoll_referee_add_task(referee, i, tasks[i], &err) : -1;
    }
    if (rc != 0)
        print_error("%s\n", err.text);
    else if (!(tool = atoll_sanitizer_find(&err)))
        printf("SKIP: %s\n", err.text);
    else
        introduce();
    return rc;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_referee_destroy(referee);
    atoll_compiler_destroy(compiler);
    for (size_t i = 0; i < CHEATS_TASK_COUNT; i++)
        atoll_task_destroy(tasks[i]);
    free(tool);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_name_what_is_wrong),
        cmocka_unit_test(final_duels_say_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
