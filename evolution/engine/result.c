/* An infrastructure failure is never the candidate's: it is sent again, RETRY_LIMIT times, each time under a number
 * of its own, for one number has one answer; then it is given up.  An unstable baseline is sent again more often,
 * for without it the task has no yardstick and a busy machine may calm down. */
#include "evolution/engine/result.h"

#include <math.h>

#include "evolution/population/best.h"
#include "evolution/population/challenge.h"
#include "evolution/engine/decide.h"
#include "evolution/population/migrate.h"
#include "evolution/population/null_control.h"
#include "evolution/engine/schedule.h"
#include "evolution/strategy/strategy.h"

#define RETRY_LIMIT    3
#define UNSTABLE_LIMIT 20
#define SHORTEST_NS    1e-3 /* nothing is faster; ratios of times stay finite */

static struct atoll_engine_task *task_of(struct atoll_engine *e, const struct atoll_proposal *p)
{
    return &e->tasks[e->individuals.items[p->individual].task];
}

static void charge(struct atoll_engine *e, struct atoll_engine_task *t, double occupied_ns)
{
    t->answers++;
    e->answers++;
    if (!isfinite(occupied_ns) || occupied_ns <= 0)
        return;
    t->device_ns += occupied_ns;
    e->device_ns += occupied_ns;
}

/* What a duel costs is known from those that were carried out. */
static void count_duel(struct atoll_engine *e, struct atoll_engine_task *t, const struct atoll_duel *duel)
{
    if (duel->verdict != ATOLL_V_CORRECT || !isfinite(duel->occupied_ns) || duel->occupied_ns <= 0)
        return;
    t->duels++;
    t->duels_ns += duel->occupied_ns;
    e->duels++;
    e->duels_ns += duel->occupied_ns;
}

/* Takes what was answered out of what is under way. */
static struct atoll_proposal take(struct atoll_engine *e, struct atoll_proposal *p)
{
    struct atoll_proposal taken = *p;
    task_of(e, p)->under_way--;
    atoll_proposals_remove(&e->proposals, p);
    return taken;
}

/* An open duel over the task's best is known by its number. */
static int retry(struct atoll_engine *e, struct atoll_proposal *p, struct atoll_err *err)
{
    struct atoll_proposal taken = take(e, p);
    struct atoll_engine_task *t = task_of(e, &taken);
    if (taken.decision.evaluation == t->best_duel)
        t->best_duel = e->next_evaluation;
    return atoll_decide_again(e, &taken, err);
}

static void no_baseline(struct atoll_engine *e, struct atoll_engine_task *t)
{
    if (!t->done)
        atoll_decide_task_done(e, t, ATOLL_REASON_NO_BASELINE);
}

/* A time that was not measured to its end, for it is clearly beyond what the template has, is a bound. */
static void tell_tuner(struct atoll_engine *e, const struct atoll_individual *r, int is_dropped)
{
    struct atoll_tune *tune = e->sources.items[r->source].tune;
    struct atoll_tune_outcome outcome = {.kind = r->state != ATOLL_V_CORRECT ? ATOLL_TUNE_FAILED
                                                 : is_dropped                ? ATOLL_TUNE_CENSORED
                                                                             : ATOLL_TUNE_CORRECT,
                                         .time_ns = r->time_ns,
                                         .lo_ns = r->lo_ns,
                                         .hi_ns = r->hi_ns};
    if (tune)
        atoll_tune_record(tune, &r->choice, &outcome);
}

static int tell_strategy(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual,
                         struct atoll_err *err)
{
    const struct atoll_strategy *strategy = atoll_strategy_of(e);
    return strategy->settled ? strategy->settled(e, t, e->individuals.items[individual].ask, individual, err)
                             : 0;
}

