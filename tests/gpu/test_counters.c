/* Hardware counters of launches in the device process: what they say of kernels whose work is known, by both sets beside each
 * other; that a throughput made of parts says what CUPTI's own says; what they refuse; and that launches outside of begin and
 * end stay as fast as before. */
#include "tests/gpu/device.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/backend.h"

#define COUNT (64LL << 20) /* floats: more than any L2 holds */
#define BYTES (4.0 * COUNT)
#define BLOCK 256

#define OWN_SLOT 2 /* of a set that CUPTI's own throughputs are read with */

/* Each near the limit of another unit: device memory, L2, shared memory, fp32, fp64. */
static const char *const names[] = {"scale", "second", "shared", "fused", "fp64"};
static const char kernels[] =
    "extern \"C\" __global__ void scale(float *o, const float *a, long long n) {\n"
    "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] * 2.f; }\n"
    "extern \"C\" __global__ void second(float *o, const float *a, long long n) {\n"
    "  const float4 *p = (const float4 *)a; float s = 0;\n"
    "  for (int r = 0; r < 64; r++) {\n"
    "    float4 v = __ldcg(p + (blockIdx.x * 37LL + r * 1031) % 4096 * 256 + threadIdx.x);\n"
    "    s += v.x + v.y + v.z + v.w; }\n"
    "  if (s == 12345.f) o[0] = s; }\n"
    "extern \"C\" __global__ void shared(float *o, const float *a, long long n) {\n"
    "  __shared__ float t[1024]; float s = 0;\n"
    "  for (int i = threadIdx.x; i < 1024; i += blockDim.x) t[i] = a[i];\n"
    "  __syncthreads();\n"
    "  for (int r = 0; r < 256; r++) s += t[(threadIdx.x + r * 32) & 1023];\n"
    "  if (s == 12345.f) o[0] = s; }\n"
    "extern \"C\" __global__ void fused(float *o, const float *a, long long n) {\n"
    "  float x = a[threadIdx.x], y = x + 1, z = x + 2, w = x + 3;\n"
    "  for (int r = 0; r < 256; r++) { x = x * 1.0001f + 0.5f; y = y * 1.0001f + 0.5f; z = z * 1.0001f + "
    "0.5f;\n"
    "    w = w * 1.0001f + 0.5f; }\n"
    "  if (x + y + z + w == 12345.f) o[0] = x; }\n"
    "extern \"C\" __global__ void fp64(float *o, const float *a, long long n) {\n"
    "  double x = a[threadIdx.x], y = x + 1, z = x + 2, w = x + 3;\n"
    "  for (int r = 0; r < 128; r++) { x = x * 1.0001 + 0.5; y = y * 1.0001 + 0.5; z = z * 1.0001 + 0.5;\n"
    "    w = w * 1.0001 + 0.5; }\n"
    "  if (x + y + z + w == 12345.0) o[0] = (float)x; }\n";

struct rig {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    struct atoll_device_command_launch launch;
    struct atoll_metrics metrics; /* of the set counted last */
    double counters[ATOLL_COUNTER_COUNT];
    size_t ranges;
};

static int rig_open(struct rig *g)
{
    size_t length;
    struct atoll_device_command_function function;
    int64_t n = COUNT;
    memset(g, 0, sizeof(*g));
    g->worker = gpu_open();
    if (!g->worker)
        return -1;
    void *cubin = gpu_compile(kernels, NULL, &length);
    atoll_command_batch_init(&g->batch);
    atoll_command_batch_reply_init(&g->reply);
    atoll_command_batch_module_load(&g->batch, 0, cubin, length);
    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        atoll_command_batch_function(&g->batch, i, 0, names[i]);
    atoll_command_batch_alloc(&g->batch, 0, (uint64_t)BYTES);
    atoll_command_batch_alloc(&g->batch, 1, (uint64_t)BYTES);
    gpu_run(g->worker, &g->batch, &g->reply);
    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        atoll_command_batch_take_function(&g->reply, &function);
    uint64_t to = atoll_command_batch_take_u64(&g->reply);
    uint64_t from = atoll_command_batch_take_u64(&g->reply);
    g->launch = (struct atoll_device_command_launch){.grid = {COUNT / BLOCK, 1, 1}, .block = {BLOCK, 1, 1}};
    atoll_device_command_param(&g->launch, &to, 8);
    atoll_device_command_param(&g->launch, &from, 8);
    atoll_device_command_param(&g->launch, &n, 8);
    free(cubin);
    return 0;
}

