/* llm_queue.h - the engine's asks on their way to a language model and back: rank 0's side of the gateway.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner, nothing blocks.
 *
 * An ask is added when it is decided; what it is told beside what it names is chosen then and given as a BRIEFING event; when that
 * is settled its prompt is written and sent; it comes back as a REPLY event.  Without a gateway every ask is answered "spent" at once, so that the
 * tuner goes on.  A model that fails is asked ever more slowly, and not at all when it fails for good. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H
#define ATOLL_MPI_EVAL_OPERATOR_LLM_QUEUE_H

#include "core/knowledge/pack.h"
#include "mpi-eval/operator/prompt_context.h"
#include "mpi-eval/tool/tools.h"

#define ATOLL_LLM_QUEUE_DEADLINE_S 900.0

/* Option of a campaign that is a part of another: the identity of the whole, whose limits of money hold. */
#define ATOLL_LLM_QUEUE_ACCOUNT_OPTION "sweep"

/* All borrowed until destroy. */
struct atoll_llm_queue_settings {
    const struct atoll_knowledge_pack *knowledge; /* what prompts are made of; NULL where no model is asked */
    const char *gateway;    /* where (llm-gateway/client/client.h); NULL: no model is asked */
    const char *model;      /* one, or one a role (mpi-eval/operator/roles.h) */
    const char *roles;      /* parameters of roles; NULL: none are said */
    const char *token_file; /* NULL: as the environment says */
    double deadline_s;      /* of one ask; 0 = ATOLL_LLM_QUEUE_DEADLINE_S */
};

struct atoll_engine;
struct atoll_llm_queue;
/* Errors: those of atoll_client_create and atoll_roles_parse. */
struct atoll_llm_queue *atoll_llm_queue_create(const struct atoll_llm_queue_settings *settings,
                                               const struct atoll_campaign *campaign, struct atoll_err *err);
void atoll_llm_queue_destroy(struct atoll_llm_queue *queue);
/* Reads the campaign's journals, where a model is asked; before any ask is added.  engine: as they left it. */
int atoll_llm_queue_load(struct atoll_llm_queue *queue, const struct atoll_campaign *campaign,
                         const struct atoll_engine *engine, struct atoll_err *err);

/* Through which models' calls of tools are answered; borrowed, NULL: none is. */
void atoll_llm_queue_set_tools(struct atoll_llm_queue *queue, struct atoll_tools *tools);
int atoll_llm_queue_add_device(struct atoll_llm_queue *queue, const struct atoll_device_info *device,
                               struct atoll_err *err);
/* The engine decided to ask; also again after a resume. */
int atoll_llm_queue_add(struct atoll_llm_queue *queue, const struct atoll_ask *ask, struct atoll_err *err);
/* The event is durable, the engine has seen it and all its asks were added: they are sent.  engine: as it is now; now_ns:
 * monotonic. */
int atoll_llm_queue_settle(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                           const struct atoll_event *event, double now_ns, struct atoll_err *err);
/* Once a round, before the replies are taken: moves the client and the calls of tools on, and frees the asks whose replies were delivered in the
 * round before. */
int atoll_llm_queue_advance(struct atoll_llm_queue *queue, double now_ns, struct atoll_err *err);
/* 1: event, initialised for its time, is a BRIEFING, TOOL or REPLY for the journal and the engine; what it borrows lives until the
 * next advance; 0: none now. */
int atoll_llm_queue_next_event(struct atoll_llm_queue *queue, const struct atoll_engine *engine,
                               double now_ns, struct atoll_event *event, struct atoll_err *err);
/* From now on nothing more is sent: the run ends soon.  Replies to what was sent are still delivered. */
void atoll_llm_queue_hold(struct atoll_llm_queue *queue);
/* The campaign has ended: what was asked is cancelled, for nobody will read the answer, and nobody shall pay for it. */
void atoll_llm_queue_cancel(struct atoll_llm_queue *queue);
int atoll_llm_queue_fd(
    const struct atoll_llm_queue *queue); /* readable when there is something to do; -1 none */

struct atoll_llm_queue_counts {
    uint64_t asked, answered, failed, tokens;
    double cost_usd;
    unsigned open;
    int is_over; /* no model is asked any more */
};
void atoll_llm_queue_count(const struct atoll_llm_queue *queue, struct atoll_llm_queue_counts *ret_counts);

#endif
