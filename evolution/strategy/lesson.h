/* lesson.h - what tries taught, chosen for models that put it into words: pairs of a slower and a faster kernel for the
 * optimization memory (papers/004 2.3, algorithm 2), and the way to a task's best for hints (papers/001 3.4).
 * Layer: evolution.  State in struct atoll_task_state.
 *
 * The candidates that one ask of a model brought for one parent are a group: where there are plans, each is carried out by
 * one ask.  When its last candidate has its verdict the group teaches something if its fastest is faster than the parent by
 * memory_gain, or slower by memory_loss.  At the end of an iteration, or of a generation of the task, at most memory_top
 * of these pairs are asked about, those of a gain first, at most half of them; what was not asked by the next end is
 * dropped.  The way to a best goes before all pairs, or ends that come fast would leave it no turn.  Such asks have an allowance of their own and keep nobody waiting but a beam. */
#ifndef ATOLL_EVOLUTION_STRATEGY_LESSON_H
#define ATOLL_EVOLUTION_STRATEGY_LESSON_H

#include "evolution/strategy/strategy.h"

/* As strategies are called (strategy.h), beside the one of the run: ready and propose when something chosen may be asked. */
extern const struct atoll_strategy atoll_strategy_lessons;

/* The end of an iteration: chooses what is asked about. */
void atoll_lessons_curate(struct atoll_engine *e, struct atoll_task_state *t);
/* Something was chosen and is not answered. */
int atoll_lessons_wait(const struct atoll_engine *e, const struct atoll_task_state *t);

int atoll_lessons_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err);
void atoll_lessons_fini(struct atoll_lessons *lessons);

#endif
