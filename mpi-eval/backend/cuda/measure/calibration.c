/* What the device can do, by kernels of ours: every number is the best of several runs, and only a better one replaces
 * what is known, so that a floor is never too high for a candidate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/stats.h"
#include "mpi-eval/backend/kept_calibration.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/device.h"

#define RUNS              5u
#define EMPTY_RUNS        15u
#define EMPTY_TIMES       4u /* batches of them */
#define ARENA_SHARE       4  /* of the free memory, at most */
#define STREAM            ((uint64_t)2 << 30)
#define PROBE_STREAM      ((uint64_t)1 << 30) /* well beyond the caches */
#define RESOLUTION_MAX_NS 1000.0

struct calibration {
    struct atoll_cuda_device *device;
    struct atoll_device_info *info;
    double *jitter_ns;
};

/* Event pairs of the k-th run; event 0 only starts the clock. */
static uint32_t pair_of(unsigned k)
{
    return 1 + 2 * k;
}

static void batch_begin(struct atoll_cuda_device *d)
{
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_event(&d->batch, 0);
}

/* 0 with the shortest of `count` pairs, 1 lost, -1. */
static int batch_end(struct atoll_cuda_device *d, const char *what, unsigned count, double *ret_ns,
                     struct atoll_err *err)
{
    double best = HUGE_VAL;
    int rc = atoll_cuda_device_run_own(d, what, err);
    for (unsigned k = 0; rc == 0 && k < count; k++) {
        double ns = d->reply.event_ns[pair_of(k) + 1] - d->reply.event_ns[pair_of(k)];
        if (ns > 0 && ns < best)
            best = ns;
    }
    if (rc == 0 && !isfinite(best))
        return atoll_err_set(err, ATOLL_E_CHILD, "calibration, %s: the device's events gave no time", what);
    *ret_ns = best;
    return rc;
}

static void better(double *known, double value)
{
    if (isfinite(value) && value > *known)
        *known = value;
}

/* Copying moves every byte twice.  Reading alone may be faster: the larger one counts. */
static int bandwidth_measure(struct calibration *c, struct atoll_err *err)
{
    struct atoll_cuda_device *d = c->device;
    const struct atoll_span *arena = &d->areas[ATOLL_AREA_ARENA];
    uint32_t sms = d->facts.limits.multiprocessors;
    uint64_t half = arena->bytes / 2 / 4096 * 4096;
    if (half > STREAM / 2)
        half = STREAM / 2;
    for (int copies = 0; copies < 2; copies++) {
        double ns;
        batch_begin(d);
        for (unsigned k = 0; k < RUNS; k++) {
            atoll_command_batch_event(&d->batch, pair_of(k));
            if (copies)
                atoll_support_copy(&d->batch, arena->address + half, arena->address, half, sms);
            else
                atoll_support_read(&d->batch, arena->address, 2 * half, sms, atoll_cuda_result(d, 0));
            atoll_command_batch_event(&d->batch, pair_of(k) + 1);
        }
        int rc = batch_end(d, copies ? "copy" : "read", RUNS, &ns, err);
        if (rc != 0)
            return rc;
        better(&c->info->bandwidth_bytes_per_s, 1e9 * 2 * (double)half / ns);
    }
    return 0;
}

typedef int peak_append(struct atoll_command_batch *batch, unsigned type, uint32_t multiprocessors,
                        uint64_t result, double *ret_flops);

static int fma_step(struct atoll_command_batch *batch, unsigned type, uint32_t multiprocessors,
                    uint64_t result, double *ret_flops)
{
    return atoll_support_fma(batch, (enum atoll_dtype)type, multiprocessors, result, ret_flops);
}

