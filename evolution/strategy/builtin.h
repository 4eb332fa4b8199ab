/* builtin.h - the built-in operator: answers asks without any model, from the templates a task has and the tuner.
 * Layer: evolution, pure. */
#ifndef ATOLL_EVOLUTION_STRATEGY_BUILTIN_H
#define ATOLL_EVOLUTION_STRATEGY_BUILTIN_H

#include "evolution/engine/state.h"

/* Fills the reply, and queues candidates for an ask of kind WRITE: ret_accepted of them, 0 when nothing is left to try. */
int atoll_builtin_answer(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                         struct atoll_reply *ret_reply, uint32_t *ret_accepted, struct atoll_err *err);

/* Issues of a correct kernel (core/issue.h, atoll_issues_of). */
uint64_t atoll_builtin_issues(const struct atoll_engine *e, const struct atoll_task_state *t,
                              uint32_t kernel);
/* 1 when the kernel is of a template that has combinations left to try. */
int atoll_builtin_is_tunable(const struct atoll_engine *e, uint32_t kernel);

#endif
