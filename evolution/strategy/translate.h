/* translate.h - an elite of another language or device model as the start: when it is asked for (ALGORITHMS.md 7).
 * Layer: evolution.
 * Where a campaign takes two languages, the fastest kernel of one is translated into the other while that one has none within
 * reach; on a device model, the best of another model, while its own best gains less there and the source is not known.
 * Once per elite, once per generation at most.  What is written has no parent: a language has cells of its own, another
 * device's times say nothing here. */
#ifndef ATOLL_EVOLUTION_STRATEGY_TRANSLATE_H
#define ATOLL_EVOLUTION_STRATEGY_TRANSLATE_H

#include "evolution/engine/state.h"

/* The elite (individual, maybe of another population of the task) that is due; ATOLL_NONE: none. */
uint32_t atoll_translate_elite(const struct atoll_engine *e, const struct atoll_task_state *t);
/* The ask for it, which is made now. */
struct atoll_asked atoll_translate_ask(const struct atoll_engine *e, struct atoll_task_state *t,
                                       uint32_t elite, uint32_t island);

#endif
