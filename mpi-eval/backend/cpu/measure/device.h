/* device.h - the cpu device as the referee sees it: which cores, their name and their caches.
 * Layer: mpi-eval, backend/cpu.  Plain value; nothing is measured here (calibrate.h does). */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_DEVICE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_DEVICE_H

#include <sched.h>

#include "core/message.h"
#include "mpi-eval/backend/cpu/process/runner.h"

#define ATOLL_DEVICE_CORE_LIMIT 1024

struct atoll_device {
    int referee_core;
    size_t core_count; /* of candidates */
    int cores[ATOLL_DEVICE_CORE_LIMIT];
    int spin;           /* a core is free for the referee */
    cpu_set_t affinity; /* of the calling thread before atoll_device_pin */
};

/* threads: 0 = all cores of the affinity mask but one. */
int atoll_device_open(uint32_t threads, struct atoll_device *ret_device, struct atoll_err *err);
/* Shares cores between referee and candidates; pure. */
void atoll_device_share(const int *cores, size_t count, uint32_t threads, struct atoll_device *ret_device);
/* Binds the calling thread to the referee's core; unpin gives it back what it had. */
void atoll_device_pin(const struct atoll_device *device);
void atoll_device_unpin(const struct atoll_device *device);
/* Names, caches, isolation, key; times and rates stay 0. */
void atoll_device_describe(const struct atoll_device *device, const char *toolchain,
                           struct atoll_device_info *ret_info);
/* ATOLL_WORKER names another atoll-worker than the one beside the running program. */
struct atoll_runner_settings atoll_device_runner(const struct atoll_device *device);

#endif
