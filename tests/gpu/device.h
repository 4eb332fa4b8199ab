/* device.h - what GPU tests share: a device process or a printed skip, and cubins from NVRTC in this process. */
#ifndef ATOLL_TESTS_GPU_DEVICE_H
#define ATOLL_TESTS_GPU_DEVICE_H

#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "mpi-eval/backend/cuda/process/worker.h"

/* The first device, or NULL after the reason was printed.  Anything but "not here" is a failure. */
static inline struct atoll_cuda_worker *gpu_open(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cuda_worker_settings settings = {
        .program = getenv("ATOLL_WORKER_CUDA") ? NULL : ATOLL_BUILD_DIR "/atoll-worker-cuda"};
    const char *device = getenv("ATOLL_GPU");
    settings.uuid = device && strncmp(device, "GPU-", 4) == 0 ? device : NULL;
    settings.ordinal = device && !settings.uuid ? (unsigned)atoi(device) : 0;
    struct atoll_cuda_worker *w = atoll_cuda_worker_create(&settings, &err);
    if (w)
        return w;
    if (err.code != ATOLL_E_MISSING)
        fail_msg("%s", err.text);
    printf("SKIP: %s\n", err.text);
    return NULL;
}

/* Compiles text for the device; flags end with NULL.  Owned by the caller. */
static inline void *gpu_compile(const char *text, const char *const *flags, size_t *ret_length)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_nvrtc_library *nvrtc = atoll_nvrtc_library_open(&err);
    struct _nvrtcProgram *program = NULL;
    const char *options[16] = {"--gpu-architecture=sm_90a", "--std=c++17"};
    int count = 2;
    if (!nvrtc)
        fail_msg("%s", err.text);
    for (; flags && *flags && count < 16; flags++)
        options[count++] = *flags;
    assert_int_equal(nvrtc->nvrtcCreateProgram(&program, text, "test.cu", 0, NULL, NULL),
                     ATOLL_NVRTC_SUCCESS);
    unsigned result = nvrtc->nvrtcCompileProgram(program, count, options);
    size_t bytes = 0;
    if (result != ATOLL_NVRTC_SUCCESS) {
        nvrtc->nvrtcGetProgramLogSize(program, &bytes);
        char *log = calloc(1, bytes + 1);
        nvrtc->nvrtcGetProgramLog(program, log);
        fail_msg("%s", log);
    }
    nvrtc->nvrtcGetCUBINSize(program, &bytes);
    char *cubin = malloc(bytes);
    nvrtc->nvrtcGetCUBIN(program, cubin);
    nvrtc->nvrtcDestroyProgram(&program);
    *ret_length = bytes;
    return cubin;
}

/* Runs a batch that must be carried out. */
static inline void gpu_run(struct atoll_cuda_worker *w, struct atoll_command_batch *batch,
                           struct atoll_command_batch_reply *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_cuda_worker_run(w, batch, 30e9, r, &err) != 0)
        fail_msg("%s", err.text);
    if (r->status != ATOLL_COMMAND_BATCH_DONE)
        fail_msg("status %d at command %u: %s", (int)r->status, r->command, r->text);
    atoll_command_batch_clear(batch);
}

#endif
