/* proposal.h - what is under way: every EVALUATE, DUEL and RIVAL that was decided and not answered, by evaluation
 * number. Layer: evolution.  Lifetime: zero-initialised/fini. */
#ifndef ATOLL_EVOLUTION_ENGINE_PROPOSAL_H
#define ATOLL_EVOLUTION_ENGINE_PROPOSAL_H

#include "core/decision.h"
#include "evolution/engine/codec.h"

struct atoll_proposal {
    struct atoll_decision decision; /* EVALUATE, DUEL or RIVAL, as it was sent */
    uint32_t task;                  /* position */
    uint32_t individual,
        elite;        /* positions; ATOLL_NONE: elite of EVALUATE and of duels with a rival, both of RIVAL */
    uint32_t retries; /* under other numbers, before this one: infrastructure failures, unstable baselines */
};

/* In the order of their numbers, answered ones left in place until half are. */
struct atoll_proposals {
    struct atoll_proposal *items; /* decision.type 0: answered */
    uint32_t count, capacity, alive;
    uint32_t evaluations; /* alive ones that are EVALUATE */
};

void atoll_proposals_fini(struct atoll_proposals *p);
/* decision.evaluation must be above all before it. */
int atoll_proposals_add(struct atoll_proposals *p, const struct atoll_proposal *proposal,
                        struct atoll_err *err);
/* Borrowed until the next add or remove; NULL when nothing of this number is under way. */
struct atoll_proposal *atoll_proposals_find(const struct atoll_proposals *p, uint64_t evaluation);
void atoll_proposals_remove(struct atoll_proposals *p, struct atoll_proposal *proposal);
/* task_count, individual_count: bounds of the positions when loading. */
int atoll_proposals_codec(struct atoll_proposals *p, uint32_t task_count, uint32_t individual_count,
                          struct atoll_codec *codec, struct atoll_err *err);

#endif
