/* strategy_staged.h - the runs of a task under staged optimisation, for whoever wants to see where they stand.
 * Layer: evolution.  Owned by the task (t->strategy). */
#ifndef ATOLL_EVOLUTION_STRATEGY_STRATEGY_STAGED_H
#define ATOLL_EVOLUTION_STRATEGY_STRATEGY_STAGED_H

#include "evolution/strategy/staged.h"
#include "evolution/engine/state.h"

/* Run k lives on island k % islands and begins when run k - islands is over. */
struct atoll_staged {
    uint32_t run_count; /* search.staged_runs */
    uint32_t next;      /* whose turn it is */
    uint64_t strays;    /* replies and verdicts that no run waited for */
    struct atoll_staged_run runs[];
};

/* Whether a candidate is faster than what its stage was given: it is correct, its time is less by the promised ratio,
 * and its 95 % interval ends below the other's.  Both were measured alone, so an error costs the rest of a run, never
 * the task's best, which only duels and finals decide. */
int atoll_staged_beats(const struct atoll_search *search, const struct atoll_individual *candidate,
                       const struct atoll_individual *given);

#endif