static int rig_set_up(void **state)
{
    static struct rig rig;
    *state = &rig;
    return 0;
}

/* Also where a test failed: a process that lives on holds the counters. */
static int rig_close(void **state)
{
    struct rig *g = *state;
    if (!g->worker)
        return 0;
    atoll_cuda_worker_destroy(g->worker);
    atoll_command_batch_fini(&g->batch);
    atoll_command_batch_reply_fini(&g->reply);
    g->worker = NULL;
    return 0;
}

/* 0, or -1 after the reason was printed: counters are closed here, or there is no CUPTI. */
static int open_set(struct rig *g, enum atoll_metrics_set set)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_cuda_facts *facts = atoll_cuda_worker_facts(g->worker);
    atoll_metrics_select(set, facts->limits.compute_capability, &g->metrics);
    atoll_command_batch_clear(&g->batch);
    atoll_command_batch_counters_open(&g->batch, set, g->metrics.names, (uint32_t)g->metrics.count);
    assert_int_equal(atoll_cuda_worker_run(g->worker, &g->batch, 30e9, &g->reply, &err), 0);
    atoll_command_batch_clear(&g->batch);
    if (g->reply.status != ATOLL_COMMAND_BATCH_DONE) {
        assert_int_equal(g->reply.status, ATOLL_COMMAND_BATCH_REFUSED);
        printf("SKIP: %s\n", g->reply.text);
        return -1;
    }
    printf("%zu metrics: set up in %.0f ms\n", g->metrics.count, g->reply.wall_ns * 1e-6);
    return 0;
}

static void count(struct rig *g, uint32_t slot, unsigned launches)
{
    size_t length;
    atoll_command_batch_counters_begin(&g->batch, slot);
    atoll_command_batch_counters_start(&g->batch);
    for (unsigned i = 0; i < launches; i++)
        atoll_command_batch_launch(&g->batch, &g->launch);
    atoll_command_batch_counters_end(&g->batch);
    gpu_run(g->worker, &g->batch, &g->reply);
    printf("%u launches counted in %.0f ms\n", launches, g->reply.wall_ns * 1e-6);
    const unsigned char *bytes = atoll_command_batch_take_bytes(&g->reply, &length);
    uint32_t ranges = 0;
    double values[4 * ATOLL_METRICS_LIMIT];
    assert_true(length >= sizeof(ranges) && length <= sizeof(ranges) + sizeof(values));
    memcpy(&ranges, bytes, sizeof(ranges));
    assert_int_equal(length, sizeof(ranges) + ranges * g->metrics.count * sizeof(*values));
    memcpy(values, bytes + sizeof(ranges), length - sizeof(ranges));
    g->ranges = ranges;
    size_t numbers = 0;
    for (size_t i = 0; i < ranges * g->metrics.count; i++)
        numbers += isnan(values[i]) ? 0U : 1U;
    if (ranges > 0 && numbers == 0) {
        printf("SKIP: every count is NaN: another tool (DCGM, a profiler) holds the counters\n");
        skip();
    }
    atoll_metrics_merge(&g->metrics, values, ranges, g->counters);
    for (size_t i = 0; i < g->metrics.count && ranges > 0; i++)
        printf("  %s = %g\n", g->metrics.names[i], values[i]);
    assert_true(atoll_metrics_are_counted(&g->metrics, values, ranges));
}

