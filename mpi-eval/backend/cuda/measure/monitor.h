/* monitor.h - what the driver tells of one GPU from outside: clocks, throttling, temperature, power, memory errors, who
 * else computes on it, Xid events.  In the evaluator process, which has no CUDA context.
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread.  Source: NVML API reference. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_MONITOR_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_MONITOR_H

#include "mpi-eval/referee/trial.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define ATOLL_MONITOR_PROCESS_LIMIT 64
#define ATOLL_MONITOR_XID_LIMIT     16

struct atoll_nvml;
struct atoll_monitor;

/* What does not change while the driver is loaded; "" and NaN: not told. */
struct atoll_monitor_facts {
    char model[96], uuid[96], driver[80], pci[32]; /* pci: "00000000:19:00.0" */
    int cuda_version;                              /* of the driver, 13000 = 13.0; 0 not told */
    double sm_max_hz, memory_max_hz;
};

struct atoll_monitor_reading {
    double sm_hz, memory_hz, temperature_celsius, power_watt; /* NaN: not told */
    int has_throttle, has_ecc, has_events;
    uint64_t throttle_reasons;               /* bits of nvmlClocksEventReasons, at this moment */
    uint64_t ecc_corrected, ecc_uncorrected; /* memory errors since the driver was loaded */
    int mig;                                 /* 1 the device is cut into slices, 0 not, -1 not told */
    size_t process_count;                    /* all that compute on the device, also ours */
    int has_others;                          /* 0: not told, or pids of another namespace (a container's) */
    size_t other_count;                      /* of others; all of them, when more than fit */
    pid_t others[ATOLL_MONITOR_PROCESS_LIMIT];
    size_t xid_count; /* since the last read, with has_events; all, when more than fit */
    uint64_t xids[ATOLL_MONITOR_XID_LIMIT];
};

/* uuid: "GPU-...".  ATOLL_E_MISSING: no NVML or no driver loaded; ATOLL_E_NOTFOUND: no such device; ATOLL_E_DENIED. */
struct atoll_monitor *atoll_monitor_create(const char *uuid, struct atoll_err *err);
/* The same on an NVML of the caller's (borrowed until destroy). */
struct atoll_monitor *atoll_monitor_create_on(const struct atoll_nvml *nvml, const char *uuid,
                                              struct atoll_err *err);
void atoll_monitor_destroy(struct atoll_monitor *monitor);                                  /* NULL is fine */
const struct atoll_monitor_facts *atoll_monitor_facts(const struct atoll_monitor *monitor); /* borrowed */

/* Never waits.  ours: processes of ours that hold a context on the device at this time; when the driver lists processes
 * and none of these, its pids are not comparable with ours.  What this device does not tell is marked so and is no
 * error; ATOLL_E_NOTFOUND: the device has fallen off the bus or needs a reset. */
int atoll_monitor_read(struct atoll_monitor *monitor, const pid_t *ours, size_t ours_count,
                       struct atoll_monitor_reading *ret_reading, struct atoll_err *err);

/* Of the bits of throttle_reasons those that discard a sample (heat, hardware slow-down; MEASUREMENT.md 3): a power cap
 * is the steady state of heavy kernels. */
uint64_t atoll_monitor_disturbing(uint64_t throttle_reasons);

/* What the monitor says around samples: slowdowns, memory errors.  Optional: without a monitor nothing is known. */
struct atoll_watch {
    struct atoll_monitor *monitor; /* NULL: there is none */
    double read_ns;                /* when it was asked last: asking costs more than a short sample */
    uint64_t reasons, ecc_uncorrected, ecc_corrected;
    int has_ecc;
};

void atoll_watch_open(struct atoll_watch *watch, const char *uuid);
void atoll_watch_close(struct atoll_watch *watch);
/* Notes throttling in the trial; thermal and hardware slowdowns disturb it.  What the driver reports of a kernel (Xid) is
 * added to the detail of a trial that ended badly, else logged, as corrected memory errors are.  New uncorrectable ones
 * make it INFRASTRUCTURE: 1 then, the process should be dropped. */
int atoll_watch_record(struct atoll_watch *watch, double now_ns, struct atoll_trial *trial);
/* The same with a reading; pure. */
int atoll_watch_judge(struct atoll_watch *watch, const struct atoll_monitor_reading *reading,
                      struct atoll_trial *trial);

#endif
