/* Hardware counters of launches in the device process: what they say of a kernel whose work is known, what they refuse, and
 * that launches outside of begin and end stay as fast as before. */
#include "tests/gpu/device.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/backend.h"

#define COUNT (64LL << 20) /* floats: more than any L2 holds */
#define BYTES (4.0 * COUNT)
#define BLOCK 256

static const char kernels[] =
    "extern \"C\" __global__ void scale(float *o, const float *a, long long n) {\n"
    "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] * 2.f; }\n";

struct rig {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    struct atoll_device_command_launch launch;
    struct atoll_metrics metrics;
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
    atoll_command_batch_function(&g->batch, 0, 0, "scale");
    atoll_command_batch_alloc(&g->batch, 0, (uint64_t)BYTES);
    atoll_command_batch_alloc(&g->batch, 1, (uint64_t)BYTES);
    gpu_run(g->worker, &g->batch, &g->reply);
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

static void rig_close(struct rig *g)
{
    atoll_cuda_worker_destroy(g->worker);
    atoll_command_batch_fini(&g->batch);
    atoll_command_batch_reply_fini(&g->reply);
}

/* 0, or -1 after the reason was printed: counters are closed here, or there is no CUPTI. */
static int open_set(struct rig *g, enum atoll_metrics_set set)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_cuda_facts *facts = atoll_cuda_worker_facts(g->worker);
    atoll_metrics_select(set, facts->limits.compute_capability, &g->metrics);
    atoll_command_batch_clear(&g->batch);
    atoll_command_batch_counters_open(&g->batch, g->metrics.names, (uint32_t)g->metrics.count);
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

static void count(struct rig *g, unsigned launches)
{
    size_t length;
    atoll_command_batch_counters_begin(&g->batch);
    for (unsigned i = 0; i < launches; i++)
        atoll_command_batch_launch(&g->batch, &g->launch);
    atoll_command_batch_counters_end(&g->batch);
    gpu_run(g->worker, &g->batch, &g->reply);
    printf("%u launches counted in %.0f ms\n", launches, g->reply.wall_ns * 1e-6);
    const unsigned char *bytes = atoll_command_batch_take_bytes(&g->reply, &length);
    uint32_t ranges = 0;
    double values[4 * ATOLL_COUNTER_COUNT];
    assert_true(length >= sizeof(ranges) && length <= sizeof(ranges) + sizeof(values));
    memcpy(&ranges, bytes, sizeof(ranges));
    assert_int_equal(length, sizeof(ranges) + ranges * g->metrics.count * sizeof(*values));
    memcpy(values, bytes + sizeof(ranges), length - sizeof(ranges));
    g->ranges = ranges;
    atoll_metrics_merge(&g->metrics, values, ranges, g->counters);
    for (size_t i = 0; i < g->metrics.count; i++)
        printf("  %s = %g\n", g->metrics.names[i], g->counters[g->metrics.counters[i]]);
}

static void check(const struct rig *g, unsigned launches)
{
    const double *c = g->counters;
    double warps = launches * (double)COUNT / 32;
    assert_int_equal(g->ranges, launches);
    assert_true(c[ATOLL_COUNTER_DRAM_READ_BYTES] > 0.95 * launches * BYTES);
    assert_true(c[ATOLL_COUNTER_DRAM_READ_BYTES] < 1.3 * launches * BYTES);
    assert_true(c[ATOLL_COUNTER_DRAM_WRITE_BYTES] >
                0.5 * launches * BYTES); /* the last lines may still be in L2 */
    assert_true(c[ATOLL_COUNTER_INSTRUCTIONS] > 5 * warps && c[ATOLL_COUNTER_INSTRUCTIONS] < 60 * warps);
    assert_true(fmod(c[ATOLL_COUNTER_INSTRUCTIONS], warps) == 0.0); /* no warp diverges */
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

static void known_work_is_counted(void **state)
{
    struct rig g;
    if (rig_open(&g) != 0)
        skip();
    double before = launch_ns(&g);
    const enum atoll_metrics_set sets[] = {ATOLL_METRICS_SMALL, ATOLL_METRICS_FULL, ATOLL_METRICS_SMALL};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if (open_set(&g, sets[i]) != 0) {
            rig_close(&g);
            skip();
        }
        printf("a launch: %.0f ns before, %.0f ns with a set open\n", before, launch_ns(&g));
        for (unsigned launches = 1; launches <= 3; launches++) {
            count(&g, launches);
            check(&g, launches);
        }
        printf("a launch: %.0f ns after counting\n", launch_ns(&g));
    }
    rig_close(&g);
}

static void refusals_leave_the_process_well(void **state)
{
    struct rig g;
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *const unknown[] = {"dram__bytes_read.sum", "atoll__none.sum"};
    if (rig_open(&g) != 0)
        skip();
    atoll_command_batch_clear(&g.batch);
    atoll_command_batch_counters_end(&g.batch);
    assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 30e9, &g.reply, &err), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_clear(&g.batch);
    atoll_command_batch_counters_open(&g.batch, unknown, 2);
    assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 30e9, &g.reply, &err), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    printf("%s\n", g.reply.text);
    atoll_command_batch_clear(&g.batch);
    assert_true(launch_ns(&g) > 0);
    if (open_set(&g, ATOLL_METRICS_SMALL) == 0) {
        count(&g, 0); /* nothing between begin and end */
        assert_int_equal(g.ranges, 0);
        count(&g, 1);
        check(&g, 1);
    }
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_work_is_counted),
        cmocka_unit_test(refusals_leave_the_process_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
