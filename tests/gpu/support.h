/* support.h - a device process with our kernels loaded and an area of device memory, for tests of them. */
#ifndef ATOLL_TESTS_GPU_SUPPORT_H
#define ATOLL_TESTS_GPU_SUPPORT_H

#include "mpi-eval/backend/cuda/measure/contents.h"
#include "mpi-eval/backend/cuda/measure/support.h"
#include "tests/gpu/device.h"

struct bench {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    uint64_t area, bytes;
    uint32_t multiprocessors, shared_bytes;
};

/* ---- one region alone ---- */

static inline int atoll_support_init(struct atoll_command_batch *batch, const struct atoll_task *task,
                                     size_t tensor, const struct atoll_variant *variant, uint64_t seed,
                                     unsigned distribution, uint64_t address, struct atoll_err *err)
{
    struct atoll_contents c;
    atoll_contents_begin(&c, batch);
    int rc = atoll_contents_input(&c, task, tensor, variant, seed, distribution, address, err);
    atoll_contents_end(&c);
    return rc;
}

static inline void atoll_support_fill(struct atoll_command_batch *batch,
                                      const struct atoll_support_fill *fill, uint64_t address, uint64_t count)
{
    struct atoll_contents c;
    atoll_contents_begin(&c, batch);
    atoll_contents_fill(&c, fill, address, count);
    atoll_contents_end(&c);
}

static inline void atoll_support_guard(struct atoll_command_batch *batch, uint64_t address, uint64_t bytes,
                                       uint64_t key)
{
    struct atoll_contents c;
    atoll_contents_begin(&c, batch);
    atoll_contents_guard(&c, address, bytes, key);
    atoll_contents_end(&c);
}

static inline void atoll_support_guard_check(struct atoll_command_batch *batch, uint64_t address,
                                             uint64_t bytes, uint64_t key, uint64_t result)
{
    struct atoll_inspection look;
    atoll_inspection_begin(&look, batch);
    atoll_inspection_guard(&look, address, bytes, key, result);
    atoll_inspection_end(&look);
}

static inline void atoll_support_hash(struct atoll_command_batch *batch, uint64_t address, uint64_t bytes,
                                      uint64_t key, uint64_t result)
{
    struct atoll_inspection look;
    atoll_inspection_begin(&look, batch);
    atoll_inspection_hash(&look, address, bytes, key, result);
    atoll_inspection_end(&look);
}

/* ---- the device process ---- */

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
    for (unsigned i = 0; i < ATOLL_SUPPORT_LOADED_COUNT; i++) {
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
