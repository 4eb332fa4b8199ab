/* At most one duel over a cell is under way; of the candidates that come meanwhile the fastest waits.  The
 * k-th challenge of the run gets its share of search.alpha (atoll_alpha_spend), so the number of challenges
 * is paid for. */
#include "evolution/challenge.h"

#include <math.h>

#include "evolution/budget.h"
#include "evolution/decide.h"

#define FINAL_LIMIT 8 /* finalists of a task that may fail before it has none */

static struct atoll_individual *individual_at(const struct atoll_engine *e, uint32_t individual)
{
    return &e->individuals.items[individual];
}

static int faster(const struct atoll_engine *e, uint32_t a, uint32_t b)
{
    return b == ATOLL_NONE || individual_at(e, a)->time_ns < individual_at(e, b)->time_ns;
}

static int send_duel(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island,
                     uint32_t individual, uint32_t elite, enum atoll_duel_purpose purpose, double alpha,
                     struct atoll_err *err)
{
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DUEL, t, individual);
    const struct atoll_individual *defender = individual_at(e, elite);
    d.island = island;
    d.elite = defender->id;
    d.elite_source = e->sources.items[defender->source].id;
    d.elite_choice = defender->choice;
    d.purpose = purpose;
    d.baseline_ns = t->baseline_ns;
    d.incumbent_ns = defender->time_ns;
    d.alpha = alpha;
    d.margin = e->search.margin;
    d.pair_limit = e->search.pair_limit;
    return atoll_decide_send(e, t, &d, individual, elite, err);
}

static void announce_best(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual)
{
    t->best = individual;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_BEST, t, individual);
    atoll_decide(e, &d);
}

static void promote(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island, uint32_t individual)
{
    struct atoll_island *home = &t->islands[island];
    unsigned cell = individual_at(e, individual)->cell;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_ELITE, t, individual);
    d.island = island;
    if (home->cells[cell].elite != ATOLL_NONE)
        d.elite = individual_at(e, home->cells[cell].elite)->id;
    atoll_island_set(home, cell, individual);
    t->since_elite = 0;
    atoll_decide(e, &d);
    if (faster(e, individual, t->best))
        announce_best(e, t, individual);
}

static int worth_a_duel(const struct atoll_engine *e, const struct atoll_engine_task *t,
                        const struct atoll_cell *cell, uint32_t individual)
{
    double limit = individual_at(e, cell->elite)->time_ns;
    if (cell->elite == individual || cell->refused == individual)
        return 0;
    if (!(individual_at(e, individual)->time_ns * (1 + e->search.margin) < limit))
        return 0;
    return !e->finishing || faster(e, individual, t->best);
}

int atoll_challenge_enter(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island,
                          uint32_t individual, int challenges, struct atoll_err *err)
{
    struct atoll_cell *cell = &t->islands[island].cells[individual_at(e, individual)->cell];
    if (cell->elite == ATOLL_NONE) {
        promote(e, t, island, individual);
        return 0;
    }
    if (!challenges || !worth_a_duel(e, t, cell, individual))
        return 0;
    if (cell->open) {
        if (faster(e, individual, cell->waiting))
            cell->waiting = individual;
        return 0;
    }
    cell->open = 1;
    e->challenges++;
    t->challenges++;
    return send_duel(e, t, island, individual, cell->elite, ATOLL_DUEL_PROMOTION,
                     atoll_alpha_spend(e->search.alpha, e->challenges), err);
}

/* A candidate that proved wrong where it had seemed correct: it leaves every cell, and its time counts no
 * more. */
