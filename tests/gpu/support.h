/* support.h - a device process with our kernels loaded and an area of device memory, for tests of them. */
#ifndef ATOLL_TESTS_GPU_SUPPORT_H
#define ATOLL_TESTS_GPU_SUPPORT_H

#include "mpi-eval/backend/cuda/measure/support.h"
#include "tests/gpu/device.h"

struct bench {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    uint64_t area, bytes;
    uint32_t multiprocessors, shared_bytes;
};

/* -1: no device, the reason was printed. */
static inline int bench_open(struct bench *b, uint64_t bytes)
{
    size_t lengths[2];
    memset(b, 0, sizeof(*b));
    b->worker = gpu_open();
    if (!b->worker)
        return -1;
    void *support = gpu_compile(atoll_support_text(), NULL, &lengths[0]);
    void *calibration = gpu_compile(atoll_support_calibration_text(), NULL, &lengths[1]);
    const struct atoll_cuda_facts *facts = atoll_cuda_worker_facts(b->worker);
    b->multiprocessors = facts->limits.multiprocessors;
    b->shared_bytes = facts->limits.shared_bytes_per_block;
    b->bytes = bytes;
    atoll_command_batch_init(&b->batch);
    atoll_command_batch_reply_init(&b->reply);
    atoll_support_load(&b->batch, support, lengths[0], calibration, lengths[1]);
    atoll_command_batch_alloc(&b->batch, 0, bytes);
    gpu_run(b->worker, &b->batch, &b->reply);
    for (unsigned i = 0; i < ATOLL_SUPPORT_KERNEL_COUNT; i++) {
        struct atoll_device_command_function function;
        atoll_command_batch_take_function(&b->reply, &function);
    }
    b->area = atoll_command_batch_take_u64(&b->reply);
    assert_int_equal(atoll_reader_finish(&b->reply.reader, "results", NULL), 0);
    free(support);
    free(calibration);
    return 0;
}

static inline void bench_close(struct bench *b)
{
    if (!b->worker)
        return;
    atoll_cuda_worker_destroy(b->worker);
    atoll_command_batch_fini(&b->batch);
    atoll_command_batch_reply_fini(&b->reply);
}

static inline void bench_run(struct bench *b)
{
    gpu_run(b->worker, &b->batch, &b->reply);
}

/* The next result, which has that length. */
static inline const void *bench_take(struct bench *b, size_t length)
{
    size_t got = 0;
    const void *bytes = atoll_command_batch_take_bytes(&b->reply, &got);
    assert_int_equal(got, length);
    return bytes;
}

static inline uint64_t bench_take_word(struct bench *b)
{
    uint64_t word;
    memcpy(&word, bench_take(b, 8), 8);
    return word;
}

#endif
