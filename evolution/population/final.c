/* final.c - a single time of a noisy machine may promise too much, and the fastest of many times does.  So the finalist
 * whose duel says less than its time is followed by the next best that still promises more.  The error is
 * shared by the tries. */
#include "evolution/population/final.h"

#include <math.h>

#include "evolution/population/best.h"
#include "evolution/engine/budget.h"
#include "evolution/population/duel.h"
#include "evolution/population/judge.h"
#include "evolution/population/null_control.h"
#include "evolution/population/rival.h"

#define ALPHA_SHARE   0.5 /* of a task's error that is left, for the finals of one end of the search */
#define FAILURE_LIMIT 8   /* finalists that may prove wrong; they are not counted as tries */
#define HELD          0.8 /* of what was promised; nearer than that nobody else is asked */

static const struct atoll_individual *at(const struct atoll_engine *e, uint32_t individual)
{
    return &e->individuals.items[individual];
}

/* Speedup by single times; one of the baseline that was too long would promise too much for all. */
static double promise(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual)
{
    double baseline_ns = t->final_baseline_ns > 0 ? t->final_baseline_ns : t->baseline_ns;
    return baseline_ns / at(e, individual)->time_ns;
}

static int may_compete(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual)
{
    return individual != ATOLL_NONE && individual != t->baseline && !at(e, individual)->finalist &&
           at(e, individual)->state == ATOLL_V_CORRECT && !atoll_null_control_is(at(e, individual));
}

/* What another one must promise: more than what is confirmed, and clearly more than what held. */
static double bar(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (t->finalist == ATOLL_NONE)
        return 1 + e->search.margin;
    if (t->final_ratio < HELD * promise(e, t, t->finalist))
        return t->final_ratio * (1 + e->search.margin);
    return t->final_ratio / HELD;
}

/* The best, then whoever promises most: also who lost a challenge, for those had to pass a stricter test. */
static uint32_t next_finalist(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint32_t next = ATOLL_NONE, task = atoll_task_position(e, t);
    double most = bar(e, t);
    if (may_compete(e, t, t->best))
        return t->best;
    for (uint32_t i = 0; i < e->individuals.count; i++) {
        if (at(e, i)->task == task && may_compete(e, t, i) && promise(e, t, i) > most) {
            next = i;
            most = promise(e, t, i);
        }
    }
    return next;
}

/* A search may be extended again and again, so each end spends half of what is left at most: the sum of all levels is never
 * more than alpha. */
double atoll_final_alpha(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return ALPHA_SHARE * fmax(0, e->search.alpha - t->final_alpha_spent);
}

/* Whom the end of the finals announces. */
static uint32_t winner_of(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (t->finalist != ATOLL_NONE) /* one found since the last extension, and not compared, stays the best */
        return t->best != t->finalist && t->best != t->baseline && !t->finals_compared ? t->best
                                                                                       : t->finalist;
    int is_baseline = t->baseline != ATOLL_NONE && at(e, t->baseline)->state == ATOLL_V_CORRECT &&
                      (t->finals_compared || t->best == t->baseline);
    return is_baseline ? t->baseline : t->best;
}

/* The one that will be the best has one duel with the rival, whichever it wins; who had it has no other. */
static int meets_rival(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t winner)
{
    return winner != ATOLL_NONE && at(e, winner)->state == ATOLL_V_CORRECT && t->rivals.fastest.time_ns > 0 &&
           atoll_rival_has_torch(e, t) && t->rivals.finalist != winner &&
           t->rivals.duels < e->search.finals_tries && t->finals_failed < FAILURE_LIMIT &&
           t->final_alpha > 0 && atoll_budget_allows_final(e);
}

int atoll_final_next(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t next = t->baseline == ATOLL_NONE ? ATOLL_NONE : next_finalist(e, t);
    if (next == ATOLL_NONE || !(t->final_alpha > 0) || t->finals_failed >= FAILURE_LIMIT ||
        t->finals - t->finals_failed >= e->search.finals_tries || !atoll_budget_allows_final(e)) {
        uint32_t winner = winner_of(e, t);
        if (!meets_rival(e, t, winner)) {
            atoll_final_conclude(e, t);
            return 0;
        }
        int may = atoll_judge_allows_final(e, t, winner, err);
        if (may != 1)
            return may;
        t->final = ATOLL_FINAL_UNDER_WAY;
        t->rivals.duels++;
        return atoll_rival_duel(e, t, winner, err);
    }
    int may = atoll_judge_allows_final(e, t, next, err);
    if (may != 1)
        return may;
    t->final = ATOLL_FINAL_UNDER_WAY;
    t->finals++;
    e->individuals.items[next].finalist = 1;
    return atoll_duel_final(e, t, next, err);
}

int atoll_final_settle(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                       const struct atoll_duel *duel, struct atoll_err *err)
{
    t->final = ATOLL_FINAL_NONE;
    if (!duel)
        return 0;
    /* Without a pair there was no comparison, whoever was to blame: unless the finalist proved wrong it may try again. */
    int was_compared = duel->verdict == ATOLL_V_CORRECT && duel->pair_count > 0;
    if (was_compared) {
        t->final_alpha_spent += p->decision.alpha;
        t->finals_compared++;
        if (isfinite(duel->elite_ns) && duel->elite_ns > 0) {
            t->final_baseline_ns =
                fmin(t->final_baseline_ns > 0 ? t->final_baseline_ns : t->baseline_ns, duel->elite_ns);
        }
    } else if (atoll_duel_proves_wrong(duel)) {
        t->finals_failed++;
    } else {
        e->individuals.items[p->individual].finalist = 0;
    }
    if (!was_compared || !atoll_duel_is_won(e, p, duel))
        return atoll_challenger_lost(e, t, p, duel, err);
    if (t->finalist == ATOLL_NONE || duel->ratio > t->final_ratio) {
        t->finalist = p->individual;
        t->final_ratio = duel->ratio;
    }
    return 0;
}

/* Without a comparison a best that is not the baseline stays what it is: not confirmed. */
void atoll_final_conclude(struct atoll_engine *e, struct atoll_task_state *t)
{
    uint32_t winner = winner_of(e, t);
    t->final = ATOLL_FINAL_OVER;
    if (winner != ATOLL_NONE && winner == t->baseline && t->finalist == ATOLL_NONE)
        t->final_ratio = 1;
    else if (winner != t->finalist)
        return; /* not compared */
    if (winner != ATOLL_NONE)
        atoll_best_announce(e, t, winner);
}

int atoll_final_settle_rival(struct atoll_engine *e, struct atoll_task_state *t,
                             const struct atoll_proposal *p, const struct atoll_duel *duel,
                             struct atoll_err *err)
{
    t->final = ATOLL_FINAL_NONE;
    if (!duel)
        return 0;
    if (duel->verdict == ATOLL_V_CORRECT && duel->pair_count > 0) {
        t->final_alpha_spent += p->decision.alpha;
        t->rivals.finalist = p->individual;
        t->rivals.ratio = duel->ratio;
        return 0;
    }
    if (!atoll_duel_proves_wrong(duel))
        return 0; /* it may try again */
    t->finals_failed++;
    if (t->finalist == p->individual) {
        t->finalist = ATOLL_NONE;
        t->final_ratio = 0;
    }
    return atoll_challenger_lost(e, t, p, duel, err);
}
