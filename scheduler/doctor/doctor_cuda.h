/* doctor_cuda.h - what `atoll doctor` says of CUDA: libraries, devices, whether counters may be read, who holds what.
 * Layer: scheduler.  Drivers are asked in a child process with a deadline: a broken one is a finding. */
#ifndef ATOLL_SCHEDULER_DOCTOR_DOCTOR_CUDA_H
#define ATOLL_SCHEDULER_DOCTOR_DOCTOR_CUDA_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"

/* {"driver", "nvml", "nvrtc", "cupti", "compute-sanitizer": {"ok", "text"}, "devices": [{...}]}, owned; NULL: the driver
 * hung or crashed. */
json_t *atoll_doctor_cuda(struct atoll_err *err);
/* Bandwidth, peaks and launch time of one device as its evaluator measures them, in about half a minute; the device's
 * object gets "calibration".  ATOLL_E_BUSY, MISSING ... as the evaluator says. */
int atoll_doctor_cuda_calibrate(json_t *device, struct atoll_err *err);
/* One paragraph of text on a device. */
void atoll_doctor_cuda_print(const json_t *device, FILE *out);

/* Whether counters are open to this process: "open", or why not and what to do.  params: the driver's list of settings
 * (/proc/driver/nvidia/params); is_root: 1 when privileged.  1 open, 0 closed, -1 nobody can tell. */
int atoll_doctor_counters(const char *params, int is_root, char *ret_text, size_t bytes);

#endif
