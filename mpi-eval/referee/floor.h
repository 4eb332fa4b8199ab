/* floor.h - is a time possible? (MEASUREMENT.md 4)  Layer: mpi-eval, referee.  Pure.
 * Cold: everything that must be read comes from memory, and what is written may stay in the last-level cache.  Warm:
 * whatever fits there may be there already, so that only what exceeds it must pass through memory. */
#ifndef ATOLL_MPI_EVAL_REFEREE_FLOOR_H
#define ATOLL_MPI_EVAL_REFEREE_FLOOR_H

#include "core/message.h"
#include "core/task/task.h"

struct atoll_floor {
    double hard_ns;      /* compulsory traffic at the measured bandwidth, or an empty launch */
    double audit_ns;     /* useful operations at the peak of the fastest allowed arithmetic; 0 = not known */
    double reporting_ns; /* the larger of the two */
};

#define ATOLL_FLOOR_IMPOSSIBLE_RATIO 0.9

/* work: of one variant; precisions: task->precisions; is_warm: of the setup. */
struct atoll_floor atoll_floor_of(const struct atoll_work *work, unsigned precisions,
                                  const struct atoll_device_info *device, int is_warm);

#endif
