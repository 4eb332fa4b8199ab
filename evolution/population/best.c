#include "evolution/population/best.h"

#include "evolution/engine/decide.h"
#include "evolution/population/duel.h"

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

static int clearly_faster(const struct atoll_individual *a, const struct atoll_individual *b)
{
    return a->time_ns * CLEAR_RATIO < b->time_ns && a->hi_ns > 0 && a->hi_ns < b->lo_ns;
}

static int may_be_best(const struct atoll_engine *e, const struct atoll_engine_task *t, uint32_t individual)
{
    const struct atoll_individual *r = at(e, individual);
    return individual != t->best && individual != t->best_refused && r->state == ATOLL_V_CORRECT &&
           r->time_ns * (1 + e->search.margin) < at(e, t->best)->time_ns;
}

void atoll_best_announce(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual)
{
    t->best = individual;
    t->best_refused = ATOLL_NONE;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_BEST, t, individual);
    atoll_decide(e, &d);
}

int atoll_best_consider(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual,
                        uint32_t defeated, struct atoll_err *err)
{
    if (t->best == ATOLL_NONE || defeated == t->best) {
        atoll_best_announce(e, t, individual);
        return 0;
    }
    if (!may_be_best(e, t, individual))
        return 0;
    if (clearly_faster(at(e, individual), at(e, t->best))) {
        atoll_best_announce(e, t, individual);
        return 0;
    }
    if (faster(e, individual, t->best_waiting))
        t->best_waiting = individual;
    return atoll_best_continue(e, t, err);
}

int atoll_best_continue(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
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

static int settle_won(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                      struct atoll_err *err)
{
    if (p->individual != t->best && atoll_best_consider(e, t, p->individual, p->elite, err))
        return -1;
    return atoll_duel_promoted(e, t, p, err);
}

int atoll_best_settle(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                      const struct atoll_duel *duel, struct atoll_err *err)
{
    int failed = 0;
    t->best_duel = 0;
    if (atoll_duel_is_won(e, p, duel)) {
        failed = settle_won(e, t, p, err);
    } else if (duel) {
        if (p->elite == t->best)
            t->best_refused = p->individual;
        failed = atoll_duel_lost(e, t, p, duel, err);
    }
    return failed ? -1 : atoll_best_continue(e, t, err);
}

static uint32_t fastest_elite(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = 0; i < e->search.islands; i++)
        for (uint64_t left = t->islands[i].occupied; left; left &= left - 1) {
            uint32_t individual = t->islands[i].cells[__builtin_ctzll(left)].elite;
            if (faster(e, individual, best))
                best = individual;
        }
    return best;
}

int atoll_best_withdraw(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual,
                        struct atoll_err *err)
{
    if (t->best_waiting == individual)
        t->best_waiting = ATOLL_NONE;
    if (t->best != individual)
        return 0;
    t->best = ATOLL_NONE;
    if (t->baseline != ATOLL_NONE && at(e, t->baseline)->state == ATOLL_V_CORRECT)
        atoll_best_announce(e, t, t->baseline);
    uint32_t next = fastest_elite(e, t);
    return next == ATOLL_NONE ? 0 : atoll_best_consider(e, t, next, ATOLL_NONE, err);
}
