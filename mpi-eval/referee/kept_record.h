/* kept_record.h - what a process found of its device, kept for the next one on the same device.
 * Layer: mpi-eval, referee.  A file for each device and kind, in a folder that somebody else makes and removes, which the nodes
 * of a job may share.
 *
 * A record counts for the boot, device, driver, compiler and build that it was made with, and for ATOLL_KEPT_RECORD_S.  Kept
 * only where ATOLL_KEPT_RECORD_VARIABLE names a folder that is there and this user's alone: in runs of a job
 * (atoll-eval --keep-calibration). */
#ifndef ATOLL_MPI_EVAL_REFEREE_KEPT_RECORD_H
#define ATOLL_MPI_EVAL_REFEREE_KEPT_RECORD_H

#include "base/buffer.h"
#include "core/message.h"

#define ATOLL_KEPT_RECORD_VARIABLE "ATOLL_KEEP_CALIBRATION"
#define ATOLL_KEPT_RECORD_S        7200.0

/* 1: there is one that counts for the device that info describes, and ret_reader stands at its content, in bytes (initialised
 * by the caller with a limit); 0: there is none.  how: what it is, and what else it follows from. */
int atoll_kept_record_read(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                           struct atoll_buffer *bytes, struct atoll_reader *ret_reader);
/* In place of the one that was there; what fails costs the next process its work. */
void atoll_kept_record_write(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                             const struct atoll_buffer *content);

#endif
