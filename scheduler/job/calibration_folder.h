/* calibration_folder.h - where the steps of a job keep what they found of their devices (mpi-eval/backend/kept_calibration.h):
 * a folder beside sweep.yaml, which all nodes of the job see.  Layer: scheduler.
 * The job's pilot makes and removes it.  One whose pilot was killed goes when a later pilot begins and nothing in it counts
 * any more, or with the end of the campaign.  A step that finds none calibrates: nothing here is an error. */
#ifndef ATOLL_SCHEDULER_JOB_CALIBRATION_FOLDER_H
#define ATOLL_SCHEDULER_JOB_CALIBRATION_FOLDER_H

#include <stddef.h>

/* The folder of this job, made where it is not there; those of others that count no more are removed.  campaign: its
 * folder.  ret_path: "" where it cannot be made. */
void atoll_calibration_folder_make(const char *campaign, const char *job, char *ret_path, size_t bytes);
/* "" is fine. */
void atoll_calibration_folder_remove(const char *path);
/* Those of all jobs of the campaign. */
void atoll_calibration_folder_remove_all(const char *campaign);

#endif
