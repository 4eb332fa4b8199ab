/* referee.h - a whole referee of one GPU, for tests that evaluate. */
#ifndef ATOLL_TESTS_GPU_REFEREE_H
#define ATOLL_TESTS_GPU_REFEREE_H

#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/referee.h"

/* Short samplings, so that hundreds of kernels take seconds, warm where ATOLL_TEST_TIMING says so; programs of this
 * build unless the environment names others. */
static inline struct atoll_setup gpu_setup(void)
{
    struct atoll_setup setup = {.secret = {4, 5, 6},
                                .sample_device_ns = 20e6,
                                .sample_wall_ns = 40e6,
                                .sample_min = 9,
                                .interval_target = 0.005,
                                .full_compares = 5,
                                .compile_deadline_ns = 4e9,
                                .compile_memory_bytes = (uint64_t)2 << 30,
                                .compiler = "nvrtc",
                                .backend = "cuda"};
    const char *timing = getenv("ATOLL_TEST_TIMING");
    setup.is_warm = timing && strcmp(timing, "warm") == 0;
    setenv("ATOLL_WORKER_CUDA", ATOLL_BUILD_DIR "/atoll-worker-cuda", 0);
    setenv("ATOLL_COMPILE_CUDA", ATOLL_BUILD_DIR "/atoll-compile-cuda", 0);
    return setup;
}

/* 0; 1: no GPU or no compiler here, the reason was printed; -1 with the reason printed.  Both results are the caller's:
 * the referee goes first.  python: of tasks and rivals that want torch, "" none. */
static inline int gpu_referee_open_with(const char *python, struct atoll_compiler **ret_compiler,
                                        struct atoll_referee **ret_referee)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_setup setup = gpu_setup();
    snprintf(setup.python, sizeof(setup.python), "%s", python);
    *ret_referee = NULL;
    *ret_compiler = atoll_backend_cuda.compiler_create(&setup, 1, &err);
    if (*ret_compiler)
        *ret_referee = atoll_referee_create(atoll_backend_find(setup.backend), &setup, *ret_compiler, &err);
    if (*ret_referee)
        return 0;
    printf("%s: %s\n", err.code == ATOLL_E_MISSING ? "SKIP" : "FAIL", err.text);
    return err.code == ATOLL_E_MISSING ? 1 : -1;
}

static inline int gpu_referee_open(struct atoll_compiler **ret_compiler, struct atoll_referee **ret_referee)
{
    return gpu_referee_open_with("", ret_compiler, ret_referee);
}

#endif
