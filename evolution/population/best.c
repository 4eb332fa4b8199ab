/* best.c - at most one duel over the best is under way, and what winning or losing a duel means. */
#include "evolution/population/best.h"

#include <math.h>

#include "evolution/engine/decide.h"
#include "evolution/population/duel.h"
#include "evolution/population/null_control.h"

#define DUEL_INTERVAL 8   /* evaluations of the task per duel over its best */
#define CLEAR_RATIO   1.5 /* faster by so much, and beyond both intervals: no duel is needed */

static const struct atoll_individual *at(const struct atoll_engine *e, uint32_t individual)
{
    return &e->individuals.items[individual];
}

static int faster(const struct atoll_engine *e, uint32_t a, uint32_t b)
{
    return b == ATOLL_NONE || at(e, a)->time_ns < at(e, b)->time_ns;
}

static int may_be_best(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual)
{
    const struct atoll_individual *r = at(e, individual);
    return individual != t->best && individual != t->best_refused && r->state == ATOLL_V_CORRECT &&
           r->time_ns * (1 + e->search.margin) < at(e, t->best)->time_ns;
}

void atoll_best_announce(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual)
{
    t->best = individual;
    t->best_refused = ATOLL_NONE;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_BEST, t, individual);
    atoll_decide(e, &d);
}

int atoll_best_consider(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                        uint32_t defeated, struct atoll_err *err)
{
    if (t->best == ATOLL_NONE || defeated == t->best) {
        atoll_best_announce(e, t, individual);
        return 0;
    }
    if (!may_be_best(e, t, individual))
        return 0;
    const struct atoll_individual *r = at(e, individual), *best = at(e, t->best);
    if (r->time_ns * CLEAR_RATIO < best->time_ns && r->hi_ns > 0 && r->hi_ns < best->lo_ns) {
        atoll_best_announce(e, t, individual);
        return 0;
    }
    if (faster(e, individual, t->best_waiting))
        t->best_waiting = individual;
    return atoll_best_continue(e, t, err);
}

int atoll_best_continue(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t next = t->best_waiting;
    if (next == ATOLL_NONE || t->best_duel || t->done)
        return 0;
    int worth = t->best != ATOLL_NONE && may_be_best(e, t, next);
    if (worth && t->evaluated < (uint64_t)t->best_duels * DUEL_INTERVAL)
        return 0;
    t->best_waiting = ATOLL_NONE;
    if (!worth)
        return 0;
    t->best_duel = e->next_evaluation;
    t->best_duels++;
    return atoll_duel_challenge(e, t, at(e, next)->island, next, t->best, err);
}

int atoll_best_withdraw(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                        struct atoll_err *err)
{
    if (t->best != individual)
        return 0;
    t->best = ATOLL_NONE;
    if (t->baseline != ATOLL_NONE && at(e, t->baseline)->state == ATOLL_V_CORRECT)
        atoll_best_announce(e, t, t->baseline);
    uint32_t next = ATOLL_NONE;
    for (uint32_t i = 0; i < e->search.islands; i++) {
        for (uint64_t left = t->islands[i].occupied; left; left &= left - 1) {
            uint32_t elite = t->islands[i].cells[__builtin_ctzll(left)].elite;
            if (faster(e, elite, next))
                next = elite;
        }
    }
    return next == ATOLL_NONE ? 0 : atoll_best_consider(e, t, next, ATOLL_NONE, err);
}

static void update_fitness(const struct atoll_engine *e, const struct atoll_task_state *t,
                           struct atoll_individual *r)
{
    r->fitness = atoll_fitness(e->search.fitness_form, (enum atoll_verdict)r->state, r->time_ns,
                               t->yardstick_ns, t->floor_ns);
}

void atoll_best_strike(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual, uint8_t state)
{
    struct atoll_individual *r = &e->individuals.items[individual];
    struct atoll_source *s = &e->sources.items[r->source];
    r->state = state;
    update_fitness(e, t, r);
    if (t->best_waiting == individual)
        t->best_waiting = ATOLL_NONE;
    for (uint32_t i = 0; i < e->search.islands; i++) {
        struct atoll_cell *cell = &t->islands[i].cells[r->cell];
        if (cell->waiting == individual)
            cell->waiting = ATOLL_NONE;
        if (cell->elite == individual)
            atoll_island_clear(&t->islands[i], r->cell);
    }
    if (s->tune)
        atoll_tune_result(s->tune, &r->choice, 0);
    if (s->best == individual) {
        s->best = ATOLL_NONE;
        s->best_ns = 0;
    }
}

/* The time relative to the defender's, where both ran side by side, is what it is worth: a lucky time must not
 * put it before others, nor keep its template's other instances from challenging. */
static void correct_time(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                         const struct atoll_duel *duel)
{
    struct atoll_individual *r = &e->individuals.items[p->individual];
    struct atoll_source *s = &e->sources.items[r->source];
    double paired = duel->ratio > 0 ? e->individuals.items[p->elite].time_ns / duel->ratio : 0;
    if (duel->verdict != ATOLL_V_CORRECT || !duel->pair_count || r->state != ATOLL_V_CORRECT ||
        !isfinite(paired) || paired <= r->time_ns) {
        return;
    }
    r->time_ns = paired;
    update_fitness(e, t, r);
    if (s->tune)
        atoll_tune_result(s->tune, &r->choice, paired);
    if (s->best == p->individual)
        s->best_ns = paired;
}

int atoll_challenger_lost(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                          const struct atoll_duel *duel, struct atoll_err *err)
{
    struct atoll_decision d = p->decision;
    d.type = ATOLL_DECIDE_NOT_CONFIRMED;
    atoll_decide(e, &d);
    if (atoll_duel_proves_wrong(duel)) {
        atoll_best_strike(e, t, p->individual, (uint8_t)duel->verdict);
        return atoll_best_withdraw(e, t, p->individual, err);
    }
    correct_time(e, t, p, duel);
    return 0;
}

int atoll_challenger_won(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                         struct atoll_err *err)
{
    t->promotions++;
    e->promotions++;
    if (!e->search.noop_interval || e->promotions % e->search.noop_interval || e->finishing)
        return 0;
    return atoll_null_control_inject(e, t, p->individual, err);
}

int atoll_best_settle(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                      const struct atoll_duel *duel, struct atoll_err *err)
{
    int failed = 0;
    t->best_duel = 0;
    if (atoll_duel_is_won(e, p, duel)) {
        failed = (p->individual != t->best && atoll_best_consider(e, t, p->individual, p->elite, err)) ||
                 atoll_challenger_won(e, t, p, err);
    } else if (duel) {
        if (p->elite == t->best)
            t->best_refused = p->individual;
        failed = atoll_challenger_lost(e, t, p, duel, err);
    }
    return failed ? -1 : atoll_best_continue(e, t, err);
}
