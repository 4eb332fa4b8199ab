/* tune.h - the tuner of one template on one task: which legal combination of its parameters to try next.
 * Layer: evolution, pure.  Lifetime: create/destroy; task and plan are borrowed and must outlive it.
 *
 * Few combinations (ATOLL_TUNE_ENUMERATED) are enumerated, more are sampled under the constraints.  Random
 * start, then local search around the best (ALGORITHMS.md 5), then random restarts that climb on their own.
 * A combination is proposed once; its failure is data: it is never a centre of the search. The state is the
 * list of trials in order; everything else is derived from it. */
#ifndef ATOLL_EVOLUTION_TUNE_H
#define ATOLL_EVOLUTION_TUNE_H

#include "core/plan.h"
#include "core/random.h"
#include "evolution/codec.h"
#include "evolution/space.h"

#define ATOLL_TUNE_ENUMERATED 4096

struct atoll_tune;

struct atoll_tune *atoll_tune_create(const struct atoll_task *task, const struct atoll_plan *plan,
                                     struct atoll_err *err);
/* Of any space; borrowed, must outlive it. */
struct atoll_tune *atoll_tune_create_space(const struct atoll_space *space, struct atoll_err *err);
void atoll_tune_destroy(struct atoll_tune *tune);

/* Legal combinations; UINT64_MAX when there are too many to count. */
uint64_t atoll_tune_legal_count(const struct atoll_tune *tune);
/* The first legal combination in the order of the values, or what stands for it in a space too large to
 * enumerate. 0 when none is legal or none was found. */
int atoll_tune_first(struct atoll_tune *tune, struct atoll_choice *ret_choice);

/* 1: ret_choice is a combination that was not tried, and counts as tried from now on; 0: none is left; -1:
 * MEMORY. around: search near this combination now and then (a parent), may be NULL. */
int atoll_tune_propose(struct atoll_tune *tune, struct atoll_random *random,
                       const struct atoll_choice *around, struct atoll_choice *ret_choice,
                       struct atoll_err *err);
/* Marks a combination that came about elsewhere as tried. */
int atoll_tune_add(struct atoll_tune *tune, const struct atoll_choice *choice, struct atoll_err *err);
/* The time of a tried combination; 0 = it failed (also later: a time is withdrawn). Unknown combinations are
 * ignored. */
void atoll_tune_result(struct atoll_tune *tune, const struct atoll_choice *choice, double time_ns);
/* No combination is left to propose. */
int atoll_tune_exhausted(const struct atoll_tune *tune);

/* Loading: into a tuner just created. */
int atoll_tune_codec(struct atoll_tune *tune, struct atoll_codec *codec, struct atoll_err *err);

#endif
