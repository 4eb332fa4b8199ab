/* challenge.c - at most one duel over a cell is under way; of the candidates that come meanwhile the fastest waits. */
#include "evolution/population/challenge.h"

#include "evolution/population/best.h"
#include "evolution/engine/decide.h"
#include "evolution/population/duel.h"
#include "evolution/population/final.h"
#include "evolution/population/judge.h"
#include "evolution/population/null_control.h"

static const struct atoll_individual *individual_at(const struct atoll_engine *e, uint32_t individual)
{
    return &e->individuals.items[individual];
}

static int faster(const struct atoll_engine *e, uint32_t a, uint32_t b)
{
    return b == ATOLL_NONE || individual_at(e, a)->time_ns < individual_at(e, b)->time_ns;
}

/* defeated: whom it beat in a duel, ATOLL_NONE where the cell was empty. */
static int promote(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, uint32_t individual,
                   uint32_t defeated, struct atoll_err *err)
{
    int may = atoll_judge_allows_elite(e, t, island, individual, defeated, err);
    if (may != 1)
        return may;
    struct atoll_island *home = &t->islands[island];
    unsigned cell = individual_at(e, individual)->cell;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_ELITE, t, individual);
    d.island = island;
    if (home->cells[cell].elite != ATOLL_NONE)
        d.elite = individual_at(e, home->cells[cell].elite)->id;
    atoll_island_set(home, cell, individual);
    t->since_elite = 0;
    atoll_transitions_improved(&t->transitions, individual);
    home->since_elite = 0;
    atoll_decide(e, &d);
    return atoll_best_consider(e, t, individual, defeated, err);
}

static int worth_a_duel(const struct atoll_engine *e, const struct atoll_task_state *t,
                        const struct atoll_cell *cell, uint32_t individual)
{
    double limit = individual_at(e, cell->elite)->time_ns;
    if (cell->elite == individual || cell->refused == individual)
        return 0;
    if (!(individual_at(e, individual)->time_ns * (1 + e->search.margin) < limit))
        return 0;
    return !e->finishing || faster(e, individual, t->best);
}

int atoll_challenge_enter(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                          uint32_t individual, int challenges, struct atoll_err *err)
{
    struct atoll_cell *cell = &t->islands[island].cells[individual_at(e, individual)->cell];
    if (cell->elite == ATOLL_NONE)
        return promote(e, t, island, individual, ATOLL_NONE, err);
    if (!challenges || !worth_a_duel(e, t, cell, individual))
        return 0;
    if (cell->open) {
        if (faster(e, individual, cell->waiting))
            cell->waiting = individual;
        return 0;
    }
    cell->open = 1;
    return atoll_duel_challenge(e, t, island, individual, cell->elite, err);
}

int atoll_challenge_judged(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                           uint32_t individual, uint32_t defeated, struct atoll_err *err)
{
    uint32_t elite = t->islands[island].cells[individual_at(e, individual)->cell].elite;
    if (elite == ATOLL_NONE || elite == defeated)
        return promote(e, t, island, individual, defeated, err);
    return atoll_challenge_enter(e, t, island, individual, 1, err);
}

static int settle_cell(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                       const struct atoll_duel *duel, struct atoll_err *err)
{
    uint32_t island = p->decision.island;
    struct atoll_cell *cell = &t->islands[island].cells[individual_at(e, p->individual)->cell];
    uint32_t next = cell->waiting;
    int failed = 0;
    cell->open = 0;
    cell->waiting = ATOLL_NONE;
    if (atoll_duel_is_won(e, p, duel)) {
        failed = promote(e, t, island, p->individual, p->elite, err) || atoll_challenger_won(e, t, p, err);
    } else if (duel) {
        if (cell->elite == p->elite)
            cell->refused = p->individual;
        failed = atoll_challenger_lost(e, t, p, duel, err);
    }
    if (failed || next == ATOLL_NONE || individual_at(e, next)->state != ATOLL_V_CORRECT)
        return failed ? -1 : 0;
    return atoll_challenge_enter(e, t, island, next, 1, err);
}

static int settle_promotion(struct atoll_engine *e, struct atoll_task_state *t,
                            const struct atoll_proposal *p, const struct atoll_duel *duel,
                            struct atoll_err *err)
{
    int is_over_best = p->decision.evaluation == t->best_duel;
    return (is_over_best ? atoll_best_settle : settle_cell)(e, t, p, duel, err);
}

/* What a null control does wrong, its original does. */
static int settle_null_control(struct atoll_engine *e, struct atoll_task_state *t,
                               const struct atoll_proposal *p, const struct atoll_duel *duel,
                               struct atoll_err *err)
{
    struct atoll_proposal original = *p;
    t->noop_promotions += duel && duel->verdict == ATOLL_V_CORRECT && duel->better;
    if (!duel || !atoll_duel_proves_wrong(duel))
        return 0;
    original.individual = p->elite;
    original.decision.candidate = p->decision.elite;
    original.decision.source = p->decision.elite_source;
    original.decision.choice = p->decision.elite_choice;
    return atoll_challenger_lost(e, t, &original, duel, err);
}

typedef int settle(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_proposal *p,
                   const struct atoll_duel *duel, struct atoll_err *err);

static settle *const settles[ATOLL_DUEL_PURPOSE_COUNT] = {
    [ATOLL_DUEL_PROMOTION] = settle_promotion,
    [ATOLL_DUEL_NULL_CONTROL] = settle_null_control,
    [ATOLL_DUEL_FINAL] = atoll_final_settle,
    [ATOLL_DUEL_RIVAL] = atoll_final_settle_rival,
};

int atoll_challenge_result(struct atoll_engine *e, const struct atoll_proposal *p,
                           const struct atoll_duel *duel, struct atoll_err *err)
{
    struct atoll_task_state *t = &e->tasks[individual_at(e, p->individual)->task];
    atoll_duel_close(e, p, duel);
    return settles[p->decision.purpose](e, t, p, duel, err);
}
