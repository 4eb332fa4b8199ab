/* gpus.h - which GPUs the evaluators of a node may take, told without opening a device: a process that holds a
 * context would disturb those that measure.
 * Layer: mpi-eval.  Plain values. */
#ifndef ATOLL_MPI_EVAL_NODE_GPUS_H
#define ATOLL_MPI_EVAL_NODE_GPUS_H

#include "mpi-eval/node/slice.h"

#define ATOLL_GPU_LIMIT      64
#define ATOLL_GPU_NAME_BYTES 64
#define ATOLL_GPU_VARIABLE   "ATOLL_DEVICE" /* in an evaluator's environment: ordinal or UUID of its device */
#define ATOLL_GPU_SURPLUS    "surplus"      /* of an evaluator for which no device is left */

struct atoll_gpus {
    unsigned count;
    int are_hidden; /* the node has devices, and the list names none of them */
    int is_told;    /* by the list, which a site may set for each rank by itself */
    char names[ATOLL_GPU_LIMIT][ATOLL_GPU_NAME_BYTES]; /* ordinals, or UUIDs where the list has them */
};

/* visible: CUDA_VISIBLE_DEVICES, NULL when it is not set (all), as the driver reads it: what follows a name that is
 * none is not there.  folder: "/dev", whose nvidia<number> are counted. */
void atoll_gpus_list(const char *visible, const char *folder, struct atoll_gpus *ret_gpus);

/* Name for an evaluator of a node: its own device by its index, ATOLL_GPU_SURPLUS beyond them or when all are
 * hidden, NULL when the node has no device.  A list of one device is everybody's: where each rank sees one of its own (often all
 * of them call it "0") it is right, and where all see the same one its lock, which goes by UUID, leaves it to the
 * first.  Borrowed from gpus. */
const char *atoll_gpus_of(const struct atoll_gpus *gpus, const struct atoll_slice *slice);

#endif
