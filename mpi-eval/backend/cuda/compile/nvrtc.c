/* nvrtc.c - opens the library for compile_child_main.c, once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/compile/nvrtc.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_nvrtc_library, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_NVRTC_FUNCTIONS(ROW)};

static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda", NULL};
static const char *const folders[] = {"lib64", "lib", NULL};
static const struct atoll_library library = {
    .title = "NVRTC, the run-time compiler of the CUDA toolkit,",
    .environment = "ATOLL_NVRTC",
    .names = names,
    .roots = roots,
    .folders = folders,
    .remedy = "load the CUDA module, or set CUDA_HOME to a toolkit of CUDA 12.0 or newer, or ATOLL_NVRTC to "
              "the path of its libnvrtc.so",
    .functions = rows,
    .function_count = sizeof(rows) / sizeof(*rows),
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct atoll_nvrtc_library functions;
static struct atoll_err trouble = ATOLL_ERR_INIT;

static void open_library(void)
{
    atoll_library_open(&library, &functions, &trouble);
}

const struct atoll_nvrtc_library *atoll_nvrtc_library_open(struct atoll_err *err)
{
    pthread_once(&once, open_library);
    if (trouble.code == ATOLL_OK)
        return &functions;
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}
