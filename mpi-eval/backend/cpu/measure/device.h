/* device.h - the cpu device as the referee sees it: which cores, their name and their caches.
 * Layer: mpi-eval, backend/cpu.  Plain value; nothing is measured here but the calibration, at the end. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_DEVICE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_DEVICE_H

#include <sched.h>

#include "core/message.h"
#include "mpi-eval/backend/cpu/process/runner.h"
#include "mpi-eval/backend/cpu/compile/compile.h"

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

/* What the same work on the device's cores took lately. */
#define ATOLL_PROBE_KEPT 64
struct atoll_probes {
    size_t count; /* so far */
    double ns[ATOLL_PROBE_KEPT];
};
/* Remembers one and says how many times as long it took as the faster quarter of those before it: more than 1 when a
 * neighbour on the same core, another clock or a hypervisor takes something.  1 while too few are known. */
double atoll_probes_pace(struct atoll_probes *probes, double ns);

/* ---- calibrate.c: what these cores can do, measured by kernels of ours through the ordinary runner: bandwidth, peaks, an
 * empty launch; and the known-answer kernel that qualifies the device.  Lifetime: create/destroy of the compiled
 * kernels. ---- */

struct atoll_calibration;

#define ATOLL_CALIBRATION_WIDTH_VARIABLE "ATOLL_CALIBRATION_VECTOR_BYTES"

/* runner: copied; its cores are borrowed. compiler: borrowed for windows, too.  The kernels are those that an earlier process of
 * this program compiled on the device that info describes, where records are kept (kept_record.h). */
struct atoll_calibration *atoll_calibration_create(struct atoll_compiler *compiler,
                                                   const struct atoll_runner_settings *runner,
                                                   const struct atoll_device_info *info,
                                                   struct atoll_err *err);
void atoll_calibration_destroy(struct atoll_calibration *calibration);

/* Runs the known-answer kernel: 0 when the device computes and the buffers carry what it wrote. */
int atoll_calibration_qualify(struct atoll_calibration *calibration, struct atoll_err *err);
/* Measures and fills bandwidth, peaks, empty launch; a better value than info already has wins, a worse one
 * changes nothing. ret_jitter_ns: spread of empty launches. */
int atoll_calibration_measure(struct atoll_calibration *calibration, struct atoll_device_info *info,
                              double *ret_jitter_ns, struct atoll_err *err);
/* Whether what info has been told of these cores still is so, in a small part of the time: 1, 0, -1. */
int atoll_calibration_probe(struct atoll_calibration *calibration, const struct atoll_device_info *info,
                            struct atoll_err *err);

#endif
