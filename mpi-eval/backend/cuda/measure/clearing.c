#include "mpi-eval/backend/cuda/measure/clearing.h"

#include <math.h>

#include "base/clock.h"
#include "base/log.h"

#define READS 8 /* of a probe; the shortest counts */

/* The shortest of some reads of the memory that flushes are made of.  NaN where the device's events give no time. */
static int probe(struct atoll_cuda_device *d, double *ret_ns, struct atoll_err *err)
{
    const struct atoll_span *flush = &d->areas[ATOLL_AREA_FLUSH];
    atoll_command_batch_clear(&d->batch);
    for (uint32_t k = 0; k <= READS; k++) {
        atoll_command_batch_event(&d->batch, k);
        if (k < READS)
            atoll_support_read(&d->batch, flush->address, flush->bytes / 4096 * 4096,
                               d->facts.limits.multiprocessors, atoll_cuda_result(d, 0));
    }
    int rc = atoll_cuda_device_run_own(d, "waiting until freed memory is cleared", err);
    *ret_ns = NAN;
    for (uint32_t k = 0; rc == 0 && k < READS; k++)
        *ret_ns = fmin(*ret_ns, d->reply.event_ns[k + 1] - d->reply.event_ns[k]);
    return rc;
}

int atoll_cuda_clearing_wait(struct atoll_cuda_device *d, struct atoll_err *err)
{
    double begin = atoll_clock_mono_ns(), waited = 0, ns = NAN;
    int rc = 0, waits = d->calm.is_stirred && d->worker && d->areas[ATOLL_AREA_FLUSH].bytes;
    if (!waits)
        return 0;
    while (rc == 0 && waits) {
        rc = probe(d, &ns, err);
        waited = atoll_clock_mono_ns() - begin;
        if (rc == 0)
            waits = ns > 0 && atoll_calm_waits(&d->calm, ns, waited);
    }
    atoll_log(
        ATOLL_LOG_DEBUG, "eval.device.calm",
        "waited %.1f ms until memory that was given back is cleared: a probe takes %.1f us, at best %.1f",
        waited / 1e6, ns / 1e3, d->calm.usual_ns / 1e3);
    return rc;
}
