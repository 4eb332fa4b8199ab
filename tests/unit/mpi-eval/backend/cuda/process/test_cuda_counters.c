/* test_cuda_counters.c - sets of metrics take turns, on a CUPTI without a device that does as CUPTI 13.0: the device gets the
 * configuration of the first start behind enable, and an image of counter data is made from the sizes asked for last. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/process/cupti.h"
#include "mpi-eval/backend/cuda/process/driver.h"
#include "mpi-eval/backend/cuda/process/executor.h"

/* A set is told by the first letter of its metrics; it takes a pass for each of them. */
struct CUpti_Profiler_Host_Object {
    uint8_t letter, count;
};
enum { IMAGE_LETTER, IMAGE_PASSES, IMAGE_BYTES = 8 };
enum { DATA_LETTER, DATA_COUNTED, DATA_RANGES, DATA_BYTES = 8 };

static struct CUpti_RangeProfiler_Object {
    int is_enabled, is_started, has_begun;
    unsigned enables, pass;
    uint8_t sized; /* letter of the set whose size was asked for; 0: none since enable */
    const uint8_t *config;
    uint8_t *data, device[IMAGE_BYTES];
} profiler;

static unsigned int fine(void)
{
    return ATOLL_CUPTI_SUCCESS;
}
static unsigned int initialize(struct atoll_cupti_initialize *p)
{
    (void)p;
    return fine();
}
static unsigned int chip_name(struct atoll_cupti_chip_name *p)
{
    p->pChipName = "GH100";
    return fine();
}
static unsigned int availability(struct atoll_cupti_availability *p)
{
    p->counterAvailabilityImageSize = 1;
    return fine();
}
static unsigned int host_initialize(struct atoll_cupti_host_initialize *p)
{
    p->pHostObject = calloc(1, sizeof(*p->pHostObject));
    return fine();
}
static unsigned int host_deinitialize(struct atoll_cupti_host_deinitialize *p)
{
    free(p->pHostObject);
    return fine();
}
static unsigned int add_metrics(struct atoll_cupti_add_metrics *p)
{
    p->pHostObject->letter = (uint8_t)p->ppMetricNames[0][0];
    p->pHostObject->count = (uint8_t)p->numMetrics;
    return fine();
}
static unsigned int config_size(struct atoll_cupti_config_size *p)
{
    p->configImageSize = IMAGE_BYTES;
    return fine();
}
static unsigned int config_image(struct atoll_cupti_config_image *p)
{
    p->pConfigImage[IMAGE_LETTER] = p->pHostObject->letter;
    p->pConfigImage[IMAGE_PASSES] = p->pHostObject->count;
    return fine();
}
static unsigned int pass_count(struct atoll_cupti_pass_count *p)
{
    p->numOfPasses = p->pConfigImage[IMAGE_PASSES];
    return fine();
}
static unsigned int evaluate(struct atoll_cupti_evaluate *p)
{
    const uint8_t *data = p->pCounterDataImage, letter = p->pHostObject->letter;
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] =
            data[DATA_LETTER] == letter && data[DATA_COUNTED] == letter ? (double)(i + 1) : NAN;
    return fine();
}
static unsigned int enable(struct atoll_cupti_enable *p)
{
    unsigned enables = profiler.enables + 1;
    assert_false(profiler.is_enabled);
    profiler = (struct CUpti_RangeProfiler_Object){.is_enabled = 1, .enables = enables};
    p->pRangeProfilerObject = &profiler;
    return fine();
}
static unsigned int disable(struct atoll_cupti_disable *p)
{
    assert_true(profiler.is_enabled);
    p->pRangeProfilerObject->is_enabled = 0;
    return fine();
}
static unsigned int data_size(struct atoll_cupti_data_size *p)
{
    p->pRangeProfilerObject->sized = (uint8_t)p->pMetricNames[0][0];
    p->counterDataSize = DATA_BYTES;
    return fine();
}
static unsigned int data_image(struct atoll_cupti_data_image *p)
{
    assert_int_not_equal(profiler.sized, 0); /* CUPTI crashes */
    memset(p->pCounterData, 0, p->counterDataSize);
    p->pCounterData[DATA_LETTER] = profiler.sized;
    return fine();
}
static unsigned int set_config(struct atoll_cupti_set_config *p)
{
    profiler.config = p->pConfig;
    profiler.data = p->pCounterDataImage;
    return fine();
}
static unsigned int start(struct atoll_cupti_start *p)
{
    (void)p;
    assert_false(profiler.is_started);
    profiler.is_started = 1;
    if (!profiler.has_begun)
        memcpy(profiler.device, profiler.config, sizeof(profiler.device));
    profiler.has_begun = 1;
    return fine();
}
static unsigned int stop(struct atoll_cupti_stop *p)
{
    assert_true(profiler.is_started); /* nothing is counted that was not wanted */
    profiler.is_started = 0;
    p->isAllPassSubmitted = ++profiler.pass == profiler.device[IMAGE_PASSES];
    if (p->isAllPassSubmitted)
        profiler.pass = 0;
    return fine();
}
static unsigned int decode(struct atoll_cupti_decode *p)
{
    (void)p;
    profiler.data[DATA_COUNTED] = profiler.device[IMAGE_LETTER];
    profiler.data[DATA_RANGES] = 1;
    return fine();
}
static unsigned int data_info(struct atoll_cupti_data_info *p)
{
    p->numTotalRanges = p->pCounterDataImage[DATA_RANGES];
    return fine();
}

