/* engine.c - what people and the coordinator ask of the search, and its steps.  A step is: time, one handler by event type,
 * then settle (schedule.h).  After a failed step the state is half changed; the owner destroys the engine.
 *
 * An infrastructure failure is never the candidate's: it is sent again, RETRY_LIMIT times, each time under a number of its
 * own, for one number has one answer; then it is given up.  An unstable baseline is sent again more often, and later once more
 * (population/baseline.h). */
#include "evolution/engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/diagnosis.h"
#include "core/issue.h"
#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"
#include "evolution/engine/proposal.h"
#include "evolution/engine/propose.h"
#include "evolution/engine/schedule.h"
#include "evolution/engine/share.h"
#include "evolution/engine/source.h"
#include "evolution/engine/state.h"
#include "evolution/population/baseline.h"
#include "evolution/population/best.h"
#include "evolution/population/challenge.h"
#include "evolution/population/device_models.h"
#include "evolution/population/judge.h"
#include "evolution/population/migrate.h"
#include "evolution/population/null_control.h"
#include "evolution/population/rival.h"
#include "evolution/strategy/ask.h"
#include "evolution/strategy/strategy.h"

#define IGNORED     1
#define RETRY_LIMIT 3
#define SHORTEST_NS 1e-3 /* nothing is faster; ratios of times stay finite */

static const struct atoll_task_state *find_task(const struct atoll_engine *engine, uint32_t task,
                                                uint32_t model)
{
    for (uint32_t i = 0; i < engine->task_count; i++)
        if (engine->tasks[i].number == task && engine->tasks[i].model == model)
            return &engine->tasks[i];
    return NULL;
}

const struct atoll_task *atoll_engine_task(const struct atoll_engine *engine, uint32_t task)
{
    const struct atoll_task_state *t = find_task(engine, task, 0);
    return t ? t->task : NULL;
}

uint32_t atoll_engine_task_count(const struct atoll_engine *engine)
{
    return engine->number_count;
}

uint32_t atoll_engine_model_count(const struct atoll_engine *engine)
{
    return engine->model_count;
}

const char *atoll_engine_model(const struct atoll_engine *engine, uint32_t model)
{
    return model < engine->model_count ? engine->models[model].name : NULL;
}

const struct atoll_search *atoll_engine_search(const struct atoll_engine *engine)
{
    return &engine->search;
}

enum atoll_triton atoll_engine_triton(const struct atoll_engine *engine)
{
    return engine->search.triton;
}

int atoll_engine_source(const struct atoll_engine *engine, const struct atoll_id *source,
                        const char **ret_language, const char **ret_text)
{
    uint32_t at = atoll_sources_find(&engine->sources, source, ATOLL_NONE);
    if (at == ATOLL_NONE)
        return -1;
    *ret_language = engine->sources.items[at].language;
    *ret_text = engine->sources.items[at].text;
    return 0;
}

int atoll_engine_candidate(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                           struct atoll_id *ret_source, struct atoll_choice *ret_choice)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        uint32_t at = engine->tasks[i].number == task
                          ? atoll_individuals_find(&engine->individuals, i, candidate)
                          : ATOLL_NONE;
        if (at == ATOLL_NONE)
            continue;
        *ret_source = engine->sources.items[engine->individuals.items[at].source].id;
        *ret_choice = engine->individuals.items[at].choice;
        return 0;
    }
    return -1;
}

static void fill_view(const struct atoll_engine *engine, uint32_t individual,
                      struct atoll_candidate_view *ret_view)
{
    const struct atoll_individual *r = &engine->individuals.items[individual];
    *ret_view = (struct atoll_candidate_view){.id = r->id,
                                              .source = engine->sources.items[r->source].id,
                                              .choice = r->choice,
                                              .ask = r->ask,
                                              .is_settled = r->state < ATOLL_VERDICT_COUNT ||
                                                            r->state == ATOLL_INDIVIDUAL_DISCARDED,
                                              .is_correct = r->state == ATOLL_V_CORRECT,
                                              .time_ns = r->time_ns};
    if (r->parent != ATOLL_NONE)
        ret_view->parent = engine->individuals.items[r->parent].id;
}