static void check(const struct rig *g, unsigned launches)
{
    const double *c = g->counters;
    double warps = launches * (double)COUNT / 32;
    assert_int_equal(g->ranges, launches);
    assert_true(c[ATOLL_COUNTER_DRAM_READ_BYTES] > 0.95 * launches * BYTES);
    assert_true(c[ATOLL_COUNTER_DRAM_READ_BYTES] < 1.3 * launches * BYTES);
    assert_true(c[ATOLL_COUNTER_DRAM_WRITE_BYTES] >
                0.5 * launches * BYTES);         /* the last lines may still be in L2 */
    if (!isnan(c[ATOLL_COUNTER_INSTRUCTIONS])) { /* the small set has none */
        assert_true(c[ATOLL_COUNTER_INSTRUCTIONS] > 5 * warps && c[ATOLL_COUNTER_INSTRUCTIONS] < 60 * warps);
        assert_true(fmod(c[ATOLL_COUNTER_INSTRUCTIONS], warps) == 0.0); /* no warp diverges */
    }
    assert_true(c[ATOLL_COUNTER_TENSOR] == 0.0 && c[ATOLL_COUNTER_BANK_CONFLICTS] == 0.0);
    assert_true(c[ATOLL_COUNTER_TIME_NS] > launches * 2e4 && c[ATOLL_COUNTER_TIME_NS] < launches * 1e7);
    assert_true(c[ATOLL_COUNTER_DRAM_THROUGHPUT] > 30 && c[ATOLL_COUNTER_DRAM_THROUGHPUT] < 105);
    assert_true(c[ATOLL_COUNTER_OCCUPANCY] > 10 && c[ATOLL_COUNTER_OCCUPANCY] < 101);
    for (size_t i = 0; i < g->metrics.count; i++)
        assert_true(c[g->metrics.counters[i]] >= 0.0);
}

static double launch_ns(struct rig *g)
{
    for (uint32_t i = 0; i < 11; i++) {
        atoll_command_batch_event(&g->batch, i);
        atoll_command_batch_launch(&g->batch, &g->launch);
    }
    atoll_command_batch_event(&g->batch, 11);
    gpu_run(g->worker, &g->batch, &g->reply);
    return (g->reply.event_ns[11] - g->reply.event_ns[1]) / 10;
}

/* Opened once; then they take turns. */
static void known_work_is_counted(void **state)
{
    struct rig *g = *state;
    if (rig_open(g) != 0)
        skip();
    double before = launch_ns(g);
    const enum atoll_metrics_set sets[] = {ATOLL_METRICS_SMALL, ATOLL_METRICS_FULL, ATOLL_METRICS_SMALL,
                                           ATOLL_METRICS_FULL,  ATOLL_METRICS_FULL, ATOLL_METRICS_SMALL};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if (i < ATOLL_METRICS_SET_COUNT && open_set(g, sets[i]) != 0)
            skip();
        atoll_metrics_select(sets[i], atoll_cuda_worker_facts(g->worker)->limits.compute_capability,
                             &g->metrics);
        printf("a launch: %.0f ns before, %.0f ns with sets open\n", before, launch_ns(g));
        for (unsigned launches = 1; launches <= 3; launches++) {
            count(g, sets[i], launches);
            check(g, launches);
        }
        printf("a launch: %.0f ns after counting\n", launch_ns(g));
    }
}

/* A counter that is made of other metrics than CUPTI's own would put no kernel elsewhere: on the same side of 60 %, which is
 * where a unit begins to limit, or near it. */