/* One peak; what the architecture has not stays 0. */
static int peak_measure(struct calibration *c, peak_append *command, unsigned type, double *known,
                        struct atoll_err *err)
{
    struct atoll_cuda_device *d = c->device;
    double ns, flops = 0;
    batch_begin(d);
    for (unsigned k = 0; k < RUNS; k++) {
        atoll_command_batch_event(&d->batch, pair_of(k));
        if (command(&d->batch, type, d->facts.limits.multiprocessors, atoll_cuda_result(d, 0), &flops) != 0)
            return 0;
        atoll_command_batch_event(&d->batch, pair_of(k) + 1);
    }
    atoll_command_batch_read(&d->batch, atoll_cuda_result(d, 0), 8);
    int rc = batch_end(d, "arithmetic", RUNS, &ns, err);
    if (rc == 0 && atoll_command_batch_take_u64(&d->reply) != 0) /* it did its work */
        better(known, 1e9 * flops / ns);
    return rc;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Work is queued ahead, as it is in a sample. */
static int empty_batch(struct calibration *c, double *ret_ns, struct atoll_err *err)
{
    struct atoll_cuda_device *d = c->device;
    const struct atoll_span *arena = &d->areas[ATOLL_AREA_ARENA];
    batch_begin(d);
    atoll_support_read(&d->batch, arena->address, arena->bytes / 4096 * 4096, d->facts.limits.multiprocessors,
                       atoll_cuda_result(d, 0));
    for (unsigned k = 0; k < EMPTY_RUNS; k++) {
        atoll_command_batch_event(&d->batch, pair_of(k));
        atoll_support_empty(&d->batch);
        atoll_command_batch_event(&d->batch, pair_of(k) + 1);
    }
    int rc = atoll_cuda_device_run_own(d, "empty launch", err);
    for (unsigned k = 0; rc == 0 && k < EMPTY_RUNS; k++) {
        ret_ns[k] = d->reply.event_ns[pair_of(k) + 1] - d->reply.event_ns[pair_of(k)];
        if (!(ret_ns[k] > 0))
            return atoll_err_set(err, ATOLL_E_CHILD,
                                 "calibration, empty launch: the device's events gave no time");
    }
    return rc;
}

static int empty_measure(struct calibration *c, struct atoll_err *err)
{
    double ns[EMPTY_RUNS * EMPTY_TIMES], scratch[EMPTY_RUNS * EMPTY_TIMES];
    struct atoll_summary s;
    size_t count = EMPTY_RUNS * EMPTY_TIMES;
    for (unsigned i = 0; i < EMPTY_TIMES; i++) {
        int rc = empty_batch(c, ns + i * EMPTY_RUNS, err);
        if (rc != 0)
            return rc;
    }
    atoll_summary_of(ns, count, scratch, &s);
    qsort(ns, count, sizeof(*ns), compare_doubles);
    if (!(c->info->empty_launch_ns > 0) || s.min < c->info->empty_launch_ns)
        c->info->empty_launch_ns = s.min;
    if (!(*c->jitter_ns > 0) || s.p90 - s.p10 < *c->jitter_ns)
        *c->jitter_ns = s.p90 - s.p10;
    /* The smallest step between two times of empty launches is what the device's clock can tell apart. */
    double least = RESOLUTION_MAX_NS;
    for (size_t i = 1; i < count; i++)
        if (ns[i] - ns[i - 1] >= 0.5)
            least = fmin(least, ns[i] - ns[i - 1]);
    double resolution = least;
    if (!(c->info->clock_resolution_ns > 0) || resolution < c->info->clock_resolution_ns)
        c->info->clock_resolution_ns = resolution;
    return 0;
}

static int all_measure(struct calibration *c, struct atoll_err *err)
{
    struct atoll_cuda_device *d = c->device;
    uint64_t stream = d->facts.free_bytes / ARENA_SHARE;
    if (atoll_cuda_device_ready(d, err) != 0)
        return -1;
    int rc = atoll_cuda_device_reserve(d, 0, stream < STREAM ? stream : STREAM, 0, err);
    if (rc == 0)
        rc = bandwidth_measure(c, err);
    if (rc == 0) {
        static const enum atoll_dtype fma[] = {ATOLL_F64, ATOLL_F32, ATOLL_F16, ATOLL_BF16};
        rc = 0;
        for (size_t i = 0; rc == 0 && i < sizeof(fma) / sizeof(*fma); i++)
            rc = peak_measure(c, fma_step, fma[i], &c->info->peak_flops[fma[i]], err);
        for (unsigned type = 0; rc == 0 && type <= ATOLL_DTYPE_COUNT; type++)
            rc = peak_measure(c, atoll_support_tensor, type, &c->info->limits.tensor_flops[type], err);
    }
    return rc == 0 ? empty_measure(c, err) : rc;
}

static int measure(struct atoll_referee *referee, int (*one)(struct calibration *, struct atoll_err *),
                   const char *what, struct atoll_err *err)
{
    struct calibration c = {atoll_cuda_device_of(referee), &referee->info, &referee->jitter_ns};
    int rc = 1;
    for (int i = 0; rc > 0 && i < ATOLL_CUDA_LOST_LIMIT; i++)
        rc = one(&c, err);
    return rc > 0 ? atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost during %s: %s", what,
                                  c.device->reply.text)
                  : rc;
}

int atoll_cuda_measure(struct atoll_referee *referee, struct atoll_err *err)
{
    if (measure(referee, all_measure, "calibration", err) != 0)
        return -1;
    atoll_kept_calibration_write(&referee->info, "", atoll_clock_unix_ns(), referee->jitter_ns);
    return 0;
}

/* Bandwidth and one peak, with as many runs as the whole has: a best of fewer would often be below. */
static int probe_measure(struct calibration *c, struct atoll_err *err)
{
    if (atoll_cuda_device_ready(c->device, err) != 0)
        return -1;
    uint64_t stream = c->device->facts.free_bytes / ARENA_SHARE;
    int rc = atoll_cuda_device_reserve(c->device, 0, stream < PROBE_STREAM ? stream : PROBE_STREAM, 0, err);
    if (rc == 0)
        rc = bandwidth_measure(c, err);
    return rc == 0 ? peak_measure(c, fma_step, ATOLL_F32, &c->info->peak_flops[ATOLL_F32], err) : rc;
}

/* Into numbers of its own: what is kept stays what it is. */
static int probe(struct atoll_referee *referee, const struct atoll_device_info *kept, struct atoll_err *err)
{
    struct atoll_device_info info = referee->info;
    referee->info.bandwidth_bytes_per_s = referee->info.peak_flops[ATOLL_F32] = 0;
    int rc = measure(referee, probe_measure, "the probe of a kept calibration", err);
    int agrees =
        atoll_kept_calibration_agrees(kept->bandwidth_bytes_per_s, referee->info.bandwidth_bytes_per_s) &&
        atoll_kept_calibration_agrees(kept->peak_flops[ATOLL_F32], referee->info.peak_flops[ATOLL_F32]);
    referee->info = info;
    return rc != 0 ? -1 : agrees;
}

int atoll_cuda_calibrate(struct atoll_referee *referee, struct atoll_err *err)
{
    struct atoll_device_info kept = referee->info;
    double jitter_ns;
    if (!atoll_kept_calibration_read(&kept, "", atoll_clock_unix_ns(), &jitter_ns))
        return atoll_cuda_measure(referee, err);
    int agrees = probe(referee, &kept, err);
    if (agrees <= 0)
        return agrees < 0 ? -1 : atoll_cuda_measure(referee, err);
    atoll_log(ATOLL_LOG_INFO, "eval.calibration.kept", "the calibration of an earlier run holds");
    referee->info = kept;
    referee->jitter_ns = jitter_ns;
    return 0;
}
