/* schedule.c - one settle after every event: budgets, proposals, finals, the end. */
#include "evolution/engine/schedule.h"

#include <string.h>

#include "core/fitness.h"

#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"

#include "evolution/population/baseline.h"
#include "evolution/population/final.h"
#include "evolution/population/rival.h"
#include "evolution/population/device_models.h"
#include "evolution/engine/propose.h"
#include "evolution/engine/share.h"
#include "evolution/strategy/template_phase.h"

#define ANSWER_CHARGE_NS 1e6 /* charged for every answer, so that what costs no device time is not free */

void atoll_schedule_stagnation(struct atoll_engine *e, struct atoll_task_state *t)
{
    if (!e->search.stagnation_limit || t->since_elite < e->search.stagnation_limit || t->done ||
        e->open_count < 2) {
        return;
    }
    if (t->stage != ATOLL_STAGE_OPEN || t->pending_next != t->pending_count ||
        atoll_template_phase_is_active(e, t))
        return;
    if (atoll_template_phase_is_left(e, t))
        atoll_template_phase_begin(t);
    else
        atoll_decide_task_done(e, t, ATOLL_REASON_STAGNATION);
}

void atoll_schedule_finish(struct atoll_engine *e, enum atoll_reason reason)
{
    if (e->finishing)
        return;
    e->finishing = 1;
    e->reason = (uint8_t)reason;
    for (uint32_t i = 0; i < e->task_count; i++)
        if (!e->tasks[i].done)
            atoll_decide_task_done(e, &e->tasks[i], reason);
}

/* The lower goes first.  Seeds, and what a task that had few tries does next, of the task that had least of them; then whoever
 * promises most, and now and then whoever had least. */
static double order_of(const struct atoll_engine *e, const struct atoll_task_state *t, enum atoll_turn turn)
{
    if (turn == ATOLL_TURN_SEED || turn == ATOLL_TURN_FEW)
        return (double)(t->answers + t->under_way);
    double expected_ns = atoll_budget_expected_ns(e, t);
    if (turn == ATOLL_TURN_BASELINE || e->search.sharing == ATOLL_SHARING_EQUAL ||
        e->next_evaluation % ATOLL_SHARE_EQUAL_EVERY == 0) {
        double charges = ANSWER_CHARGE_NS * (double)(t->answers + t->under_way);
        return t->device_ns - t->rivals.device_ns + charges + atoll_budget_under_way_ns(e, t);
    }
    return -atoll_share_promise(&t->share, expected_ns + ANSWER_CHARGE_NS, t->under_way, t->floor_ns);
}

static struct atoll_task_state *next_task(const struct atoll_engine *e, const uint64_t *alive)
{
    struct atoll_task_state *next = NULL;
    enum atoll_turn first = ATOLL_TURN_OPEN;
    double least = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        struct atoll_task_state *t = &e->tasks[i];
        /* Its model's evaluators must have room; where no model has a name, all are alike. */
        uint32_t slots = e->model_count ? e->models[t->model].slots : e->slots;
        if (alive[t->model] >= (uint64_t)slots * e->search.queue_depth || !atoll_propose_ready(e, t))
            continue;
        enum atoll_turn turn = atoll_propose_turn(e, t);
        if (next && turn > first)
            continue;
        double its = order_of(e, t, turn);
        if (!next || turn < first || its < least) {
            next = t;
            first = turn;
            least = its;
        }
    }
    return next;
}

static int fill(struct atoll_engine *e, struct atoll_err *err)
{
    uint64_t alive[ATOLL_MODEL_LIMIT] = {0};
    for (uint32_t i = 0; i < e->task_count; i++)
        alive[e->tasks[i].model] += e->tasks[i].under_way;
    while (atoll_budget_allows(e)) {
        struct atoll_task_state *t = next_task(e, alive);
        if (!t)
            break;
        uint64_t before = t->under_way;
        if (atoll_propose(e, t, err))
            return -1;
        alive[t->model] += t->under_way - before;
    }
    for (uint32_t i = 0; i < e->task_count; i++)
        if (atoll_propose_exhausted(e, &e->tasks[i]))
            atoll_decide_task_done(e, &e->tasks[i],
                                   atoll_propose_has_samples(e, &e->tasks[i]) ? ATOLL_REASON_EXHAUSTED
                                                                              : ATOLL_REASON_SAMPLES);
    return 0;
}

static void stop(struct atoll_engine *e)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    for (uint32_t i = 0; i < e->proposals.count; i++) /* kept, for the search may be extended */
        if (e->proposals.items[i].decision.type)
            atoll_decide_abandon(e, &e->proposals.items[i]);
    for (uint32_t i = 0; i < e->task_count; i++)
        if (e->tasks[i].final != ATOLL_FINAL_OVER)
            atoll_final_conclude(e, &e->tasks[i]);
    d.type = ATOLL_DECIDE_STOP;
    d.reason = (enum atoll_reason)e->reason;
    e->stopped = 1;
    atoll_decide(e, &d);
}

