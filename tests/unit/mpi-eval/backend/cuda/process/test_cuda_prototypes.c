/* What we declare of the vendor's libraries is what their headers declare: every prototype, symbol, struct and constant,
 * at compile time.  Parts whose headers this machine lacks are named and skipped. */
#include "tests/support/expect.h"

#include <stdio.h>

#if defined(__has_include)
#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#if CUDA_VERSION >= 12080 /* the first one whose names map to the symbols that we look up */
#define HAVE_TOOLKIT 1
#endif
#endif
#if defined(HAVE_TOOLKIT) && __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
#include <cupti_result.h>
#include <cupti_version.h>
#include <cupti_target.h>
#include <cupti_profiler_target.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#define HAVE_CUPTI 1
#endif
#if __has_include(<nvml.h>)
#include <nvml.h>
#ifdef nvmlClocksEventReasonGpuIdle /* of the first one that knows "event reasons" (CUDA 12.2) */
#define HAVE_NVML 1
#endif
#endif
#endif

#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/measure/nvml.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"

/* A library keeps what its header calls deprecated; what went is optional with us. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name) /* after the toolkit's mapping of names to versions */

#define SAME_VALUE(name, value) _Static_assert((long long)name == (long long)(value), #name);
#define SAME_FUNCTION(optional, member, symbol, older, result, parameters)                                   \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&member), result(*) parameters), #member);        \
    assert_string_equal(TEXT(member), symbol);
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours);
#define SAME_FIELD(ours, theirs, name)                                                                       \
    _Static_assert(offsetof(struct ours, name) == offsetof(theirs, name), #ours "." #name);                  \
    _Static_assert(sizeof(((struct ours *)0)->name) == sizeof(((theirs *)0)->name), #ours "." #name);

#define NO_TOOLKIT "no <cuda.h> and <nvrtc.h> of CUDA 12.8 or newer on this machine"
#define NO_CUPTI   "no headers of CUPTI's range profiler on this machine"
#define NO_NVML    "no <nvml.h> of CUDA 12.2 or newer on this machine"

#if !defined(HAVE_TOOLKIT) || !defined(HAVE_CUPTI) || !defined(HAVE_NVML)
static void missing(const char *what)
{
    print_message("skipped: %s\n", what);
    skip();
}
#endif

/* ---- structs and constants ---- */

static void driver_values(void **state)
{
#ifdef HAVE_TOOLKIT
    ATOLL_CUDA_CONSTANTS(SAME_VALUE)
    _Static_assert(__builtin_types_compatible_p(atoll_cuda_address, CUdeviceptr), "CUdeviceptr");
    _Static_assert(__builtin_types_compatible_p(int, CUdevice), "CUdevice");
    SAME_SIZE(atoll_cuda_uuid, CUuuid)
    SAME_FIELD(atoll_cuda_uuid, CUuuid, bytes)
    SAME_SIZE(atoll_cuda_ipc, CUipcMemHandle)
    SAME_FIELD(atoll_cuda_ipc, CUipcMemHandle, reserved)
    SAME_SIZE(atoll_cuda_memory_kind, CUmemAllocationProp)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, type)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, requestedHandleTypes)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, location.type)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, location.id)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, win32HandleMetaData)
    SAME_FIELD(atoll_cuda_memory_kind, CUmemAllocationProp, allocFlags)
    SAME_SIZE(atoll_cuda_memory_access, CUmemAccessDesc)
    SAME_FIELD(atoll_cuda_memory_access, CUmemAccessDesc, location.type)
    SAME_FIELD(atoll_cuda_memory_access, CUmemAccessDesc, location.id)
    SAME_FIELD(atoll_cuda_memory_access, CUmemAccessDesc, flags)
    SAME_SIZE(atoll_cuda_tensor_map, CUtensorMap)
    SAME_FIELD(atoll_cuda_tensor_map, CUtensorMap, opaque)
    _Static_assert(_Alignof(struct atoll_cuda_tensor_map) >= _Alignof(CUtensorMap), "CUtensorMap");
    SAME_SIZE(atoll_cuda_launch_attribute, CUlaunchAttribute)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, id)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, value)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, value.cooperative)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, value.clusterDim.x)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, value.clusterDim.y)
    SAME_FIELD(atoll_cuda_launch_attribute, CUlaunchAttribute, value.clusterDim.z)
    _Static_assert(_Alignof(struct atoll_cuda_launch_attribute) == _Alignof(CUlaunchAttribute), "alignment");
    SAME_SIZE(atoll_cuda_launch, CUlaunchConfig)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, gridDimX)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, gridDimY)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, gridDimZ)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, blockDimX)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, blockDimY)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, blockDimZ)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, sharedMemBytes)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, hStream)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, attrs)
    SAME_FIELD(atoll_cuda_launch, CUlaunchConfig, numAttrs)
