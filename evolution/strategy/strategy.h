/* strategy.h - what a task does with a free evaluation slot, and what it learns from the answer: one table of functions
 * per strategy (ALGORITHMS.md 6).
 * Layer: evolution, pure.  Seeds, imports, elites, duels, finals and budgets are the engine's, whatever the strategy.
 *
 * The baseline is measured first, then queued sources (seeds, imports, what asks brought) go out; only then, and while
 * slots are free, propose is called.  All random numbers come from t->random. */
#ifndef ATOLL_EVOLUTION_STRATEGY_STRATEGY_H
#define ATOLL_EVOLUTION_STRATEGY_STRATEGY_H

#include "evolution/strategy/ask.h"
#include "evolution/engine/state.h"

struct atoll_strategy {
    const char *name; /* as in the search settings */
    /* The state of a task, into t->strategy; NULL where it needs none.  Called once, before anything else. */
    int (*create)(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err);
    void (*destroy)(void *state);
    /* Whether propose would do something now. */
    int (*ready)(const struct atoll_engine *e, const struct atoll_task_state *t);
    /* Uses one slot: sends a candidate, queues some, or makes an ask.  Must get on: called while ready says so. */
    int (*propose)(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err);
    /* A candidate of the task has its verdict or was abandoned; ask: whose it was, 0 = nobody's.  individual
     * ATOLL_NONE: a candidate of that ask turned out to be known already and is not evaluated.  NULL: not needed. */
    int (*settled)(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err);
    /* An ask was answered: of what it brought, `accepted` candidates are queued now and will be settled one by one.
     * May be called before atoll_ask_make returns.  NULL: it never asks. */
    int (*replied)(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *ask,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err);
    /* Its state, saved or loaded into what create made.  NULL: none. */
    int (*codec)(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *codec,
                 struct atoll_err *err);
};

extern const struct atoll_strategy atoll_strategy_islands;
extern const struct atoll_strategy atoll_strategy_repeated;
extern const struct atoll_strategy atoll_strategy_beam;
extern const struct atoll_strategy atoll_strategy_tree;
extern const struct atoll_strategy atoll_strategy_staged;

/* Of the run's settings. */
const struct atoll_strategy *atoll_strategy_of(const struct atoll_engine *e);

/* A candidate is settled, an ask was answered (as above): what goes on beside the strategy hears of it first, and takes what
 * is its own by returning 1. */
int atoll_strategy_settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask,
                           uint32_t individual, struct atoll_err *err);
int atoll_strategy_replied(struct atoll_engine *e, struct atoll_task_state *t,
                           const struct atoll_asked *asked, const struct atoll_reply *reply,
                           uint32_t accepted, struct atoll_err *err);

#endif
