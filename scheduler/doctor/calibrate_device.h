/* calibrate_device.h - a compiler and a referee in this process, for commands that measure without a campaign
 * (task check, verify --recheck, doctor).  Layer: scheduler.  Lifetime: open/close. */
#ifndef ATOLL_SCHEDULER_DOCTOR_CALIBRATE_DEVICE_H
#define ATOLL_SCHEDULER_DOCTOR_CALIBRATE_DEVICE_H

#include "base/err.h"
#include "core/message.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/referee/referee.h"

struct atoll_bench_device {
    struct atoll_setup setup;
    struct atoll_compiler *compiler;
    struct atoll_referee *referee;
};

/* Setup of a measurement outside a run: the defaults, with a fresh secret.  -1 when the system gives no
 * random bytes. */
int atoll_bench_setup(struct atoll_setup *ret_setup, struct atoll_err *err);
/* Opens the device with device->setup, which the caller filled. */
int atoll_bench_device_open(struct atoll_bench_device *device, struct atoll_err *err);
void atoll_bench_device_close(struct atoll_bench_device *device);

#endif