int atoll_engine_view(const struct atoll_engine *engine, uint32_t task, uint32_t model,
                      const struct atoll_id *candidate, struct atoll_candidate_view *ret_view)
{
    const struct atoll_task_state *t = find_task(engine, task, model);
    uint32_t at = t ? atoll_individuals_find(&engine->individuals, atoll_task_position(engine, t), candidate)
                    : ATOLL_NONE;
    if (at == ATOLL_NONE)
        return -1;
    fill_view(engine, at, ret_view);
    return 0;
}

int atoll_engine_next_view(const struct atoll_engine *engine, uint32_t task, uint32_t model, uint32_t *cursor,
                           struct atoll_candidate_view *ret_view)
{
    const struct atoll_task_state *t = find_task(engine, task, model);
    uint32_t count = engine->individuals.count;
    for (; t && *cursor < count; (*cursor)++) {
        uint32_t at = count - 1 - *cursor;
        const struct atoll_individual *r = &engine->individuals.items[at];
        if (r->task != atoll_task_position(engine, t) || atoll_null_control_is(r))
            continue;
        fill_view(engine, at, ret_view);
        (*cursor)++;
        return 1;
    }
    return 0;
}

int atoll_engine_task_status(const struct atoll_engine *engine, uint32_t task, uint32_t model,
                             struct atoll_task_status *ret_status)
{
    const struct atoll_task_state *t = find_task(engine, task, model);
    if (!t)
        return -1;
    int is_unstable = t->baseline == ATOLL_NONE && t->unstable.individual != ATOLL_NONE;
    struct atoll_task_status s = {
        .evaluated = t->evaluated,
        .correct = t->correct,
        .under_way = engine->stopped ? 0 : t->under_way,
        .challenges = t->challenges,
        .promotions = t->promotions,
        .noop_challenges = t->noop_challenges,
        .noop_promotions = t->noop_promotions,
        .baseline_ns = t->baseline_ns,
        .rival_ns = t->rivals.fastest.time_ns,
        .rival_lo_ns = t->rivals.fastest.lo_ns,
        .rival_hi_ns = t->rivals.fastest.hi_ns,
        .rival = t->rivals.fastest.number,
        .floor_ns = fmax(0, t->floor_ns),
        .unstable_rounds = t->unstable.rounds,
        .unstable_limit = is_unstable ? engine->search.baseline_rounds : 0,
        .done = t->done,
        .reason = (enum atoll_reason)t->reason,
    };
    if (t->baseline != ATOLL_NONE) {
        const struct atoll_individual *baseline = &engine->individuals.items[t->baseline];
        s.baseline = baseline->id;
        s.baseline_lo_ns = baseline->lo_ns;
        s.baseline_hi_ns = baseline->hi_ns;
    }
    if (t->best != ATOLL_NONE) {
        const struct atoll_individual *best = &engine->individuals.items[t->best];
        s.best = best->id;
        s.best_ns = best->time_ns;
        s.best_lo_ns = best->lo_ns;
        s.best_hi_ns = best->hi_ns;
        s.best_fitness = best->fitness;
        /* A search that was extended may have a better one since, which no final has confirmed. */
        if (t->best == t->finalist || (t->best == t->baseline && t->final == ATOLL_FINAL_OVER))
            s.final_ratio = t->final_ratio;
        if (t->best == t->rivals.finalist)
            s.rival_ratio = t->rivals.ratio;
    }
    *ret_status = s;
    return 0;
}

