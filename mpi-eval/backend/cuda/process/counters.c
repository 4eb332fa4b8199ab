/* counters.c - the order of calls is CUPTI's: initialize, chip name, counter availability, host side with the metrics
 * and their configuration image, enable; then per begin: counter data, set config, start; per pass: stop, and start again
 * while passes are missing; at the end: decode, evaluate.  Passes are the caller's to run (user replay): CUPTI's own replay
 * of kernels saves and restores all memory of the context for each pass, and ours is most of the device's.
 * Several sets of metrics are open beside each other, each with its own host side.  CUPTI 13.0 gives the device the
 * configuration of the first start behind enable, and what set config says later is ignored without an error; so the
 * profiler is enabled anew where another set counts than the one before.  Each time it must be asked for the size of the
 * counter data, since that makes what an image is initialized from: without, CUPTI crashes.  What is launched outside of
 * begin and end is not slowed down (tests/gpu/test_counters prints both times).
 * Source: CUPTI documentation, "Range profiling" and "Host profiling". */
#include "mpi-eval/backend/cuda/process/executor.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"

#define PASS_LIMIT 512

/* One set of metrics. */
struct set {
    struct CUpti_Profiler_Host_Object *host; /* NULL: the slot is empty */
    size_t count;
    const char **names; /* owned, and so is each */
    uint8_t *config;
    size_t config_bytes;
    size_t passes;
    uint8_t *data;
    size_t data_bytes;
    double *values; /* ATOLL_COUNTERS_RANGE_LIMIT times count */
};

struct atoll_counters {
    const struct atoll_cupti *cupti;
    struct CUctx_st *context;
    char chip[64];
    uint8_t *availability;                       /* NULL: of every chip alike */
    struct CUpti_RangeProfiler_Object *profiler; /* NULL: not enabled */
    struct set sets[ATOLL_COUNTERS_SET_LIMIT];
    struct set *enabled; /* whose the profiler is */
    struct set *begun;   /* NULL: none */
    int passes_done;
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

static int host_open(const struct atoll_counters *c, struct set *set, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(host_initialize, params, .profilerType = ATOLL_CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                       .pChipName = c->chip, .pCounterAvailabilityImage = c->availability);
    if (CALL(c->cupti, cuptiProfilerHostInitialize, &params, err))
        return atoll_err_add(err, "chip %s", c->chip);
    set->host = params.pHostObject;
    return 0;
}

static void host_close(const struct atoll_counters *c, struct set *set)
{
    if (set->host) {
        ATOLL_CUPTI_PARAMS(host_deinitialize, params, .pHostObject = set->host);
        c->cupti->cuptiProfilerHostDeinitialize(&params);
        set->host = NULL;
    }
}

/* Which one made CUPTI refuse a set; with a fresh object, as the old one refuses everything from then on. */
static int metric_blame(const struct atoll_counters *c, struct set *set, struct atoll_err *err)
{
    host_close(c, set);
    if (host_open(c, set, err))
        return -1;
    for (size_t i = 0; i < set->count; i++) {
        ATOLL_CUPTI_PARAMS(add_metrics, params, .pHostObject = set->host, .ppMetricNames = &set->names[i],
                           .numMetrics = 1);
        if (c->cupti->cuptiProfilerHostConfigAddMetrics(&params) != ATOLL_CUPTI_SUCCESS)
            return atoll_err_set(err, ATOLL_E_INPUT, "chip %s has no metric %s", c->chip, set->names[i]);
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "chip %s cannot count this set of metrics", c->chip);
}

static int host_prepare(const struct atoll_counters *c, struct set *set, struct atoll_err *err)
{
    if (host_open(c, set, err))
        return -1;
    /* All at once: what is added one by one shares no pass. */
    ATOLL_CUPTI_PARAMS(add_metrics, metrics, .pHostObject = set->host, .ppMetricNames = set->names,
                       .numMetrics = set->count);
    unsigned int result = c->cupti->cuptiProfilerHostConfigAddMetrics(&metrics);
    if (result == ATOLL_CUPTI_ERROR_INVALID_PARAMETER || result == ATOLL_CUPTI_ERROR_INVALID_METRIC_NAME)
        return metric_blame(c, set, err);
    if (atoll_cupti_check(c->cupti, result, "cuptiProfilerHostConfigAddMetrics", err))
        return -1;
    ATOLL_CUPTI_PARAMS(config_size, size, .pHostObject = set->host);
    if (CALL(c->cupti, cuptiProfilerHostGetConfigImageSize, &size, err))
        return -1;
    set->config_bytes = size.configImageSize;
    set->config = allocate(set->config_bytes, err);
    if (!set->config)
        return -1;
    ATOLL_CUPTI_PARAMS(config_image, image, .pHostObject = set->host, .configImageSize = set->config_bytes,
                       .pConfigImage = set->config);
    ATOLL_CUPTI_PARAMS(pass_count, passes, .configImageSize = set->config_bytes, .pConfigImage = set->config);
    if (CALL(c->cupti, cuptiProfilerHostGetConfigImage, &image, err) ||
        CALL(c->cupti, cuptiProfilerHostGetNumOfPasses, &passes, err)) {
        return -1;
    }
    set->passes = passes.numOfPasses;
    return 0;
}

/* ---- a set ---- */

static void set_clear(const struct atoll_counters *c, struct set *set)
{
    host_close(c, set);
    for (size_t i = 0; i < set->count; i++)
        free((char *)(uintptr_t)set->names[i]);
    free(set->names);
    free(set->config);
    free(set->data);
    free(set->values);
    memset(set, 0, sizeof(*set));
}

/* Everything that needs no device; what there is of it is set_clear's after a failure. */
static int set_prepare(const struct atoll_counters *c, struct set *set, const char *const *names,
                       size_t count, struct atoll_err *err)
{
    if (count == 0 || count > ATOLL_COUNTERS_METRIC_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%zu metrics: from 1 to %d can be counted at once", count,
                             ATOLL_COUNTERS_METRIC_LIMIT);
    set->names = calloc(count, sizeof(*set->names));
    set->values = calloc(count * ATOLL_COUNTERS_RANGE_LIMIT, sizeof(*set->values));
    int complete = set->names && set->values;
    for (; complete && set->count < count; set->count += (size_t)complete) {
        set->names[set->count] = strdup(names[set->count]);
        complete = set->names[set->count] != NULL;
    }
    if (!complete)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the names of %zu metrics", count);
    return host_prepare(c, set, err);
}

/* ---- lifetime ---- */

static void disable(struct atoll_counters *c)
{
    if (c->profiler) {
        ATOLL_CUPTI_PARAMS(disable, params, .pRangeProfilerObject = c->profiler);
        c->cupti->cuptiRangeProfilerDisable(&params);
        c->profiler = NULL;
    }
    c->begun = c->enabled = NULL;
}

void atoll_counters_destroy(struct atoll_counters *c)
{
    if (!c)
        return;
    disable(c);
    for (size_t i = 0; i < ATOLL_COUNTERS_SET_LIMIT; i++)
        set_clear(c, &c->sets[i]);
    free(c->availability);
    free(c);
}

int atoll_counters_plan(const char *chip, const char *const *names, size_t count, size_t *ret_passes,
                        struct atoll_err *err)
{
    struct atoll_counters c = {.cupti = atoll_cupti_open(err)};
    struct set set = {0};
    if (!c.cupti)
        return -1;
    snprintf(c.chip, sizeof(c.chip), "%s", chip);
    int status = set_prepare(&c, &set, names, count, err);
    if (status == 0)
        *ret_passes = set.passes;
    set_clear(&c, &set);
    return status;
}

/* ---- the device's side ---- */

static int device_chip(struct atoll_counters *c, struct atoll_err *err)
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
    snprintf(c->chip, sizeof(c->chip), "%s", chip.pChipName);
    return 0;
}

