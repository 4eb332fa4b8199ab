#include "mpi-eval/backend/cuda/watch.h"

#include <stdio.h>
#include <string.h>

#include "mpi-eval/backend/cuda/nvml.h"

#define INTERVAL_NS 50e6
/* A power cap is the steady state of heavy kernels (MEASUREMENT.md 3). */
#define SLOWDOWNS                                                                                            \
    ((uint64_t)ATOLL_nvmlClocksThrottleReasonHwSlowdown | ATOLL_nvmlClocksThrottleReasonSwThermalSlowdown |  \
     ATOLL_nvmlClocksThrottleReasonHwThermalSlowdown | ATOLL_nvmlClocksThrottleReasonHwPowerBrakeSlowdown)

void atoll_watch_open(struct atoll_watch *w, const char *uuid)
{
    memset(w, 0, sizeof *w);
    w->monitor = atoll_monitor_create(uuid, NULL);
}

void atoll_watch_close(struct atoll_watch *w)
{
    atoll_monitor_destroy(w->monitor);
    w->monitor = NULL;
}

int atoll_watch_judge(struct atoll_watch *w, const struct atoll_monitor_reading *r, struct atoll_trial *t)
{
    uint64_t errors = r->has_ecc && w->has_ecc && r->ecc_uncorrected > w->ecc_uncorrected
                          ? r->ecc_uncorrected - w->ecc_uncorrected
                          : 0;
    w->reasons = r->has_throttle ? r->throttle_reasons : 0;
    if (r->has_ecc) {
        w->has_ecc = 1;
        w->ecc_uncorrected = r->ecc_uncorrected;
    }
    if (!errors)
        return 0;
    t->verdict = ATOLL_V_INFRASTRUCTURE;
    t->level = 0;
    snprintf(t->detail, sizeof t->detail,
             "the device had %llu uncorrectable memory errors during this sample",
             (unsigned long long)errors);
    return 1;
}

int atoll_watch_note(struct atoll_watch *w, double now_ns, struct atoll_trial *t)
{
    struct atoll_monitor_reading reading;
    int is_bad = 0;
    if (!w->monitor)
        return 0;
    if (now_ns - w->read_ns >= INTERVAL_NS) {
        w->read_ns = now_ns;
        if (atoll_monitor_read(w->monitor, NULL, 0, &reading, NULL) == 0)
            is_bad = atoll_watch_judge(w, &reading, t);
    }
    t->throttle_reasons |= w->reasons;
    t->disturbed |= (w->reasons & SLOWDOWNS) != 0;
    return is_bad;
}
