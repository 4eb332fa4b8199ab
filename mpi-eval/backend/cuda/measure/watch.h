/* watch.h - what the device's monitor says around samples: slowdowns, memory errors.  Optional: without a monitor nothing
 * is known.  Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_WATCH_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_WATCH_H

#include "mpi-eval/backend/cuda/measure/monitor.h"
#include "mpi-eval/referee/trial.h"

struct atoll_watch {
    struct atoll_monitor *monitor; /* NULL: there is none */
    double read_ns;                /* when it was asked last: asking costs more than a short sample */
    uint64_t reasons, ecc_uncorrected, ecc_corrected;
    int has_ecc;
};

void atoll_watch_open(struct atoll_watch *watch, const char *uuid);
void atoll_watch_close(struct atoll_watch *watch);
/* Notes throttling in the trial; thermal and hardware slowdowns disturb it.  What the driver reports of a kernel (Xid) is
 * added to the detail of a trial that ended badly, else logged, as corrected memory errors are.  New uncorrectable ones
 * make it INFRASTRUCTURE: 1 then, the process should be dropped. */
int atoll_watch_note(struct atoll_watch *watch, double now_ns, struct atoll_trial *trial);
/* The same with a reading; pure. */
int atoll_watch_judge(struct atoll_watch *watch, const struct atoll_monitor_reading *reading,
                      struct atoll_trial *trial);

#endif
