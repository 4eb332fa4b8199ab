/* cupti.c - opened once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/cupti.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_cupti, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_CUPTI_FUNCTIONS(ROW)};

static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12", NULL};
static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib", NULL};
static const struct atoll_library library = {
    .title = "CUPTI, the counter library of the CUDA toolkit,",
    .environment = "ATOLL_CUPTI",
    .names = names,
    .folders = folders,
    .remedy = "load the CUDA module, or set CUDA_HOME to a toolkit of CUDA 12.6 or newer, or ATOLL_CUPTI to "
              "the path of its libcupti.so",
    .functions = rows,
    .function_count = sizeof rows / sizeof *rows,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct atoll_cupti functions;
static struct atoll_err trouble = ATOLL_ERR_INIT;

static void open_library(void)
{
    atoll_library_open(&library, &functions, &trouble);
}

const struct atoll_cupti *atoll_cupti_open(struct atoll_err *err)
{
    pthread_once(&once, open_library);
    if (trouble.code == ATOLL_OK) {
        return &functions;
    }
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}

const char *atoll_cupti_describe(const struct atoll_cupti *cupti, unsigned int result, char *ret_text,
                                 size_t bytes)
{
    const char *name = NULL;
    if (cupti->cuptiGetResultString(result, &name) || !name) {
        snprintf(ret_text, bytes, "CUPTI error %u", result);
    } else {
        snprintf(ret_text, bytes, "%s", name);
    }
    return ret_text;
}
