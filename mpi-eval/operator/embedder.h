/* embedder.h - vectors of the kernels that first drafts may be shown, and of the tasks they are sought for, by a model that the campaign
 * names and the gateway knows.  Nothing of them is journaled: what they lead to is in the briefings.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner, nothing blocks. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_EMBEDDER_H
#define ATOLL_MPI_EVAL_OPERATOR_EMBEDDER_H

#include "evolution/engine/engine.h"
#include "evolution/knowledge/retrieve.h"
#include "llm-gateway/client/client.h"

/* Option of a campaign: the model that makes them. */
#define ATOLL_EMBEDDER_OPTION     "embedder"
#define ATOLL_EMBEDDER_DEADLINE_S 60.0 /* of all of it: then words alone say what is similar */

struct atoll_embedder_settings {
    struct atoll_client *client;
    struct atoll_retrieval *retrieval;
    const char *model, *campaign, *account; /* account: whose limits hold (llm_queue.h) */
};

struct atoll_embedder;
/* All borrowed until destroy. */
struct atoll_embedder *atoll_embedder_create(const struct atoll_embedder_settings *settings,
                                             struct atoll_err *err);
/* Before the client goes. */
void atoll_embedder_destroy(struct atoll_embedder *embedder); /* NULL is fine */

/* Asks for all vectors at the first call.  1: what is similar to the task may be sought now, by vectors where they came; 0: they are
 * under way.  now_ns: monotonic. */
int atoll_embedder_ready(struct atoll_embedder *embedder, const struct atoll_engine *engine, uint32_t task,
                         double now_ns);

void atoll_embedder_cost(const struct atoll_embedder *embedder, uint64_t *ret_tokens, double *ret_usd);

#endif
