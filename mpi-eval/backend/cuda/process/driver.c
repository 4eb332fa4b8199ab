/* driver.c - opened once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/process/driver.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_cuda, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_CUDA_FUNCTIONS(ROW)};

static const char *const names[] = {"libcuda.so.1", NULL};
static const struct atoll_library library = {
    .title = "the CUDA driver library libcuda.so.1",
    .environment = NULL,
    .names = names,
    .folders = NULL,
    .remedy = "run on a node with an NVIDIA GPU and its driver, of CUDA 12.0 or newer",
    .functions = rows,
    .function_count = sizeof rows / sizeof *rows,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct atoll_cuda functions;
static struct atoll_err trouble = ATOLL_ERR_INIT;

static void open_library(void)
{
    atoll_library_open(&library, &functions, &trouble);
}

const struct atoll_cuda *atoll_cuda_open(struct atoll_err *err)
{
    pthread_once(&once, open_library);
    if (trouble.code == ATOLL_OK) {
        return &functions;
    }
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}

const char *atoll_cuda_describe(const struct atoll_cuda *cuda, unsigned int result, char *ret_text,
                                size_t bytes)
{
    const char *name = NULL;
    const char *text = NULL;
    if (cuda->cuGetErrorName(result, &name) || cuda->cuGetErrorString(result, &text) || !name || !text) {
        snprintf(ret_text, bytes, "CUDA error %u", result);
    } else {
        snprintf(ret_text, bytes, "%s: %s", name, text);
    }
    return ret_text;
}
