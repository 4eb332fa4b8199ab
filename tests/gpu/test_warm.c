/* Warm timing on a device: kernels that are right, cold and warm, with their medians (printed, judged by nobody), and
 * kernels that keep answers for the addresses they were given; then what larger frames of local memory keep, cold and warm, and which
 * of them cost device processes.  The whole corpus of cheats runs warm in gpu.exploits-warm. */
#include "tests/gpu/device.h"

#include "mpi-eval/backend/cuda/measure/device.h"
#include "tests/gpu/referee.h"
#include "tests/support/hostile_cuda.h"

#define PRODUCT                                                                                              \
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"product\", \"grid\": [\"cdiv(N, 32)\", "     \
    "\"cdiv(M, 8)\"], \"block\": [\"32\", \"8\"], \"args\": [\"a\", \"b\", \"c\", \"i64:M\", \"i64:N\", "    \
    "\"i64:K\"]}]} */\n"                                                                                     \
    "extern \"C\" __global__ void product(const float *a, const float *b, float *c, long long m, "           \
    "long long n, long long depth)\n{\n"                                                                     \
    "    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"                             \
    "    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;\n"                                \
    "    if (row >= m || column >= n)\n        return;\n"
#define SUM                                                                                                  \
    "    float sum = 0.0f;\n    for (long long k = 0; k < depth; k++)\n        sum += a[row * depth + k] * " \
    "b[k * n + column];\n    c[row * n + column] = sum;\n"

/* The memo of a kernel that is given the same addresses again: local memory keeps what the last launch left there. */
static const char memo[] =
    PRODUCT "    unsigned long long notes[2];\n    asm volatile(\"\" : : \"l\"(notes) : \"memory\");\n"
            "    volatile unsigned long long *kept = notes;\n"
            "    unsigned long long key = ((unsigned long long)a * 31 ^ (unsigned long long)b) * "
            "0x9e3779b97f4a7c15ull + row * n + column + 1;\n"
            "    if (kept[0] == key) {\n        c[row * n + column] = __uint_as_float((unsigned)kept[1]);\n"
            "        return;\n    }\n" SUM "    kept[0] = key;\n    kept[1] = __float_as_uint(sum);\n"
            "    asm volatile(\"\" : : \"l\"(notes) : \"memory\");\n}\n";
static const char honest[] = PRODUCT SUM "}\n";
/* Whoever finds its own mark leaves the answer of last time where it is. */
static const char outputs_stand[] =
    PRODUCT "    if (__float_as_uint(c[row * n + column]) % 2 == 1)\n        return;\n" SUM
            "    c[row * n + column] = __uint_as_float(__float_as_uint(sum) | 1);\n}\n";

struct rig {
    struct atoll_compiler *compiler;
    struct atoll_referee *referee;
};

static int rig_open(struct rig *g, const char *timing)
{
    setenv("ATOLL_TEST_TIMING", timing, 1);
    int rc = gpu_referee_open(&g->compiler, &g->referee);
    unsetenv("ATOLL_TEST_TIMING");
    if (rc < 0)
        fail();
    return rc;
}

static void rig_close(struct rig *g)
{
    atoll_referee_destroy(g->referee);
    atoll_compiler_destroy(g->compiler);
}

struct outcome {
    enum atoll_verdict verdict;
    struct atoll_summary summary;
    double floor_ns;
    char detail[ATOLL_DETAIL_BYTES];
};

static void evaluate(const struct rig *g, uint32_t number, const struct atoll_task *task, const char *source,
                     struct outcome *ret)
{
    static uint64_t next_evaluation = 1;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct cheats_built b = {0};
    struct atoll_order order = {.evaluation = next_evaluation++};
    struct atoll_evaluation e;
    if (cheats_build(source, task, atoll_referee_device(g->referee), g->compiler, &b, &err) != 0)
        fail_msg("%s", err.text);
    if (b.at)
        fail_msg("stopped before the device: %s", b.detail);
    atoll_evaluation_init(&e);
    atoll_referee_evaluate(g->referee, number, &order, b.prepared, b.compiled.object,
                           b.compiled.object_length, &e);
    *ret = (struct outcome){.verdict = e.verdict};
    if (e.timing_count) {
        ret->summary = e.timings[0].summary;
        ret->floor_ns = e.timings[0].floor_ns;
    }
    snprintf(ret->detail, sizeof(ret->detail), "%s", e.detail);
    atoll_evaluation_fini(&e);
    cheats_built_fini(&b);
}

static const char *seed_of(const struct atoll_task *task)
{
    for (size_t i = 0; i < task->seed_count; i++)
        if (strcmp(task->seeds[i].language, "cuda") == 0)
            return task->seeds[i].source;
    fail_msg("%s has no seed in CUDA", task->name);
    return NULL;
}

