/* text.h - the units of the device as text, NUL-terminated; made from the files of this folder when the project is built
 * (embed.cmake).  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_TEXT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_TEXT_H

extern const char atoll_device_support_text[];
extern const char atoll_device_calibration_text[];
extern const char atoll_device_wide_frames_text[];
extern const char atoll_device_tiles_text[]; /* no unit: the head of a task's reference.cu */

#endif
