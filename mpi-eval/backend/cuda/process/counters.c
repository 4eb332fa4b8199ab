/* counters.c - the order of calls is CUPTI's: initialize, chip name, counter availability, host side with the metrics
 * and their configuration image, enable; then per begin: counter data, set config, start; per pass: stop, and start again
 * while passes are missing; at the end: decode, evaluate.  Passes are the caller's to run (user replay): CUPTI's own replay
 * of kernels saves and restores all memory of the context for each pass, and ours is most of the device's.
 * The profiler stays enabled on the context from create to destroy: CUPTI 13.0 crashes when it is enabled again.  What
 * is launched outside of begin and end is not slowed down (tests/gpu/test_counters prints both times).
 * Source: CUPTI documentation, "Range profiling" and "Host profiling". */
#include "mpi-eval/backend/cuda/process/executor.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"

#define PASS_LIMIT 512

struct atoll_counters {
    const struct atoll_cupti *cupti;
    struct CUctx_st *context;
    struct CUpti_Profiler_Host_Object *host;
    struct CUpti_RangeProfiler_Object *profiler; /* NULL: not enabled */
    int begun, passes_done;
    size_t count;
    const char **names; /* owned, and so is each */
    uint8_t *config;
    size_t config_bytes;
    size_t passes;
    uint8_t *data;
    size_t data_bytes;
    double *values; /* ATOLL_COUNTERS_RANGE_LIMIT times count */
};

#define CALL(cupti, function, params, err)                                                                   \
    atoll_cupti_check((cupti), (cupti)->function(params), #function, (err))

static uint8_t *allocate(size_t bytes, struct atoll_err *err)
{
    uint8_t *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu bytes of counter data", bytes);
    return memory;
}

/* ---- the host side: needs no device ---- */

static int host_open(struct atoll_counters *c, const char *chip, const uint8_t *availability,
                     struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(host_initialize, params, .profilerType = ATOLL_CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                       .pChipName = chip, .pCounterAvailabilityImage = availability);
    if (CALL(c->cupti, cuptiProfilerHostInitialize, &params, err))
        return atoll_err_add(err, "chip %s", chip);
    c->host = params.pHostObject;
    return 0;
}

static void host_close(struct atoll_counters *c)
{
    if (c->host) {
        ATOLL_CUPTI_PARAMS(host_deinitialize, params, .pHostObject = c->host);
        c->cupti->cuptiProfilerHostDeinitialize(&params);
        c->host = NULL;
    }
}

/* Which one made CUPTI refuse a set; with a fresh object, as the old one refuses everything from then on. */
static int metric_blame(struct atoll_counters *c, const char *chip, const uint8_t *availability,
                        struct atoll_err *err)
{
    host_close(c);
    if (host_open(c, chip, availability, err))
        return -1;
    for (size_t i = 0; i < c->count; i++) {
        ATOLL_CUPTI_PARAMS(add_metrics, params, .pHostObject = c->host, .ppMetricNames = &c->names[i],
                           .numMetrics = 1);
        if (c->cupti->cuptiProfilerHostConfigAddMetrics(&params) != ATOLL_CUPTI_SUCCESS)
            return atoll_err_set(err, ATOLL_E_INPUT, "chip %s has no metric %s", chip, c->names[i]);
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "chip %s cannot count this set of metrics", chip);
}

static int host_prepare(struct atoll_counters *c, const char *chip, const uint8_t *availability,
                        struct atoll_err *err)
{
    if (host_open(c, chip, availability, err))
        return -1;
    /* All at once: what is added one by one shares no pass. */
    ATOLL_CUPTI_PARAMS(add_metrics, metrics, .pHostObject = c->host, .ppMetricNames = c->names,
                       .numMetrics = c->count);
    unsigned int result = c->cupti->cuptiProfilerHostConfigAddMetrics(&metrics);
    if (result == ATOLL_CUPTI_ERROR_INVALID_PARAMETER || result == ATOLL_CUPTI_ERROR_INVALID_METRIC_NAME)
        return metric_blame(c, chip, availability, err);
    if (atoll_cupti_check(c->cupti, result, "cuptiProfilerHostConfigAddMetrics", err))
        return -1;
    ATOLL_CUPTI_PARAMS(config_size, size, .pHostObject = c->host);
    if (CALL(c->cupti, cuptiProfilerHostGetConfigImageSize, &size, err))
        return -1;
    c->config_bytes = size.configImageSize;
    c->config = allocate(c->config_bytes, err);
    if (!c->config)
        return -1;
    ATOLL_CUPTI_PARAMS(config_image, image, .pHostObject = c->host, .configImageSize = c->config_bytes,
                       .pConfigImage = c->config);
    ATOLL_CUPTI_PARAMS(pass_count, passes, .configImageSize = c->config_bytes, .pConfigImage = c->config);
    if (CALL(c->cupti, cuptiProfilerHostGetConfigImage, &image, err) ||
        CALL(c->cupti, cuptiProfilerHostGetNumOfPasses, &passes, err)) {
        return -1;
    }
    c->passes = passes.numOfPasses;
    return 0;
}

/* ---- lifetime ---- */

/* Everything that needs no device. */
static struct atoll_counters *counters_new(const char *const *names, size_t count, struct atoll_err *err)
{
    const struct atoll_cupti *cupti = atoll_cupti_open(err);
    if (!cupti)
        return NULL;
    if (count == 0 || count > ATOLL_COUNTERS_METRIC_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%zu metrics: from 1 to %d can be counted at once", count,
                      ATOLL_COUNTERS_METRIC_LIMIT);
        return NULL;
    }
    struct atoll_counters *c = calloc(1, sizeof(*c));
    if (!c) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for counters");
        return NULL;
    }
    c->cupti = cupti;
    c->names = calloc(count, sizeof(*c->names));
    c->values = calloc(count * ATOLL_COUNTERS_RANGE_LIMIT, sizeof(*c->values));
    int complete = c->names && c->values;
    for (; complete && c->count < count; c->count += (size_t)complete) {
        c->names[c->count] = strdup(names[c->count]);
        complete = c->names[c->count] != NULL;
    }
    if (!complete) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the names of %zu metrics", count);
        atoll_counters_destroy(c);
        return NULL;
    }
    return c;
}

