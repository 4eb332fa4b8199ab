/* keeping.h - what is kept of the expected values of a draw, and how the outputs of a sample are looked at (docs/adr/0024).
 * Layer: mpi-eval, backend/cuda.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_KEEPING_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_KEEPING_H

#include "mpi-eval/backend/cuda/measure/expected.h"
#include "mpi-eval/backend/cuda/measure/sample.h"
#include "mpi-eval/referee/trial.h"

/* Whole answers of so many bytes cost no more than a fingerprint. */
#define ATOLL_KEEPING_SMALL_BYTES ((uint64_t)256 << 10)
/* Draws whose answers are whole beyond those that a candidate's full comparisons use. */
#define ATOLL_KEEPING_SPARE 3

struct atoll_keeping {
    const struct atoll_tolerance *tolerance;
    enum atoll_variant_kind kind; /* of the variant */
    int has_nonfinite;            /* expected values of the variant that are not finite were seen */
    uint64_t bytes;               /* of the whole answer */
    size_t pool_size, full_compares;
    enum atoll_comparing comparing;
};

/* Which parts (ATOLL_SAMPLE_...) are to be made now.  Where fingerprints decide, every draw of the pool has one, and as many
 * have their whole values as a candidate's full comparisons use, where these find room together: one of a few huge ones would stand where
 * many others do. Elsewhere all have these, as long as they fit; a fresh one that does not has a fingerprint for its second
 * sample, where that need not be compared in full. */
unsigned atoll_keeping_wanted(const struct atoll_keeping *keeping, const struct atoll_expected_store *store,
                              const struct atoll_sealed *sealed);

/* Bytes that the pool of the variant takes where all of it has room that is to be kept.  print_bytes: of a draw's fingerprint.  Whole
 * answers that take more than `most` together find no room beside those of others, and are not counted. */
uint64_t atoll_keeping_demand(const struct atoll_keeping *keeping, uint64_t print_bytes, uint64_t most);

/* Whether a fingerprint that is all there is to make (parts) waits for the check of the sample: that one runs the reference in any
 * case, and a draw costs one answer instead of two.  Of a fresh draw the first sample is always checked so. */
int atoll_keeping_is_later(const struct atoll_sealed *sealed, unsigned parts, enum atoll_comparing comparing);

enum atoll_looking atoll_keeping_looking(const struct atoll_sealed *sealed, enum atoll_comparing comparing);

#endif
