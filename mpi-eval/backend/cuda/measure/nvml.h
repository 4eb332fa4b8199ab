/* nvml.h - NVML, the monitor of NVIDIA devices, opened at run time; it needs no CUDA context.
 * Layer: mpi-eval, backend/cuda.  No foreign header is needed; a test compares everything with <nvml.h> where there is
 * one, with which this header can be included together.  Members carry the library's names; results are
 * nvmlReturn_t.  Source: NVML API reference. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_NVML_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_NVML_H

#include <stddef.h>

#include "base/err.h"
#include "base/library.h"

struct nvmlDevice_st;
struct nvmlEventSet_st;

struct atoll_nvml_utilization { /* nvmlUtilization_t, % of the last sample period */
    unsigned int gpu, memory;
};

struct atoll_nvml_process { /* nvmlProcessInfo_t, as of nvmlDeviceGetComputeRunningProcesses_v2 and _v3 */
    unsigned int pid;
    unsigned long long usedGpuMemory; /* bytes */
    unsigned int gpuInstanceId, computeInstanceId;
};

struct atoll_nvml_event { /* nvmlEventData_t */
    struct nvmlDevice_st *device;
    unsigned long long eventType;
    unsigned long long eventData; /* the number of an Xid */
    unsigned int gpuInstanceId, computeInstanceId;
};

struct atoll_nvml_pci { /* nvmlPciInfo_t */
    char busIdLegacy[16];
    unsigned int domain, bus, device;
    unsigned int pciDeviceId, pciSubSystemId;
    char busId[32];
};

/* Constants are NVML's with ATOLL_ before the name. */
#define ATOLL_NVML_CONSTANTS(X)                                                                              \
    X(NVML_SUCCESS, 0)                                                                                       \
    X(NVML_ERROR_UNINITIALIZED, 1)                                                                           \
    X(NVML_ERROR_INVALID_ARGUMENT, 2)                                                                        \
    X(NVML_ERROR_NOT_SUPPORTED, 3)                                                                           \
    X(NVML_ERROR_NO_PERMISSION, 4)                                                                           \
    X(NVML_ERROR_NOT_FOUND, 6)                                                                               \
    X(NVML_ERROR_INSUFFICIENT_SIZE, 7)                                                                       \
    X(NVML_ERROR_DRIVER_NOT_LOADED, 9)                                                                       \
    X(NVML_ERROR_TIMEOUT, 10)                                                                                \
    X(NVML_ERROR_FUNCTION_NOT_FOUND, 13)                                                                     \
    X(NVML_ERROR_GPU_IS_LOST, 15)                                                                            \
    X(NVML_ERROR_RESET_REQUIRED, 16)                                                                         \
    X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18)                                                                \
    X(NVML_ERROR_UNKNOWN, 999)                                                                               \
    X(NVML_CLOCK_GRAPHICS, 0)                                                                                \
    X(NVML_CLOCK_SM, 1)                                                                                      \
    X(NVML_CLOCK_MEM, 2)                                                                                     \
    X(NVML_TEMPERATURE_GPU, 0)                                                                               \
    X(NVML_MEMORY_ERROR_TYPE_CORRECTED, 0)                                                                   \
    X(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1)                                                                 \
    X(NVML_VOLATILE_ECC, 0)                                                                                  \
    X(NVML_AGGREGATE_ECC, 1)                                                                                 \
    X(NVML_DEVICE_MIG_DISABLE, 0)                                                                            \
    X(NVML_DEVICE_MIG_ENABLE, 1)                                                                             \
    X(NVML_DEVICE_UUID_V2_BUFFER_SIZE, 96)                                                                   \
    X(NVML_DEVICE_NAME_V2_BUFFER_SIZE, 96)                                                                   \
    X(NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE, 80)                                                            \
    X(nvmlClocksThrottleReasonGpuIdle, 0x1)                                                                  \
    X(nvmlClocksThrottleReasonApplicationsClocksSetting, 0x2)                                                \
    X(nvmlClocksThrottleReasonSwPowerCap, 0x4)                                                               \
    X(nvmlClocksThrottleReasonHwSlowdown, 0x8)                                                               \
    X(nvmlClocksThrottleReasonSyncBoost, 0x10)                                                               \
    X(nvmlClocksThrottleReasonSwThermalSlowdown, 0x20)                                                       \
    X(nvmlClocksThrottleReasonHwThermalSlowdown, 0x40)                                                       \
    X(nvmlClocksThrottleReasonHwPowerBrakeSlowdown, 0x80)                                                    \
    X(nvmlClocksThrottleReasonDisplayClockSetting, 0x100)                                                    \
    X(nvmlEventTypeSingleBitEccError, 0x1)                                                                   \
    X(nvmlEventTypeDoubleBitEccError, 0x2)                                                                   \
    X(nvmlEventTypeXidCriticalError, 0x8)

#define ATOLL_NVML_CONSTANT(name, value) ATOLL_##name = value,
enum atoll_nvml_constant { ATOLL_NVML_CONSTANTS(ATOLL_NVML_CONSTANT) };
#undef ATOLL_NVML_CONSTANT

