/* The library is opened once per process; the outcome, also a bad one, stays. */
#include "mpi-eval/backend/cuda/process/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/worker.h"

#define ROW(optional, member, symbol, older, result, parameters)                                             \
    {symbol, older, offsetof(struct atoll_cuda, member), optional},
static const struct atoll_library_function rows[] = {ATOLL_CUDA_FUNCTIONS(ROW)};

static const char *const names[] = {"libcuda.so.1", NULL};
static const struct atoll_library library = {
    .title = "the CUDA driver library libcuda.so.1",
    .environment = NULL,
    .names = names,
    .remedy = "run on a node with an NVIDIA GPU and its driver, of CUDA 12.0 or newer",
    .functions = rows,
    .function_count = sizeof(rows) / sizeof(*rows),
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
    if (trouble.code == ATOLL_OK)
        return &functions;
    atoll_err_set(err, trouble.code, "%s", trouble.text);
    return NULL;
}

const char *atoll_cuda_describe(const struct atoll_cuda *cuda, unsigned int result, char *ret_text,
                                size_t bytes)
{
    const char *name = NULL;
    const char *text = NULL;
    if (cuda->cuGetErrorName(result, &name) || cuda->cuGetErrorString(result, &text) || !name || !text)
        snprintf(ret_text, bytes, "CUDA error %u", result);
    else
        snprintf(ret_text, bytes, "%s: %s", name, text);
    return ret_text;
}

int atoll_cuda_fail(const struct atoll_cuda *cuda, unsigned result, const char *what, struct atoll_err *err)
{
    char text[256];
    return atoll_err_set(err, result == ATOLL_CUDA_ERROR_OUT_OF_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_CHILD,
                         "%s: %s", what, atoll_cuda_describe(cuda, result, text, sizeof(text)));
}

static void uuid_text(const struct atoll_cuda_uuid *uuid, char *text, size_t bytes)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(text, bytes, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

int atoll_cuda_device_find(const struct atoll_cuda *cuda, const char *wanted, int *ret_device,
                           struct atoll_err *err)
{
    int count = 0;
    char *end;
    unsigned result = cuda->cuInit(0);
    if (result == ATOLL_CUDA_SUCCESS)
        result = cuda->cuDeviceGetCount(&count);
    if (result != ATOLL_CUDA_SUCCESS || count == 0) {
        char text[256];
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "no CUDA device can be used: %s; look at nvidia-smi and at CUDA_VISIBLE_DEVICES",
                             result ? atoll_cuda_describe(cuda, result, text, sizeof(text))
                                    : "there is none");
    }
    long ordinal = strtol(wanted, &end, 10);
    for (int i = 0; i < count; i++) {
        struct atoll_cuda_uuid uuid;
        char text[64] = "";
        if (cuda->cuDeviceGet(ret_device, i) != ATOLL_CUDA_SUCCESS)
            continue;
        if (cuda->cuDeviceGetUuid(&uuid, *ret_device) == ATOLL_CUDA_SUCCESS)
            uuid_text(&uuid, text, sizeof(text));
        /* A UUID may be cut where it is unique, as the driver allows it. */
        if ((strncmp(wanted, "GPU-", 4) == 0 && wanted[4] && strncmp(text, wanted, strlen(wanted)) == 0) ||
            (end != wanted && !*end && ordinal == i))
            return 0;
    }
    return atoll_err_set(err, ATOLL_E_MISSING, "CUDA device %s is not here; %d device%s can be seen", wanted,
                         count, count == 1 ? "" : "s");
}

static uint32_t attribute(const struct atoll_cuda *cuda, int device, unsigned which)
{
    int value = 0;
    return cuda->cuDeviceGetAttribute(&value, which, device) == ATOLL_CUDA_SUCCESS && value > 0
               ? (uint32_t)value
               : 0;
}

static void limits_read(const struct atoll_cuda *cuda, int device, struct atoll_device_limits *l)
{
    const struct {
        uint32_t *to;
        unsigned which;
    } attributes[] = {
        {&l->multiprocessors, ATOLL_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&l->warp_size, ATOLL_CU_DEVICE_ATTRIBUTE_WARP_SIZE},
        {&l->threads_per_block, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&l->threads_per_multiprocessor, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {&l->blocks_per_multiprocessor, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {&l->registers_per_multiprocessor, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&l->registers_per_block, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
        {&l->shared_bytes_per_block, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {&l->shared_bytes_per_multiprocessor, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
        {&l->cooperative, ATOLL_CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
        {&l->grid[0], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
        {&l->grid[1], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
        {&l->grid[2], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
        {&l->block[0], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
        {&l->block[1], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
        {&l->block[2], ATOLL_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
        {&l->host_memory, ATOLL_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        *attributes[i].to = attribute(cuda, device, attributes[i].which);
    l->compute_capability = attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                            attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    /* 8 on every device that has clusters; 16 is non-portable but there on compute capability 9.0 */
    if (attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
        l->cluster_blocks = l->compute_capability == 90 ? 16 : ATOLL_CUDA_PORTABLE_CLUSTER;
    l->clock_hz = 1e3 * attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    l->memory_clock_hz = 1e3 * attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
}

int atoll_cuda_device_facts(const struct atoll_cuda *cuda, int device, struct atoll_cuda_facts *ret_facts,
                            struct atoll_err *err)
{
    struct atoll_cuda_uuid uuid;
    size_t free_bytes = 0, total = 0;
    int version = 0;
    memset(ret_facts, 0, sizeof(*ret_facts));
    unsigned r = cuda->cuDeviceGetName(ret_facts->model, (int)sizeof(ret_facts->model), device);
    if (r == ATOLL_CUDA_SUCCESS)
        r = cuda->cuDeviceGetUuid(&uuid, device);
    if (r == ATOLL_CUDA_SUCCESS)
        r = cuda->cuMemGetInfo(&free_bytes, &total);
    if (r != ATOLL_CUDA_SUCCESS)
        return atoll_cuda_fail(cuda, r, "cannot read the device's facts", err);
    uuid_text(&uuid, ret_facts->uuid, sizeof(ret_facts->uuid));
    if (cuda->cuDeviceGetPCIBusId(ret_facts->pci, (int)sizeof(ret_facts->pci), device) != ATOLL_CUDA_SUCCESS)
        ret_facts->pci[0] = '\0';
    limits_read(cuda, device, &ret_facts->limits);
    cuda->cuDriverGetVersion(&version);
    snprintf(ret_facts->limits.driver, sizeof(ret_facts->limits.driver), "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    ret_facts->limits.memory_bytes = (double)total;
    ret_facts->free_bytes = free_bytes;
    ret_facts->compute_mode = attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    ret_facts->last_level_cache_bytes = attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    ret_facts->persisting_cache_bytes =
        attribute(cuda, device, ATOLL_CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
    return 0;
}