static void parts_are_the_throughput(void **state)
{
    static const struct {
        const char *name;
        enum atoll_counter counter;
    } own[] = {
        {"l1tex__throughput.avg.pct_of_peak_sustained_active", ATOLL_COUNTER_L1_THROUGHPUT},
        {"lts__throughput.avg.pct_of_peak_sustained_elapsed", ATOLL_COUNTER_L2_THROUGHPUT},
        {"smsp__issue_active.avg.pct_of_peak_sustained_active", ATOLL_COUNTER_ISSUE_ACTIVE},
        {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", ATOLL_COUNTER_FMA},
        {"sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", ATOLL_COUNTER_FP64},
    };
    const uint32_t count_own = sizeof(own) / sizeof(*own);
    const char *metrics[sizeof(own) / sizeof(*own)];
    struct rig *g = *state;
    unsigned apart = 0;
    if (rig_open(g) != 0)
        skip();
    for (uint32_t i = 0; i < count_own; i++)
        metrics[i] = own[i].name;
    if (open_set(g, ATOLL_METRICS_FULL) != 0 || open_set(g, ATOLL_METRICS_SMALL) != 0)
        skip();
    atoll_command_batch_counters_open(&g->batch, OWN_SLOT, metrics, count_own);
    gpu_run(g->worker, &g->batch, &g->reply);
    for (uint32_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        double made[2][ATOLL_COUNTER_COUNT];
        g->launch.function = k;
        for (unsigned set = 0; set < 2; set++) {
            atoll_metrics_select((enum atoll_metrics_set)set,
                                 atoll_cuda_worker_facts(g->worker)->limits.compute_capability, &g->metrics);
            count(g, set, 1);
            memcpy(made[set], g->counters, sizeof(g->counters));
        }
        g->metrics.count = count_own;
        for (uint32_t i = 0; i < count_own; i++) {
            g->metrics.names[i] = own[i].name;
            g->metrics.counters[i] = own[i].counter;
        }
        count(g, OWN_SLOT, 1);
        for (uint32_t i = 0; i < count_own; i++) {
            enum atoll_counter c = own[i].counter;
            double theirs = g->counters[c], ours = made[ATOLL_METRICS_FULL][c];
            int differs = (theirs > 65 && ours < 55) || (theirs < 55 && ours > 65);
            printf("PARTS %-8s %-14s own %6.1f  full %6.1f  small %6.1f%s\n", names[k], atoll_counter_name(c),
                   theirs, ours, made[ATOLL_METRICS_SMALL][c], differs ? "  APART" : "");
            apart += (unsigned)differs;
        }
    }
    assert_int_equal(apart, 0);
}

static void refusals_leave_the_process_well(void **state)
{
    struct rig *g = *state;
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *const unknown[] = {"dram__bytes_read.sum", "atoll__none.sum"};
    if (rig_open(g) != 0)
        skip();
    atoll_command_batch_clear(&g->batch);
    atoll_command_batch_counters_end(&g->batch);
    assert_int_equal(atoll_cuda_worker_run(g->worker, &g->batch, 30e9, &g->reply, &err), 0);
    assert_int_equal(g->reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_clear(&g->batch);
    atoll_command_batch_counters_open(&g->batch, 0, unknown, 2);
    assert_int_equal(atoll_cuda_worker_run(g->worker, &g->batch, 30e9, &g->reply, &err), 0);
    assert_int_equal(g->reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    printf("%s\n", g->reply.text);
    atoll_command_batch_clear(&g->batch);
    atoll_command_batch_counters_begin(&g->batch, ATOLL_METRICS_FULL); /* not open */
    assert_int_equal(atoll_cuda_worker_run(g->worker, &g->batch, 30e9, &g->reply, &err), 0);
    assert_int_equal(g->reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_clear(&g->batch);
    assert_true(launch_ns(g) > 0);
    if (open_set(g, ATOLL_METRICS_SMALL) == 0) {
        count(g, ATOLL_METRICS_SMALL, 0); /* nothing between begin and end */
        assert_int_equal(g->ranges, 0);
        count(g, ATOLL_METRICS_SMALL, 1);
        check(g, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(known_work_is_counted, rig_set_up, rig_close),
        cmocka_unit_test_setup_teardown(parts_are_the_throughput, rig_set_up, rig_close),
        cmocka_unit_test_setup_teardown(refusals_leave_the_process_well, rig_set_up, rig_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