#else
    missing(NO_TOOLKIT);
#endif
}

static void nvrtc_values(void **state)
{
#ifdef HAVE_TOOLKIT
    ATOLL_NVRTC_CONSTANTS(SAME_VALUE)
#else
    missing(NO_TOOLKIT);
#endif
}

/* In a block per struct, with both under one name, so that each field can be compared. */
#define SAME_CUPTI_FIELD(type, name)                                                                         \
    _Static_assert(offsetof(ours, name) == offsetof(theirs, name), #name);                                   \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((theirs *)0)->name), type), #name);
#define SAME_CUPTI_STRUCT(our, their, last, fields)                                                          \
    {                                                                                                        \
        typedef struct atoll_cupti_##our ours;                                                               \
        typedef struct their theirs;                                                                         \
        _Static_assert(sizeof(ours) == sizeof(theirs), #their);                                              \
        _Static_assert((size_t)ATOLL_CUPTI_BYTES_##our == their##_STRUCT_SIZE, #their);                      \
        SAME_CUPTI_FIELD(size_t, structSize)                                                                 \
        SAME_CUPTI_FIELD(void *, pPriv)                                                                      \
        fields                                                                                               \
    }

static void cupti_values(void **state)
{
#ifdef HAVE_CUPTI
    ATOLL_CUPTI_CONSTANTS(SAME_VALUE)
    ATOLL_CUPTI_STRUCTS(SAME_CUPTI_STRUCT, SAME_CUPTI_FIELD)
#else
    missing(NO_CUPTI);
#endif
}

static void nvml_values(void **state)
{
#ifdef HAVE_NVML
    ATOLL_NVML_CONSTANTS(SAME_VALUE)
    SAME_SIZE(atoll_nvml_utilization, nvmlUtilization_t)
    SAME_FIELD(atoll_nvml_utilization, nvmlUtilization_t, gpu)
    SAME_FIELD(atoll_nvml_utilization, nvmlUtilization_t, memory)
    SAME_SIZE(atoll_nvml_process, nvmlProcessInfo_t)
    SAME_FIELD(atoll_nvml_process, nvmlProcessInfo_t, pid)
    SAME_FIELD(atoll_nvml_process, nvmlProcessInfo_t, usedGpuMemory)
    SAME_FIELD(atoll_nvml_process, nvmlProcessInfo_t, gpuInstanceId)
    SAME_FIELD(atoll_nvml_process, nvmlProcessInfo_t, computeInstanceId)
    SAME_SIZE(atoll_nvml_event, nvmlEventData_t)
    SAME_FIELD(atoll_nvml_event, nvmlEventData_t, device)
    SAME_FIELD(atoll_nvml_event, nvmlEventData_t, eventType)
    SAME_FIELD(atoll_nvml_event, nvmlEventData_t, eventData)
    SAME_FIELD(atoll_nvml_event, nvmlEventData_t, gpuInstanceId)
    SAME_FIELD(atoll_nvml_event, nvmlEventData_t, computeInstanceId)
    SAME_SIZE(atoll_nvml_pci, nvmlPciInfo_t)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, busIdLegacy)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, domain)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, bus)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, device)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, pciDeviceId)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, pciSubSystemId)
    SAME_FIELD(atoll_nvml_pci, nvmlPciInfo_t, busId)
#else
    missing(NO_NVML);
#endif
}

/* ---- prototypes: the structs that were compared above stand for each other from here on ---- */

