/* calibrate.h - what this device can do, measured by kernels of ours through the ordinary runner: bandwidth,
 * peaks, an empty launch; and the known-answer kernel that qualifies it. Layer: mpi-eval, backend/cpu.  Lifetime:
 * create/destroy of the compiled kernels. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_CALIBRATE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_CALIBRATE_H

#include "core/message.h"
#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/process/runner.h"

struct atoll_calibration;

/* runner: copied; its cores are borrowed. compiler: borrowed for windows, too. */
struct atoll_calibration *atoll_calibration_create(struct atoll_compiler *compiler,
                                                   const struct atoll_runner_settings *runner,
                                                   struct atoll_err *err);
void atoll_calibration_destroy(struct atoll_calibration *calibration);

/* Runs the known-answer kernel: 0 when the device computes and the buffers carry what it wrote. */
int atoll_calibration_qualify(struct atoll_calibration *calibration, struct atoll_err *err);
/* Measures and fills bandwidth, peaks, empty launch; a better value than info already has wins, a worse one
 * changes nothing. ret_jitter_ns: spread of empty launches. */
int atoll_calibration_measure(struct atoll_calibration *calibration, struct atoll_device_info *info,
                              double *ret_jitter_ns, struct atoll_err *err);

#endif