static void reopen(struct atoll_engine *e, struct atoll_task_state *t)
{
    e->open_count += t->done;
    t->done = t->asks_spent = 0;
    t->reason = ATOLL_REASON_NONE;
    t->since_elite = 0;
    if (t->final == ATOLL_FINAL_OVER)
        t->final = ATOLL_FINAL_NONE;
    t->finals = t->finals_compared = t->finals_failed = 0;
    t->final_alpha = atoll_final_alpha(e, t);
    t->rivals.duels = 0;
    if (!t->under_way) { /* of what was given up for want of a device nothing comes back */
        t->best_duel = 0;
        for (uint32_t i = 0; i < e->search.islands; i++)
            for (unsigned cell = 0; cell < ATOLL_BEHAVIOUR_CELLS; cell++)
                t->islands[i].cells[cell].open = 0;
    }
    atoll_baseline_reopen(e, t);
    if (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY && !t->under_way && t->task->rival_count)
        t->stage = ATOLL_STAGE_RIVAL; /* atoll_rival_open ends it where there is no torch */
    if ((t->stage == ATOLL_STAGE_BASELINE && t->baseline_source == ATOLL_NONE) ||
        (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY && !t->under_way)) {
        atoll_decide_task_done(e, t, ATOLL_REASON_NO_BASELINE);
    }
}

void atoll_schedule_extend(struct atoll_engine *e, const struct atoll_extension *by)
{
    atoll_budget_extend(e, by);
    e->stopped = e->finishing = e->asks_spent = 0;
    e->reason = ATOLL_REASON_NONE;
    atoll_models_forget_slots(e);
    for (uint32_t i = 0; i < e->task_count; i++)
        reopen(e, &e->tasks[i]);
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        const struct atoll_proposal *p = &e->proposals.items[i];
        struct atoll_task_state *t = &e->tasks[p->task];
        if (p->decision.type == ATOLL_DECIDE_DUEL && p->decision.purpose == ATOLL_DUEL_FINAL) {
            t->final = ATOLL_FINAL_UNDER_WAY;
            t->finals = 1;
        }
        if (p->decision.type == ATOLL_DECIDE_DUEL && p->decision.purpose == ATOLL_DUEL_RIVAL) {
            t->final = ATOLL_FINAL_UNDER_WAY;
            t->rivals.duels = 1;
        }
    }
}

/* Rivals that are not measured yet, as far as there is time; then its finals. */
static int end_task(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t rival = t->best == ATOLL_NONE ? ATOLL_NONE : atoll_rival_next(e, t);
    return rival != ATOLL_NONE && atoll_budget_allows_rival(e, t, rival)
               ? atoll_rival_measure(e, t, rival, err)
               : atoll_final_next(e, t, err);
}

static int settle_finals(struct atoll_engine *e, uint32_t *ret_missing, struct atoll_err *err)
{
    *ret_missing = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        struct atoll_task_state *t = &e->tasks[i];
        /* Nobody could carry out its final duel, while there are devices of other models. */
        int waits = e->model_count > 1 && e->slots && !atoll_models_has_slots(e, t);
        if (t->done && !t->under_way && !t->judging.count && t->final == ATOLL_FINAL_NONE && !waits &&
            end_task(e, t, err))
            return -1;
        *ret_missing += t->final != ATOLL_FINAL_OVER;
    }
    return 0;
}

/* A task that is as near to its floor as was asked for needs no more. */
static void end_at_goal(struct atoll_engine *e)
{
    for (uint32_t i = 0; i < e->task_count && e->search.floor_goal > 0; i++) {
        struct atoll_task_state *t = &e->tasks[i];
        if (t->done || t->best == ATOLL_NONE)
            continue;
        double best_ns = e->individuals.items[t->best].time_ns;
        if (100 * atoll_floor_trusted_ns(t->floor_ns, best_ns) >= e->search.floor_goal * best_ns)
            atoll_decide_task_done(e, t, ATOLL_REASON_FLOOR);
    }
}

/* A task that would have been given up before its phase of templates is so behind it, also when none of its candidates is
 * answered any more. */
static void end_stagnating(struct atoll_engine *e)
{
    for (uint32_t i = 0; i < e->task_count; i++)
        if (e->tasks[i].phase.state >= ATOLL_PHASE_TUNING)
            atoll_schedule_stagnation(e, &e->tasks[i]);
}

int atoll_schedule_settle(struct atoll_engine *e, struct atoll_err *err)
{
    if (!e->started || e->stopped)
        return 0;
    enum atoll_reason reason = atoll_budget_reason(e);
    if (reason)
        atoll_schedule_finish(e, reason);
    if (atoll_budget_over(e)) {
        stop(e);
        return 0;
    }
    end_at_goal(e);
    end_stagnating(e);
    for (uint32_t i = 0; i < e->task_count; i++)
        atoll_rival_open(e, &e->tasks[i]);
    if (!e->finishing && fill(e, err))
        return -1;
    uint32_t missing;
    if (settle_finals(e, &missing, err))
        return -1;
    if (atoll_models_give_up(e))
        missing = 0;
    if (!e->open_count && e->task_count && e->slots) {
        reason = (enum atoll_reason)e->tasks[0].reason;
        for (uint32_t i = 0; i < e->task_count; i++)
            if (e->tasks[i].reason != e->tasks[0].reason)
                reason = ATOLL_REASON_EXHAUSTED;
        atoll_schedule_finish(e, reason);
    }
    if (e->finishing && !missing && !e->proposals.alive)
        stop(e);
    return 0;
}
