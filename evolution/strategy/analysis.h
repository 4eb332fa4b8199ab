/* analysis.h - reports on kernels: what an analyser finds in the source, the verdict and the counters of a kernel, kept with its source
 * and told to whoever is asked for something from it afterwards (papers/003 3.2.2: the context memory of a node).
 * Layer: evolution, pure.  State in struct atoll_task_state and struct atoll_source.
 *
 * A task's best (in beams and trees, whose parents have won no comparison: the fastest) is asked about (ANALYSE, operator plan) when it
 * is faster by the margin than what the last report is about: once per source, one at a time, search.analyses times at most, and not
 * before the seeds and the duels over them are answered.  The search goes on meanwhile, and such an ask is no sample.  A reply with items
 * is the report: asks for kernels, plans and templates from an instance of the source name it in `plan`.  Analyses of stages, which ask by
 * themselves, are kept in the same way. */
#ifndef ATOLL_EVOLUTION_STRATEGY_ANALYSIS_H
#define ATOLL_EVOLUTION_STRATEGY_ANALYSIS_H

#include "evolution/strategy/strategy.h"

/* As strategies are called (strategy.h), beside the one of the run. */
extern const struct atoll_strategy atoll_strategy_analyses;

void atoll_analyses_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c);

#endif
