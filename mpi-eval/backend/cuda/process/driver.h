/* driver.h - the CUDA driver (libcuda.so.1), opened at run time.
 * Layer: mpi-eval, backend/cuda.  No toolkit header is needed; a test compares every prototype, struct and constant
 * with the toolkit's <cuda.h>, with which this header can be included together.  Members carry the names of cuda.h and
 * hold the version of the symbol that cuda.h of CUDA 12 and 13 maps the name to.  Results are CUresult; handles are the
 * driver's own.  Source: CUDA driver API reference. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_DRIVER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/library.h"

typedef unsigned long long atoll_cuda_address; /* CUdeviceptr */

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

struct atoll_cuda_uuid { /* CUuuid */
    char bytes[16];
};

#define ATOLL_CUDA_IPC_BYTES 64
struct atoll_cuda_ipc { /* CUipcMemHandle */
    char reserved[ATOLL_CUDA_IPC_BYTES];
};

/* CUlaunchAttribute; the value is 64 bytes, of which ours are named */
union atoll_cuda_launch_value {
    char pad[64];
    int cooperative;
    struct {
        unsigned int x, y, z;
    } clusterDim;
    uint64_t aligned;
};

struct atoll_cuda_launch_attribute {
    unsigned int id; /* ATOLL_CU_LAUNCH_ATTRIBUTE_... */
    char pad[4];
    union atoll_cuda_launch_value value;
};

struct atoll_cuda_launch { /* CUlaunchConfig */
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    struct CUstream_st *hStream;
    struct atoll_cuda_launch_attribute *attrs; /* borrowed for the call */
    unsigned int numAttrs;
};

/* CUmemAllocationProp: pinned memory of one device, nothing else asked for where the rest is 0 */
struct atoll_cuda_memory_kind {
    unsigned int type, requestedHandleTypes; /* ATOLL_CU_MEM_ALLOCATION_TYPE_PINNED, 0 */
    struct {
        unsigned int type; /* ATOLL_CU_MEM_LOCATION_TYPE_DEVICE */
        int id;
    } location;
    void *win32HandleMetaData;
    uint64_t allocFlags;
};

