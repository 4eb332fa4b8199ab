/* The device process: results, refusals, faults, deadlines, and that the next process is well after each. */
#include "tests/gpu/device.h"

static const char kernels[] =
    "extern \"C\" __global__ void twice(float *o, const float *a, long long n, int k) {\n"
    "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; if (i < n) o[i] = a[i] * 2.f + k; }\n"
    "extern \"C\" __global__ void far(float *o) { o[1ll << 40] = 1.f; }\n"
    "extern \"C\" __global__ void endless(volatile int *o) { while (o[0] == 0) o[1]++; }\n"
    "extern \"C\" __global__ void stop(int *o) { if (o) asm(\"trap;\"); }\n"
    "extern \"C\" __global__ void fat(int *o) { extern __shared__ int s[]; s[threadIdx.x] = o[0]; "
    "__syncthreads(); o[1] = "
    "s[0] + 1; }\n"
    "extern \"C\" __global__ void cluster(unsigned *o) { unsigned r; asm(\"mov.u32 %0, %%cluster_ctarank;\" "
    ": \"=r\"(r)); "
    "if (threadIdx.x == 0) atomicAdd(o, r); }\n"
    "__device__ int state; extern \"C\" __global__ void count(int *o) { o[0] = ++state; }\n";

enum { TWICE, FAR, ENDLESS, STOP, FAT, CLUSTER, COUNT, KERNELS };
static const char *const names[KERNELS] = {"twice", "far", "endless", "stop", "fat", "cluster", "count"};

static void *cubin;
static size_t cubin_length;

struct rig {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    uint64_t memory;
    struct atoll_device_command_function functions[KERNELS];
};

static void rig_load(struct rig *g)
{
    atoll_command_batch_module_load(&g->batch, 0, cubin, cubin_length);
    for (uint32_t k = 0; k < KERNELS; k++)
        atoll_command_batch_function(&g->batch, k, 0, names[k]);
    atoll_command_batch_alloc(&g->batch, 0, 1 << 20);
    gpu_run(g->worker, &g->batch, &g->reply);
    for (uint32_t k = 0; k < KERNELS; k++)
        atoll_command_batch_take_function(&g->reply, &g->functions[k]);
    g->memory = atoll_command_batch_take_u64(&g->reply);
    assert_int_equal(atoll_reader_finish(&g->reply.reader, "results", NULL), 0);
}

static int rig_open(struct rig *g)
{
    memset(g, 0, sizeof(*g));
    g->worker = gpu_open();
    if (!g->worker)
        return -1;
    if (!cubin)
        cubin = gpu_compile(kernels, NULL, &cubin_length);
    atoll_command_batch_init(&g->batch);
    atoll_command_batch_reply_init(&g->reply);
    rig_load(g);
    return 0;
}

static void rig_close(struct rig *g)
{
    atoll_cuda_worker_destroy(g->worker);
    atoll_command_batch_fini(&g->batch);
    atoll_command_batch_reply_fini(&g->reply);
}

static struct atoll_device_command_launch launch_of(uint32_t kernel, uint32_t grid, uint32_t block,
                                                    uint64_t pointer)
{
    struct atoll_device_command_launch l = {.function = kernel, .grid = {grid, 1, 1}, .block = {block, 1, 1}};
    atoll_device_command_param(&l, &pointer, 8);
    return l;
}

static void computes(void **state)
{
    struct rig g;
    float in[1000], out[1000];
    size_t length;
    if (rig_open(&g) != 0)
        skip();
    assert_int_equal(g.functions[TWICE].param_count, 4);
    assert_int_equal(g.functions[TWICE].params[3].offset, 24);
    assert_int_equal(g.functions[TWICE].params[3].bytes, 4);
    for (int i = 0; i < 1000; i++)
        in[i] = (float)i / 8;
    uint64_t from = g.memory + 8192;
    int64_t n = 1000;
    int32_t k = 3;
    struct atoll_device_command_launch l = launch_of(TWICE, 8, 128, g.memory);
    atoll_device_command_param(&l, &from, 8);
    atoll_device_command_param(&l, &n, 8);
    atoll_device_command_param(&l, &k, 4);
    atoll_command_batch_write(&g.batch, from, in, sizeof(in));
    atoll_command_batch_event(&g.batch, 0);
    atoll_command_batch_launch(&g.batch, &l);
    atoll_command_batch_event(&g.batch, 1);
    atoll_command_batch_read(&g.batch, g.memory, sizeof(out));
    atoll_command_batch_set(&g.batch, g.memory, 0, 250); /* after the read: what was read stays */
    atoll_command_batch_cache_reset(&g.batch);
    gpu_run(g.worker, &g.batch, &g.reply);
    const void *bytes = atoll_command_batch_take_bytes(&g.reply, &length);
    assert_int_equal(length, sizeof(out));
    memcpy(out, bytes, sizeof(out));
    for (int i = 0; i < 1000; i++)
        assert_true(out[i] == in[i] * 2 + 3);
    assert_true(g.reply.event_ns[1] > 500 && g.reply.event_ns[1] < 1e6);
    assert_true(g.reply.seen_ns[1] >= g.reply.seen_ns[0] && g.reply.wall_ns >= g.reply.seen_ns[1]);
    printf("launch of 8 blocks: %.0f ns by events, batch %.0f ns\n", g.reply.event_ns[1], g.reply.wall_ns);
    rig_close(&g);
}

