/* trial.h - one run of one candidate on one input set, with everything around it: inputs, fills, guards, flush,
 * deadline, check. Layer: mpi-eval, referee.  A candidate is opened per evaluation and closed after it. */
#ifndef ATOLL_MPI_EVAL_REFEREE_TRIAL_H
#define ATOLL_MPI_EVAL_REFEREE_TRIAL_H

#include "mpi-eval/referee/state.h"

/* A candidate that was loaded. */
struct atoll_loaded_candidate {
    const struct atoll_prepared *prepared;
    const void *object;
    size_t object_length;
    void *runner;                     /* the backend's */
    double candidate_ns;              /* device time it used so far */
    struct atoll_resources resources; /* kernel_count 0: the backend knows nothing */
};

/* How an output is checked.  What does not match its fingerprint is compared in full in any case. */
enum atoll_comparing {
    ATOLL_COMPARING_PRINT, /* by fingerprint */
    ATOLL_COMPARING_HELD,  /* in full where all expected values are held, else by fingerprint */
    ATOLL_COMPARING_FULL   /* in full, whatever it costs */
};

#define ATOLL_PLACEMENT_TURN_MASK 0xfffull

/* key: secret, and the same for all samples of a series (a variant of an evaluation, a duel). */
static inline uint64_t atoll_placement_at(uint64_t key, uint64_t turn)
{
    return (key & ~ATOLL_PLACEMENT_TURN_MASK) | (turn & ATOLL_PLACEMENT_TURN_MASK);
}

struct atoll_trial_order {
    const struct atoll_input_set *input_set;
    enum atoll_comparing comparing;
    double deadline_ns; /* atoll_referee_deadline_ns; then the backend kills the candidate: TIMEOUT */
    /* key of places, shifts and fills; two candidates of a pair get the same.  Its lowest bits are the turn of the sample
     * in its series (atoll_placement_at), the rest is the series' secret */
    uint64_t placement;
    int hash_outputs; /* for comparing two runs bit by bit */
};

struct atoll_trial {
    enum atoll_verdict verdict; /* CORRECT, WRONG, CRASH, TIMEOUT, LAUNCH_ERROR, INFRASTRUCTURE */
    unsigned level;
    double ns, stop_ns, worst_error;
    double lost_ns; /* at most this much of it others took; -1 unknown */
    double own_ns;  /* processor time of a thread of the candidate; 0 or less: unknown */
    double
        reference_ns; /* wall time of questions to the reference: a draw that nobody had asked for before, or whose values have no
                            room */
    int compared_fully;
    uint64_t output_hash;
    double clock_hz;           /* of the device during the sample; 0 unknown */
    uint64_t throttle_reasons; /* of the device's monitor; 0 none or unknown */
    int disturbed;             /* 1: the device was slowed down (heat, power brake): the time says little */
    double pace; /* fixed work around it took so many times as long as it usually does; 0 unknown */
    char detail[ATOLL_DETAIL_BYTES]; /* of a CORRECT one: a short note on how it was measured, or "" */
};

/* What the backend does of this name (backend.h), booked in the referee's account. */
void atoll_referee_trial(struct atoll_referee *referee, struct atoll_case *known,
                         struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                         struct atoll_trial *ret_trial);
enum atoll_verdict atoll_referee_load(struct atoll_referee *referee, const struct atoll_prepared *prepared,
                                      const void *object, size_t object_length,
                                      struct atoll_loaded_candidate *ret_candidate, char *ret_detail);
void atoll_referee_unload(struct atoll_referee *referee, struct atoll_loaded_candidate *candidate);
enum atoll_verdict atoll_referee_sanitize(struct atoll_referee *referee, struct atoll_case *known,
                                          struct atoll_loaded_candidate *candidate, char *ret_detail);

/* Notes what PyTorch computed expected values in, where that is less than double precision or elsewhere than usual. */
void atoll_trial_note_precision(struct atoll_trial *trial, const char *precision, const char *where);

#endif
