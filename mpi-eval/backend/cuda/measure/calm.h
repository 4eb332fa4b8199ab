/* calm.h - memory that was given back is cleared by the driver behind everybody's back, by a copy engine that takes a part of the
 * bandwidth: on an H200 a kernel that streams 13 GB took 3.40 ms instead of 3.03 right after an answer of PyTorch
 * (docs/adr/0065).  Nothing is timed until the device reads its memory as fast as it usually does.
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CALM_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_CALM_H

#include <stdint.h>

/* Zeros: a device that nothing is known of. */
struct atoll_calm {
    double usual_ns;    /* the shortest probe of all, */
    double shortest_ns; /* and of this wait; 0 none */
    int is_known;       /* it was watched for a while once */
    int is_stirred;     /* memory was given back since it was calm */
};

/* So many bytes were given back, by whatever process; few of them are cleared before a sample begins. */
void atoll_calm_stir(struct atoll_calm *calm, uint64_t bytes);
/* A probe took so long, in ns, and the wait so far.  1: wait on.  0: it is calm, or was waited for long enough: then what its probes
 * took last counts as usual. */
int atoll_calm_waits(struct atoll_calm *calm, double probe_ns, double waited_ns);

#endif