/* Nothing behind the gate starts before the last command is queued; a second gate is refused, and the stream lives on. */
static void holds_back_at_the_gate(void **state)
{
    struct rig g;
    if (rig_open(&g) != 0)
        skip();
    struct atoll_command_batch batch;
    char *gate = NULL;
    size_t gate_length = 0;
    static const char text[] =
        "struct gate { volatile unsigned *word; unsigned long long limit; };\n"
        "static __device__ unsigned long long now() { unsigned long long t;\n"
        "  asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t)); return t; }\n"
        "extern \"C\" __global__ void gate(gate p) {\n"
        "  unsigned long long begin = now(); while (*p.word == 0 && now() - begin < p.limit) ; }\n";
    gate = gpu_compile(text, NULL, &gate_length);
    uint64_t from = g.memory + 8192;
    int64_t n = 1000;
    int32_t k = 3;
    struct atoll_device_command_launch l = launch_of(TWICE, 8, 128, g.memory);
    atoll_device_command_param(&l, &from, 8);
    atoll_device_command_param(&l, &n, 8);
    atoll_device_command_param(&l, &k, 4);
    atoll_command_batch_init(&batch);
    atoll_command_batch_module_load(&g.batch, 1, gate, gate_length);
    atoll_command_batch_function(&g.batch, KERNELS, 1, "gate");
    gpu_run(g.worker, &g.batch, &g.reply);
    for (int again = 0; again < 3; again++) {
        atoll_command_batch_gate(&g.batch, KERNELS);
        atoll_command_batch_event(&g.batch, 0);
        for (int i = 0; i < 16; i++)
            atoll_command_batch_launch(&g.batch, &l);
        atoll_command_batch_event(&g.batch, 1);
        gpu_run(g.worker, &g.batch, &g.reply);
        assert_true(g.reply.opened_ns > 0 && g.reply.seen_ns[0] > g.reply.opened_ns);
        assert_true(g.reply.seen_ns[1] > g.reply.seen_ns[0]);
        printf("16 launches behind the gate: %.0f ns by events, %.0f ns seen, opened after %.0f ns\n",
               g.reply.event_ns[1], g.reply.seen_ns[1] - g.reply.seen_ns[0], g.reply.opened_ns);
    }
    atoll_command_batch_gate(&batch, KERNELS);
    atoll_command_batch_gate(&batch, KERNELS);
    assert_int_equal(atoll_cuda_worker_run(g.worker, &batch, 10e9, &g.reply, NULL), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    assert_int_equal(g.reply.command, 1);
    atoll_command_batch_clear(&batch);
    atoll_command_batch_gate(&batch, KERNELS);
    atoll_command_batch_sync(&batch); /* what waits opens it */
    assert_int_equal(atoll_cuda_worker_run(g.worker, &batch, 10e9, &g.reply, NULL), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_DONE);
    atoll_command_batch_fini(&batch);
    free(gate);
    rig_close(&g);
}

static void launches_large_shared_memory_and_clusters(void **state)
{
    struct rig g;
    size_t length;
    if (rig_open(&g) != 0)
        skip();
    const struct atoll_cuda_facts *facts = atoll_cuda_worker_facts(g.worker);
    struct atoll_device_command_launch fat = launch_of(FAT, 1, 128, g.memory);
    fat.shared_bytes = facts->limits.shared_bytes_per_block;
    struct atoll_device_command_launch wide = launch_of(CLUSTER, 32, 32, g.memory + 64);
    wide.cluster[0] = 16;
    wide.cluster[1] = wide.cluster[2] = 1;
    atoll_command_batch_set(&g.batch, g.memory, 41, 1);
    atoll_command_batch_set(&g.batch, g.memory + 64, 0, 1);
    atoll_command_batch_launch(&g.batch, &fat);
    if (facts->limits.cluster_blocks >= 16)
        atoll_command_batch_launch(&g.batch, &wide);
    atoll_command_batch_read(&g.batch, g.memory, 128);
    gpu_run(g.worker, &g.batch, &g.reply);
    const int *words = atoll_command_batch_take_bytes(&g.reply, &length);
    assert_int_equal(words[1], 42);
    if (facts->limits.cluster_blocks >= 16)
        assert_int_equal(words[16], 2 * 120); /* ranks 0..15 of two clusters */
    rig_close(&g);
}

/* A module that is loaded again has forgotten its globals. */
static void reloading_restores_globals(void **state)
{
    struct rig g;
    size_t length;
    if (rig_open(&g) != 0)
        skip();
    struct atoll_device_command_launch l = launch_of(COUNT, 1, 1, g.memory);
    for (int round = 0; round < 2; round++) {
        atoll_command_batch_launch(&g.batch, &l);
        atoll_command_batch_launch(&g.batch, &l);
        atoll_command_batch_read(&g.batch, g.memory, 4);
        gpu_run(g.worker, &g.batch, &g.reply);
        const int *value = atoll_command_batch_take_bytes(&g.reply, &length);
        assert_int_equal(*value, 2);
        atoll_command_batch_module_load(&g.batch, 0, cubin, cubin_length);
        atoll_command_batch_function(&g.batch, COUNT, 0, names[COUNT]);
        gpu_run(g.worker, &g.batch, &g.reply);
    }
    rig_close(&g);
}

static void refuses_and_goes_on(void **state)
{
    struct rig g;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (rig_open(&g) != 0)
        skip();
    struct atoll_device_command_launch bad[] = {
        launch_of(TWICE, 1, 2048, g.memory), launch_of(FAT, 1, 32, g.memory), launch_of(400, 1, 32, g.memory),
        launch_of(CLUSTER, 33, 32, g.memory)};
    bad[1].shared_bytes = 1 << 20;
    bad[3].cluster[0] = 2;
    bad[3].cluster[1] = bad[3].cluster[2] = 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        atoll_command_batch_event(&g.batch, 0);
        atoll_command_batch_launch(&g.batch, &bad[i]);
        assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 10e9, &g.reply, &err), 0);
        assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
        assert_int_equal(g.reply.command, 1);
        assert_true(g.reply.text[0] != '\0');
        printf("refused: %s\n", g.reply.text);
        atoll_command_batch_clear(&g.batch);
    }
    atoll_command_batch_function(&g.batch, 9, 0, "no_such_kernel");
    assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 10e9, &g.reply, &err), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_clear(&g.batch);
    atoll_command_batch_alloc(&g.batch, 1, 1ull << 50);
    assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 10e9, &g.reply, &err), 0);
    assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_clear(&g.batch);
    atoll_command_batch_sync(&g.batch);
    gpu_run(g.worker, &g.batch, &g.reply);
    rig_close(&g);
}