/* Which counters this user may read on this context: here a closed device shows first. */
static int availability_get(struct atoll_counters *c, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(availability, params, .ctx = c->context);
    if (CALL(c->cupti, cuptiProfilerGetCounterAvailability, &params, err))
        return -1;
    c->availability = allocate(params.counterAvailabilityImageSize, err);
    params.pCounterAvailabilityImage = c->availability;
    return c->availability ? CALL(c->cupti, cuptiProfilerGetCounterAvailability, &params, err) : -1;
}

static int data_make(const struct atoll_counters *c, struct set *set, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(data_size, size, .pRangeProfilerObject = c->profiler, .pMetricNames = set->names,
                       .numMetrics = set->count, .maxNumOfRanges = ATOLL_COUNTERS_RANGE_LIMIT,
                       .maxNumRangeTreeNodes = ATOLL_COUNTERS_RANGE_LIMIT);
    if (CALL(c->cupti, cuptiRangeProfilerGetCounterDataSize, &size, err))
        return -1;
    free(set->data);
    set->data_bytes = size.counterDataSize;
    set->data = allocate(set->data_bytes, err);
    return set->data ? 0 : -1;
}

/* Nothing where the profiler is this set's already. */
static int profiler_enable(struct atoll_counters *c, struct set *set, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(enable, params, .ctx = c->context);
    if (c->enabled == set)
        return 0;
    disable(c);
    if (CALL(c->cupti, cuptiRangeProfilerEnable, &params, err))
        return -1;
    c->profiler = params.pRangeProfilerObject;
    if (data_make(c, set, err)) {
        disable(c);
        return -1;
    }
    c->enabled = set;
    return 0;
}

