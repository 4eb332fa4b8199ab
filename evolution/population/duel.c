/* duel.c - every challenge is a test of the run's error control (core/error_control.h); finals and duels of null controls are
 * none of its tests. */
#include "evolution/population/duel.h"

#include "evolution/engine/decide.h"

static int send(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_decision *d,
                uint32_t individual, uint32_t elite, struct atoll_err *err)
{
    const struct atoll_individual *defender = &e->individuals.items[elite];
    d->elite = defender->id;
    d->elite_source = e->sources.items[defender->source].id;
    d->elite_choice = defender->choice;
    d->baseline_ns = t->yardstick_ns;
    d->incumbent_ns = defender->time_ns;
    d->margin = atoll_search_log_margin(&e->search);
    d->pair_limit = e->search.pair_limit;
    return atoll_decide_send(e, t, d, individual, elite, err);
}

int atoll_duel_challenge(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                         uint32_t individual, uint32_t elite, struct atoll_err *err)
{
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DUEL, t, individual);
    e->challenges++;
    t->challenges++;
    d.island = island;
    d.purpose = ATOLL_DUEL_PROMOTION;
    d.alpha = atoll_error_open(&e->error);
    return send(e, t, &d, individual, elite, err);
}

/* A challenger that failed has no p-value: 1 is what it proved.  A defender that failed was not beaten by a test. */
void atoll_duel_close(struct atoll_engine *e, const struct atoll_proposal *p, const struct atoll_duel *duel)
{
    if (p->decision.type != ATOLL_DECIDE_DUEL || p->decision.purpose != ATOLL_DUEL_PROMOTION)
        return;
    if (!duel)
        atoll_error_abandon(&e->error);
    else if (duel->verdict != ATOLL_V_CORRECT)
        atoll_error_close(&e->error, 1, 0);
    else
        atoll_error_close(&e->error, duel->p_value, duel->better && duel->p_value <= p->decision.alpha);
}

/* Where there is a rival one more test follows those against the baseline. */
double atoll_duel_final_alpha(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->final_alpha / (e->search.finals_tries + (t->rivals.fastest.time_ns > 0));
}

int atoll_duel_final(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                     struct atoll_err *err)
{
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DUEL, t, individual);
    d.purpose = ATOLL_DUEL_FINAL;
    d.alpha = atoll_duel_final_alpha(e, t);
    return send(e, t, &d, individual, t->baseline, err);
}

int atoll_duel_null_control(struct atoll_engine *e, struct atoll_task_state *t, uint32_t mutant,
                            struct atoll_err *err)
{
    const struct atoll_individual *r = &e->individuals.items[mutant];
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DUEL, t, mutant);
    t->noop_challenges++;
    d.purpose = ATOLL_DUEL_NULL_CONTROL;
    d.alpha = atoll_error_level(&e->error);
    return send(e, t, &d, mutant, r->parent, err);
}

int atoll_duel_is_won(const struct atoll_engine *e, const struct atoll_proposal *p,
                      const struct atoll_duel *duel)
{
    return duel && duel->verdict == ATOLL_V_CORRECT && duel->better &&
           e->individuals.items[p->individual].state == ATOLL_V_CORRECT;
}

int atoll_duel_proves_wrong(const struct atoll_duel *duel)
{
    enum atoll_verdict v = duel->verdict;
    return v != ATOLL_V_CORRECT && v != ATOLL_V_INFRASTRUCTURE && v != ATOLL_V_UNSTABLE;
}
