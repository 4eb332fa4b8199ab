/* fixture_cuda_driver.h - what every test of the executor needs of a driver that has no device: a context, a stream, staging,
 * modules with one kernel.  Memory and launches are the test's. */
#ifndef ATOLL_TESTS_UNIT_MPI_EVAL_FIXTURE_CUDA_DRIVER_H
#define ATOLL_TESTS_UNIT_MPI_EVAL_FIXTURE_CUDA_DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/process/executor.h"

static inline unsigned driver_fine(void)
{
    return ATOLL_CUDA_SUCCESS;
}
static inline unsigned driver_init(unsigned flags)
{
    (void)flags;
    return driver_fine();
}
static inline unsigned driver_error_name(unsigned result, const char **ret)
{
    static char name[32];
    snprintf(name, sizeof(name), "ERROR_%u", result);
    *ret = name;
    return driver_fine();
}
static inline unsigned driver_device_count(int *ret)
{
    *ret = 1;
    return driver_fine();
}
static inline unsigned driver_device_get(int *ret, int ordinal)
{
    *ret = ordinal;
    return driver_fine();
}
static inline unsigned driver_device_uuid(struct atoll_cuda_uuid *ret, int device)
{
    (void)device;
    memset(ret, 0, sizeof(*ret));
    return driver_fine();
}
static inline unsigned driver_context_flags(int device, unsigned flags)
{
    (void)device;
    return driver_init(flags);
}
static inline unsigned driver_context_retain(struct CUctx_st **ret, int device)
{
    (void)device;
    *ret = NULL;
    return driver_fine();
}
static inline unsigned driver_context_release(int device)
{
    (void)device;
    return driver_fine();
}
static inline unsigned driver_context_set(struct CUctx_st *context)
{
    (void)context;
    return driver_fine();
}
static inline unsigned driver_context_limit(unsigned limit, size_t value)
{
    (void)value;
    return driver_init(limit);
}
static inline unsigned driver_host_alloc(void **ret, size_t bytes, unsigned flags)
{
    *ret = calloc(1, bytes);
    return driver_init(flags);
}
static inline unsigned driver_host_free(void *memory)
{
    free(memory);
    return driver_fine();
}
static inline unsigned driver_stream_create(struct CUstream_st **ret, unsigned flags)
{
    *ret = NULL;
    return driver_init(flags);
}
static inline unsigned driver_stream_wait(struct CUstream_st *stream)
{
    (void)stream;
    return driver_fine();
}
static inline unsigned driver_event_create(struct CUevent_st **ret, unsigned flags)
{
    *ret = NULL;
    return driver_init(flags);
}
static inline unsigned driver_set_words(atoll_cuda_address to, unsigned value, size_t count,
                                        struct CUstream_st *stream)
{
    (void)to;
    (void)value;
    (void)count;
    return driver_stream_wait(stream);
}
static inline unsigned driver_module_load(struct CUmod_st **ret, const void *image)
{
    static char module;
    (void)image;
    *ret = (struct CUmod_st *)(void *)&module;
    return driver_fine();
}
static inline unsigned driver_module_unload(struct CUmod_st *module)
{
    (void)module;
    return driver_fine();
}
static inline unsigned driver_module_function(struct CUfunc_st **ret, struct CUmod_st *module,
                                              const char *name)
{
    (void)name;
    *ret = (struct CUfunc_st *)(void *)module;
    return driver_fine();
}
static inline unsigned driver_function_attribute(int *ret, unsigned attribute, struct CUfunc_st *function)
{
    (void)function;
    *ret = 0;
    return driver_init(attribute);
}

/* ---- a test as the device process, which its own evaluator side starts (worker.h) ---- */

static inline int driver_moved(int is_put, void *bytes, size_t length)
{
    char *at = bytes;
    while (length > 0) {
        ssize_t n = is_put ? write(ATOLL_CUDA_LINK_FD, at, length) : read(ATOLL_CUDA_LINK_FD, at, length);
        if (n <= 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Carries out batches on this driver until the other end is gone; what main returns. */
static inline int driver_serve(const struct atoll_cuda *table, const struct atoll_cuda_hello *hello)
{
    struct atoll_cuda_hello first = *hello;
    struct atoll_cuda_executor *executor = atoll_cuda_executor_create_on(table, "0", NULL);
    uint64_t length;
    if (!executor || driver_moved(1, &first, sizeof(first)) != 0)
        return 1;
    while (driver_moved(0, &length, sizeof(length)) == 0) {
        struct atoll_command_batch_reply reply;
        struct atoll_buffer out;
        unsigned char *batch = malloc((size_t)length + 1);
        if (!batch || driver_moved(0, batch, (size_t)length) != 0)
            return 1;
        atoll_command_batch_reply_init(&reply);
        atoll_buffer_init(&out, ATOLL_CUDA_LINK_BYTES);
        atoll_cuda_executor_run(executor, batch, (size_t)length, &reply);
        atoll_command_batch_reply_encode(&reply, &out);
        length = out.length;
        driver_moved(1, &length, sizeof(length));
        driver_moved(1, out.data, out.length);
        atoll_buffer_fini(&out);
        atoll_command_batch_reply_fini(&reply);
        free(batch);
    }
    return 0;
}

#define DRIVER_BUT_SETS                                                                                      \
    .cuInit = driver_init, .cuGetErrorName = driver_error_name, .cuGetErrorString = driver_error_name,       \
    .cuDeviceGetCount = driver_device_count, .cuDeviceGet = driver_device_get,                               \
    .cuDeviceGetUuid = driver_device_uuid, .cuDevicePrimaryCtxSetFlags = driver_context_flags,               \
    .cuDevicePrimaryCtxRetain = driver_context_retain, .cuDevicePrimaryCtxRelease = driver_context_release,  \
    .cuCtxSetCurrent = driver_context_set, .cuCtxSetLimit = driver_context_limit,                            \
    .cuMemHostAlloc = driver_host_alloc, .cuMemFreeHost = driver_host_free,                                  \
    .cuStreamCreate = driver_stream_create, .cuStreamSynchronize = driver_stream_wait,                       \
    .cuEventCreate = driver_event_create, .cuModuleLoadData = driver_module_load,                            \
    .cuModuleUnload = driver_module_unload, .cuModuleGetFunction = driver_module_function,                   \
    .cuFuncGetAttribute = driver_function_attribute
#define DRIVER_BASICS DRIVER_BUT_SETS, .cuMemsetD32Async = driver_set_words

#endif
