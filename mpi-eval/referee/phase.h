/* phase.h - where the wall time of samples goes; for bench/ and reports.
 * Layer: mpi-eval, referee.  Plain values. */
#ifndef ATOLL_MPI_EVAL_REFEREE_PHASE_H
#define ATOLL_MPI_EVAL_REFEREE_PHASE_H

enum atoll_phase {
    ATOLL_PHASE_EXPECTED,  /* the reference, or looking up what it said */
    ATOLL_PHASE_INPUTS,    /* buffers, guards, inputs, fills */
    ATOLL_PHASE_FLUSH,     /* caches emptied */
    ATOLL_PHASE_FORK,      /* waiting for a sample's child: forked, buffers mapped, threads spinning */
    ATOLL_PHASE_SPAN,      /* the candidate */
    ATOLL_PHASE_DEATH,     /* the child killed and gone */
    ATOLL_PHASE_UNTOUCHED, /* guards and inputs checked */
    ATOLL_PHASE_OUTPUTS,   /* fingerprints and comparisons */
    ATOLL_PHASE_COUNT
};

/* Sums since the referee began. */
struct atoll_phases {
    double ns[ATOLL_PHASE_COUNT];
    unsigned long trial_count;
};

const char *atoll_phase_name(enum atoll_phase phase);

#endif