static void disable(struct atoll_counters *c)
{
    if (c->profiler) {
        ATOLL_CUPTI_PARAMS(disable, params, .pRangeProfilerObject = c->profiler);
        c->cupti->cuptiRangeProfilerDisable(&params);
        c->profiler = NULL;
    }
    c->begun = 0;
}

void atoll_counters_destroy(struct atoll_counters *c)
{
    if (!c)
        return;
    disable(c);
    host_close(c);
    for (size_t i = 0; i < c->count; i++)
        free((char *)(uintptr_t)c->names[i]);
    free(c->names);
    free(c->config);
    free(c->data);
    free(c->values);
    free(c);
}

int atoll_counters_plan(const char *chip, const char *const *names, size_t count, size_t *ret_passes,
                        struct atoll_err *err)
{
    struct atoll_counters *c = counters_new(names, count, err);
    if (!c)
        return -1;
    int status = host_prepare(c, chip, NULL, err);
    if (status == 0)
        *ret_passes = c->passes;
    atoll_counters_destroy(c);
    return status;
}

/* ---- the device's side ---- */

static int device_chip(struct atoll_counters *c, const char **ret_chip, struct atoll_err *err)
{
    const struct atoll_cuda *cuda = atoll_cuda_open(err);
    if (!cuda)
        return -1;
    int device = 0;
    unsigned int result = cuda->cuCtxSetCurrent(c->context);
    if (!result)
        result = cuda->cuCtxGetDevice(&device);
    if (result) {
        char text[192];
        return atoll_err_set(err, ATOLL_E_CHILD, "counters: %s",
                             atoll_cuda_describe(cuda, result, text, sizeof(text)));
    }
    ATOLL_CUPTI_PARAMS(initialize, initialize, .pPriv = NULL);
    ATOLL_CUPTI_PARAMS(chip_name, chip, .deviceIndex = (size_t)device);
    if (CALL(c->cupti, cuptiProfilerInitialize, &initialize, err) ||
        CALL(c->cupti, cuptiDeviceGetChipName, &chip, err)) {
        return -1;
    }
    *ret_chip = chip.pChipName;
    return 0;
}

/* Which counters this user may read on this context: here a closed device shows first. */
static uint8_t *availability_get(struct atoll_counters *c, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(availability, params, .ctx = c->context);
    if (CALL(c->cupti, cuptiProfilerGetCounterAvailability, &params, err))
        return NULL;
    uint8_t *image = allocate(params.counterAvailabilityImageSize, err);
    params.pCounterAvailabilityImage = image;
    if (image && CALL(c->cupti, cuptiProfilerGetCounterAvailability, &params, err)) {
        free(image);
        return NULL;
    }
    return image;
}

static int profiler_enable(struct atoll_counters *c, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(enable, params, .ctx = c->context);
    if (CALL(c->cupti, cuptiRangeProfilerEnable, &params, err))
        return -1;
    c->profiler = params.pRangeProfilerObject;
    ATOLL_CUPTI_PARAMS(data_size, size, .pRangeProfilerObject = c->profiler, .pMetricNames = c->names,
                       .numMetrics = c->count, .maxNumOfRanges = ATOLL_COUNTERS_RANGE_LIMIT,
                       .maxNumRangeTreeNodes = ATOLL_COUNTERS_RANGE_LIMIT);
    if (CALL(c->cupti, cuptiRangeProfilerGetCounterDataSize, &size, err))
        return -1;
    c->data_bytes = size.counterDataSize;
    c->data = allocate(c->data_bytes, err);
    return c->data ? 0 : -1;
}

