/* llm_queue.h - the engine's asks on their way to a language model and back: rank 0's side of the gateway.
 * Layer: mpi-eval, part of the coordinator.  Lifetime: create/destroy.  Single owner, nothing blocks.
 *
 * An ask is noted when it is decided, worded when its event is settled (then the prompt context holds just what was known), sent,
 * and answered by a REPLY event.  Without a gateway every ask is answered "spent" at once, so that the tuner goes on.  A
 * model that fails is asked ever more slowly, and not at all when it fails for good. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H
#define ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H

#include "mpi-eval/operator/prompt_context.h"
#include "mpi-eval/coordinator/commit.h"

#define ATOLL_QUESTION_DEADLINE_S 900.0

/* Option of a campaign that is a part of another: the identity of the whole, whose limits of money hold. */
#define ATOLL_LLM_QUEUE_ACCOUNT_OPTION "sweep"

/* All borrowed until destroy. */
struct atoll_llm_queue_settings {
    const char *gateway;    /* where (llm-gateway/client/client.h); NULL: no model is asked */
    const char *model;      /* as the gateway calls it */
    const char *token_file; /* NULL: as the environment says */
    double deadline_s;      /* of one ask; 0 = ATOLL_QUESTION_DEADLINE_S */
};

struct atoll_llm_queue;
/* Reads the campaign's journals for the prompt context where there is a gateway.  Errors: those of atoll_client_create. */
struct atoll_llm_queue *atoll_llm_queue_create(const struct atoll_llm_queue_settings *settings,
                                               const struct atoll_campaign *campaign, struct atoll_err *err);
void atoll_llm_queue_destroy(struct atoll_llm_queue *questions);

int atoll_llm_queue_add_device(struct atoll_llm_queue *questions, const struct atoll_device_info *device,
                               struct atoll_err *err);
/* A decision said so; also again after a resume. */
int atoll_llm_queue_note(struct atoll_llm_queue *questions, const struct atoll_ask *ask,
                         struct atoll_err *err);
/* The event is durable, the engine has seen it and all its decisions were noted.  engine: as it is now; now_ns:
 * monotonic. */
int atoll_llm_queue_settle(struct atoll_llm_queue *questions, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err);
/* Adds REPLY events to the round as far as it has room (`spare` events are left free).  template: an event with the times
 * of now.  What they borrow lives until the next call. */
int atoll_llm_queue_answer(struct atoll_llm_queue *questions, const struct atoll_engine *engine,
                           struct atoll_commit *ledger, const struct atoll_event *now, double now_ns,
                           struct atoll_err *err);
/* From now on nothing more is sent: the run ends soon.  Answers of what was sent are told still. */
void atoll_llm_queue_hold(struct atoll_llm_queue *questions);
/* The campaign has ended: nobody will read what is asked still, and nobody shall pay for it. */
void atoll_llm_queue_withdraw(struct atoll_llm_queue *questions);
int atoll_llm_queue_fd(
    const struct atoll_llm_queue *questions); /* readable when there is something to do; -1 none */

struct atoll_llm_queue_counts {
    uint64_t asked, answered, failed, tokens;
    double cost_usd;
    unsigned open;
    int is_over; /* no model is asked any more */
};
void atoll_llm_queue_count(const struct atoll_llm_queue *questions,
                           struct atoll_llm_queue_counts *ret_counts);

#endif
