/* rival.c - a rival is measured once; what failed for want of a device, or of a quiet one, is measured again like a
 * candidate. */
#include "evolution/population/rival.h"

#include <math.h>
#include <string.h>

#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"
#include "evolution/population/duel.h"

#define LIMIT_NS       5.4e11 /* what one measurement may take, compiling and autotuning included ... */
#define LEAST_LIMIT_NS 1e10   /* ... and at least, however little time is left */
#define SHORTEST_NS    1e-3   /* as of candidates */

int atoll_rival_has_torch(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return e->model_count && e->models[t->model].torch_slots > 0;
}

static uint32_t find(const struct atoll_task_state *t, enum atoll_rival_state state)
{
    for (uint32_t n = 0; n < t->task->rival_count; n++)
        if (t->rivals.states[n] == state)
            return n;
    return ATOLL_NONE;
}

uint32_t atoll_rival_next(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return atoll_rival_has_torch(e, t) ? find(t, ATOLL_RIVAL_UNTRIED) : ATOLL_NONE;
}

uint32_t atoll_rival_before_baseline(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (t->rivals.under_way || t->rivals.fastest.time_ns > 0)
        return ATOLL_NONE;
    if (t->stage == ATOLL_STAGE_RIVAL)
        return atoll_rival_next(e, t);
    /* One try ahead of the baseline: the first eager one, which compiles nothing. */
    if (find(t, ATOLL_RIVAL_FAILED) != ATOLL_NONE || !atoll_rival_has_torch(e, t))
        return ATOLL_NONE;
    for (uint32_t n = 0; n < t->task->rival_count; n++)
        if (t->task->rivals[n].mode == ATOLL_TORCH_EAGER)
            return n;
    return ATOLL_NONE;
}

int atoll_rival_is_due(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint32_t next = t->stage == ATOLL_STAGE_OPEN ? atoll_rival_next(e, t) : ATOLL_NONE;
    return next != ATOLL_NONE && !e->models[t->model].rivals && atoll_budget_allows_rival(e, t, next);
}

int atoll_rival_may_serve(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->rivals.fastest.time_ns > 0 || t->rivals.under_way || atoll_rival_next(e, t) != ATOLL_NONE;
}

/* A decision about the task and no candidate. */
static struct atoll_decision decide_about(const struct atoll_task_state *t)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = ATOLL_DECIDE_RIVAL;
    d.task = t->number;
    d.model = t->model;
    d.purpose = ATOLL_DUEL_RIVAL;
    return d;
}

static void set_state(struct atoll_engine *e, struct atoll_task_state *t, uint32_t number,
                      enum atoll_rival_state state)
{
    int more = (state == ATOLL_RIVAL_UNDER_WAY) - (t->rivals.states[number] == ATOLL_RIVAL_UNDER_WAY);
    t->rivals.under_way += (uint32_t)more;
    e->models[t->model].rivals += (uint32_t)more;
    t->rivals.states[number] = (uint8_t)state;
}

int atoll_rival_measure(struct atoll_engine *e, struct atoll_task_state *t, uint32_t number,
                        struct atoll_err *err)
{
    struct atoll_decision d = decide_about(t);
    d.rival = number;
    d.limit_ns = fmax(LEAST_LIMIT_NS, fmin(LIMIT_NS, atoll_budget_wall_left_ns(e)));
    set_state(e, t, number, ATOLL_RIVAL_UNDER_WAY);
    return atoll_decide_send(e, t, &d, ATOLL_NONE, ATOLL_NONE, err);
}

void atoll_rival_settle(struct atoll_engine *e, const struct atoll_proposal *p,
                        const struct atoll_rival *rival)
{
    struct atoll_task_state *t = &e->tasks[p->task];
    double time_ns = atoll_rival_time_ns(rival, t->task);
    int is_timed = rival->verdict == ATOLL_V_CORRECT && isfinite(time_ns) && time_ns >= SHORTEST_NS;
    set_state(e, t, p->decision.rival, is_timed ? ATOLL_RIVAL_CORRECT : ATOLL_RIVAL_FAILED);
    if (!is_timed)
        return;
    atoll_rival_times_add(&t->rivals.times, rival);
    t->rivals.fastest = atoll_rival_times_fastest(&t->rivals.times, t->task);
}

void atoll_rival_drop(struct atoll_engine *e, const struct atoll_proposal *p)
{
    if (p->decision.type == ATOLL_DECIDE_RIVAL)
        set_state(e, &e->tasks[p->task], p->decision.rival, ATOLL_RIVAL_UNTRIED);
}

/* Without evaluators nothing is known of their torch. */
void atoll_rival_open(struct atoll_engine *e, struct atoll_task_state *t)
{
    if (t->done || t->stage != ATOLL_STAGE_RIVAL || t->rivals.under_way)
        return;
    if (t->rivals.fastest.time_ns > 0) {
        t->yardstick_ns = t->rivals.fastest.time_ns;
        atoll_budget_open(e, t);
    } else if (find(t, ATOLL_RIVAL_UNTRIED) == ATOLL_NONE ||
               (e->slots && !atoll_rival_has_torch(e, t) && (!e->model_count || e->models[t->model].slots))) {
        atoll_decide_task_done(e, t, ATOLL_REASON_NO_BASELINE);
    }
}

void atoll_rival_forget_torch(struct atoll_engine *e)
{
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        struct atoll_proposal *p = &e->proposals.items[i];
        struct atoll_task_state *t = &e->tasks[p->task];
        if (!atoll_decision_is_about_rival(&p->decision) || !e->model_count || !e->models[t->model].slots ||
            e->models[t->model].torch_slots) {
            continue;
        }
        atoll_decide_abandon(e, p);
        t->under_way--;
        atoll_rival_drop(e, p);
        if (p->decision.type == ATOLL_DECIDE_DUEL)
            t->final = ATOLL_FINAL_NONE;
        atoll_proposals_remove(&e->proposals, p);
    }
}

int atoll_rival_duel(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                     struct atoll_err *err)
{
    const struct atoll_fastest_rival *fastest = &t->rivals.fastest;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DUEL, t, individual);
    d.purpose = ATOLL_DUEL_RIVAL;
    d.alpha = atoll_duel_final_alpha(e, t);
    d.margin = atoll_search_log_margin(&e->search);
    d.pair_limit = e->search.pair_limit;
    d.baseline_ns = t->yardstick_ns;
    d.incumbent_ns = fastest->time_ns;
    d.rival = fastest->number;
    memcpy(d.rivals, fastest->numbers, sizeof(d.rivals));
    return atoll_decide_send(e, t, &d, individual, ATOLL_NONE, err);
}
