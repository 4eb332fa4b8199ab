/* nvml.c - opened once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/measure/nvml.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_nvml, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_NVML_FUNCTIONS(ROW)};

static const char *const names[] = {"libnvidia-ml.so.1", NULL};
static const struct atoll_library library = {
    .title = "NVML, the monitor library libnvidia-ml.so.1 of the NVIDIA driver,",
    .environment = NULL,
    .names = names,
    .remedy = "run on a node with an NVIDIA GPU and its driver",
    .functions = rows,
    .function_count = sizeof(rows) / sizeof(*rows),
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct atoll_nvml functions;
static struct atoll_err trouble = ATOLL_ERR_INIT;

static void open_library(void)
{
    atoll_library_open(&library, &functions, &trouble);
}

const struct atoll_nvml *atoll_nvml_open(struct atoll_err *err)
{
    pthread_once(&once, open_library);
    if (trouble.code == ATOLL_OK)
        return &functions;
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}
