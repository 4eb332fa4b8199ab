/* cupti.c - opened once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/process/cupti.h"

#include <pthread.h>
#include <stdio.h>

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_cupti, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_CUPTI_FUNCTIONS(ROW)};

static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12", NULL};
static const char *const roots[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda", NULL};
static const char *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib", NULL};
static const struct atoll_library library = {
    .title = "CUPTI, the counter library of the CUDA toolkit,",
    .environment = "ATOLL_CUPTI",
    .names = names,
    .roots = roots,
    .folders = folders,
    .remedy = "load the CUDA module, or set CUDA_HOME to a toolkit of CUDA 12.6 or newer, or ATOLL_CUPTI to "
              "the path of its libcupti.so",
    .functions = rows,
    .function_count = sizeof(rows) / sizeof(*rows),
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
    if (trouble.code == ATOLL_OK)
        return &functions;
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}

const char *atoll_cupti_describe(const struct atoll_cupti *cupti, unsigned int result, char *ret_text,
                                 size_t bytes)
{
    const char *name = NULL;
    if (cupti->cuptiGetResultString(result, &name) || !name)
        snprintf(ret_text, bytes, "CUPTI error %u", result);
    else
        snprintf(ret_text, bytes, "%s", name);
    return ret_text;
}

/* What a bad result means for whoever decides how to go on; all others are ATOLL_E_MISSING: no counters here. */
static const struct {
    unsigned int result;
    enum atoll_code code;
    const char *text; /* its first 95 bytes are what a profile keeps */
} meanings[] = {
    {ATOLL_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, ATOLL_E_DENIED,
     "counters are for administrators alone (ERR_NVGPUCTRPERM, NVreg_RestrictProfilingToAdminUsers)"},
    {ATOLL_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, ATOLL_E_DENIED,
     "the host of this virtual device keeps counters to itself"},
    {ATOLL_CUPTI_ERROR_HARDWARE_BUSY, ATOLL_E_DENIED, "another tool (DCGM, a profiler) holds the counters"},
    {ATOLL_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, ATOLL_E_DENIED, "another tool holds CUPTI"},
    {ATOLL_CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, ATOLL_E_DENIED, "another tool holds CUPTI"},
    {ATOLL_CUPTI_ERROR_OUT_OF_MEMORY, ATOLL_E_MEMORY, "the counters found no memory"},
    {ATOLL_CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, ATOLL_E_MISSING, "a virtual device has no counters"},
    {ATOLL_CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, ATOLL_E_MISSING,
     "a confidential device has no counters"},
    {ATOLL_CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, ATOLL_E_MISSING, "a MIG slice has no counters"},
    {ATOLL_CUPTI_ERROR_NOT_SUPPORTED, ATOLL_E_MISSING,
     "this device or driver has no counters for this CUPTI"},
    {ATOLL_CUPTI_ERROR_NOT_COMPATIBLE, ATOLL_E_MISSING,
     "CUPTI and driver do not fit: use a CUDA of the driver's age"},
};

int atoll_cupti_check(const struct atoll_cupti *cupti, unsigned int result, const char *call,
                      struct atoll_err *err)
{
    if (result == ATOLL_CUPTI_SUCCESS)
        return 0;
    char name[96];
    atoll_cupti_describe(cupti, result, name, sizeof(name));
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (meanings[i].result == result)
            return atoll_err_set(err, meanings[i].code, "%s (%s of %s)", meanings[i].text, name, call);
    return atoll_err_set(err, ATOLL_E_MISSING, "no counters on this device (%s of %s)", name, call);
}
