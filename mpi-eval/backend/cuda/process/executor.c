/* executor.c - one stream, no waiting between steps.
 * Small reads and writes are queued like every other step: reads land in pinned staging and move to their place
 * in the results when all is done, writes leave from there.  A large read waits for the stream.  Events are looked
 * at while the stream works, so that the referee has a second clock: when the host saw each of them.  Batches,
 * staging and results hold keys and expected values, and a device may address host memory: whoever owns one wipes
 * it when its batch has ended. */
#include "mpi-eval/backend/cuda/process/executor.h"

#include <stdlib.h>

#include "mpi-eval/backend/cuda/process/executor_state.h"

#define GATE_BYTES 64 /* behind the staging */

static int context_open(struct atoll_cuda_executor *x, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = x->cuda;
    unsigned r = cuda->cuDevicePrimaryCtxSetFlags(x->device, ATOLL_CU_CTX_SCHED_SPIN);
    if (r == ATOLL_CUDA_SUCCESS || r == ATOLL_CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE)
        r = cuda->cuDevicePrimaryCtxRetain(&x->context, x->device);
    if (r != ATOLL_CUDA_SUCCESS)
        return atoll_executor_cuda_fail(cuda, r,
                                        "cannot make a context on the device (is it in exclusive use?)", err);
    x->has_context = 1;
    if ((r = cuda->cuCtxSetCurrent(x->context)) != ATOLL_CUDA_SUCCESS)
        return atoll_executor_cuda_fail(cuda, r, "cannot use the context", err);
    /* Smaller than the driver allows is rounded up; a driver that refuses one keeps its default. */
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_PRINTF_FIFO_SIZE, 4096);
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_MALLOC_HEAP_SIZE, 4096);
    cuda->cuCtxSetLimit(ATOLL_CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    return 0;
}

static int resources_open(struct atoll_cuda_executor *x, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = x->cuda;
    void *staging = NULL;
    unsigned r = cuda->cuStreamCreate(&x->stream, ATOLL_CU_STREAM_NON_BLOCKING);
    if (r == ATOLL_CUDA_SUCCESS)
        r = cuda->cuMemHostAlloc(&staging, ATOLL_EXECUTOR_STAGING_BYTES + GATE_BYTES, 0);
    x->staging = staging;
    if (staging)
        x->gate = (uint32_t *)(void *)(x->staging + ATOLL_EXECUTOR_STAGING_BYTES);
    for (int i = 0; r == ATOLL_CUDA_SUCCESS && i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        r = cuda->cuEventCreate(&x->events[i], ATOLL_CU_EVENT_DEFAULT);
    return r == ATOLL_CUDA_SUCCESS ? 0 : atoll_executor_cuda_fail(cuda, r, "cannot set up the device", err);
}

struct atoll_cuda_executor *atoll_cuda_executor_create(const char *device, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = atoll_cuda_open(err);
    if (!cuda)
        return NULL;
    struct atoll_cuda_executor *x = calloc(1, sizeof *x);
    if (!x) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an executor");
        return NULL;
    }
    x->cuda = cuda;
    if (atoll_executor_device_find(x, device, err) == 0 && context_open(x, err) == 0 &&
        resources_open(x, err) == 0)
        return x;
    atoll_cuda_executor_destroy(x);
    return NULL;
}

void atoll_cuda_executor_destroy(struct atoll_cuda_executor *executor)
{
    if (!executor)
        return;
    const struct atoll_cuda *cuda = executor->cuda;
    atoll_counters_destroy(executor->counters);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_EVENT_LIMIT; i++)
        if (executor->events[i])
            cuda->cuEventDestroy(executor->events[i]);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_MODULE_LIMIT; i++)
        if (executor->modules[i])
            cuda->cuModuleUnload(executor->modules[i]);
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_MEMORY_LIMIT; i++)
        if (executor->memory[i])
            cuda->cuMemFree(executor->memory[i]);
    if (executor->staging)
        cuda->cuMemFreeHost(executor->staging);
    if (executor->stream)
        cuda->cuStreamDestroy(executor->stream);
    if (executor->has_context)
        cuda->cuDevicePrimaryCtxRelease(executor->device);
    free(executor);
}
