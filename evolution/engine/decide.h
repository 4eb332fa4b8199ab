/* decide.h - how decisions are made up and handed out.
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_ENGINE_DECIDE_H
#define ATOLL_EVOLUTION_ENGINE_DECIDE_H

#include "evolution/engine/state.h"

/* A decision about one individual: task, island, cell, identities, result. */
struct atoll_decision atoll_decide_about(const struct atoll_engine *e, enum atoll_decision_type type,
                                         const struct atoll_task_state *t, uint32_t individual);
/* Hands it out, with only the fields of its type. */
void atoll_decide(struct atoll_engine *e, const struct atoll_decision *decision);

/* Records the decision under the next evaluation number as under way and hands it out. individual, elite: as in
 * struct atoll_proposal. */
int atoll_decide_send(struct atoll_engine *e, const struct atoll_task_state *t,
                      const struct atoll_decision *decision, uint32_t individual, uint32_t elite,
                      struct atoll_err *err);
/* What was under way as p goes out as the same decision under the next number, one retry more; p itself must have
 * been taken out before. */
int atoll_decide_again(struct atoll_engine *e, const struct atoll_proposal *p, struct atoll_err *err);
/* After a resume: p was not answered, its number goes out once more. */
void atoll_decide_redispatch(struct atoll_engine *e, const struct atoll_proposal *p);
void atoll_decide_abandon(struct atoll_engine *e, const struct atoll_proposal *p);
void atoll_decide_task_done(struct atoll_engine *e, struct atoll_task_state *t, enum atoll_reason reason);

#endif