void atoll_engine_status(const struct atoll_engine *engine, struct atoll_engine_status *ret_status)
{
    *ret_status = (struct atoll_engine_status){
        .evaluated = engine->evaluated,
        .under_way = engine->stopped ? 0 : engine->proposals.alive,
        .ignored = engine->ignored,
        .evaluation_budget = engine->search.evaluation_budget,
        .wall_budget_ns = engine->search.wall_budget_ns,
        .device_ns = engine->device_ns,
        .device_budget_ns = engine->search.device_budget_ns,
        .tokens = engine->tokens,
        .token_budget = engine->search.token_budget,
        .cost_usd = engine->cost_usd,
        .money_budget_usd = engine->search.money_budget_usd,
        .finishing = engine->finishing,
        .stopped = engine->stopped,
        .reason = (enum atoll_reason)engine->reason,
    };
}

void atoll_engine_bars(const struct atoll_engine *engine, const struct atoll_decision *decision,
                       double ret_bars_ns[ATOLL_TASK_VARIANT_LIMIT])
{
    const struct atoll_task_state *t = find_task(engine, decision->task, decision->model);
    int has_rival = t && decision->type == ATOLL_DECIDE_EVALUATE && decision->op == ATOLL_OPERATOR_SEED &&
                    decision->incumbent_ns > 0;
    for (size_t i = 0; i < ATOLL_TASK_VARIANT_LIMIT; i++)
        ret_bars_ns[i] = has_rival ? t->rivals.times.ns[t->rivals.fastest.numbers[i]][i] : 0;
}

int atoll_engine_next_barren(const struct atoll_engine *engine, uint32_t *cursor,
                             struct atoll_barren *ret_barren)
{
    for (; *cursor < engine->sources.count; (*cursor)++) {
        const struct atoll_source *s = &engine->sources.items[*cursor];
        if (!s->tune || !s->tried || s->uncompiled < s->tried)
            continue;
        *ret_barren = (struct atoll_barren){engine->tasks[s->task].number, s->id, s->tried};
        (*cursor)++;
        return 1;
    }
    return 0;
}

int atoll_engine_kernel(const struct atoll_engine *engine, uint32_t position,
                        struct atoll_engine_kernel *ret_kernel)
{
    if (position >= engine->sources.count)
        return -1;
    const struct atoll_source *s = &engine->sources.items[position];
    const struct atoll_task_state *t = &engine->tasks[s->task];
    *ret_kernel = (struct atoll_engine_kernel){.task = t->number,
                                               .model = t->model,
                                               .op = (enum atoll_operator)s->op,
                                               .language = s->language,
                                               .text = s->text,
                                               .state = "untried",
                                               .tried = s->tried};
    if (s->best != ATOLL_NONE) {
        ret_kernel->best = engine->individuals.items[s->best].id;
        ret_kernel->best_ns = engine->individuals.items[s->best].time_ns;
        ret_kernel->state = atoll_verdict_name(ATOLL_V_CORRECT);
        return 0;
    }
    struct atoll_id first = atoll_source_candidate(s, t->task, &s->first);
    uint32_t at = atoll_individuals_find(&engine->individuals, s->task, &first);
    if (at != ATOLL_NONE) {
        uint8_t state = engine->individuals.items[at].state;
        ret_kernel->state = state < ATOLL_VERDICT_COUNT ? atoll_verdict_name((enum atoll_verdict)state)
                            : state == ATOLL_INDIVIDUAL_DISCARDED ? "discarded"
                                                                  : "under way";
    }
    return 0;
}

static struct atoll_task_state *task_of(struct atoll_engine *e, const struct atoll_proposal *p)
{
    return &e->tasks[p->task];
}

static void charge(struct atoll_engine *e, struct atoll_task_state *t, double occupied_ns)
{
    t->answers++;
    e->answers++;
    if (!isfinite(occupied_ns) || occupied_ns <= 0)
        return;
    t->device_ns += occupied_ns;
    e->device_ns += occupied_ns;
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
    struct atoll_task_state *t = task_of(e, &taken);
    if (taken.decision.evaluation == t->best_duel)
        t->best_duel = e->next_evaluation;
    return atoll_decide_again(e, &taken, err);
}

/* A time that was not measured to its end, for it is clearly beyond what the template has, is a bound. */
static void record_time(struct atoll_engine *e, const struct atoll_individual *r, int is_dropped)
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

