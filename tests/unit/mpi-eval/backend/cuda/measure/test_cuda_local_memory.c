/* Which candidates' local memory is overwritten, by which kernel, and when a device process is replaced for it: with a process that
 * only writes down what it is sent. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/measure/local_memory.h"

#define GB ((uint64_t)1000000000)

static struct atoll_cuda_loaded_candidate image;
static struct atoll_loaded_candidate candidate = {.runner = &image};
static struct atoll_referee referee;
static struct atoll_cuda_device *d;
static char wide_frames[] = "cubin";
static char process;              /* something to point at */
static unsigned runs, dropped;    /* batches; processes */
static unsigned loads, functions; /* commands of the last batch */
static uint32_t kernel, launches; /* of its launches */
static enum atoll_command_batch_status answer;

int __wrap_atoll_cuda_worker_run(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                                 double deadline_ns, struct atoll_command_batch_reply *ret_reply,
                                 struct atoll_err *err);
int __wrap_atoll_cuda_worker_run(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                                 double deadline_ns, struct atoll_command_batch_reply *ret_reply,
                                 struct atoll_err *err)
{
    static struct atoll_device_command_launch launch;
    struct atoll_device_command command;
    struct atoll_reader reader;
    (void)worker, (void)deadline_ns, (void)err;
    runs++;
    loads = functions = launches = 0;
    atoll_reader_init(&reader, batch->bytes.data, batch->bytes.length);
    while (atoll_device_command_next(&reader, &command, &launch) == 1) {
        loads += command.kind == ATOLL_DEVICE_COMMAND_MODULE_LOAD && command.slot == 2;
        functions += command.kind == ATOLL_DEVICE_COMMAND_FUNCTION;
        launches += command.kind == ATOLL_DEVICE_COMMAND_LAUNCH;
        kernel = launch.function;
    }
    ret_reply->status = answer;
    snprintf(ret_reply->text, sizeof(ret_reply->text), "%s",
             answer == ATOLL_COMMAND_BATCH_DONE ? "" : "out of memory");
    return 0;
}

void __wrap_atoll_cuda_worker_destroy(struct atoll_cuda_worker *worker);
void __wrap_atoll_cuda_worker_destroy(struct atoll_cuda_worker *worker)
{
    dropped += worker != NULL;
}

static void process_start(void)
{
    d->worker = (struct atoll_cuda_worker *)(void *)&process;
    d->generation++;
}

static int set_up(void **state)
{
    (void)state;
    memset(&image, 0, sizeof(image));
    image.cubin.kernel_count = 2;
    d = calloc(1, sizeof(*d));
    assert_non_null(d);
    d->referee = &referee;
    d->local_bytes = ATOLL_SUPPORT_LOCAL_BYTES;
    d->facts.limits =
        (struct atoll_device_limits){.multiprocessors = 132, .threads_per_multiprocessor = 2048};
    d->facts.free_bytes = 100 * GB;
    d->wide_frames = (struct atoll_cuda_cubin_bytes){wide_frames, sizeof(wide_frames)};
    atoll_command_batch_init(&d->batch);
    atoll_command_batch_reply_init(&d->reply);
    runs = dropped = 0;
    answer = ATOLL_COMMAND_BATCH_DONE;
    process_start();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_command_batch_fini(&d->batch);
    atoll_command_batch_reply_fini(&d->reply);
    free(d);
    return 0;
}

/* Of the second kernel; the first has no local memory. */
static void frame_set(uint32_t stack_bytes, uint32_t call_bytes)
{
    image.cubin.kernels[1].stack_bytes = stack_bytes;
    image.cubin.kernels[1].local_bytes = stack_bytes + call_bytes;
}

static void test_reach(void **state)
{
    static const struct {
        uint32_t stack_bytes, call_bytes, reach, most;
    } rows[] = {
        {0, 0, 0, 16384},
        {2048, 0, 2048, 16384},
        {3072, 0, 3072, 16384},
        {16384, 0, 16384, 16384},
        {16400, 0, ATOLL_CUDA_LOCAL_UNREACHED, 16384},
        {1024, 1024, 2048, 2048},
        {1040, 1024, ATOLL_CUDA_LOCAL_UNREACHED, 2048}, /* as far as the stack of the process goes */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        frame_set(rows[i].stack_bytes, rows[i].call_bytes);
        assert_int_equal(atoll_cuda_local_reach(&candidate), rows[i].reach);
        assert_int_equal(atoll_cuda_local_most(&candidate), rows[i].most);
    }
}

static int have(uint32_t stack_bytes, uint32_t call_bytes, int *ret_reached)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    frame_set(stack_bytes, call_bytes);
    *ret_reached = -1;
    return atoll_cuda_local_have(d, &candidate, ret_reached, &err);
}

/* Kernels for larger frames come with the first candidate that has such; what is there stays. */
static void test_process_is_widened(void **state)
{
    static const struct {
        uint32_t stack_bytes;
        unsigned runs, loads, kernel;
        uint32_t local_bytes;
    } rows[] = {{2048, 0, 0, 0, 2048}, {3072, 1, 1, ATOLL_KERNEL_local_4k, 4096},
                {4096, 1, 0, 0, 4096}, {6000, 2, 0, ATOLL_KERNEL_local_8k, 8192},
                {3072, 2, 0, 0, 8192}, {12288, 3, 0, ATOLL_KERNEL_local_16k, 16384}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned before = runs;
        int is_reached;
        assert_int_equal(have(rows[i].stack_bytes, 0, &is_reached), 0);
        assert_true(is_reached && runs == rows[i].runs && d->local_bytes == rows[i].local_bytes);
        if (runs != before)
            assert_true(loads == rows[i].loads && functions == 3 * rows[i].loads && launches == 2 &&
                        kernel == rows[i].kernel);
    }
    atoll_cuda_device_drop(d);
    assert_int_equal(d->local_bytes, ATOLL_SUPPORT_LOCAL_BYTES);
}

