/* guess.h - why an output is probably wrong, in one phrase: transposed, shifted, a constant factor, a missing
 * tail ... Layer: mpi-eval, referee.  Pure. */
#ifndef ATOLL_MPI_EVAL_REFEREE_GUESS_H
#define ATOLL_MPI_EVAL_REFEREE_GUESS_H

#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/shape.h"

/* The facts that guesses start from. */
struct atoll_symptoms {
    const struct atoll_check *check;
    const struct atoll_finding *finding;
    struct atoll_shape shape;
    size_t first_wrong, last_wrong; /* flat */
    size_t first_column;            /* least last-axis index among wrong elements */
    size_t sample_count;
    size_t samples[512]; /* wrong elements, spread over the tensor */
};

/* Writes the phrase, "" when nothing fits. */
void atoll_guess_cause(const struct atoll_symptoms *symptoms, char *ret_text, size_t bytes);

#endif
