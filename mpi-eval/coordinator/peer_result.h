/* peer_result.h - the result of an order as a peer sends it, and the event it becomes.
 * Layer: mpi-eval, part of the coordinator.  What peers send is hostile. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_PEER_RESULT_H
#define ATOLL_MPI_EVAL_COORDINATOR_PEER_RESULT_H

#include "base/frame.h"
#include "core/decision.h"
#include "core/event.h"
#include "core/message.h"

/* Which event a result becomes, and what must have been ordered. */
struct atoll_peer_result_kind {
    uint16_t message;
    enum atoll_event_type event;
    enum atoll_decision_type decision;
};
const struct atoll_peer_result_kind *atoll_peer_result_of_message(unsigned type); /* NULL: it is no result */
/* decision: EVALUATE, DUEL or RIVAL. */
const struct atoll_peer_result_kind *atoll_peer_result_of_decision(enum atoll_decision_type type);
/* Into an event of its kind's type. */
int atoll_peer_result_decode(const struct atoll_frame *frame, struct atoll_event *event,
                             struct atoll_err *err);
/* The number of the evaluation whose result an event is; UINT64_MAX: it is none. */
uint64_t atoll_peer_result_evaluation(const struct atoll_event *event);
int atoll_peer_result_is_what_was_ordered(const struct atoll_peer_result_kind *kind,
                                          const struct atoll_decision *order,
                                          const struct atoll_event *event);
/* Why a candidate did not make it, for whoever reads the log while the run goes on. */
void atoll_peer_result_log_failure(const struct atoll_task *task, const struct atoll_evaluation *e);

#endif