static void test_what_is_not_reached(void **state)
{
    int is_reached;
    (void)state;
    assert_int_equal(have(20480, 0, &is_reached), 0);
    assert_int_equal(is_reached, 0);
    assert_int_equal(have(3072, 1024, &is_reached), 0); /* it calls */
    assert_int_equal(is_reached, 0);
    /* 3 of 4 KiB for 270,336 threads are 0.62 GB more than what every process has room for; 16 KiB 4.36 GB */
    d->areas[ATOLL_AREA_ARENA].bytes = 95 * GB;
    assert_int_equal(have(12288, 0, &is_reached), 0);
    assert_int_equal(is_reached, 0);
    assert_int_equal(runs, 0);
    assert_int_equal(have(3072, 0, &is_reached), 0);
    assert_true(is_reached && runs == 1);
    assert_int_equal(have(100, 1024, &is_reached), 0); /* its stack reaches as far as the largest frame now */
    assert_true(!is_reached && runs == 1);
}

/* Memory that the driver refuses: once more in a new process, then as if there were no such kernel. */
static void test_refused(void **state)
{
    int is_reached;
    (void)state;
    answer = ATOLL_COMMAND_BATCH_REFUSED;
    for (unsigned i = 1; i <= 2; i++) {
        d->last_stack_bytes = 3072;
        assert_int_equal(have(3072, 0, &is_reached), 1);
        assert_true(!is_reached && runs == i && dropped == i && !d->worker && d->last_stack_bytes == 0);
        process_start();
    }
    assert_int_equal(have(3072, 0, &is_reached), 0);
    assert_true(!is_reached && runs == 2 && d->worker);
}

static void test_begin(void **state)
{
    static const struct {
        uint32_t local_bytes;
        int has_unreached;
        uint32_t call_bytes;
        int is_dropped;
    } rows[] = {{2048, 0, 0, 0}, {2048, 0, 1024, 0}, {2048, 1, 0, 1}, {4096, 0, 0, 0}, {4096, 0, 1024, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        d->local_bytes = rows[i].local_bytes;
        d->has_unreached = rows[i].has_unreached;
        d->last_stack_bytes = 5000;
        dropped = 0;
        process_start();
        frame_set(100, rows[i].call_bytes);
        atoll_cuda_local_begin(d, &candidate);
        assert_int_equal(dropped, rows[i].is_dropped);
        assert_int_equal(d->last_stack_bytes, rows[i].is_dropped ? 0 : 5000);
        assert_true(!rows[i].is_dropped || (!d->worker && !d->has_unreached));
    }
}

static void test_handed_over(void **state)
{
    static const struct {
        uint32_t left_bytes, local_bytes;
        enum atoll_command_batch_status answer;
        int rc;
        unsigned runs, kernel;
    } rows[] = {{100, 2048, ATOLL_COMMAND_BATCH_DONE, 0, 1, ATOLL_KERNEL_local_1k},
                {100, 8192, ATOLL_COMMAND_BATCH_DONE, 0, 1, ATOLL_KERNEL_local_1k},
                {5000, 8192, ATOLL_COMMAND_BATCH_DONE, 0, 1, ATOLL_KERNEL_local_8k},
                {5000, 4096, ATOLL_COMMAND_BATCH_DONE, 1, 0, 0}, /* it ran in another process */
                {ATOLL_CUDA_LOCAL_UNREACHED, 16384, ATOLL_COMMAND_BATCH_DONE, 1, 0, 0},
                {5000, 8192, ATOLL_COMMAND_BATCH_REFUSED, 1, 1, ATOLL_KERNEL_local_8k}};
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        process_start();
        runs = dropped = d->local_refusals = 0;
        d->local_bytes = rows[i].local_bytes;
        d->last_candidate = 1;
        d->last_stack_bytes = rows[i].left_bytes;
        answer = rows[i].answer;
        assert_int_equal(atoll_cuda_device_hand_over(d, 2, 700, 9, &err), rows[i].rc);
        assert_true(runs == rows[i].runs && (!runs || kernel == rows[i].kernel));
        assert_int_equal(dropped, rows[i].rc);
        assert_int_equal(d->local_refusals, answer == ATOLL_COMMAND_BATCH_REFUSED);
        assert_true(d->last_candidate == 2 && d->last_stack_bytes == 700);
        assert_int_equal(err.code, 0);
    }
    assert_int_equal(atoll_cuda_device_hand_over(d, 2, 800, 9, &err), 0); /* itself again */
    assert_int_equal(d->last_stack_bytes, 800);
}

/* Room for local memory is left where tasks leave it; who needs it gets it, in a process without larger frames. */
static void test_areas_give_and_take(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t most = 100 * GB - ((uint64_t)768 << 20);
    (void)state;
    d->sealed.is_shut = 1;
    assert_int_equal(atoll_cuda_device_free_bytes(d), most);
    assert_true(atoll_cuda_device_has_room(d, most - 10 * GB, 0));
    assert_false(atoll_cuda_device_has_room(d, most - 8 * GB, 0)); /* 4.3 sealed, 4.4 for 16 KiB a thread */
    d->local_bytes = 4096;
    d->last_stack_bytes = 3072;
    assert_int_equal(atoll_cuda_device_reserve(d, most - GB / 2, most - GB / 2, 0, &err), 1);
    assert_true(dropped == 1 && runs == 0 && d->last_stack_bytes == 0);
    assert_int_equal(atoll_cuda_device_reserve(d, most + 1, most + 1, 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_process_is_widened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_begin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_handed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_areas_give_and_take, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
