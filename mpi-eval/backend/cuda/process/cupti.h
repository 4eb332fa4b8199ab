/* cupti.h - CUPTI's range profiler and its host side (what metrics need, what counts mean), opened at run time.
 * Layer: mpi-eval, backend/cuda.  No toolkit header is needed; a test compares everything with the toolkit's headers,
 * with which this one can be included together.  Members carry the library's names; results are CUptiResult.  Each
 * function takes one struct, whose first field is its size: start from ATOLL_CUPTI_PARAMS.  The host side works without
 * a device.  Source: CUPTI documentation, "Range profiling" and "Host profiling" (CUDA 12.6 and newer). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_CUPTI_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/library.h"

struct CUctx_st;
struct CUpti_Profiler_Host_Object;
struct CUpti_RangeProfiler_Object;

/* X(struct of ours, struct of CUPTI, its last field, its fields after structSize and pPriv): CUPTI measures a struct by
 * the end of its last field. */
#define ATOLL_CUPTI_STRUCTS(X, F)                                                                            \
    X(initialize, CUpti_Profiler_Initialize_Params, pPriv, )                                                 \
    X(deinitialize, CUpti_Profiler_DeInitialize_Params, pPriv, )                                             \
    X(chip_name, CUpti_Device_GetChipName_Params, pChipName,                                                 \
      F(size_t, deviceIndex) F(const char *, pChipName))                                                     \
    X(availability, CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage,                 \
      F(struct CUctx_st *, ctx) F(size_t, counterAvailabilityImageSize)                                      \
          F(uint8_t *, pCounterAvailabilityImage))                                                           \
    X(host_initialize, CUpti_Profiler_Host_Initialize_Params, pHostObject,                                   \
      F(unsigned int, profilerType) F(const char *, pChipName) F(const uint8_t *, pCounterAvailabilityImage) \
          F(struct CUpti_Profiler_Host_Object *, pHostObject))                                               \
    X(host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params, pHostObject,                               \
      F(struct CUpti_Profiler_Host_Object *, pHostObject))                                                   \
    X(base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics,                                   \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(unsigned int, metricType)                        \
          F(const char **, ppMetricNames) F(size_t, numMetrics))                                             \
    X(sub_metrics, CUpti_Profiler_Host_GetSubMetrics_Params, ppSubMetrics,                                   \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(unsigned int, metricType)                        \
          F(const char *, pMetricName) F(size_t, numOfSubmetrics) F(const char **, ppSubMetrics))            \
    X(add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics,                                  \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(const char **, ppMetricNames)                    \
          F(size_t, numMetrics))                                                                             \
    X(config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize,                           \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(size_t, configImageSize))                        \
    X(config_image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage,                                 \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(size_t, configImageSize)                         \
          F(uint8_t *, pConfigImage))                                                                        \
    X(pass_count, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses,                                    \
      F(size_t, configImageSize) F(uint8_t *, pConfigImage) F(size_t, numOfPasses))                          \
    X(evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues,                               \
      F(struct CUpti_Profiler_Host_Object *, pHostObject) F(const uint8_t *, pCounterDataImage)              \
          F(size_t, counterDataImageSize) F(size_t, rangeIndex) F(const char **, ppMetricNames)              \
              F(size_t, numMetrics) F(double *, pMetricValues))                                              \
    X(enable, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject,                                       \
      F(struct CUctx_st *, ctx) F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject))                \
    X(disable, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject,                                     \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject))                                          \
    X(set_config, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel,                                  \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject) F(size_t, configSize)                     \
          F(const uint8_t *, pConfig) F(size_t, counterDataImageSize) F(uint8_t *, pCounterDataImage)        \
              F(unsigned int, range) F(unsigned int, replayMode) F(size_t, maxRangesPerPass)                 \
                  F(uint16_t, numNestingLevels) F(uint16_t, minNestingLevel) F(size_t, passIndex)            \
                      F(uint16_t, targetNestingLevel))                                                       \
    X(start, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject,                                         \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject))                                          \
    X(stop, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted,                                             \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject) F(size_t, passIndex)                      \
          F(size_t, targetNestingLevel) F(uint8_t, isAllPassSubmitted))                                      \
    X(decode, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped,                                      \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject) F(size_t, numOfRangeDropped))             \
    X(data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize,                             \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject) F(const char **, pMetricNames)            \
          F(size_t, numMetrics) F(size_t, maxNumOfRanges) F(uint32_t, maxNumRangeTreeNodes)                  \
              F(size_t, counterDataSize))                                                                    \
    X(data_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData,                      \
      F(struct CUpti_RangeProfiler_Object *, pRangeProfilerObject) F(size_t, counterDataSize)                \
          F(uint8_t *, pCounterData))                                                                        \
    X(data_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges,                              \
      F(const uint8_t *, pCounterDataImage) F(size_t, counterDataImageSize) F(size_t, numTotalRanges))

