/* knowledge_briefs.h - what an ask is told of a campaign's knowledge: critical constraints, entries, kernels of similar tasks.
 * Layer: mpi-eval.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_MPI_EVAL_OPERATOR_KNOWLEDGE_BRIEFS_H
#define ATOLL_MPI_EVAL_OPERATOR_KNOWLEDGE_BRIEFS_H

#include "core/knowledge/pack.h"
#include "evolution/knowledge/retrieve.h"

/* Option of a campaign: families of operators of which no example and no kernel of another task is shown, and no seed is taken. */
#define ATOLL_KNOWLEDGE_EXCEPT_OPTION "knowledge_except"

struct atoll_knowledge_briefs;
/* pack: borrowed until destroy.  Entries that something is wrong with are left out. */
struct atoll_knowledge_briefs *atoll_knowledge_briefs_create(const struct atoll_knowledge_pack *pack,
                                                             const char *except, struct atoll_err *err);
void atoll_knowledge_briefs_destroy(struct atoll_knowledge_briefs *briefs); /* NULL is fine */

/* Bytes of the sources of kernels that an ask is shown, each and together; the others are named with their size. */
#define ATOLL_KNOWLEDGE_KERNEL_BYTES  ((size_t)64 << 10)
#define ATOLL_KNOWLEDGE_KERNELS_BYTES ((size_t)96 << 10)
/* Appends to a briefing what fits into it; texts live until the next call.  wants_kernels: a first draft. */
int atoll_knowledge_briefs_make(struct atoll_knowledge_briefs *briefs,
                                const struct atoll_retrieval_query *query, int wants_kernels,
                                struct atoll_briefing *briefing, struct atoll_err *err);
/* For what came of it, and for vectors. */
struct atoll_retrieval *atoll_knowledge_briefs_retrieval(struct atoll_knowledge_briefs *briefs);

/* Of backend "cpu" the features of this machine's processor as index.yaml calls them, on Arm the families of devices that it is of; ends
 * with NULL.  Static storage.  NULL of others: not known. */
const char *const *atoll_knowledge_features(const char *backend);

#endif
