/* result.h - what an answer changes: retries, individuals, tuners, populations.
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_ENGINE_RESULT_H
#define ATOLL_EVOLUTION_ENGINE_RESULT_H

#include "evolution/engine/state.h"

/* 0 used, 1 ignored (it answers nothing that is under way, or says what cannot be), -1 error. */
int atoll_result_evaluated(struct atoll_engine *e, const struct atoll_evaluation *evaluation,
                           struct atoll_err *err);
int atoll_result_duelled(struct atoll_engine *e, const struct atoll_duel *duel, struct atoll_err *err);

#endif
