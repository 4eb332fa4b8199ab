/* test_window.c - memory of another process in the device process, in its sandbox: copied, refused where it must be, gone after its
 * batch; and what it costs beside the way through the host. */
#include "tests/gpu/device.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "mpi-eval/backend/cuda/process/driver.h"

#define WINDOW ((uint64_t)1 << 30)
#define PIECE  ((uint64_t)32 << 20)
#define LOW    0x01020304u
#define HIGH   0xa0b0c0d0u
#define TIMES  20

/* The process whose memory it is: LOW in the first half, HIGH in the second; freed when it is told so. */
static struct {
    pid_t pid;
    int to, from;
    unsigned char handle[ATOLL_DEVICE_COMMAND_HANDLE_BYTES];
} owner = {.pid = -1};

static void owner_run(int from, int to)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_cuda *cuda = atoll_cuda_open(&err);
    struct CUctx_st *context = NULL;
    struct atoll_cuda_ipc handle;
    atoll_cuda_address memory = 0;
    char word;
    int device = 0;
    if (!cuda ||
        atoll_cuda_device_find(cuda, getenv("ATOLL_GPU") ? getenv("ATOLL_GPU") : "0", &device, &err) != 0 ||
        cuda->cuDevicePrimaryCtxRetain(&context, device) || cuda->cuCtxSetCurrent(context) ||
        cuda->cuMemAlloc(&memory, WINDOW) || cuda->cuMemsetD32(memory, LOW, WINDOW / 8) ||
        cuda->cuMemsetD32(memory + WINDOW / 2, HIGH, WINDOW / 8) || cuda->cuCtxSynchronize() ||
        !cuda->cuIpcGetMemHandle || cuda->cuIpcGetMemHandle(&handle, memory) ||
        write(to, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        _exit(1);
    if (read(from, &word, 1) == 1) {
        word = cuda->cuMemFree(memory) ? 'n' : 'y';
        if (write(to, &word, 1) == 1)
            (void)!read(from, &word, 1);
    }
    _exit(0);
}

/* -1: there is no such memory here. */
static int owner_start(void)
{
    int down[2], up[2];
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    owner.pid = fork();
    if (owner.pid == 0) {
        close(down[1]);
        close(up[0]);
        owner_run(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    owner.to = down[1];
    owner.from = up[0];
    return read(owner.from, owner.handle, sizeof(owner.handle)) == (ssize_t)sizeof(owner.handle) ? 0 : -1;
}

static void owner_stop(void)
{
    close(owner.to);
    close(owner.from);
    kill(owner.pid, SIGKILL);
    waitpid(owner.pid, NULL, 0);
}

struct rig {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    uint64_t memory;
};

static int rig_open(struct rig *g)
{
    memset(g, 0, sizeof(*g));
    if (!(g->worker = gpu_open()))
        return -1;
    atoll_command_batch_init(&g->batch);
    atoll_command_batch_reply_init(&g->reply);
    atoll_command_batch_alloc(&g->batch, 0, WINDOW);
    gpu_run(g->worker, &g->batch, &g->reply);
    g->memory = atoll_command_batch_take_u64(&g->reply);
    return 0;
}

static void rig_close(struct rig *g)
{
    atoll_cuda_worker_destroy(g->worker);
    atoll_command_batch_fini(&g->batch);
    atoll_command_batch_reply_fini(&g->reply);
}

/* What a batch comes to; it is cleared. */
static enum atoll_command_batch_status tried(struct rig *g)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cuda_worker_run(g->worker, &g->batch, 30e9, &g->reply, &err) != 0)
        fail_msg("%s", err.text);
    atoll_command_batch_clear(&g->batch);
    return g->reply.status;
}

static uint32_t word_at(struct rig *g, uint64_t offset)
{
    size_t length = 0;
    uint32_t word = 0;
    atoll_command_batch_read(&g->batch, g->memory + offset, 4);
    gpu_run(g->worker, &g->batch, &g->reply);
    const void *bytes = atoll_command_batch_take_bytes(&g->reply, &length);
    assert_int_equal(length, 4);
    memcpy(&word, bytes, 4);
    return word;
}

static void copies(void **state)
{
    struct rig g;
    (void)state;
    if (rig_open(&g) != 0)
        skip();
    atoll_command_batch_set(&g.batch, g.memory, 7, WINDOW / 4);
    gpu_run(g.worker, &g.batch, &g.reply);
    atoll_command_batch_foreign_open(&g.batch, owner.handle, WINDOW);
    atoll_command_batch_foreign_copy(&g.batch, g.memory + 4096, WINDOW / 2 - 4096, 8192);
    atoll_command_batch_foreign_close(&g.batch);
    enum atoll_command_batch_status status = tried(&g);
    printf("WINDOW: %s\n", status == ATOLL_COMMAND_BATCH_DONE ? "opened in the sandbox" : g.reply.text);
    assert_int_equal(status, ATOLL_COMMAND_BATCH_DONE);
    assert_int_equal(word_at(&g, 4092), 7);
    assert_int_equal(word_at(&g, 4096), LOW);
    assert_int_equal(word_at(&g, 8188), LOW);
    assert_int_equal(word_at(&g, 8192), HIGH);
    assert_int_equal(word_at(&g, 12284), HIGH);
    assert_int_equal(word_at(&g, 12288), 7);
    rig_close(&g);
}

static void refuses(void **state)
{
    struct rig g;
    unsigned char garbage[ATOLL_DEVICE_COMMAND_HANDLE_BYTES];
    (void)state;
    if (rig_open(&g) != 0)
        skip();
    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = (unsigned char)(17 * i + 3);
    for (int i = 0; i < 5; i++) {
        struct atoll_device_command_launch l = {.function = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        atoll_command_batch_foreign_open(&g.batch, i == 0 ? garbage : owner.handle,
                                         i == 1 ? WINDOW + 1 : WINDOW);
        if (i == 2)
            atoll_command_batch_foreign_copy(&g.batch, g.memory, 8, WINDOW - 4);
        else if (i == 3)
            atoll_command_batch_launch(&g.batch, &l);
        if (i < 4) /* 4 leaves it open */
            atoll_command_batch_foreign_close(&g.batch);
        enum atoll_command_batch_status status = tried(&g);
        printf("  refusal %d: command %u, %s\n", i, g.reply.command, g.reply.text);
        assert_int_equal(status, ATOLL_COMMAND_BATCH_REFUSED);
        assert_int_equal(g.reply.command, i < 2 ? 0 : 1);
        atoll_command_batch_set(&g.batch, g.memory, 9, 16); /* and the process lives on */
        gpu_run(g.worker, &g.batch, &g.reply);
        assert_int_equal(word_at(&g, 4), 9);
    }
    rig_close(&g);
}

static void costs(void **state)
{
    struct rig g;
    double begin, least[2] = {1e18, 1e18};
    unsigned char *from = calloc(1, PIECE);
    (void)state;
    if (rig_open(&g) != 0)
        skip();
    assert_non_null(from);
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < 2; k++) {
            uint64_t bytes = k ? 4096 : WINDOW;
            atoll_command_batch_foreign_open(&g.batch, owner.handle, WINDOW);
            atoll_command_batch_foreign_copy(&g.batch, g.memory, 0, bytes);
            atoll_command_batch_foreign_close(&g.batch);
            begin = atoll_clock_mono_ns();
            gpu_run(g.worker, &g.batch, &g.reply);
            double ns = atoll_clock_mono_ns() - begin;
            least[k] = ns < least[k] ? ns : least[k];
        }
    }
    begin = atoll_clock_mono_ns();
    for (uint64_t at = 0; at < WINDOW; at += PIECE) {
        atoll_command_batch_write(&g.batch, g.memory + at, from, PIECE);
        gpu_run(g.worker, &g.batch, &g.reply);
    }
    printf("1 GiB: window %.2f ms (opening and closing alone %.2f ms), from host memory %.1f ms\n",
           least[0] / 1e6, least[1] / 1e6, (atoll_clock_mono_ns() - begin) / 1e6);
    free(from);
    rig_close(&g);
}

