/* kept_calibration.h - what a calibration found, kept for the next process on the same device.
 * Layer: mpi-eval, backend.  Plain values; a file for each device, in a folder that somebody else makes and removes, which
 * the nodes of a job may share.
 *
 * A record counts for the boot, device, driver, compiler and build that it was made with, and for ATOLL_KEPT_CALIBRATION_S.
 * Nobody believes in one before a probe has agreed with it (atoll_kept_calibration_agrees).  Kept only where
 * ATOLL_KEPT_CALIBRATION_VARIABLE names a folder that is there and this user's alone: in runs of a job
 * (atoll-eval --keep-calibration). */
#ifndef ATOLL_MPI_EVAL_BACKEND_KEPT_CALIBRATION_H
#define ATOLL_MPI_EVAL_BACKEND_KEPT_CALIBRATION_H

#include "core/message.h"

#define ATOLL_KEPT_CALIBRATION_VARIABLE "ATOLL_KEEP_CALIBRATION"
#define ATOLL_KEPT_CALIBRATION_S        7200.0

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
