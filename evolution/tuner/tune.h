/* tune.h - the tuner of one template on one task: which legal combination of its parameters to try next.
 * Layer: evolution, pure.  Lifetime: create/destroy; task and plan, or the space, are borrowed and must outlive it.
 *
 * Several strategies propose, a bandit decides whose turn it is: a model of the times (a Gaussian process and expected
 * improvement), local search with restarts, a genetic algorithm, differential evolution on the grid, random.  A
 * combination is proposed once.  Failures and noise are data: a failure is never a centre of a search, and teaches
 * the model where failures are; a time has an interval; a sample stopped early is a lower bound, not a failure.
 * The state is the list of trials in order, the hints, and of the model what was random; the rest is derived. */
#ifndef ATOLL_EVOLUTION_TUNER_TUNE_H
#define ATOLL_EVOLUTION_TUNER_TUNE_H

#include "core/plan/plan.h"
#include "base/random.h"
#include "evolution/engine/codec.h"
#include "evolution/tuner/space.h"

#define ATOLL_TUNE_LISTED_AT_ONCE 4096 /* legal combinations of a space that is listed at creation */

struct atoll_tune;

enum {
    ATOLL_TUNE_MODEL,
    ATOLL_TUNE_LOCAL,
    ATOLL_TUNE_GENETIC,
    ATOLL_TUNE_DIFFERENTIAL,
    ATOLL_TUNE_RANDOM,
    ATOLL_TUNE_STRATEGIES
};
/* "model", "local", ... */
const char *atoll_tune_strategy_name(unsigned strategy);

struct atoll_tune_settings {
    unsigned strategies; /* bit per strategy; 0 = random */
    double racing;  /* a sample slower than the best by this factor is hopeless; 0 = none is; else >= 1 */
    unsigned start; /* trials spread over the space before anything is modelled or searched */
};
/* All strategies; the rest as documented in tune.c. */
struct atoll_tune_settings atoll_tune_settings_default(void);

struct atoll_tune *atoll_tune_create(const struct atoll_task *task, const struct atoll_plan *plan,
                                     struct atoll_err *err);
struct atoll_tune *atoll_tune_create_space(const struct atoll_space *space, struct atoll_err *err);
/* At any time; not saved: whoever loads a tuner sets it again. */
void atoll_tune_set(struct atoll_tune *tune, const struct atoll_tune_settings *settings);
void atoll_tune_destroy(struct atoll_tune *tune);

/* Legal combinations; UINT64_MAX when there are too many to count at once. */
uint64_t atoll_tune_legal_count(const struct atoll_tune *tune);
/* The first legal combination in the order of the values, or what stands for it in a space too large to search.  0
 * when none is legal or none was found. */
int atoll_tune_first(struct atoll_tune *tune, struct atoll_choice *ret_choice);

/* 1: ret_choice is a combination that was not tried, and counts as tried from now on; 0: none is left; -1: MEMORY.
 * around: search near this combination now and then (a parent), may be NULL.  Any number may be pending. */
int atoll_tune_propose(struct atoll_tune *tune, struct atoll_random *random,
                       const struct atoll_choice *around, struct atoll_choice *ret_choice,
                       struct atoll_err *err);
/* Marks a combination that came about elsewhere as tried. */
int atoll_tune_add(struct atoll_tune *tune, const struct atoll_choice *choice, struct atoll_err *err);

enum atoll_tune_kind { ATOLL_TUNE_CORRECT, ATOLL_TUNE_FAILED, ATOLL_TUNE_CENSORED };
struct atoll_tune_outcome {
    enum atoll_tune_kind kind;
    double time_ns;      /* CENSORED: it takes at least this long; FAILED: unused */
    double lo_ns, hi_ns; /* CORRECT: a 95 % interval; 0, 0: unknown */
};
/* Of a tried combination; a later outcome replaces an earlier one: a time is raised after a lost duel, or withdrawn.
 * Unknown combinations are ignored, a time that is no positive number is a failure. */
void atoll_tune_record(struct atoll_tune *tune, const struct atoll_choice *choice,
                       const struct atoll_tune_outcome *outcome);
/* The same without an interval; 0 = it failed. */
void atoll_tune_result(struct atoll_tune *tune, const struct atoll_choice *choice, double time_ns);
/* An outcome of an earlier run or of another device: what is tried first, and knowledge for the model as far as its
 * order of the combinations turns out to be ours; times need not be of the same scale. Never counts as tried. What
 * is not of this space is ignored; at most ATOLL_TUNE_HINT_LIMIT are kept. */
#define ATOLL_TUNE_HINT_LIMIT 4096
int atoll_tune_hint(struct atoll_tune *tune, const struct atoll_choice *choice,
                    const struct atoll_tune_outcome *outcome, struct atoll_err *err);

/* What is tried right after the best hints, in this order, before anything is drawn: configurations from the device and
 * the shapes (shape_trials.h).  Replaces what was suggested before; what is not legal is ignored.  Not saved: whoever
 * loads a tuner suggests again. */
#define ATOLL_TUNE_SUGGESTION_LIMIT 12
void atoll_tune_suggest(struct atoll_tune *tune, const struct atoll_choice *choices, size_t count);
/* Whether it was called, with however few. */
int atoll_tune_has_suggestions(const struct atoll_tune *tune);

/* A sample run that takes longer than this need not be finished: report CENSORED. HUGE_VAL: finish it. */
double atoll_tune_bar_ns(const struct atoll_tune *tune);
/* No combination is left to propose. */
int atoll_tune_exhausted(const struct atoll_tune *tune);

/* Loading: into a tuner just created. */
int atoll_tune_codec(struct atoll_tune *tune, struct atoll_codec *codec, struct atoll_err *err);

#endif
