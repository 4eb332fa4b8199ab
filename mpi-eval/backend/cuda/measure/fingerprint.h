/* fingerprint.h - sealed fingerprints of expected values on the device, as commands of a batch (docs/adr/0024): about 0.13 bytes
 * per element, made where the plain values stand, matched with an output in one pass over it.  A right output always matches; a
 * wrong one that matches has no block whose weighted error exceeds its bound and none of the sampled elements wrong.  Like all
 * keys of sealed values, theirs are in batches without candidates only.  Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_FINGERPRINT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_FINGERPRINT_H

#include "mpi-eval/backend/cuda/measure/support.h"

/* Whether a fingerprint decides: each element has a bound, none may be wrong, and a norm alone is asked of the whole tensor: its
 * bounds are then those of check.h's atoll_norm_rule (docs/adr/0060). */
int atoll_cuda_fingerprint_decides(const struct atoll_tolerance *tolerance);
uint64_t atoll_cuda_fingerprint_bytes(uint64_t count);

#define ATOLL_CUDA_FINGERPRINT_FINDING_BYTES 64 /* at result, zeros before */

/* Makes the one of output->expected (and scale) at `print`, a multiple of 16. */
void atoll_cuda_fingerprint_make(struct atoll_command_batch *batch, const struct atoll_task *task,
                                 const struct atoll_support_output *output, uint64_t print,
                                 const struct atoll_support_key *key, uint64_t salt, uint64_t result);
/* Holds output->address against it, with so much of each bound; output->hash as in a comparison. */
void atoll_cuda_fingerprint_match(struct atoll_command_batch *batch, const struct atoll_task *task,
                                  const struct atoll_support_output *output, uint64_t print,
                                  const struct atoll_support_key *key, uint64_t salt, double bound_ratio,
                                  uint64_t result);

struct atoll_cuda_fingerprint_finding {
    uint64_t off_count;       /* of a match: 0 matches */
    uint64_t nonfinite_count; /* of the making: with any, nothing can be said by it */
    uint64_t pair_count;      /* seen; another number than there are: the kernel did not do its work */
    uint64_t hash;            /* of what is sealed: what was damaged has another one */
    double expected2, bound2; /* of the making: sums of squares of the values, and of the elements' bounds */
    double error2;            /* of a match: sum of squares of what the blocks' sums are off */
};
void atoll_cuda_fingerprint_read(const void *bytes, struct atoll_cuda_fingerprint_finding *ret_finding);
/* 1: the output is right; 0: it may be wrong, to be compared in full.  error2_limit: of the same rule as bound_ratio. */
int atoll_cuda_fingerprint_matches(const struct atoll_cuda_fingerprint_finding *finding, uint64_t count,
                                   double error2_limit);

#endif