struct atoll_counters *atoll_counters_create(struct CUctx_st *context, const char *const *names, size_t count,
                                             struct atoll_err *err)
{
    struct atoll_counters *c = counters_new(names, count, err);
    if (!c)
        return NULL;
    c->context = context;
    const char *chip = NULL;
    uint8_t *availability = device_chip(c, &chip, err) ? NULL : availability_get(c, err);
    int status = !availability || host_prepare(c, chip, availability, err) || profiler_enable(c, err);
    free(availability);
    if (status) {
        atoll_counters_destroy(c);
        return NULL;
    }
    return c;
}

size_t atoll_counters_passes(const struct atoll_counters *c)
{
    return c->passes;
}

/* ---- counting ---- */

static int start(struct atoll_counters *c, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(start, params, .pRangeProfilerObject = c->profiler);
    return CALL(c->cupti, cuptiRangeProfilerStart, &params, err);
}

int atoll_counters_begin(struct atoll_counters *c, struct atoll_err *err)
{
    if (c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has begun already: end it first");
    ATOLL_CUPTI_PARAMS(data_image, data, .pRangeProfilerObject = c->profiler,
                       .counterDataSize = c->data_bytes, .pCounterData = c->data);
    ATOLL_CUPTI_PARAMS(set_config, config, .pRangeProfilerObject = c->profiler, .configSize = c->config_bytes,
                       .pConfig = c->config, .counterDataImageSize = c->data_bytes,
                       .pCounterDataImage = c->data, .range = ATOLL_CUPTI_AutoRange,
                       .replayMode = ATOLL_CUPTI_UserReplay, .maxRangesPerPass = ATOLL_COUNTERS_RANGE_LIMIT,
                       .numNestingLevels = 1, .minNestingLevel = 1);
    if (CALL(c->cupti, cuptiRangeProfilerCounterDataImageInitialize, &data, err) ||
        CALL(c->cupti, cuptiRangeProfilerSetConfig, &config, err) || start(c, err)) {
        return -1;
    }
    c->begun = 1;
    c->passes_done = 0;
    return 0;
}

int atoll_counters_pass(struct atoll_counters *c, int *ret_more, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(stop, params, .pRangeProfilerObject = c->profiler);
    if (!c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has not begun");
    if (CALL(c->cupti, cuptiRangeProfilerStop, &params, err))
        return -1;
    *ret_more = !params.isAllPassSubmitted;
    if (*ret_more && ++c->passes_done > PASS_LIMIT)
        return atoll_err_set(err, ATOLL_E_MISSING, "CUPTI did not finish after %d passes", PASS_LIMIT);
    return *ret_more ? start(c, err) : 0;
}

static int decode(struct atoll_counters *c, size_t *ret_ranges, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(decode, decode, .pRangeProfilerObject = c->profiler);
    ATOLL_CUPTI_PARAMS(data_info, info, .pCounterDataImage = c->data, .counterDataImageSize = c->data_bytes);
    if (CALL(c->cupti, cuptiRangeProfilerDecodeData, &decode, err) ||
        CALL(c->cupti, cuptiRangeProfilerGetCounterDataInfo, &info, err)) {
        return -1;
    }
    if (decode.numOfRangeDropped > 0 || info.numTotalRanges > ATOLL_COUNTERS_RANGE_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d launches between begin and end of counting",
                             ATOLL_COUNTERS_RANGE_LIMIT);
    }
    *ret_ranges = info.numTotalRanges;
    return 0;
}

static int evaluate(struct atoll_counters *c, size_t ranges, struct atoll_err *err)
{
    for (size_t range = 0; range < ranges; range++) {
        double *values = &c->values[range * c->count];
        for (size_t i = 0; i < c->count; i++)
            values[i] = NAN;
        ATOLL_CUPTI_PARAMS(evaluate, params, .pHostObject = c->host, .pCounterDataImage = c->data,
                           .counterDataImageSize = c->data_bytes, .rangeIndex = range,
                           .ppMetricNames = c->names, .numMetrics = c->count, .pMetricValues = values);
        if (CALL(c->cupti, cuptiProfilerHostEvaluateToGpuValues, &params, err))
            return -1;
    }
    return 0;
}

int atoll_counters_end(struct atoll_counters *c, const double **ret_values, size_t *ret_ranges,
                       size_t *ret_metrics, struct atoll_err *err)
{
    if (!c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has not begun");
    size_t ranges = 0;
    int status = decode(c, &ranges, err);
    if (status == 0)
        status = evaluate(c, ranges, err);
    c->begun = 0;
    if (status == 0) {
        *ret_values = c->values;
        *ret_ranges = ranges;
        *ret_metrics = c->count;
    }
    return status;
}