static int abandon(struct atoll_engine *e, struct atoll_proposal *p, struct atoll_err *err)
{
    struct atoll_proposal taken = take(e, p);
    struct atoll_engine_task *t = task_of(e, &taken);
    struct atoll_individual *r = &e->individuals.items[taken.individual];
    r->state = ATOLL_INDIVIDUAL_ABANDONED;
    atoll_decide_abandon(e, &taken);
    tell_tuner(e, r, 0);
    if (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        no_baseline(e, t);
    return tell_strategy(e, t, taken.individual, err);
}

static void judge(struct atoll_engine *e, struct atoll_engine_task *t, struct atoll_individual *r,
                  const struct atoll_evaluation *evaluation)
{
    double time_ns = atoll_evaluation_time_ns(evaluation, t->task);
    int correct = evaluation->verdict == ATOLL_V_CORRECT;
    int timed = isfinite(time_ns) && time_ns >= SHORTEST_NS;
    /* Correct without a time ranks nowhere: that is what unstable means. */
    r->state = (uint8_t)(correct && !timed ? ATOLL_V_UNSTABLE : evaluation->verdict);
    r->cell = (uint8_t)(e->search.grid ? atoll_behaviour_cell(evaluation->behaviour) : 0);
    r->time_ns = r->state == ATOLL_V_CORRECT ? time_ns : 0;
    if (r->state == ATOLL_V_CORRECT)
        atoll_evaluation_interval_ns(evaluation, t->task, &r->lo_ns, &r->hi_ns);
    if (r->state == ATOLL_V_CORRECT && !(t->floor_ns > 0))
        t->floor_ns = fmax(0, atoll_evaluation_floor_ns(evaluation, t->task));
    if (r->state == ATOLL_V_CORRECT && t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        t->baseline_ns = time_ns;
    r->fitness = atoll_fitness(e->search.fitness_form, (enum atoll_verdict)r->state, r->time_ns,
                               t->baseline_ns, t->floor_ns);
}

static void settle_baseline(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual)
{
    if (e->individuals.items[individual].state != ATOLL_V_CORRECT) {
        no_baseline(e, t);
        return;
    }
    t->stage = ATOLL_STAGE_OPEN;
    t->opening_ns = t->device_ns;
    t->opening_answers = t->answers;
    e->opening_ns += t->opening_ns;
    e->opening_answers += t->opening_answers;
    t->baseline = individual;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_BASELINE, t, individual);
    atoll_decide(e, &d);
}

/* A template's instance that is not its best does not challenge. */
static int is_best_instance(struct atoll_engine *e, uint32_t individual)
{
    const struct atoll_individual *r = &e->individuals.items[individual];
    struct atoll_source *s = &e->sources.items[r->source];
    if (s->best_ns > 0 && !(r->time_ns < s->best_ns))
        return 0;
    s->best = individual;
    s->best_ns = r->time_ns;
    return 1;
}

/* Of a plan that does not fit the task nobody knows the behaviour.  A challenger may become an improvement when it wins. */
static void remember_step(struct atoll_engine *e, struct atoll_engine_task *t, uint32_t individual,
                          int became_elite)
{
    const struct atoll_individual *child = &e->individuals.items[individual];
    if (child->parent == ATOLL_NONE || child->state == ATOLL_V_BAD_PLAN)
        return;
    const struct atoll_individual *parent = &e->individuals.items[child->parent];
    struct atoll_transition step = {.child = individual,
                                    .from = parent->cell,
                                    .to = child->cell,
                                    .gain = child->fitness - parent->fitness,
                                    .when = t->evaluated};
    step.outcome = (uint8_t)(step.gain < -ATOLL_NEUTRAL_FITNESS                  ? ATOLL_OUTCOME_REGRESSION
                             : became_elite && step.gain > ATOLL_NEUTRAL_FITNESS ? ATOLL_OUTCOME_IMPROVEMENT
                                                                                 : ATOLL_OUTCOME_NEUTRAL);
    atoll_transitions_add(&t->transitions, &step);
}

static void remember_failure(struct atoll_engine_task *t, uint32_t individual)
{
    struct atoll_failures *f = &t->failures;
    f->items[f->next] = individual;
    f->next = (f->next + 1) % ATOLL_FAILURE_LIMIT;
    f->count += f->count < ATOLL_FAILURE_LIMIT;
}

static int was_dropped(const struct atoll_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->timing_count; i++)
        if (evaluation->timings[i].flags & ATOLL_TIMING_DROPPED_EARLY)
            return 1;
    return 0;
}

