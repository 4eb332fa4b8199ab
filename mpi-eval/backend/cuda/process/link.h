/* link.h - how the referee's process and atoll-worker-cuda talk: one stream socket; after the hello, batches one way
 * and replies the other, each a u64 length and as many bytes.  Both are built from the same tree and start each
 * other: the version only catches a program left over from another build.
 * Layer: mpi-eval, backend/cuda. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_LINK_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_PROCESS_LINK_H

#include "mpi-eval/backend/cuda/process/worker.h"

#define ATOLL_CUDA_LINK_VERSION 2
#define ATOLL_CUDA_LINK_FD      3 /* of the socket in the device process */
#define ATOLL_CUDA_LINK_BYTES   (ATOLL_COMMAND_BATCH_BYTES + 65536)
#define ATOLL_CUDA_LINK_ORDERLY                                                                              \
    "--orderly" /* argument: somebody looks at the process, who wants it to end in order */

struct atoll_cuda_hello {
    uint32_t version;
    uint32_t code; /* enum atoll_code; ATOLL_OK: the device stands ready */
    char text[512];
    struct atoll_cuda_facts facts;
};

#endif