static int settle_with_strategy(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                                struct atoll_err *err)
{
    return atoll_strategy_settled(e, t, e->individuals.items[individual].ask, individual, err);
}

/* The first floor that is told stands, until a correct kernel is faster than it or a referee no longer knows it: then it was
 * wrong, for every device of the model. */
static void judge_floor(struct atoll_task_state *t, double floor_ns, double time_ns)
{
    double stands_ns = t->floor_ns > 0 ? t->floor_ns : floor_ns;
    if (t->floor_ns < 0)
        return;
    int is_wrong = stands_ns > 0 && (!(floor_ns > 0) || atoll_floor_trusted_ns(stands_ns, time_ns) == 0);
    t->floor_ns = is_wrong ? -1 : stands_ns;
}

/* Of a device the engine knows the name alone: what counters and the binary say without its rates. */
static uint64_t issues_shown(const struct atoll_evaluation *evaluation, const struct atoll_task *task)
{
    struct atoll_diagnosis d;
    atoll_diagnose_evaluation(evaluation, task, NULL, &d);
    return atoll_issues_of_diagnosis(&d, &evaluation->profile.resources);
}

static void judge(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_individual *r,
                  const struct atoll_evaluation *evaluation)
{
    double time_ns = atoll_evaluation_time_ns(evaluation, t->task);
    int correct = evaluation->verdict == ATOLL_V_CORRECT;
    int timed = isfinite(time_ns) && time_ns >= SHORTEST_NS;
    /* Correct without a time ranks nowhere: that is what unstable means. */
    r->state = (uint8_t)(correct && !timed ? ATOLL_V_UNSTABLE : evaluation->verdict);
    r->cell = (uint8_t)(e->search.grid ? atoll_behaviour_cell(evaluation->behaviour) : 0);
    r->time_ns = r->state == ATOLL_V_CORRECT ? time_ns : 0;
    r->issues = r->state == ATOLL_V_CORRECT ? issues_shown(evaluation, t->task) : 0;
    if (r->state == ATOLL_V_CORRECT)
        atoll_evaluation_interval_ns(evaluation, t->task, &r->lo_ns, &r->hi_ns);
    if (r->state == ATOLL_V_CORRECT)
        judge_floor(t, atoll_evaluation_floor_ns(evaluation, t->task), r->hi_ns);
    if (r->state == ATOLL_V_CORRECT && t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        t->baseline_ns = t->yardstick_ns = time_ns;
    r->fitness = atoll_fitness(e->search.fitness_form, (enum atoll_verdict)r->state, r->time_ns,
                               t->yardstick_ns, t->floor_ns);
}

/* Of a plan that does not fit the task nobody knows the behaviour.  A challenger may become an improvement when it wins. */
static void remember_step(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
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

static int use(struct atoll_engine *e, const struct atoll_proposal *p,
               const struct atoll_evaluation *evaluation, struct atoll_err *err)
{
    struct atoll_task_state *t = task_of(e, p);
    struct atoll_individual *r = &e->individuals.items[p->individual];
    uint32_t island = r->island;
    int failed = 0;
    t->best_before_ns = t->best == ATOLL_NONE ? 0 : e->individuals.items[t->best].time_ns;
    judge(e, t, r, evaluation);
    e->evaluated++;
    t->evaluated++;
    if (atoll_null_control_is(r))
        return atoll_null_control_evaluated(e, t, p->individual, err);
    t->since_elite++;
    t->islands[island].evaluated++;
    t->islands[island].since_elite++;
    int was_dropped = evaluation->timing_count > 0; /* at every variant: at some it may be ahead */
    for (size_t i = 0; i < evaluation->timing_count; i++)
        was_dropped &= (evaluation->timings[i].flags & ATOLL_TIMING_DROPPED_EARLY) != 0;
    record_time(e, r, was_dropped);
    e->sources.items[r->source].tried++;
    e->sources.items[r->source].uncompiled +=
        r->state == ATOLL_V_COMPILE_ERROR || r->state == ATOLL_V_FORBIDDEN || r->state == ATOLL_V_BAD_PLAN;
    atoll_share_add(&t->share, r->time_ns, evaluation->occupied_ns);
    int is_discarded = r->state == ATOLL_V_CORRECT && atoll_judge_take_instance(e, t, p->individual);
    if (r->state != ATOLL_V_CORRECT && !is_discarded) {
        struct atoll_failures *f = &t->failures;
        f->items[f->next] = p->individual;
        f->next = (f->next + 1) % ATOLL_FAILURE_LIMIT;
        f->count += f->count < ATOLL_FAILURE_LIMIT;
    }
    if (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        atoll_baseline_settle(e, t, p->individual);
    if (r->state == ATOLL_V_CORRECT) {
        t->correct++;
        /* A template's instance that is not its best does not challenge. */
        struct atoll_source *s = &e->sources.items[r->source];
        int is_best = !(s->best_ns > 0) || r->time_ns < s->best_ns;
        if (is_best) {
            s->best = p->individual;
            s->best_ns = r->time_ns;
        }
        failed = atoll_challenge_enter(e, t, island, p->individual, is_best, err);
    }
    remember_step(e, t, p->individual, t->since_elite == 0);
    if (!failed)
        failed = settle_with_strategy(e, t, p->individual, err);
    if (!failed && !e->finishing)
        failed = atoll_migrate(e, t, island, err);
    if (!failed)
        failed = atoll_best_continue(e, t, err);
    if (!failed)
        atoll_schedule_stagnation(e, t);
    return failed;
}

static int on_evaluated(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    const struct atoll_evaluation *evaluation = &event->evaluation;
    struct atoll_proposal *p = atoll_proposals_find(&e->proposals, evaluation->evaluation);
    struct atoll_behaviour b = evaluation->behaviour;
    if (!p || p->decision.type != ATOLL_DECIDE_EVALUATE ||
        !atoll_id_equal(&p->decision.candidate, &evaluation->candidate) ||
        (unsigned)evaluation->verdict >= ATOLL_VERDICT_COUNT || b.memory >= ATOLL_BEHAVIOUR_LEVELS ||
        b.algorithm >= ATOLL_BEHAVIOUR_LEVELS || b.coordination >= ATOLL_BEHAVIOUR_LEVELS) {
        return IGNORED;
    }
    struct atoll_task_state *t = task_of(e, p);
    int infrastructure = evaluation->verdict == ATOLL_V_INFRASTRUCTURE;
    int shaky = evaluation->verdict == ATOLL_V_UNSTABLE && t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY;
    charge(e, t, evaluation->occupied_ns);
    if (infrastructure ? p->retries < RETRY_LIMIT : shaky && atoll_baseline_tries_again(t, p->retries))
        return retry(e, p, err);
    struct atoll_proposal taken = take(e, p);
    if (shaky && atoll_baseline_postpone(e, t, taken.individual))
        return 0;
    if (!infrastructure)
        return use(e, &taken, evaluation, err);
    struct atoll_individual *r = &e->individuals.items[taken.individual];
    r->state = ATOLL_INDIVIDUAL_ABANDONED;
    atoll_decide_abandon(e, &taken);
    record_time(e, r, 0);
    if (t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        atoll_baseline_lose(e, t);
    return settle_with_strategy(e, t, taken.individual, err);
}

static int on_duelled(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    const struct atoll_duel *duel = &event->duel;
    struct atoll_proposal *p = atoll_proposals_find(&e->proposals, duel->evaluation);
    if (!p || p->decision.type != ATOLL_DECIDE_DUEL || duel->purpose != p->decision.purpose ||
        (unsigned)duel->verdict >= ATOLL_VERDICT_COUNT || !isfinite(duel->ratio)) {
        return IGNORED;
    }
    charge(e, task_of(e, p), duel->occupied_ns);
    struct atoll_task_state *t = task_of(e, p);
    if (duel->verdict == ATOLL_V_CORRECT && isfinite(duel->occupied_ns) && duel->occupied_ns > 0)
        atoll_budget_learn_final(e, t, duel, p->decision.pair_limit);
    int infrastructure = duel->verdict == ATOLL_V_INFRASTRUCTURE;
    if (infrastructure && p->retries < RETRY_LIMIT)
        return retry(e, p, err);
    struct atoll_proposal taken = take(e, p);
    if (infrastructure)
        atoll_decide_abandon(e, &taken);
    return atoll_challenge_result(e, &taken, infrastructure ? NULL : duel, err);
}

/* A rival that is not stable may be so when the machine has calmed down. */
static int on_rival(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    const struct atoll_rival *rival = &event->rival;
    struct atoll_proposal *p = atoll_proposals_find(&e->proposals, rival->evaluation);
    if (!p || p->decision.type != ATOLL_DECIDE_RIVAL || rival->task != p->decision.task ||
        rival->number != p->decision.rival || (unsigned)rival->verdict >= ATOLL_VERDICT_COUNT) {
        return IGNORED;
    }
    int infrastructure = rival->verdict == ATOLL_V_INFRASTRUCTURE;
    atoll_budget_charge_rival(e, task_of(e, p), rival->number, rival->occupied_ns);
    if ((infrastructure || rival->verdict == ATOLL_V_UNSTABLE) && p->retries < RETRY_LIMIT)
        return retry(e, p, err);
    struct atoll_proposal taken = take(e, p);
    if (infrastructure)
        atoll_decide_abandon(e, &taken);
    atoll_rival_settle(e, &taken, rival);
    return 0;
}

struct atoll_engine *atoll_engine_create(struct atoll_err *err)
{
    struct atoll_engine *e = calloc(1, sizeof(*e));
    if (!e) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the search");
        return NULL;
    }
    e->next_evaluation = e->next_ask = 1;
    return e;
}

void atoll_engine_destroy(struct atoll_engine *engine)
{
    if (!engine)
        return;
    atoll_sources_fini(&engine->sources);
    for (uint32_t i = 0; i < engine->task_count; i++)
        atoll_task_state_fini(engine, &engine->tasks[i]);
    free(engine->tasks);
    atoll_individuals_fini(&engine->individuals);
    atoll_proposals_fini(&engine->proposals);
    atoll_asks_fini(&engine->asks);
    free(engine);
}

static int on_start(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    if (e->started || event->search.islands < 1 || event->search.islands > ATOLL_ISLAND_LIMIT ||
        !event->search.generation_size) {
        return IGNORED;
    }
    e->search = event->search;
    atoll_error_init(&e->error, e->search.error_control, e->search.alpha);
    e->started = 1;
    return 0;
}

static int on_task(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    if (e->finishing)
        return IGNORED;
    return atoll_models_add_task(e, event->task, event->task_bytes, event->task_length, err);
}

static int on_capacity(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    if (atoll_models_set_capacity(e, event, err))
        return -1;
    atoll_rival_forget_torch(e);
    return 0;
}

/* Every model tries it for itself. */
static int on_source(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    int used = 0;
    if (!event->source || !event->language || !atoll_language_takes(e->search.language, event->language) ||
        strlen(event->source) > ATOLL_SOURCE_LIMIT) {
        return IGNORED;
    }
    uint32_t island = event->island % e->search.islands;
    for (uint32_t i = 0; i < e->task_count; i++) {
        struct atoll_task_state *t = &e->tasks[i];
        if (t->number != event->task || t->done)
            continue;
        used = 1;
        if (atoll_propose_source(e, t, event->language, event->source, ATOLL_OPERATOR_IMPORT, island, 0, err))
            return -1;
    }
    return used ? 0 : IGNORED;
}

static int on_hint(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    int used = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        uint32_t at = atoll_sources_find(&e->sources, &event->hint.source, i);
        if (e->tasks[i].number != event->task || at == ATOLL_NONE || !e->sources.items[at].tune)
            continue;
        used = 1;
        struct atoll_tune_outcome outcome = {.kind = event->hint.time_ns > 0 ? ATOLL_TUNE_CORRECT
                                                                             : ATOLL_TUNE_FAILED,
                                             .time_ns = event->hint.time_ns};
        if (atoll_tune_hint(e->sources.items[at].tune, &event->hint.choice, &outcome, err))
            return -1;
    }
    return used ? 0 : IGNORED;
}

static int on_tick(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return 0;
}

static int on_finish(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_schedule_finish(e, ATOLL_REASON_ASKED);
    return 0;
}

/* The evaluators are new: what the old ones had is sent again, uncharged; CAPACITY says how many there are.
 */
static int on_resume(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_models_forget_slots(e);
    for (uint32_t i = 0; i < e->proposals.count; i++)
        if (e->proposals.items[i].decision.type)
            atoll_decide_redispatch(e, &e->proposals.items[i]);
    atoll_ask_repeat(e);
    return 0;
}

static int on_extend(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    const struct atoll_extension *by = &event->extension;
    if (!by->evaluations && !(by->device_ns > 0) && !(by->wall_ns > 0) && !by->tokens && !(by->money_usd > 0))
        return IGNORED;
    atoll_schedule_extend(e, by);
    return 0;
}

static int on_reply(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    return atoll_ask_answered(e, &event->reply, err);
}

/* Of an ask that is not under way too: what was spent is spent. */
static int on_tool(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err)
{
    atoll_ask_turned(e, &event->tool_turn);
    return 0;
}

typedef int handler(struct atoll_engine *e, const struct atoll_event *event, struct atoll_err *err);

static handler *const handlers[ATOLL_EVENT_TYPE_COUNT] = {
    [ATOLL_EVENT_START] = on_start,       [ATOLL_EVENT_TASK] = on_task,
    [ATOLL_EVENT_CAPACITY] = on_capacity, [ATOLL_EVENT_EVALUATED] = on_evaluated,
    [ATOLL_EVENT_DUELLED] = on_duelled,   [ATOLL_EVENT_SOURCE] = on_source,
    [ATOLL_EVENT_TICK] = on_tick,         [ATOLL_EVENT_FINISH] = on_finish,
    [ATOLL_EVENT_RESUME] = on_resume,     [ATOLL_EVENT_REPLY] = on_reply,
    [ATOLL_EVENT_HINT] = on_hint,         [ATOLL_EVENT_EXTEND] = on_extend,
    [ATOLL_EVENT_RIVAL] = on_rival,       [ATOLL_EVENT_TOOL] = on_tool,
};

int atoll_engine_step(struct atoll_engine *engine, const struct atoll_event *event, atoll_decision_sink *sink,
                      void *context, struct atoll_err *err)
{
    /* For people, or for the prompt of an ask: nothing follows from it, not even that time passed. */
    if (event->type == ATOLL_EVENT_DEVICE_TIME || event->type == ATOLL_EVENT_BRIEFING)
        return 0;
    if ((unsigned)event->type >= ATOLL_EVENT_TYPE_COUNT || !handlers[event->type] ||
        (engine->stopped && event->type != ATOLL_EVENT_EXTEND) ||
        (!engine->started && event->type != ATOLL_EVENT_START)) {
        engine->ignored++;
        return 0;
    }
    engine->sink = sink;
    engine->context = context;
    if (event->campaign_ns > engine->campaign_ns)
        engine->campaign_ns = event->campaign_ns;
    int result = handlers[event->type](engine, event, err);
    engine->ignored += result == IGNORED;
    if (result >= 0)
        result = atoll_schedule_settle(engine, err);
    engine->sink = NULL;
    engine->context = NULL;
    return result < 0 ? -1 : 0;
}

void atoll_engine_under_way(const struct atoll_engine *engine, atoll_decision_sink *sink, void *context)
{
    for (uint32_t i = 0; i < engine->proposals.count && !engine->stopped; i++)
        if (engine->proposals.items[i].decision.type)
            sink(context, &engine->proposals.items[i].decision);
}
