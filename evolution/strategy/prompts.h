/* prompts.h - prompts that evolve beside the kernels (papers/000 3.5): which version of its language's text an ask is worded with, what
 * becomes of it, and when a model is asked for edits.
 * Layer: evolution, pure.  State in struct atoll_task_state.
 *
 * Asks for kernels, plans and analyses are worded with a version; who carries out a plan or works on an analysis is told what
 * its author was told.  Every search.prompt_interval generations (of the task; with prompt_share shared, of all tasks of a device
 * model together) one META ask wants edits of a version that is drawn as for any ask; its parent is the best kernel made with
 * that version, inspirations and failures the newest others.  Its number is the number of the version that the edits make: texts follow from
 * asks and replies alone. */
#ifndef ATOLL_EVOLUTION_STRATEGY_PROMPTS_H
#define ATOLL_EVOLUTION_STRATEGY_PROMPTS_H

#include "evolution/strategy/strategy.h"

#define ATOLL_PROMPT_EDITS 3 /* that a META ask wants, at most (papers/000, table 6) */

/* As strategies are called (strategy.h), beside the one of the run. */
extern const struct atoll_strategy atoll_strategy_prompts;

int atoll_prompts_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err);
void atoll_prompts_fini(struct atoll_prompts *prompts);

#endif