static int use(struct atoll_engine *e, const struct atoll_proposal *p,
               const struct atoll_evaluation *evaluation, struct atoll_err *err)
{
    struct atoll_engine_task *t = task_of(e, p);
    struct atoll_individual *r = &e->individuals.items[p->individual];
    uint32_t island = r->island;
    int failed = 0;
    judge(e, t, r, evaluation);
    e->evaluated++;
    t->evaluated++;
    if (atoll_null_control_is(r))
        return atoll_null_control_evaluated(e, t, p->individual, err);
    t->since_elite++;
    t->islands[island].evaluated++;
    t->islands[island].since_elite++;
    tell_tuner(e, r, was_dropped(evaluation));
    atoll_share_add(&t->share, r->time_ns, evaluation->occupied_ns);
    if (r->state != ATOLL_V_CORRECT)
        remember_failure(t, p->individual);
    if (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        settle_baseline(e, t, p->individual);
    if (r->state == ATOLL_V_CORRECT) {
        t->correct++;
        failed = atoll_challenge_enter(e, t, island, p->individual, is_best_instance(e, p->individual), err);
    }
    remember_step(e, t, p->individual, t->since_elite == 0);
    if (!failed)
        failed = tell_strategy(e, t, p->individual, err);
    if (!failed && !e->finishing)
        failed = atoll_migrate(e, t, island, err);
    if (!failed)
        failed = atoll_best_continue(e, t, err);
    if (!failed)
        atoll_schedule_stagnation(e, t);
    return failed;
}

static int fits(const struct atoll_proposal *p, const struct atoll_evaluation *evaluation)
{
    struct atoll_behaviour b = evaluation->behaviour;
    return p && p->decision.type == ATOLL_DECIDE_EVALUATE &&
           atoll_id_equal(&p->decision.candidate, &evaluation->candidate) &&
           (unsigned)evaluation->verdict < ATOLL_VERDICT_COUNT && b.memory < ATOLL_BEHAVIOUR_LEVELS &&
           b.algorithm < ATOLL_BEHAVIOUR_LEVELS && b.coordination < ATOLL_BEHAVIOUR_LEVELS;
}

int atoll_result_evaluated(struct atoll_engine *e, const struct atoll_evaluation *evaluation,
                           struct atoll_err *err)
{
    struct atoll_proposal *p = atoll_proposals_find(&e->proposals, evaluation->evaluation);
    if (!fits(p, evaluation))
        return 1;
    struct atoll_engine_task *t = task_of(e, p);
    int infrastructure = evaluation->verdict == ATOLL_V_INFRASTRUCTURE;
    int shaky = evaluation->verdict == ATOLL_V_UNSTABLE && t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY;
    charge(e, t, evaluation->occupied_ns);
    if ((infrastructure || shaky) && p->retries < (shaky ? UNSTABLE_LIMIT : RETRY_LIMIT))
        return retry(e, p, err);
    if (infrastructure)
        return abandon(e, p, err);
    struct atoll_proposal taken = take(e, p);
    return use(e, &taken, evaluation, err);
}

int atoll_result_duelled(struct atoll_engine *e, const struct atoll_duel *duel, struct atoll_err *err)
{
    struct atoll_proposal *p = atoll_proposals_find(&e->proposals, duel->evaluation);
    if (!p || p->decision.type != ATOLL_DECIDE_DUEL || duel->purpose != p->decision.purpose ||
        (unsigned)duel->verdict >= ATOLL_VERDICT_COUNT || !isfinite(duel->ratio))
        return 1;
    charge(e, task_of(e, p), duel->occupied_ns);
    count_duel(e, task_of(e, p), duel);
    int infrastructure = duel->verdict == ATOLL_V_INFRASTRUCTURE;
    if (infrastructure && p->retries < RETRY_LIMIT)
        return retry(e, p, err);
    struct atoll_proposal taken = take(e, p);
    if (infrastructure)
        atoll_decide_abandon(e, &taken);
    return atoll_challenge_result(e, &taken, infrastructure ? NULL : duel, err);
}