/* Last: what the owner freed cannot be opened again, and its freeing hurts nobody. */
static void goes(void **state)
{
    struct rig g;
    char word = 'f';
    (void)state;
    if (rig_open(&g) != 0)
        skip();
    atoll_command_batch_foreign_open(&g.batch, owner.handle, WINDOW);
    atoll_command_batch_foreign_copy(&g.batch, g.memory, 0, 4096);
    atoll_command_batch_foreign_close(&g.batch);
    gpu_run(g.worker, &g.batch, &g.reply);
    assert_int_equal(write(owner.to, &word, 1), 1);
    assert_int_equal(read(owner.from, &word, 1), 1);
    assert_int_equal(word, 'y');
    assert_int_equal(word_at(&g, 0), LOW);
    atoll_command_batch_foreign_open(&g.batch, owner.handle, WINDOW);
    atoll_command_batch_foreign_close(&g.batch);
    assert_int_equal(tried(&g), ATOLL_COMMAND_BATCH_REFUSED);
    atoll_command_batch_set(&g.batch, g.memory, 9, 16);
    gpu_run(g.worker, &g.batch, &g.reply);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies), cmocka_unit_test(refuses),
                                       cmocka_unit_test(costs), cmocka_unit_test(goes)};
    struct atoll_cuda_worker *worker = gpu_open();
    if (!worker)
        return 77;
    atoll_cuda_worker_destroy(worker);
    if (owner_start() != 0) {
        printf("SKIP: this device or system shows no memory to other processes\n");
        owner_stop();
        return 77;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    owner_stop();
    return failed;
}
