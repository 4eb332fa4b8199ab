/* judgement.h - what a judge's answer does (judge.h).
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_JUDGEMENT_H
#define ATOLL_EVOLUTION_POPULATION_JUDGEMENT_H

#include "evolution/strategy/strategy.h"

/* Hears the answers, beside the strategy of the run. */
extern const struct atoll_strategy atoll_strategy_judge;

#endif
