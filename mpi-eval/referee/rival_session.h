/* rival_session.h - work with rivals under one order: the torch process, inputs, and how its failures are judged.
 * Layer: mpi-eval, referee.  Lifetime: open/close; of rival.c and rival_duel.c. */
#ifndef ATOLL_MPI_EVAL_REFEREE_RIVAL_SESSION_H
#define ATOLL_MPI_EVAL_REFEREE_RIVAL_SESSION_H

#include "core/evaluation.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/torch/torch_rival.h"

struct atoll_rival_session {
    struct atoll_referee *referee;
    struct atoll_case *known;
    const struct atoll_order *order;
    struct atoll_torch_rival *torch; /* the referee's */
    double end_ns;                   /* of all of it, by atoll_referee_now_ns */
    uint64_t input_sets;             /* fresh ones used so far */
    int is_alone;   /* the device bears one process at a time: theirs is ended before ours works */
    int was_let_go; /* there is no memory for ours beside theirs */
    enum atoll_verdict verdict; /* what ended it */
    char *detail;               /* of the caller, ATOLL_DETAIL_BYTES */
};

/* Raw outputs of one question, by tensor; all zero at first. */
struct atoll_rival_outputs {
    struct atoll_input_set input_set;
    void *data[ATOLL_TASK_TENSOR_LIMIT]; /* owned; NULL where there is none */
};
void atoll_rival_outputs_fini(struct atoll_rival_outputs *outputs);

/* All below: 0, or -1 with verdict and detail.  limit_ns: of the order, 0 the referee's own.  known: borrowed until close; NULL is
 * told as what it is. */
int atoll_rival_session_open(struct atoll_rival_session *session, struct atoll_referee *referee,
                             struct atoll_case *known, const struct atoll_order *order, char *detail);
/* Memory of the process goes back, or the process where the device bears one alone. */
void atoll_rival_session_close(struct atoll_rival_session *session);
int atoll_rival_session_end(struct atoll_rival_session *session, enum atoll_verdict verdict,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));
/* -1 with what an error of ours or of the torch process means. */
int atoll_rival_session_fail(struct atoll_rival_session *session, const struct atoll_err *why);
int atoll_rival_session_build(struct atoll_rival_session *session, uint32_t number, uint32_t variant,
                              struct atoll_torch_built *ret_built);
/* input_sets: count of one variant.  ret_host_ns: NULL or as in torch_rival.h. */
int atoll_rival_session_sample(struct atoll_rival_session *session, uint64_t handle,
                               const struct atoll_input_set *input_sets, size_t count,
                               struct atoll_torch_sample *ret_samples, double *ret_host_ns);
/* How many samples one question may have at a variant, by the memory that their inputs take. */
size_t atoll_rival_session_most(const struct atoll_rival_session *session, uint32_t variant);
int atoll_rival_session_output(struct atoll_rival_session *session, uint64_t handle,
                               const struct atoll_input_set *input_set,
                               struct atoll_rival_outputs *ret_outputs);
/* Both at once where outputs need not leave the device: 1 they were checked, 0: output and examine must do it. */
int atoll_rival_session_examine_shown(struct atoll_rival_session *session, uint64_t handle,
                                      const struct atoll_input_set *input_set, double *ret_worst);
/* The check that a candidate's outputs get; ret_worst: as in struct atoll_finding. */
int atoll_rival_session_examine(struct atoll_rival_session *session,
                                const struct atoll_rival_outputs *outputs, double *ret_worst);

#endif
