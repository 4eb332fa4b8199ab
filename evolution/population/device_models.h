/* device_models.h - device models: a population of every task on each, for what is bred on one model is never assumed good on
 * another (DESIGN.md 7).
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_POPULATION_DEVICE_MODELS_H
#define ATOLL_EVOLUTION_POPULATION_DEVICE_MODELS_H

#include "evolution/engine/state.h"

/* A task on every model that is known; takes nothing over.  1: ignored, it is not the next number. */
int atoll_models_add_task(struct atoll_engine *e, uint32_t number, const void *bytes, size_t length,
                          struct atoll_err *err);
/* Slots of each model now.  A new one gets every task; the first takes over what was there before any was named. */
int atoll_models_set_capacity(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err);
/* None, until the next capacity. */
void atoll_models_forget_slots(struct atoll_engine *e);
/* Gives up what is under way of a task, NULL: of all. */
void atoll_models_abandon(struct atoll_engine *e, const struct atoll_task_state *only);
/* Whether the model of a task has evaluators. */
int atoll_models_has_slots(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Ends the tasks of models that have had no evaluator for a minute, once all others are over: 1, all tasks are over
 * then. */
int atoll_models_give_up(struct atoll_engine *e);

/* What a model's devices are like counts where the settings want first trials from shapes. */
static inline int atoll_models_use_shapes(const struct atoll_engine *e)
{
    return e->search.shapes > 0;
}

#endif