static void disqualify(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual,
                       enum atoll_verdict verdict)
{
    struct atoll_individual *r = individual_at(e, individual);
    struct atoll_source *s = &e->sources.items[r->source];
    r->state = (uint8_t)verdict;
    r->fitness = atoll_fitness(e->search.fitness_form, verdict, 0, t->baseline_ns, t->floor_ns);
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

static void find_best(struct atoll_engine *e, struct atoll_engine_task *t)
{
    uint32_t best = fastest_elite(e, t);
    t->best = ATOLL_NONE;
    if (best != ATOLL_NONE)
        announce_best(e, t, best);
}

/* The verdicts that say something about the candidate itself. */
static int proves_wrong(enum atoll_verdict v)
{
    return v != ATOLL_V_CORRECT && v != ATOLL_V_INFRASTRUCTURE && v != ATOLL_V_UNSTABLE;
}

static void refuse(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                   const struct atoll_duel *duel)
{
    struct atoll_individual *r = individual_at(e, p->individual);
    struct atoll_source *s = &e->sources.items[r->source];
    struct atoll_decision d = p->decision;
    d.type = ATOLL_DECIDE_NOT_CONFIRMED;
    atoll_decide(e, &d);
    if (proves_wrong(duel->verdict)) {
        disqualify(e, t, p->individual, duel->verdict);
        if (t->best == p->individual)
            find_best(e, t);
        return;
    }
    /* A lucky time must not keep the template's other instances from challenging: the paired one counts. */
    double paired = duel->ratio > 0 ? individual_at(e, p->elite)->time_ns / duel->ratio : 0;
    if (s->best == p->individual && isfinite(paired) && paired > s->best_ns)
        s->best_ns = paired;
}

static int inject_noop(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t island,
                       uint32_t individual, struct atoll_err *err)
{
    if (!e->search.noop_interval || e->promotions % e->search.noop_interval || e->finishing)
        return 0;
    t->noop_challenges++;
    return send_duel(e, t, island, individual, individual, ATOLL_DUEL_NOOP,
                     atoll_alpha_spend(e->search.alpha, e->challenges), err);
}

static int settle_promotion(struct atoll_engine *e, struct atoll_engine_task *t,
                            const struct atoll_proposal *p, const struct atoll_duel *duel,
                            struct atoll_err *err)
{
    uint32_t island = p->decision.island;
    struct atoll_cell *cell = &t->islands[island].cells[individual_at(e, p->individual)->cell];
    uint32_t next = cell->waiting;
    cell->open = 0;
    cell->waiting = ATOLL_NONE;
    int failed = 0;
    if (duel && duel->verdict == ATOLL_V_CORRECT && duel->better &&
        individual_at(e, p->individual)->state == ATOLL_V_CORRECT) {
        promote(e, t, island, p->individual);
        t->promotions++;
        e->promotions++;
        failed = inject_noop(e, t, island, p->individual, err);
    } else if (duel) {
        if (cell->elite == p->elite)
            cell->refused = p->individual;
        refuse(e, t, p, duel);
    }
    if (failed || next == ATOLL_NONE || individual_at(e, next)->state != ATOLL_V_CORRECT)
        return failed;
    return atoll_challenge_enter(e, t, island, next, 1, err);
}

static int settle_noop(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                       const struct atoll_duel *duel, struct atoll_err *err)
{
    if (duel && proves_wrong(duel->verdict))
        refuse(e, t, p, duel);
    t->noop_promotions += duel && duel->verdict == ATOLL_V_CORRECT && duel->better;
    return 0;
}

static int settle_final(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                        const struct atoll_duel *duel, struct atoll_err *err)
{
    t->final = ATOLL_FINAL_OVER;
    if (!duel)
        return 0;
    if (duel->verdict == ATOLL_V_CORRECT) {
        t->final_ratio = duel->ratio;
        return 0;
    }
    refuse(e, t, p, duel);
    if (proves_wrong(duel->verdict))
        t->final = ATOLL_FINAL_NONE; /* the next best is the finalist */
    return 0;
}

typedef int settle(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_proposal *p,
                   const struct atoll_duel *duel, struct atoll_err *err);

static settle *const settles[ATOLL_DUEL_PURPOSE_COUNT] = {
    [ATOLL_DUEL_PROMOTION] = settle_promotion,
    [ATOLL_DUEL_NOOP] = settle_noop,
    [ATOLL_DUEL_FINAL] = settle_final,
};

int atoll_challenge_result(struct atoll_engine *e, const struct atoll_proposal *p,
                           const struct atoll_duel *duel, struct atoll_err *err)
{
    return settles[p->decision.purpose](e, &e->tasks[p->decision.task], p, duel, err);
}

int atoll_challenge_final(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_err *err)
{
    if (t->best == ATOLL_NONE || t->best == t->baseline || t->finals == FINAL_LIMIT ||
        !atoll_budget_allows_final(e)) {
        t->final_ratio = t->best != ATOLL_NONE && t->best == t->baseline ? 1 : 0;
        t->final = ATOLL_FINAL_OVER;
        return 0;
    }
    t->final = ATOLL_FINAL_UNDER_WAY;
    t->finals++;
    return send_duel(e, t, individual_at(e, t->best)->island, t->best, t->baseline, ATOLL_DUEL_FINAL,
                     e->search.alpha, err);
}