/* X(optional, member, symbol, older symbol, result, parameters).  Optional and NULL with older drivers:
 * nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetMigMode; deprecated since CUDA 13.0, so that it may go:
 * nvmlDeviceGetTemperature. */
#define ATOLL_NVML_FUNCTIONS(X)                                                                              \
    X(0, nvmlInit, "nvmlInit_v2", NULL, unsigned int, (void))                                                \
    X(0, nvmlShutdown, "nvmlShutdown", NULL, unsigned int, (void))                                           \
    X(0, nvmlErrorString, "nvmlErrorString", NULL, const char *, (unsigned int result))                      \
    X(0, nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", NULL, unsigned int,                       \
      (char *ret_text, unsigned int length))                                                                 \
    X(0, nvmlSystemGetCudaDriverVersion, "nvmlSystemGetCudaDriverVersion", NULL, unsigned int,               \
      (int *ret_version))                                                                                    \
    X(0, nvmlDeviceGetCount, "nvmlDeviceGetCount_v2", NULL, unsigned int, (unsigned int *ret_count))         \
    X(0, nvmlDeviceGetHandleByIndex, "nvmlDeviceGetHandleByIndex_v2", NULL, unsigned int,                    \
      (unsigned int index, struct nvmlDevice_st **ret_device))                                               \
    X(0, nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID", NULL, unsigned int,                         \
      (const char *uuid, struct nvmlDevice_st **ret_device))                                                 \
    X(0, nvmlDeviceGetName, "nvmlDeviceGetName", NULL, unsigned int,                                         \
      (struct nvmlDevice_st * device, char *ret_name, unsigned int length))                                  \
    X(0, nvmlDeviceGetUUID, "nvmlDeviceGetUUID", NULL, unsigned int,                                         \
      (struct nvmlDevice_st * device, char *ret_uuid, unsigned int length))                                  \
    X(0, nvmlDeviceGetPciInfo, "nvmlDeviceGetPciInfo_v3", NULL, unsigned int,                                \
      (struct nvmlDevice_st * device, struct atoll_nvml_pci * ret_pci))                                      \
    X(0, nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", NULL, unsigned int,                               \
      (struct nvmlDevice_st * device, unsigned int clock, unsigned int *ret_mhz))                            \
    X(0, nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", NULL, unsigned int,                         \
      (struct nvmlDevice_st * device, unsigned int clock, unsigned int *ret_mhz))                            \
    X(0, nvmlDeviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons",                   \
      "nvmlDeviceGetCurrentClocksThrottleReasons", unsigned int,                                             \
      (struct nvmlDevice_st * device, unsigned long long *ret_reasons))                                      \
    X(1, nvmlDeviceGetMigMode, "nvmlDeviceGetMigMode", NULL, unsigned int,                                   \
      (struct nvmlDevice_st * device, unsigned int *ret_current, unsigned int *ret_pending))                 \
    X(0, nvmlDeviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors", NULL, unsigned int,                     \
      (struct nvmlDevice_st * device, unsigned int type, unsigned int counter,                               \
       unsigned long long *ret_count))                                                                       \
    X(1, nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3",                    \
      "nvmlDeviceGetComputeRunningProcesses_v2", unsigned int,                                               \
      (struct nvmlDevice_st * device, unsigned int *count, struct atoll_nvml_process *ret_processes))        \
    X(0, nvmlDeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", NULL, unsigned int,                 \
      (struct nvmlDevice_st * device, struct atoll_nvml_utilization * ret_utilization))                      \
    X(1, nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", NULL, unsigned int,                           \
      (struct nvmlDevice_st * device, unsigned int sensor, unsigned int *ret_celsius))                       \
    X(0, nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", NULL, unsigned int,                             \
      (struct nvmlDevice_st * device, unsigned int *ret_milliwatt))                                          \
    X(0, nvmlDeviceGetSupportedEventTypes, "nvmlDeviceGetSupportedEventTypes", NULL, unsigned int,           \
      (struct nvmlDevice_st * device, unsigned long long *ret_types))                                        \
    X(0, nvmlDeviceRegisterEvents, "nvmlDeviceRegisterEvents", NULL, unsigned int,                           \
      (struct nvmlDevice_st * device, unsigned long long types, struct nvmlEventSet_st *set))                \
    X(0, nvmlEventSetCreate, "nvmlEventSetCreate", NULL, unsigned int, (struct nvmlEventSet_st * *ret_set))  \
    X(0, nvmlEventSetWait, "nvmlEventSetWait_v2", "nvmlEventSetWait", unsigned int,                          \
      (struct nvmlEventSet_st * set, struct atoll_nvml_event * ret_event, unsigned int timeout_ms))          \
    X(0, nvmlEventSetFree, "nvmlEventSetFree", NULL, unsigned int, (struct nvmlEventSet_st * set))

struct atoll_nvml {
    ATOLL_NVML_FUNCTIONS(ATOLL_LIBRARY_MEMBER)
};

/* The one table of the process; any thread.  Opens only: nvmlInit is the caller's.  NULL: ATOLL_E_MISSING with the
 * remedy, the same each time. */
const struct atoll_nvml *atoll_nvml_open(struct atoll_err *err);

#endif