static void faults_cost_the_process_only(void **state)
{
    static const struct {
        uint32_t kernel;
        enum atoll_command_batch_status status;
        double deadline_ns;
    } rows[] = {{FAR, ATOLL_COMMAND_BATCH_FAULT, 10e9},
                {STOP, ATOLL_COMMAND_BATCH_FAULT, 10e9},
                {ENDLESS, ATOLL_COMMAND_BATCH_TIMEOUT, 0.3e9}};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rig g;
        if (rig_open(&g) != 0)
            skip();
        struct atoll_device_command_launch l = launch_of(rows[i].kernel, 1, 1, g.memory);
        atoll_command_batch_set(&g.batch, g.memory, 0, 16);
        atoll_command_batch_launch(&g.batch, &l);
        assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, rows[i].deadline_ns, &g.reply, &err), 0);
        printf("%s: %s\n", names[rows[i].kernel], g.reply.text);
        assert_int_equal(g.reply.status, rows[i].status);
        /* what comes after is told so, not left waiting */
        assert_int_equal(atoll_cuda_worker_run(g.worker, &g.batch, 1e9, &g.reply, &err), 0);
        assert_int_equal(g.reply.status, ATOLL_COMMAND_BATCH_LOST);
        rig_close(&g);
        assert_int_equal(rig_open(&g), 0);
        rig_close(&g);
    }
}

static void says_what_is_missing(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cuda_worker_settings settings = {.program = ATOLL_BUILD_DIR "/atoll-worker-cuda",
                                                  .uuid = "GPU-00000000-0000-0000-0000-000000000000"};
    assert_null(atoll_cuda_worker_create(&settings, &err));
    assert_int_equal(err.code, ATOLL_E_MISSING);
    printf("%s\n", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes),
        cmocka_unit_test(holds_back_at_the_gate),
        cmocka_unit_test(launches_large_shared_memory_and_clusters),
        cmocka_unit_test(reloading_restores_globals),
        cmocka_unit_test(refuses_and_goes_on),
        cmocka_unit_test(faults_cost_the_process_only),
        cmocka_unit_test(says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
