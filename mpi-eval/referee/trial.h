/* trial.h - one run of one candidate on one draw, with everything around it: inputs, fills, guards, flush,
 * deadline, check. Layer: mpi-eval, referee.  A subject is opened per evaluation and closed after it. */
#ifndef ATOLL_MPI_EVAL_REFEREE_TRIAL_H
#define ATOLL_MPI_EVAL_REFEREE_TRIAL_H

#include "mpi-eval/referee/fill.h"
#include "mpi-eval/referee/state.h"

/* A candidate with its worker. */
struct atoll_subject {
    const struct atoll_prepared *prepared;
    const void *object;
    size_t object_length;
    struct atoll_runner *runner;
    double candidate_ns; /* device time it used so far */
};

/* Level 4, load: CORRECT, FORBIDDEN or INFRASTRUCTURE, with the text in ret_detail (ATOLL_DETAIL_BYTES). */
enum atoll_verdict atoll_subject_open(struct atoll_referee *referee, const struct atoll_prepared *prepared,
                                      const void *object, size_t object_length,
                                      struct atoll_subject *ret_subject, char *ret_detail);
void atoll_subject_close(struct atoll_subject *subject);

/* How an output is checked.  What does not match its fingerprint is compared in full in any case. */
enum atoll_comparing {
    ATOLL_COMPARING_PRINT, /* by fingerprint */
    ATOLL_COMPARING_HELD,  /* in full where the whole answer is held, else by fingerprint */
    ATOLL_COMPARING_FULL   /* in full, whatever it costs */
};

struct atoll_trial_order {
    const struct atoll_draw *draw;
    enum atoll_comparing comparing;
    double deadline_ns;
    uint64_t placement; /* key of shifts and fills; two subjects of a pair get the same */
    int hash_outputs;   /* for comparing two runs bit by bit */
};

struct atoll_trial {
    enum atoll_verdict verdict; /* CORRECT, WRONG, CRASH, TIMEOUT, LAUNCH_ERROR, INFRASTRUCTURE */
    unsigned level;
    double ns, stop_ns, worst_error;
    double lost_ns;      /* time that the candidate's threads did not have their cores; -1 unknown */
    double reference_ns; /* wall time of a question to the reference that nobody had asked before */
    int compared_fully;
    uint64_t output_hash;
    char detail[ATOLL_DETAIL_BYTES];
};

void atoll_trial_run(struct atoll_referee *referee, struct atoll_case *known, struct atoll_subject *subject,
                     const struct atoll_trial_order *order, struct atoll_trial *ret_trial);

/* Checks one set of outputs against an answer; data: by tensor number, NULL where there is none; fills may be
 * NULL. 1 right, 0 wrong (detail filled), -1 err.  Used by trials and by the admission battery's fake
 * outputs. */
int atoll_outputs_check(const struct atoll_case *known, const struct atoll_answer *answer,
                        const void *const *data, const struct atoll_fill *const *fills, double *ret_worst,
                        char *ret_detail, struct atoll_err *err);

#endif