struct atoll_counters *atoll_counters_create(struct CUctx_st *context, struct atoll_err *err)
{
    const struct atoll_cupti *cupti = atoll_cupti_open(err);
    struct atoll_counters *c = cupti ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        if (cupti)
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for counters");
        return NULL;
    }
    c->cupti = cupti;
    c->context = context;
    if (device_chip(c, err) == 0 && availability_get(c, err) == 0)
        return c;
    atoll_counters_destroy(c);
    return NULL;
}

int atoll_counters_open(struct atoll_counters *c, unsigned slot, const char *const *names, size_t count,
                        size_t *ret_passes, struct atoll_err *err)
{
    if (slot >= ATOLL_COUNTERS_SET_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "set %u of metrics: there are %d", slot,
                             ATOLL_COUNTERS_SET_LIMIT);
    struct set *set = &c->sets[slot];
    if (c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has begun: end it first");
    if (c->enabled == set)
        disable(c);
    set_clear(c, set);
    if (set_prepare(c, set, names, count, err) || profiler_enable(c, set, err)) {
        set_clear(c, set);
        return -1;
    }
    *ret_passes = set->passes;
    return 0;
}

/* ---- counting ---- */

int atoll_counters_start(struct atoll_counters *c, struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(start, params, .pRangeProfilerObject = c->profiler);
    if (!c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has not begun");
    return CALL(c->cupti, cuptiRangeProfilerStart, &params, err);
}

int atoll_counters_begin(struct atoll_counters *c, unsigned slot, struct atoll_err *err)
{
    struct set *set = slot < ATOLL_COUNTERS_SET_LIMIT ? &c->sets[slot] : NULL;
    if (c->begun)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has begun already: end it first");
    if (!set || !set->host)
        return atoll_err_set(err, ATOLL_E_USAGE, "set %u of metrics is not open", slot);
    if (profiler_enable(c, set, err))
        return -1;
    ATOLL_CUPTI_PARAMS(data_image, data, .pRangeProfilerObject = c->profiler,
                       .counterDataSize = set->data_bytes, .pCounterData = set->data);
    ATOLL_CUPTI_PARAMS(
        set_config, config, .pRangeProfilerObject = c->profiler, .configSize = set->config_bytes,
        .pConfig = set->config, .counterDataImageSize = set->data_bytes, .pCounterDataImage = set->data,
        .range = ATOLL_CUPTI_AutoRange, .replayMode = ATOLL_CUPTI_UserReplay,
        .maxRangesPerPass = ATOLL_COUNTERS_RANGE_LIMIT, .numNestingLevels = 1, .minNestingLevel = 1);
    if (CALL(c->cupti, cuptiRangeProfilerCounterDataImageInitialize, &data, err) ||
        CALL(c->cupti, cuptiRangeProfilerSetConfig, &config, err))
        return -1;
    c->begun = set;
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
    return 0;
}

static int decode(const struct atoll_counters *c, const struct set *set, size_t *ret_ranges,
                  struct atoll_err *err)
{
    ATOLL_CUPTI_PARAMS(decode, decode, .pRangeProfilerObject = c->profiler);
    ATOLL_CUPTI_PARAMS(data_info, info, .pCounterDataImage = set->data,
                       .counterDataImageSize = set->data_bytes);
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

static int evaluate(const struct atoll_counters *c, struct set *set, size_t ranges, struct atoll_err *err)
{
    for (size_t range = 0; range < ranges; range++) {
        double *values = &set->values[range * set->count];
        for (size_t i = 0; i < set->count; i++)
            values[i] = NAN;
        ATOLL_CUPTI_PARAMS(evaluate, params, .pHostObject = set->host, .pCounterDataImage = set->data,
                           .counterDataImageSize = set->data_bytes, .rangeIndex = range,
                           .ppMetricNames = set->names, .numMetrics = set->count, .pMetricValues = values);
        if (CALL(c->cupti, cuptiProfilerHostEvaluateToGpuValues, &params, err))
            return -1;
    }
    return 0;
}

int atoll_counters_end(struct atoll_counters *c, const double **ret_values, size_t *ret_ranges,
                       size_t *ret_metrics, struct atoll_err *err)
{
    struct set *set = c->begun;
    size_t ranges = 0;
    if (!set)
        return atoll_err_set(err, ATOLL_E_USAGE, "counting has not begun");
    int status = decode(c, set, &ranges, err);
    if (status == 0)
        status = evaluate(c, set, ranges, err);
    c->begun = NULL;
    if (status == 0) {
        *ret_values = set->values;
        *ret_ranges = ranges;
        *ret_metrics = set->count;
    }
    return status;
}