#define ATOLL_CUPTI_FIELD(type, name) type name;
#define ATOLL_CUPTI_STRUCT(ours, theirs, last, fields)                                                       \
    struct atoll_cupti_##ours {                                                                              \
        size_t structSize;                                                                                   \
        void *pPriv; /* NULL */                                                                              \
        fields                                                                                               \
    };                                                                                                       \
    enum {                                                                                                   \
        ATOLL_CUPTI_BYTES_##ours =                                                                           \
            offsetof(struct atoll_cupti_##ours, last) + sizeof(((struct atoll_cupti_##ours *)0)->last)       \
    };
ATOLL_CUPTI_STRUCTS(ATOLL_CUPTI_STRUCT, ATOLL_CUPTI_FIELD)
#undef ATOLL_CUPTI_STRUCT
#undef ATOLL_CUPTI_FIELD

/* ATOLL_CUPTI_PARAMS(enable, params, .ctx = context); declares and initialises. */
#define ATOLL_CUPTI_PARAMS(ours, variable, ...)                                                              \
    struct atoll_cupti_##ours variable = {.structSize = ATOLL_CUPTI_BYTES_##ours, __VA_ARGS__}

/* Constants are CUPTI's with ATOLL_ before the name. */
#define ATOLL_CUPTI_CONSTANTS(X)                                                                             \
    X(CUPTI_SUCCESS, 0)                                                                                      \
    X(CUPTI_ERROR_INVALID_PARAMETER, 1)                                                                      \
    X(CUPTI_ERROR_OUT_OF_MEMORY, 8)                                                                          \
    X(CUPTI_ERROR_NOT_COMPATIBLE, 14)                                                                        \
    X(CUPTI_ERROR_NOT_INITIALIZED, 15)                                                                       \
    X(CUPTI_ERROR_INVALID_METRIC_NAME, 17)                                                                   \
    X(CUPTI_ERROR_HARDWARE_BUSY, 26)                                                                         \
    X(CUPTI_ERROR_NOT_SUPPORTED, 27)                                                                         \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33)                                                      \
    X(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35)                                                               \
    X(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, 36)                                                          \
    X(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, 38)                                                         \
    X(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39)                                                    \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40)                                            \
    X(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, 41)                                                  \
    X(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, 42)                                                              \
    X(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, 43)                                                              \
    X(CUPTI_ERROR_UNKNOWN, 999)                                                                              \
    X(CUPTI_AutoRange, 1)                                                                                    \
    X(CUPTI_UserReplay, 3)                                                                                   \
    X(CUPTI_KernelReplay, 2)                                                                                 \
    X(CUPTI_PROFILER_TYPE_RANGE_PROFILER, 0)                                                                 \
    X(CUPTI_METRIC_TYPE_COUNTER, 0)                                                                          \
    X(CUPTI_METRIC_TYPE_RATIO, 1)                                                                            \
    X(CUPTI_METRIC_TYPE_THROUGHPUT, 2)

#define ATOLL_CUPTI_CONSTANT(name, value) ATOLL_##name = value,
enum atoll_cupti_constant { ATOLL_CUPTI_CONSTANTS(ATOLL_CUPTI_CONSTANT) };
#undef ATOLL_CUPTI_CONSTANT

/* X(optional, member, symbol, older symbol, result, parameters).  None is optional. */
#define ATOLL_CUPTI_CALL(X, member, ours)                                                                    \
    X(0, member, #member, NULL, unsigned int, (struct atoll_cupti_##ours * params))
#define ATOLL_CUPTI_FUNCTIONS(X)                                                                             \
    X(0, cuptiGetResultString, "cuptiGetResultString", NULL, unsigned int,                                   \
      (unsigned int result, const char **ret_text))                                                          \
    X(0, cuptiGetVersion, "cuptiGetVersion", NULL, unsigned int, (uint32_t * ret_version))                   \
    ATOLL_CUPTI_CALL(X, cuptiProfilerInitialize, initialize)                                                 \
    ATOLL_CUPTI_CALL(X, cuptiProfilerDeInitialize, deinitialize)                                             \
    ATOLL_CUPTI_CALL(X, cuptiDeviceGetChipName, chip_name)                                                   \
    ATOLL_CUPTI_CALL(X, cuptiProfilerGetCounterAvailability, availability)                                   \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostInitialize, host_initialize)                                        \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostDeinitialize, host_deinitialize)                                    \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostGetBaseMetrics, base_metrics)                                       \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostGetSubMetrics, sub_metrics)                                         \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostConfigAddMetrics, add_metrics)                                      \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostGetConfigImageSize, config_size)                                    \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostGetConfigImage, config_image)                                       \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostGetNumOfPasses, pass_count)                                         \
    ATOLL_CUPTI_CALL(X, cuptiProfilerHostEvaluateToGpuValues, evaluate)                                      \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerEnable, enable)                                                    \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerDisable, disable)                                                  \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerSetConfig, set_config)                                             \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerStart, start)                                                      \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerStop, stop)                                                        \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerDecodeData, decode)                                                \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerGetCounterDataSize, data_size)                                     \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerCounterDataImageInitialize, data_image)                            \
    ATOLL_CUPTI_CALL(X, cuptiRangeProfilerGetCounterDataInfo, data_info)

struct atoll_cupti {
    ATOLL_CUPTI_FUNCTIONS(ATOLL_LIBRARY_MEMBER)
};

/* The one table of the process; any thread.  Looked for: the path in ATOLL_CUPTI, else libcupti.so, .so.13, .so.12 as
 * the dynamic loader finds them and in extras/CUPTI/lib64 and lib64 of $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.
 * NULL: ATOLL_E_MISSING with the remedy, the same each time. */
const struct atoll_cupti *atoll_cupti_open(struct atoll_err *err);

/* "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", or "CUPTI error 4711", into ret_text; returns it. */
const char *atoll_cupti_describe(const struct atoll_cupti *cupti, unsigned int result, char *ret_text,
                                 size_t bytes);
/* 0 for success; else -1 and what the result of `call` means: ATOLL_E_DENIED (privileges; held by another tool),
 * ATOLL_E_MEMORY, for all others ATOLL_E_MISSING; the text starts with what it means. */
int atoll_cupti_check(const struct atoll_cupti *cupti, unsigned int result, const char *call,
                      struct atoll_err *err);

#endif