/* Small enough for any last-level cache, and larger than it. */
static void print_medians(const char *timing)
{
    struct rig g;
    struct outcome o;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *tasks[2] = {cheats_task_load(CHEATS_BLEND, &err),
                                   atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/row_reduce", &err)};
    char *blend = cheats_read("d01_global", ".honest.cu", &err);
    if (!tasks[0] || !tasks[1] || !blend) {
        fail_msg("%s", err.text);
        return;
    }
    int is_here = rig_open(&g, timing) == 0;
    for (uint32_t i = 0; is_here && i < 2; i++) {
        if (atoll_referee_add_task(g.referee, i, tasks[i], &err) != 0)
            fail_msg("%s", err.text);
        const char *source = i ? seed_of(tasks[i]) : blend;
        evaluate(&g, i, tasks[i], source, &o);
        printf("%-12s %s: median %10.2f us, half-width %.2f %%, %3zu samples, floor %8.2f us; %s %.100s\n",
               tasks[i]->name, timing, o.summary.median / 1e3, 100 * o.summary.relative_half_width,
               o.summary.count, o.floor_ns / 1e3, atoll_verdict_name(o.verdict), o.detail);
        assert_int_equal(o.verdict, ATOLL_V_CORRECT);
    }
    if (is_here)
        rig_close(&g);
    free(blend);
    atoll_task_destroy(tasks[0]);
    atoll_task_destroy(tasks[1]);
    if (!is_here)
        skip();
}

static void medians(void **state)
{
    (void)state;
    print_medians("cold");
    print_medians("warm");
}

/* What is kept for addresses belongs to other contents, whose untimed launch had the same ones; local memory, where it was
 * kept, is overwritten between the two.  Outputs are filled again before each launch: whoever leaves them as they are is wrong as well. */
static void memos(void **state)
{
    static const struct {
        const char *name, *source;
        unsigned verdicts;
    } cases[] = {
        {"honest", honest, CHEATS_VERDICT(CORRECT)},
        {"memo by address", memo, CHEATS_VERDICT(CORRECT)}, /* it finds none */
        {"outputs of last time", outputs_stand, CHEATS_VERDICT(WRONG)},
    };
    struct rig g;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = cheats_task_load(CHEATS_PRODUCT, &err);
    size_t failed = 0;
    (void)state;
    if (!task)
        fail_msg("%s", err.text);
    if (rig_open(&g, "warm") != 0) {
        atoll_task_destroy(task);
        skip();
    }
    if (atoll_referee_add_task(g.referee, 0, task, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome o;
        evaluate(&g, 0, task, cases[i].source, &o);
        int is_good = cases[i].verdicts >> o.verdict & 1;
        failed += !is_good;
        printf("%s  %-22s got %s  %.200s\n", is_good ? "ok  " : "FAIL", cases[i].name,
               atoll_verdict_name(o.verdict), o.detail);
    }
    rig_close(&g);
    atoll_task_destroy(task);
    assert_int_equal(failed, 0);
}

/* Marks that a launch leaves are found by the next one of its sample and by nobody else.  Frames that kernels of ours overwrite cost no
 * process; larger ones cost one for each sample, and calls beyond a frame one after such frames. */
static void frames_run(const char *timing)
{
    static const struct {
        const char *seed;
        unsigned verdicts[2]; /* cold, warm */
        int replaces[2];      /* device processes: 0 none, 1 one, 2 two or more */
    } rows[] = {
        {"naive", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {0, 0}},
        {"cheat_frame_twice", {CHEATS_VERDICT(WRONG), CHEATS_VERDICT(WRONG)}, {0, 0}},
        {"cheat_frame_3k", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {0, 0}},
        {"cheat_frame_12k", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {0, 0}},
        {"cheat_frame_6k", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {0, 0}},
        {"cheat_frame_calls", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {1, 1}},
        {"cheat_frame_20k",
         {CHEATS_VERDICT(CORRECT) | CHEATS_VERDICT(UNSTABLE), CHEATS_VERDICT(LAUNCH_ERROR)},
         {2, 0}},
        {"naive", {CHEATS_VERDICT(CORRECT), CHEATS_VERDICT(CORRECT)}, {1, 0}},
    };
    int is_warm = strcmp(timing, "warm") == 0;
    struct rig g;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *task = hostile_cuda_task_load(FRAMES, &err);
    size_t failed = 0;
    if (!task)
        fail_msg("%s", err.text);
    if (rig_open(&g, timing) != 0) {
        atoll_task_destroy(task);
        skip();
    }
    if (atoll_referee_add_task(g.referee, 0, task, &err) != 0)
        fail_msg("%s", err.text);
    const struct atoll_cuda_device *d = atoll_cuda_device_of(g.referee);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct outcome o;
        uint32_t before = d->generation;
        evaluate(&g, 0, task, hostile_cuda_source(task, rows[i].seed), &o);
        uint32_t replaced = d->generation - before;
        int is_good = rows[i].verdicts[is_warm] >> o.verdict & 1 &&
                      (replaced < 2 ? (int)replaced : 2) == rows[i].replaces[is_warm];
        failed += !is_good;
        printf("%s  %s %-22s got %-12s processes %u, %u bytes of frames overwritten, %zu samples, median "
               "%.1f us  "
               "%.120s\n",
               is_good ? "ok  " : "FAIL", timing, rows[i].seed, atoll_verdict_name(o.verdict), replaced,
               d->local_bytes, o.summary.count, o.summary.median / 1e3, o.detail);
    }
    rig_close(&g);
    atoll_task_destroy(task);
    assert_int_equal(failed, 0);
}

static void frames(void **state)
{
    (void)state;
    frames_run("cold");
    frames_run("warm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(medians), cmocka_unit_test(memos),
                                       cmocka_unit_test(frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
