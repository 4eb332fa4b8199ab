/* fingerprint.h - what is kept of an expected tensor so that an output can be checked in one pass:
 * secret-weighted sums of blocks with the most they may be off, and sampled elements with their own tolerance
 * (MEASUREMENT.md 2). Layer: mpi-eval, backend/cpu.  Lifetime: init by make / fini. A right output always
 * matches; a wrong one that matches has no block whose weighted error exceeds its bound and none of the
 * sampled elements wrong. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_FINGERPRINT_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "core/task/task.h"

#define ATOLL_FINGERPRINT_BLOCK   128
#define ATOLL_FINGERPRINT_SAMPLES 384

struct atoll_fingerprint {
    size_t count, block_count, sample_count;
    uint64_t key;
    double *sums, *bounds;       /* per block */
    size_t *indices;             /* ascending */
    double *values, *tolerances; /* per sampled element */
    int finite;                  /* 0: the reference has NaN or Inf, only a full comparison decides */
};

/* scale may be NULL.  key: secret. */
int atoll_fingerprint_make(struct atoll_fingerprint *ret_print, const struct atoll_tolerance *tolerance,
                           const double *values, const double *scale, size_t count, uint64_t key,
                           struct atoll_err *err);
void atoll_fingerprint_fini(struct atoll_fingerprint *print);
/* 1 matches; 0 does not, or cannot tell: compare in full. */
int atoll_fingerprint_match(const struct atoll_fingerprint *print, enum atoll_dtype dtype, const void *data);

#endif
