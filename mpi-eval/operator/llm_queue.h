/* llm_queue.h - the engine's asks on their way to a language model and back: rank 0's side of the gateway.
 * Layer: mpi-eval, part of the coordinator.  Lifetime: create/destroy.  Single owner, nothing blocks.
 *
 * An ask is noted when it is decided, worded when its event is settled (then the dossier holds just what was known), sent,
 * and answered by a REPLY event.  Without a gateway every ask is answered "spent" at once, so that the tuner goes on.  A
 * model that fails is asked ever more slowly, and not at all when it fails for good. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H
#define ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H

#include "mpi-eval/operator/prompt_context.h"
#include "mpi-eval/coordinator/commit.h"

#define ATOLL_QUESTION_DEADLINE_S 900.0

/* Option of a campaign that is a part of another: the identity of the whole, whose limits of money hold. */
#define ATOLL_QUESTIONS_ACCOUNT_OPTION "sweep"

/* All borrowed until destroy. */
struct atoll_questions_settings {
    const char *gateway;    /* where (llm-gateway/client/client.h); NULL: no model is asked */
    const char *model;      /* as the gateway calls it */
    const char *token_file; /* NULL: as the environment says */
    double deadline_s;      /* of one ask; 0 = ATOLL_QUESTION_DEADLINE_S */
};

struct atoll_questions;
/* Reads the campaign's journals for the dossier where there is a gateway.  Errors: those of atoll_client_create. */
struct atoll_questions *atoll_questions_create(const struct atoll_questions_settings *settings,
                                               const struct atoll_campaign *campaign, struct atoll_err *err);
void atoll_questions_destroy(struct atoll_questions *questions);

int atoll_questions_add_device(struct atoll_questions *questions, const struct atoll_device_info *device,
                               struct atoll_err *err);
/* A decision said so; also again after a resume. */
int atoll_questions_note(struct atoll_questions *questions, const struct atoll_ask *ask,
                         struct atoll_err *err);
/* The event is durable, the engine has seen it and all its decisions were noted.  engine: as it is now; now_ns:
 * monotonic. */
int atoll_questions_settle(struct atoll_questions *questions, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err);
/* Adds REPLY events to the round as far as it has room (`spare` events are left free).  template: an event with the times
 * of now.  What they borrow lives until the next call. */
int atoll_questions_answer(struct atoll_questions *questions, const struct atoll_engine *engine,
                           struct atoll_ledger *ledger, const struct atoll_event *now, double now_ns,
                           struct atoll_err *err);
/* From now on nothing more is sent: the run ends soon.  Answers of what was sent are told still. */
void atoll_questions_hold(struct atoll_questions *questions);
/* The campaign has ended: nobody will read what is asked still, and nobody shall pay for it. */
void atoll_questions_withdraw(struct atoll_questions *questions);
int atoll_questions_fd(
    const struct atoll_questions *questions); /* readable when there is something to do; -1 none */

struct atoll_questions_counts {
    uint64_t asked, answered, failed, tokens;
    double cost_usd;
    unsigned open;
    int is_over; /* no model is asked any more */
};
void atoll_questions_count(const struct atoll_questions *questions,
                           struct atoll_questions_counts *ret_counts);

#endif