#define atoll_cuda_uuid               CUuuid_st
#define atoll_cuda_ipc                CUipcMemHandle_st
#define atoll_cuda_launch             CUlaunchConfig_st
#define atoll_cuda_tensor_map         CUtensorMap_st
#define atoll_cuda_memory_kind        CUmemAllocationProp_st
#define atoll_cuda_memory_access      CUmemAccessDesc_st
#define atoll_nvml_utilization        nvmlUtilization_st
#define atoll_nvml_process            nvmlProcessInfo_v2_st
#define atoll_nvml_event              nvmlEventData_st
#define atoll_nvml_pci                nvmlPciInfo_st
#define atoll_cupti_initialize        CUpti_Profiler_Initialize_Params
#define atoll_cupti_deinitialize      CUpti_Profiler_DeInitialize_Params
#define atoll_cupti_chip_name         CUpti_Device_GetChipName_Params
#define atoll_cupti_availability      CUpti_Profiler_GetCounterAvailability_Params
#define atoll_cupti_host_initialize   CUpti_Profiler_Host_Initialize_Params
#define atoll_cupti_host_deinitialize CUpti_Profiler_Host_Deinitialize_Params
#define atoll_cupti_base_metrics      CUpti_Profiler_Host_GetBaseMetrics_Params
#define atoll_cupti_sub_metrics       CUpti_Profiler_Host_GetSubMetrics_Params
#define atoll_cupti_add_metrics       CUpti_Profiler_Host_ConfigAddMetrics_Params
#define atoll_cupti_config_size       CUpti_Profiler_Host_GetConfigImageSize_Params
#define atoll_cupti_config_image      CUpti_Profiler_Host_GetConfigImage_Params
#define atoll_cupti_pass_count        CUpti_Profiler_Host_GetNumOfPasses_Params
#define atoll_cupti_evaluate          CUpti_Profiler_Host_EvaluateToGpuValues_Params
#define atoll_cupti_enable            CUpti_RangeProfiler_Enable_Params
#define atoll_cupti_disable           CUpti_RangeProfiler_Disable_Params
#define atoll_cupti_set_config        CUpti_RangeProfiler_SetConfig_Params
#define atoll_cupti_start             CUpti_RangeProfiler_Start_Params
#define atoll_cupti_stop              CUpti_RangeProfiler_Stop_Params
#define atoll_cupti_decode            CUpti_RangeProfiler_DecodeData_Params
#define atoll_cupti_data_size         CUpti_RangeProfiler_GetCounterDataSize_Params
#define atoll_cupti_data_image        CUpti_RangeProfiler_CounterDataImage_Initialize_Params
#define atoll_cupti_data_info         CUpti_RangeProfiler_GetCounterDataInfo_Params

static void driver_prototypes(void **state)
{
#ifdef HAVE_TOOLKIT
    ATOLL_CUDA_FUNCTIONS(SAME_FUNCTION)
#else
    missing(NO_TOOLKIT);
#endif
}

static void nvrtc_prototypes(void **state)
{
#ifdef HAVE_TOOLKIT
    ATOLL_NVRTC_FUNCTIONS(SAME_FUNCTION)
#else
    missing(NO_TOOLKIT);
#endif
}

static void cupti_prototypes(void **state)
{
#ifdef HAVE_CUPTI
    ATOLL_CUPTI_FUNCTIONS(SAME_FUNCTION)
#else
    missing(NO_CUPTI);
#endif
}

static void nvml_prototypes(void **state)
{
#ifdef HAVE_NVML
    ATOLL_NVML_FUNCTIONS(SAME_FUNCTION)
#else
    missing(NO_NVML);
#endif
}

int main(void)
{
#if !defined(HAVE_TOOLKIT) && !defined(HAVE_NVML)
    printf("skipped: %s, and %s\n", NO_TOOLKIT, NO_NVML);
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_values), cmocka_unit_test(driver_prototypes),
        cmocka_unit_test(nvrtc_values),  cmocka_unit_test(nvrtc_prototypes),
        cmocka_unit_test(cupti_values),  cmocka_unit_test(cupti_prototypes),
        cmocka_unit_test(nvml_values),   cmocka_unit_test(nvml_prototypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