struct atoll_cuda_memory_access { /* CUmemAccessDesc */
    struct {
        unsigned int type;
        int id;
    } location;
    unsigned int flags; /* ATOLL_CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
};

/* CUtensorMap.  The toolkit's type asks for 64 bytes of alignment in CUDA 12 and for 128 in CUDA 13. */
struct atoll_cuda_tensor_map {
    _Alignas(128) uint64_t opaque[16];
};

/* Constants are the toolkit's with ATOLL_ before the name. */
#define ATOLL_CUDA_CONSTANTS(X)                                                                              \
    X(CUDA_SUCCESS, 0)                                                                                       \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                                                           \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                           \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                                         \
    X(CUDA_ERROR_DEINITIALIZED, 4)                                                                           \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                                     \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                             \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                                        \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                                                         \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                                       \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                                     \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                                     \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215)                                                                     \
    X(CUDA_ERROR_INVALID_PTX, 218)                                                                           \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                                                                  \
    X(CUDA_ERROR_CONTAINED, 226)                                                                             \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304)                                                                      \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                                                        \
    X(CUDA_ERROR_ILLEGAL_STATE, 401)                                                                         \
    X(CUDA_ERROR_NOT_FOUND, 500)                                                                             \
    X(CUDA_ERROR_NOT_READY, 600)                                                                             \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                       \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                               \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                        \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708)                                                                \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                                  \
    X(CUDA_ERROR_ASSERT, 710)                                                                                \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                                  \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                                   \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                    \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                                 \
    X(CUDA_ERROR_INVALID_PC, 718)                                                                            \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                                         \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)                                                          \
    X(CUDA_ERROR_NOT_PERMITTED, 800)                                                                         \
    X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                                         \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                                      \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                                \
    X(CUDA_ERROR_EXTERNAL_DEVICE, 911)                                                                       \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912)                                                                  \
    X(CUDA_ERROR_UNKNOWN, 999)                                                                               \
    X(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, 1)                                                                 \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                                                      \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1)                                                                        \
    X(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)                                                                 \
    X(CU_CTX_SCHED_AUTO, 0)                                                                                  \
    X(CU_CTX_SCHED_SPIN, 1)                                                                                  \
    X(CU_CTX_SCHED_YIELD, 2)                                                                                 \
    X(CU_CTX_SCHED_BLOCKING_SYNC, 4)                                                                         \
    X(CU_CTX_MAP_HOST, 8)                                                                                    \
    X(CU_CTX_LMEM_RESIZE_TO_MAX, 16)                                                                         \
    X(CU_STREAM_DEFAULT, 0)                                                                                  \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                             \
    X(CU_EVENT_DEFAULT, 0)                                                                                   \
    X(CU_EVENT_BLOCKING_SYNC, 1)                                                                             \
    X(CU_EVENT_DISABLE_TIMING, 2)                                                                            \
    X(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                           \
    X(CU_MEMHOSTALLOC_WRITECOMBINED, 4)                                                                      \
    X(CU_LIMIT_STACK_SIZE, 0)                                                                                \
    X(CU_LIMIT_PRINTF_FIFO_SIZE, 1)                                                                          \
    X(CU_LIMIT_MALLOC_HEAP_SIZE, 2)                                                                          \
    X(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 5)                                                                  \
    X(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 6)                                                                  \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                            \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                                \
    X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2)                                                                 \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                                 \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                                         \
    X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5)                                                                      \
    X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6)                                                                   \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                    \
    X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)                                                 \
    X(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 10)                                                        \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 11)                                                          \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 12)                                                         \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 13)                                                          \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                                               \
    X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                                    \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                              \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                          \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3)                                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4)                                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                    \
    X(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 9)                                                          \
    X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                                     \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                                                       \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13) /* kHz */                                                          \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                          \
    X(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17)                                                           \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                                                                  \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31)                                                            \
    X(CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32)                                                                   \
    X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)       /* kHz */                                             \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37) /* bits */                                            \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                                                            \
    X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                                                                 \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                      \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                      \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                          \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                              \
    X(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88)                                                        \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89)                                                     \
    X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                                            \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                             \
    X(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100)                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 108)                                                 \
    X(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 109)                                                \
    X(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)                                             \
    X(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120)                                                               \
    X(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 127)                                                  \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                                                      \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT16, 1)                                                                     \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT32, 2)                                                                     \
    X(CU_TENSOR_MAP_DATA_TYPE_INT32, 3)                                                                      \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT64, 4)                                                                     \
    X(CU_TENSOR_MAP_DATA_TYPE_INT64, 5)                                                                      \
    X(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6)                                                                    \
    X(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7)                                                                    \
    X(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8)                                                                    \
    X(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9)                                                                   \
    X(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 11)                                                                  \
    X(CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                                                                      \
    X(CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                                                         \
    X(CU_TENSOR_MAP_SWIZZLE_32B, 1)                                                                          \
    X(CU_TENSOR_MAP_SWIZZLE_64B, 2)                                                                          \
    X(CU_TENSOR_MAP_SWIZZLE_128B, 3)                                                                         \
    X(CU_TENSOR_MAP_L2_PROMOTION_NONE, 0)                                                                    \
    X(CU_TENSOR_MAP_L2_PROMOTION_L2_64B, 1)                                                                  \
    X(CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                                                                 \
    X(CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3)                                                                 \
    X(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                                                                  \
    X(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, 1)

#define ATOLL_CUDA_CONSTANT(name, value) ATOLL_##name = value,
enum atoll_cuda_constant { ATOLL_CUDA_CONSTANTS(ATOLL_CUDA_CONSTANT) };
#undef ATOLL_CUDA_CONSTANT

/* X(optional, member, symbol, older symbol, result, parameters).  Optional and NULL with older drivers:
 * cuFuncGetParamInfo (CUDA 12.4), cuFuncGetName (12.3), and memory of other processes and such that is mapped, which not every platform has.  The driver must be one of CUDA 12.0 or newer. */
#define ATOLL_CUDA_FUNCTIONS(X)                                                                              \
    X(0, cuInit, "cuInit", NULL, unsigned int, (unsigned int flags))                                         \
    X(0, cuDriverGetVersion, "cuDriverGetVersion", NULL, unsigned int, (int *ret_version))                   \
    X(0, cuGetErrorName, "cuGetErrorName", NULL, unsigned int, (unsigned int result, const char **ret_text)) \
    X(0, cuGetErrorString, "cuGetErrorString", NULL, unsigned int,                                           \
      (unsigned int result, const char **ret_text))                                                          \
    X(0, cuDeviceGet, "cuDeviceGet", NULL, unsigned int, (int *ret_device, int ordinal))                     \
    X(0, cuDeviceGetCount, "cuDeviceGetCount", NULL, unsigned int, (int *ret_count))                         \
    X(0, cuDeviceGetName, "cuDeviceGetName", NULL, unsigned int, (char *ret_name, int length, int device))   \
    X(0, cuDeviceGetUuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid", unsigned int,                             \
      (struct atoll_cuda_uuid * ret_uuid, int device))                                                       \
    X(0, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", NULL, unsigned int,                                     \
      (char *ret_text, int length, int device))                                                              \
    X(0, cuDeviceTotalMem, "cuDeviceTotalMem_v2", NULL, unsigned int, (size_t * ret_bytes, int device))      \
    X(0, cuDeviceGetAttribute, "cuDeviceGetAttribute", NULL, unsigned int,                                   \
      (int *ret_value, unsigned int attribute, int device))                                                  \
    X(0, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", NULL, unsigned int,                           \
      (struct CUctx_st * *ret_context, int device))                                                          \
    X(0, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", NULL, unsigned int, (int device))        \
    X(0, cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2", NULL, unsigned int, (int device))            \
    X(0, cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2", NULL, unsigned int,                    \
      (int device, unsigned int flags))                                                                      \
    X(0, cuCtxSetCurrent, "cuCtxSetCurrent", NULL, unsigned int, (struct CUctx_st * context))                \
    X(0, cuCtxGetCurrent, "cuCtxGetCurrent", NULL, unsigned int, (struct CUctx_st * *ret_context))           \
    X(0, cuCtxGetDevice, "cuCtxGetDevice", NULL, unsigned int, (int *ret_device))                            \
    X(0, cuCtxSetLimit, "cuCtxSetLimit", NULL, unsigned int, (unsigned int limit, size_t value))             \
    X(0, cuCtxGetLimit, "cuCtxGetLimit", NULL, unsigned int, (size_t * ret_value, unsigned int limit))       \
    X(0, cuCtxSynchronize, "cuCtxSynchronize", NULL, unsigned int, (void))                                   \
    X(0, cuCtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache", NULL, unsigned int, (void))             \
    X(0, cuModuleLoadData, "cuModuleLoadData", NULL, unsigned int,                                           \
      (struct CUmod_st * *ret_module, const void *image))                                                    \
    X(0, cuModuleUnload, "cuModuleUnload", NULL, unsigned int, (struct CUmod_st * module))                   \
    X(0, cuModuleGetFunction, "cuModuleGetFunction", NULL, unsigned int,                                     \
      (struct CUfunc_st * *ret_function, struct CUmod_st * module, const char *name))                        \
    X(0, cuModuleGetGlobal, "cuModuleGetGlobal_v2", NULL, unsigned int,                                      \
      (atoll_cuda_address * ret_address, size_t * ret_bytes, struct CUmod_st * module, const char *name))    \
    X(0, cuFuncGetAttribute, "cuFuncGetAttribute", NULL, unsigned int,                                       \
      (int *ret_value, unsigned int attribute, struct CUfunc_st *function))                                  \
    X(0, cuFuncSetAttribute, "cuFuncSetAttribute", NULL, unsigned int,                                       \
      (struct CUfunc_st * function, unsigned int attribute, int value))                                      \
    X(1, cuFuncGetParamInfo, "cuFuncGetParamInfo", NULL, unsigned int,                                       \
      (struct CUfunc_st * function, size_t index, size_t * ret_offset, size_t * ret_bytes))                  \
    X(1, cuFuncGetName, "cuFuncGetName", NULL, unsigned int,                                                 \
      (const char **ret_name, struct CUfunc_st *function))                                                   \
    X(0, cuLaunchKernelEx, "cuLaunchKernelEx", NULL, unsigned int,                                           \
      (const struct atoll_cuda_launch *launch, struct CUfunc_st *function, void **params, void **extra))     \
    X(0, cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", NULL, unsigned int,                   \
      (int *ret_count, struct CUfunc_st *function, const struct atoll_cuda_launch *launch))                  \
    X(0, cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL,   \
      unsigned int, (int *ret_count, struct CUfunc_st *function, int threads, size_t dynamic_shared_bytes))  \
    X(0, cuMemAlloc, "cuMemAlloc_v2", NULL, unsigned int, (atoll_cuda_address * ret_address, size_t bytes))  \
    X(0, cuMemFree, "cuMemFree_v2", NULL, unsigned int, (atoll_cuda_address address))                        \
    X(0, cuMemGetInfo, "cuMemGetInfo_v2", NULL, unsigned int, (size_t * ret_free, size_t * ret_total))       \
    X(0, cuMemGetAddressRange, "cuMemGetAddressRange_v2", NULL, unsigned int,                                \
      (atoll_cuda_address * ret_base, size_t * ret_bytes, atoll_cuda_address address))                       \
    X(1, cuIpcGetMemHandle, "cuIpcGetMemHandle", NULL, unsigned int,                                         \
      (struct atoll_cuda_ipc * ret_handle, atoll_cuda_address address))                                      \
    X(1, cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2", NULL, unsigned int,                                    \
      (atoll_cuda_address * ret_address, struct atoll_cuda_ipc handle, unsigned int flags))                  \
    X(1, cuIpcCloseMemHandle, "cuIpcCloseMemHandle", NULL, unsigned int, (atoll_cuda_address address))       \
    X(1, cuMemAddressReserve, "cuMemAddressReserve", NULL, unsigned int,                                     \
      (atoll_cuda_address * ret_address, size_t bytes, size_t alignment, atoll_cuda_address wanted,          \
       unsigned long long flags))                                                                            \
    X(1, cuMemAddressFree, "cuMemAddressFree", NULL, unsigned int,                                           \
      (atoll_cuda_address address, size_t bytes))                                                            \
    X(1, cuMemCreate, "cuMemCreate", NULL, unsigned int,                                                     \
      (unsigned long long *ret_memory, size_t bytes, const struct atoll_cuda_memory_kind *kind,              \
       unsigned long long flags))                                                                            \
    X(1, cuMemRelease, "cuMemRelease", NULL, unsigned int, (unsigned long long memory))                      \
    X(1, cuMemMap, "cuMemMap", NULL, unsigned int,                                                           \
      (atoll_cuda_address address, size_t bytes, size_t offset, unsigned long long memory,                   \
       unsigned long long flags))                                                                            \
    X(1, cuMemUnmap, "cuMemUnmap", NULL, unsigned int, (atoll_cuda_address address, size_t bytes))           \
    X(1, cuMemSetAccess, "cuMemSetAccess", NULL, unsigned int,                                               \
      (atoll_cuda_address address, size_t bytes, const struct atoll_cuda_memory_access *access,              \
       size_t count))                                                                                        \
    X(0, cuMemHostAlloc, "cuMemHostAlloc", NULL, unsigned int,                                               \
      (void **ret_memory, size_t bytes, unsigned int flags))                                                 \
    X(0, cuMemFreeHost, "cuMemFreeHost", NULL, unsigned int, (void *memory))                                 \
    X(0, cuMemcpyHtoD, "cuMemcpyHtoD_v2", NULL, unsigned int,                                                \
      (atoll_cuda_address to, const void *from, size_t bytes))                                               \
    X(0, cuMemcpyDtoH, "cuMemcpyDtoH_v2", NULL, unsigned int,                                                \
      (void *to, atoll_cuda_address from, size_t bytes))                                                     \
    X(0, cuMemcpyDtoD, "cuMemcpyDtoD_v2", NULL, unsigned int,                                                \
      (atoll_cuda_address to, atoll_cuda_address from, size_t bytes))                                        \
    X(0, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", NULL, unsigned int,                                      \
      (atoll_cuda_address to, const void *from, size_t bytes, struct CUstream_st *stream))                   \
    X(0, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", NULL, unsigned int,                                      \
      (void *to, atoll_cuda_address from, size_t bytes, struct CUstream_st *stream))                         \
    X(0, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", NULL, unsigned int,                                      \
      (atoll_cuda_address to, atoll_cuda_address from, size_t bytes, struct CUstream_st * stream))           \
    X(0, cuMemsetD8, "cuMemsetD8_v2", NULL, unsigned int,                                                    \
      (atoll_cuda_address to, unsigned char value, size_t count))                                            \
    X(0, cuMemsetD8Async, "cuMemsetD8Async", NULL, unsigned int,                                             \
      (atoll_cuda_address to, unsigned char value, size_t count, struct CUstream_st *stream))                \
    X(0, cuMemsetD32, "cuMemsetD32_v2", NULL, unsigned int,                                                  \
      (atoll_cuda_address to, unsigned int value, size_t count))                                             \
    X(0, cuMemsetD32Async, "cuMemsetD32Async", NULL, unsigned int,                                           \
      (atoll_cuda_address to, unsigned int value, size_t count, struct CUstream_st *stream))                 \
    X(0, cuEventCreate, "cuEventCreate", NULL, unsigned int,                                                 \
      (struct CUevent_st * *ret_event, unsigned int flags))                                                  \
    X(0, cuEventRecord, "cuEventRecord", NULL, unsigned int,                                                 \
      (struct CUevent_st * event, struct CUstream_st * stream))                                              \
    X(0, cuEventQuery, "cuEventQuery", NULL, unsigned int, (struct CUevent_st * event))                      \
    X(0, cuEventSynchronize, "cuEventSynchronize", NULL, unsigned int, (struct CUevent_st * event))          \
    X(0, cuEventElapsedTime, "cuEventElapsedTime_v2", "cuEventElapsedTime", unsigned int,                    \
      (float *ret_ms, struct CUevent_st *start, struct CUevent_st *end))                                     \
    X(0, cuEventDestroy, "cuEventDestroy_v2", NULL, unsigned int, (struct CUevent_st * event))               \
    X(0, cuStreamCreate, "cuStreamCreate", NULL, unsigned int,                                               \
      (struct CUstream_st * *ret_stream, unsigned int flags))                                                \
    X(0, cuStreamSynchronize, "cuStreamSynchronize", NULL, unsigned int, (struct CUstream_st * stream))      \
    X(0, cuStreamQuery, "cuStreamQuery", NULL, unsigned int, (struct CUstream_st * stream))                  \
    X(0, cuStreamWaitEvent, "cuStreamWaitEvent", NULL, unsigned int,                                         \
      (struct CUstream_st * stream, struct CUevent_st * event, unsigned int flags))                          \
    X(0, cuStreamDestroy, "cuStreamDestroy_v2", NULL, unsigned int, (struct CUstream_st * stream))           \
    X(0, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", NULL, unsigned int,                               \
      (struct atoll_cuda_tensor_map * ret_map, unsigned int type, uint32_t rank, void *address,              \
       const uint64_t *extent, const uint64_t *stride_bytes, const uint32_t *box,                            \
       const uint32_t *element_strides, unsigned int interleave, unsigned int swizzle, unsigned int l2,      \
       unsigned int fill))

struct atoll_cuda {
    ATOLL_CUDA_FUNCTIONS(ATOLL_LIBRARY_MEMBER)
};

/* The one table of the process; any thread.  Opens only: cuInit is the caller's.  NULL: ATOLL_E_MISSING with the
 * remedy, the same each time. */
const struct atoll_cuda *atoll_cuda_open(struct atoll_err *err);

/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" into ret_text; a result that the driver does
 * not know gives "CUDA error 4711".  Returns ret_text. */
const char *atoll_cuda_describe(const struct atoll_cuda *cuda, unsigned int result, char *ret_text,
                                size_t bytes);

/* -1, filled; what: the clause before the driver's own words. */
int atoll_cuda_fail(const struct atoll_cuda *cuda, unsigned result, const char *what, struct atoll_err *err);

#define ATOLL_CUDA_PORTABLE_CLUSTER 8u /* blocks, on every device that has clusters */

struct atoll_cuda_facts;

/* A device by "GPU-<uuid>", also cut where it is unique, or by its ordinal. */
int atoll_cuda_device_find(const struct atoll_cuda *cuda, const char *wanted, int *ret_device,
                           struct atoll_err *err);
/* Its facts (worker.h); there is a current context. */
int atoll_cuda_device_facts(const struct atoll_cuda *cuda, int device, struct atoll_cuda_facts *ret_facts,
                            struct atoll_err *err);

#endif
