/* propose.h - what a task tries next: its baseline, then every queued candidate, then what the strategy comes up with.
 * Layer: evolution. */
#ifndef ATOLL_EVOLUTION_ENGINE_PROPOSE_H
#define ATOLL_EVOLUTION_ENGINE_PROPOSE_H

#include "evolution/engine/state.h"

/* A new source of a task: queued for island, ATOLL_NONE = the next in turn.  as_baseline: it is the task's
 * baseline.  A source that is known already is not queued again. */
int atoll_propose_source(struct atoll_engine *e, struct atoll_task_state *t, const char *language,
                         const char *text, enum atoll_operator op, uint32_t island, int as_baseline,
                         struct atoll_err *err);
/* The same for a source with an origin: pending says whose it is, its source is filled in.  1 queued, 0 known, -1. */
int atoll_propose_text(struct atoll_engine *e, struct atoll_task_state *t, const char *language,
                       const char *text, struct atoll_pending *pending, struct atoll_err *err);
/* Queues an instance that the tuner chose: of the template of pending->parent, else of any.  1 queued, 0 nothing is
 * left to try, -1. */
int atoll_propose_instance(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_pending *pending,
                           struct atoll_err *err);

/* The same of one template (a source): near pending->parent where that is an instance of it, else near its best.
 * parameter: differs from there in this one only (its position); ATOLL_NONE: any. */
int atoll_propose_variant(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_pending *pending,
                          uint32_t source, uint32_t parameter, struct atoll_err *err);

/* Nothing more of a template is proposed. */
void atoll_propose_drop_template(struct atoll_task_state *t, uint32_t source);

/* Whether the task has something to propose now. */
int atoll_propose_ready(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Of what kind its next proposal is; the lower goes first. */
enum atoll_turn {
    ATOLL_TURN_BASELINE, /* or the rival before it, or in its place */
    ATOLL_TURN_SEED,
    ATOLL_TURN_FEW,
    ATOLL_TURN_RIVAL,
    ATOLL_TURN_OPEN
};
enum atoll_turn atoll_propose_turn(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Whether one more candidate beside its seeds fits into search.samples; what is queued or asked for counts. */
int atoll_propose_has_samples(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Nothing to propose, now or later, unless a new source comes. */
int atoll_propose_exhausted(const struct atoll_engine *e, const struct atoll_task_state *t);
/* Sends one candidate for evaluation, or finds that a queue or a template of a ready task is used up. */
int atoll_propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err);

/* For strategies: islands in turn; one instance sent by the tuner near a parent (individual, may be ATOLL_NONE) of its
 * template or, now and then, of any; one of a random template, as its tuner likes.  0, or -1; a template that is used up is
 * dropped. */
uint32_t atoll_propose_island(const struct atoll_engine *e, struct atoll_task_state *t);
int atoll_propose_tuned(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, uint32_t parent,
                        struct atoll_err *err);
int atoll_propose_sampled(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                          struct atoll_err *err);

#endif
