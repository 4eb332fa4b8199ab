/* compile_state.h - the NVRTC compiler from within: its slots, and the jobs on their way through children.
 * Layer: mpi-eval, backend/cuda; for compile.c and compile_jobs.c. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_STATE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_STATE_H

#include "mpi-eval/backend/cpu/compile/compile_job.h"
#include "mpi-eval/backend/cuda/compile/compile_cache.h"
#include "mpi-eval/backend/cuda/compile/compile_child.h"
#include "mpi-eval/backend/cuda/compile/compile_options.h"

#define ATOLL_NVRTC_TARGET_BYTES 16
#define ATOLL_NVRTC_NUMBER_BYTES 24
#define ATOLL_NVRTC_START_NS     120e9 /* for a child to open NVRTC, over a slow file system */

struct atoll_nvrtc_slot {
    struct atoll_compile_child child;
    struct atoll_compile_job *job; /* owned; NULL: none */
    unsigned attempts;             /* of the job */
    uint64_t serial;               /* of the request under way */
    double since_ns;               /* start of the child, or of the request */
};

struct atoll_nvrtc {
    struct atoll_compiler base;
    struct atoll_toolkit toolkit;
    struct atoll_compile_cache *cache; /* NULL: none */
    struct atoll_filter filter;
    struct atoll_limit limits[4];
    struct atoll_compile_options options; /* before the defines */
    char *version, target[ATOLL_NVRTC_TARGET_BYTES], seconds[ATOLL_NVRTC_NUMBER_BYTES],
        bytes[ATOLL_NVRTC_NUMBER_BYTES];
    char *environment[4];     /* owned */
    struct atoll_id identity; /* of all that is the same for every job */
    double deadline_ns;
    uint64_t memory_bytes, output_bytes;
    struct atoll_nvrtc_slot *slots;
    unsigned slot_count;
    struct atoll_compile_queue queued, done;
    uint64_t serial;
};

/* Gives queued jobs to children: to those that stand ready, then to those that start, then to new ones. */
void atoll_nvrtc_start_jobs(struct atoll_nvrtc *n);
/* Talks to a slot's child without blocking, and ends it at its deadline. */
void atoll_nvrtc_tend(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot);
/* What a job's cubin is kept under; zero: no memory. */
void atoll_nvrtc_key(const struct atoll_nvrtc *n, const struct atoll_compile_job *job,
                     struct atoll_id *ret_key);

#endif
