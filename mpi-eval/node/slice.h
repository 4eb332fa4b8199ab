/* slice.h - which cores (and which device, gpus.h) of a node an evaluator may use when several share the node: disjoint
 * slices, so that nobody is timed on a core that another evaluator works on.
 * Layer: mpi-eval.  Plain values. */
#ifndef ATOLL_MPI_EVAL_NODE_SLICE_H
#define ATOLL_MPI_EVAL_NODE_SLICE_H

#include <sched.h>

struct atoll_slice {
    unsigned index, count; /* this evaluator, evaluators of this node; count 0 or 1: everything is its own */
};

/* The slice of a rank's evaluator from what mpirun tells about the node (OMPI_COMM_WORLD_LOCAL_RANK, ..._LOCAL_SIZE,
 * ..._RANK) or else srun (SLURM_LOCALID, SLURM_PROCID, SLURM_NODEID, SLURM_STEP_TASKS_PER_NODE); a rank 0 that coordinates on this node needs no slice.  {0, 1} when nothing is told. */
struct atoll_slice atoll_slice_of_rank(void);

/* How many tasks node number `node` (from 0) has in Slurm's list, "2(x3),1"; -1 when it does not say.  NULL is fine. */
int atoll_slice_tasks_of_node(const char *list, unsigned node, unsigned *ret_tasks);

/* Cores of a slice: all of mask when it is the only one, or when the launcher bound each evaluator to cores of its own: mask
 * has fewer than allowed_count (the cores of the job on this node), and as many for every evaluator are there.  Else its
 * contiguous share of mask.  With fewer cores than evaluators slices share cores. */
void atoll_slice_cores(const struct atoll_slice *slice, const cpu_set_t *mask, int allowed_count,
                       cpu_set_t *ret_cores);

/* Binds the calling process.  is_shared: no launcher can have bound evaluators apart, whatever the mask.  Failures leave it
 * as it was: the referee works with whatever mask it finds. */
void atoll_slice_bind(const struct atoll_slice *slice, int is_shared);

#endif
