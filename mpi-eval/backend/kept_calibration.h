/* kept_calibration.h - what a calibration found, kept for the next process on the same device.
 * Layer: mpi-eval, backend.  A record (mpi-eval/referee/kept_record.h): nobody believes in one before a probe has agreed with
 * it (atoll_kept_calibration_agrees). */
#ifndef ATOLL_MPI_EVAL_BACKEND_KEPT_CALIBRATION_H
#define ATOLL_MPI_EVAL_BACKEND_KEPT_CALIBRATION_H

#include "core/message.h"
#include "mpi-eval/referee/kept_record.h"

#define ATOLL_KEPT_CALIBRATION_VARIABLE ATOLL_KEPT_RECORD_VARIABLE
#define ATOLL_KEPT_CALIBRATION_S        ATOLL_KEPT_RECORD_S

/* 1: info has bandwidth, peaks and times of a record that counts for the device that it describes, and ret_jitter_ns its spread;
 * 0: there is none.  how: what else the numbers follow from (the compiler's flags). */
int atoll_kept_calibration_read(struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                double *ret_jitter_ns);
/* Keeps what info has; what fails costs the next process a calibration. */
void atoll_kept_calibration_write(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                  double jitter_ns);

/* Whether a probe's rate is one that a kept rate allows: not above it, for then the device can do more than is known, and floors
 * would be too high; not far below it, for then something has changed. */
int atoll_kept_calibration_agrees(double kept_rate, double probed_rate);

#endif
