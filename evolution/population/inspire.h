/* inspire.h - what an ask contains besides its parent: elites of other cells, the last failures, and where the gradients
 * point (ALGORITHMS.md 3 and 8).
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_INSPIRE_H
#define ATOLL_EVOLUTION_POPULATION_INSPIRE_H

#include "evolution/engine/state.h"

/* Adds to an ask about a task's parent: search.inspirations elites of other cells (of its island first, then of the
 * others; the fittest first, random among equals of a cell), the parent's last failed children, and advice where
 * gradients are on. */
void atoll_inspire(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_asked *asked);

#endif