const struct atoll_cupti *atoll_cupti_open(struct atoll_err *err)
{
    static const struct atoll_cupti table = {.cuptiProfilerInitialize = initialize,
                                             .cuptiDeviceGetChipName = chip_name,
                                             .cuptiProfilerGetCounterAvailability = availability,
                                             .cuptiProfilerHostInitialize = host_initialize,
                                             .cuptiProfilerHostDeinitialize = host_deinitialize,
                                             .cuptiProfilerHostConfigAddMetrics = add_metrics,
                                             .cuptiProfilerHostGetConfigImageSize = config_size,
                                             .cuptiProfilerHostGetConfigImage = config_image,
                                             .cuptiProfilerHostGetNumOfPasses = pass_count,
                                             .cuptiProfilerHostEvaluateToGpuValues = evaluate,
                                             .cuptiRangeProfilerEnable = enable,
                                             .cuptiRangeProfilerDisable = disable,
                                             .cuptiRangeProfilerSetConfig = set_config,
                                             .cuptiRangeProfilerStart = start,
                                             .cuptiRangeProfilerStop = stop,
                                             .cuptiRangeProfilerDecodeData = decode,
                                             .cuptiRangeProfilerGetCounterDataSize = data_size,
                                             .cuptiRangeProfilerCounterDataImageInitialize = data_image,
                                             .cuptiRangeProfilerGetCounterDataInfo = data_info};
    (void)err;
    return &table;
}

int atoll_cupti_check(const struct atoll_cupti *cupti, unsigned int result, const char *call,
                      struct atoll_err *err)
{
    (void)cupti;
    return result == ATOLL_CUPTI_SUCCESS ? 0 : atoll_err_set(err, ATOLL_E_MISSING, "%s", call);
}

static unsigned context_set(struct CUctx_st *context)
{
    (void)context;
    return ATOLL_CUDA_SUCCESS;
}
static unsigned context_device(int *ret)
{
    *ret = 0;
    return ATOLL_CUDA_SUCCESS;
}
const struct atoll_cuda *atoll_cuda_open(struct atoll_err *err)
{
    static const struct atoll_cuda table = {.cuCtxSetCurrent = context_set, .cuCtxGetDevice = context_device};
    (void)err;
    return &table;
}
const char *atoll_cuda_describe(const struct atoll_cuda *cuda, unsigned result, char *ret_text, size_t bytes)
{
    (void)cuda;
    (void)result;
    (void)bytes;
    return strcpy(ret_text, "");
}

/* ---- tests ---- */

static const char *const small[] = {"a.first"}, *const full[] = {"b.first", "b.second", "b.third"};

static struct atoll_counters *both_open(void)
{
    size_t passes = 0;
    struct atoll_counters *c = atoll_counters_create(NULL, NULL);
    assert_non_null(c);
    assert_int_equal(atoll_counters_open(c, 0, small, 1, &passes, NULL), 0);
    assert_int_equal(passes, 1);
    assert_int_equal(atoll_counters_open(c, 1, full, 3, &passes, NULL), 0);
    assert_int_equal(passes, 3);
    return c;
}

static void assert_counts(struct atoll_counters *c, unsigned slot, size_t metrics)
{
    const double *values = NULL;
    size_t ranges = 0, count = 0, passes = 0;
    int more = 1;
    assert_int_equal(atoll_counters_begin(c, slot, NULL), 0);
    for (; more; passes++) {
        assert_int_equal(atoll_counters_start(c, NULL), 0);
        assert_int_equal(atoll_counters_pass(c, &more, NULL), 0);
    }
    assert_int_equal(atoll_counters_end(c, &values, &ranges, &count, NULL), 0);
    assert_int_equal(passes, metrics);
    assert_int_equal(ranges, 1);
    assert_int_equal(count, metrics);
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == (double)(i + 1));
}

static void sets_take_turns(void **state)
{
    struct atoll_counters *c = both_open();
    static const unsigned slots[] = {0, 1, 0, 0, 1, 1, 0};
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++)
        assert_counts(c, slots[i], slots[i] ? 3 : 1);
    unsigned enables = profiler.enables;
    assert_counts(c, 0, 1); /* the same set once more costs nothing */
    assert_int_equal(profiler.enables, enables);
    atoll_counters_destroy(c);
    assert_false(profiler.is_enabled);
    (void)state;
}

static void a_slot_takes_another_set(void **state)
{
    static const char *const other[] = {"c.first", "c.second"};
    struct atoll_counters *c = both_open();
    size_t passes = 0;
    assert_counts(c, 1, 3);
    assert_int_equal(atoll_counters_open(c, 1, other, 2, &passes, NULL), 0);
    assert_counts(c, 1, 2);
    assert_counts(c, 0, 1);
    assert_int_equal(atoll_counters_begin(c, 0, NULL), 0);
    assert_int_equal(atoll_counters_open(c, 1, full, 3, &passes, NULL), -1); /* would end it unseen */
    assert_int_equal(atoll_counters_begin(c, 1, NULL), -1);
    assert_int_equal(atoll_counters_begin(c, 2, NULL), -1); /* not open */
    atoll_counters_destroy(c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_take_turns),
        cmocka_unit_test(a_slot_takes_another_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
