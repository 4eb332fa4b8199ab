/* propose.c - a candidate is evaluated once: of one that is known already, through another template, only the time is
 * recorded with the tuner. */
#include "evolution/engine/propose.h"

#include <math.h>
#include <string.h>

#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"
#include "evolution/strategy/analysis.h"
#include "evolution/strategy/lesson.h"
#include "evolution/strategy/prompts.h"
#include "evolution/strategy/strategy.h"
#include "evolution/strategy/template_phase.h"
#include "evolution/engine/source.h"
#include "evolution/engine/proposal.h"
#include "evolution/population/baseline.h"
#include "evolution/population/device_models.h"
#include "evolution/population/rival.h"
#include "evolution/tuner/shape_trials.h"

#define ANY_TEMPLATE_SHARE 0.25 /* of proposals that tune any template instead of the parent's own */

static int queue(struct atoll_task_state *t, const struct atoll_pending *pending, struct atoll_err *err)
{
    if (atoll_array_reserve(&t->pending, &t->pending_capacity, t->pending_count + 1, sizeof(*t->pending),
                            err)) {
        return -1;
    }
    t->pending[t->pending_count++] = *pending;
    return 0;
}

/* 1 new, 0 known, -1 error. */
static int add_source(struct atoll_engine *e, struct atoll_task_state *t, const char *language,
                      const char *text, enum atoll_operator op, uint32_t *ret_source, struct atoll_err *err)
{
    uint32_t known = e->sources.count;
    if (atoll_sources_add(&e->sources, atoll_task_position(e, t), t->task, t->arena, language, text, op,
                          ret_source, err)) {
        return -1;
    }
    if (*ret_source < known)
        return 0;
    if (!e->sources.items[*ret_source].tune || op == ATOLL_OPERATOR_NULL_CONTROL)
        return 1;
    if (atoll_array_reserve(&t->templates, &t->template_capacity, t->template_count + 1,
                            sizeof(*t->templates), err)) {
        return -1;
    }
    t->templates[t->template_count++] = *ret_source;
    return 1;
}

int atoll_propose_text(struct atoll_engine *e, struct atoll_task_state *t, const char *language,
                       const char *text, struct atoll_pending *pending, struct atoll_err *err)
{
    int added = add_source(e, t, language, text, (enum atoll_operator)pending->op, &pending->source, err);
    if (added != 1)
        return added;
    /* What is no template has one instance. */
    const struct atoll_source *s = &e->sources.items[pending->source];
    if (pending->has_choice && !s->tune &&
        (pending->choice.count != s->first.count ||
         memcmp(pending->choice.values, s->first.values, s->first.count * sizeof(*s->first.values)) != 0)) {
        return 0;
    }
    return queue(t, pending, err) ? -1 : 1;
}

int atoll_propose_source(struct atoll_engine *e, struct atoll_task_state *t, const char *language,
                         const char *text, enum atoll_operator op, uint32_t island, int as_baseline,
                         struct atoll_err *err)
{
    struct atoll_pending p = {.island = island, .parent = ATOLL_NONE, .op = (uint8_t)op};
    if (!as_baseline)
        return atoll_propose_text(e, t, language, text, &p, err) < 0 ? -1 : 0;
    int added = add_source(e, t, language, text, op, &p.source, err);
    if (added == 1)
        t->baseline_source = p.source;
    return added < 0 ? -1 : 0;
}

static int is_sample(unsigned op)
{
    return op != ATOLL_OPERATOR_SEED && op != ATOLL_OPERATOR_IMPORT;
}

int atoll_propose_has_samples(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint64_t taken = t->samples + t->asks - t->lesson_asks - (t->analysis != 0);
    if (!e->search.samples)
        return 1;
    for (uint32_t i = t->pending_next; i < t->pending_count; i++)
        taken += (uint64_t)is_sample(t->pending[i].op);
    return taken < e->search.samples;
}

/* Who has something to say of what comes next: the end of the search, what tries taught, what is found in the best, the strategy;
 * NULL: nobody. */
static const struct atoll_strategy *next_strategy(const struct atoll_engine *e,
                                                  const struct atoll_task_state *t)
{
    if (atoll_strategy_template_phase.ready(e, t))
        return &atoll_strategy_template_phase;
    if (atoll_template_phase_is_asking(t))
        return NULL;
    if (atoll_strategy_lessons.ready(e, t))
        return &atoll_strategy_lessons;
    if (atoll_strategy_analyses.ready(e, t))
        return &atoll_strategy_analyses;
    if (atoll_strategy_prompts.ready(e, t))
        return &atoll_strategy_prompts;
    return atoll_propose_has_samples(e, t) && atoll_strategy_of(e)->ready(e, t) ? atoll_strategy_of(e) : NULL;
}

static int strategy_ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return next_strategy(e, t) != NULL;
}

int atoll_propose_ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (t->done || t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY)
        return 0;
    if (t->stage == ATOLL_STAGE_BASELINE)
        return !t->rivals.under_way;
    if (t->stage == ATOLL_STAGE_RIVAL)
        return atoll_rival_before_baseline(e, t) != ATOLL_NONE;
    if (t->stage == ATOLL_STAGE_BASELINE_WAITS)
        return atoll_baseline_is_due(e, t);
    return t->pending_next < t->pending_count || strategy_ready(e, t) || atoll_rival_is_due(e, t);
}

enum atoll_turn atoll_propose_turn(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    if (t->stage != ATOLL_STAGE_OPEN)
        return ATOLL_TURN_BASELINE;
    int waits = t->pending_next < t->pending_count;
    if (waits && t->pending[t->pending_next].op == ATOLL_OPERATOR_SEED)
        return ATOLL_TURN_SEED;
    if (atoll_rival_is_due(e, t) && !waits && !strategy_ready(e, t))
        return ATOLL_TURN_RIVAL;
    double own_ns = t->device_ns - t->rivals.device_ns; /* whatever its rivals took */
    double taken_ns = own_ns + atoll_budget_under_way_ns(e, t);
    double others_ns = e->device_ns - atoll_budget_rivals_ns(e) - own_ns;
    int is_dear = taken_ns * (e->task_count - 1) > ATOLL_SHARE_DEAR * others_ns && e->task_count > 1;
    int had_few = t->evaluated + t->under_way < ATOLL_SHARE_LEAST;
    if (e->search.sharing == ATOLL_SHARING_IMPROVEMENT && had_few && !is_dear)
        return ATOLL_TURN_FEW;
    return atoll_rival_is_due(e, t) ? ATOLL_TURN_RIVAL : ATOLL_TURN_OPEN;
}

int atoll_propose_exhausted(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return !t->done && t->stage == ATOLL_STAGE_OPEN && !t->under_way && !t->asks &&
           !atoll_propose_ready(e, t);
}

uint32_t atoll_propose_island(const struct atoll_engine *e, struct atoll_task_state *t)
{
    uint32_t island = t->next_island;
    t->next_island = (island + 1) % e->search.islands;
    return island;
}

/* 0: nothing is known. */
static double fastest_known_ns(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    double rival_ns = t->rivals.fastest.time_ns;
    double best_ns = t->best != ATOLL_NONE ? e->individuals.items[t->best].time_ns : 0;
    return rival_ns > 0 && best_ns > 0 ? fmin(rival_ns, best_ns) : fmax(rival_ns, best_ns);
}

static int send_individual(struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual,
                           struct atoll_err *err)
{
    const struct atoll_individual *r = &e->individuals.items[individual];
    const struct atoll_source *s = &e->sources.items[r->source];
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_EVALUATE, t, individual);
    /* A seed may well be hundreds of times slower than a rival; then it is told no deadline but the referee's own. */
    int is_first = r->op == ATOLL_OPERATOR_SEED;
    d.baseline_ns = is_first ? t->baseline_ns : t->yardstick_ns;
    /* What is clearly slower need not be measured to its end; 0: everything is.  A seed is held against the fastest that
     * there is, rival or candidate: only what becomes the yardstick is timed with care. */
    double bar_ns = s->tune ? atoll_tune_bar_ns(s->tune) : HUGE_VAL;
    d.incumbent_ns = !e->search.racing ? 0 : isfinite(bar_ns) ? bar_ns : s->best_ns;
    if (is_first && e->search.racing && !(d.incumbent_ns > 0))
        d.incumbent_ns = fastest_known_ns(e, t);
    return atoll_decide_send(e, t, &d, individual, ATOLL_NONE, err);
}

/* 1 sent, 0 known already, -1 error. */
static int send(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_individual *r,
                struct atoll_err *err)
{
    struct atoll_source *s = &e->sources.items[r->source];
    r->task = s->task;
    r->id = atoll_source_candidate(s, t->task, &r->choice);
    uint32_t known = atoll_individuals_find(&e->individuals, r->task, &r->id);
    if (known != ATOLL_NONE) {
        const struct atoll_individual *same = &e->individuals.items[known];
        if (s->tune && same->state != ATOLL_INDIVIDUAL_UNDER_WAY)
            atoll_tune_result(s->tune, &r->choice, same->state == ATOLL_V_CORRECT ? same->time_ns : 0);
        return 0;
    }
    t->samples += (uint64_t)is_sample(r->op);
    r->state = ATOLL_INDIVIDUAL_UNDER_WAY;
    r->generation = (uint32_t)(t->islands[r->island].evaluated / e->search.generation_size);
    if (atoll_individuals_add(&e->individuals, r, err))
        return -1;
    return send_individual(e, t, e->individuals.count - 1, err) ? -1 : 1;
}

/* Sends what was queued; the strategy hears of what turns out to be known. */
static int send_pending(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_pending *p,
                        struct atoll_err *err)
{
    struct atoll_source *s = &e->sources.items[p->source];
    int is_discarded = s->judged == ATOLL_JUDGED_DISCARDED;
    struct atoll_individual r = {.choice = p->has_choice ? p->choice : s->first,
                                 .source = p->source,
                                 .parent = p->parent,
                                 .ask = p->ask,
                                 .prompt = p->prompt,
                                 .island = p->island == ATOLL_NONE ? atoll_propose_island(e, t) : p->island,
                                 .op = p->op};
    if (s->tune && !p->has_choice && !is_discarded && atoll_tune_add(s->tune, &s->first, err))
        return -1;
    int sent = is_discarded ? 0 : send(e, t, &r, err);
    if (sent == 1 && p->ask)
        t->fruitless = 0;
    if (sent == 0 && p->ask)
        return atoll_strategy_settled(e, t, p->ask, ATOLL_NONE, err);
    return sent < 0 ? -1 : 0;
}

static uint32_t any_template(struct atoll_task_state *t)
{
    return t->templates[atoll_random_below(atoll_random_next(&t->random), t->template_count)];
}

/* The parent's own template, or now and then, or where the parent is none, any. */
static uint32_t choose_template(struct atoll_engine *e, struct atoll_task_state *t, uint32_t parent)
{
    int any = atoll_random_unit(atoll_random_next(&t->random)) < ANY_TEMPLATE_SHARE;
    if (!any && parent != ATOLL_NONE) {
        const struct atoll_source *own = &e->sources.items[e->individuals.items[parent].source];
        if (own->tune && own->judged != ATOLL_JUDGED_DISCARDED && !atoll_tune_exhausted(own->tune))
            return e->individuals.items[parent].source;
    }
    return any_template(t);
}

void atoll_propose_drop_template(struct atoll_task_state *t, uint32_t source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->template_count; i++)
        if (t->templates[i] != source)
            t->templates[kept++] = t->templates[i];
    t->template_count = kept;
}

/* Once per template, when the device is known: its first trials follow from the shapes, not from what was measured.  Not
 * for independent samples. */
static int suggest_shapes(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t source,
                          struct atoll_err *err)
{
    const struct atoll_source *s = &e->sources.items[source];
    struct atoll_choice choices[ATOLL_SHAPE_LIMIT];
    size_t count = 0;
    if (!atoll_models_use_shapes(e) || e->search.strategy == ATOLL_STRATEGY_REPEATED ||
        t->model >= e->model_count || !atoll_device_shape_is_known(&e->models[t->model].shape) ||
        atoll_tune_has_suggestions(s->tune)) {
        return 0;
    }
    if (atoll_shape_trials_of_plan(t->task, s->plan, s->language, &e->models[t->model].shape,
                                   e->search.shapes, choices, &count, err)) {
        return -1;
    }
    atoll_tune_suggest(s->tune, choices, count);
    return 0;
}

static int choose_instance(struct atoll_engine *e, struct atoll_task_state *t, uint32_t source,
                           uint32_t parent, struct atoll_choice *ret_choice, struct atoll_err *err)
{
    struct atoll_tune *tune = e->sources.items[source].tune;
    struct atoll_tune_settings settings = e->sources.tuners;
    struct atoll_choice around;
    /* The model is worth its processor time only while the evaluators do not wait for it. */
    const unsigned model = 1u << ATOLL_TUNE_MODEL;
    if ((settings.strategies & ~model) && !atoll_budget_affords_model(e))
        settings.strategies &= ~model;
    atoll_tune_set(tune, &settings);
    if (parent != ATOLL_NONE)
        around = e->individuals.items[parent].choice;
    if (suggest_shapes(e, t, source, err))
        return -1;
    return atoll_tune_propose(tune, &t->random, parent != ATOLL_NONE ? &around : NULL, ret_choice, err);
}

/* The parent where it is of this template, else the template's best. */
static uint32_t parent_in(const struct atoll_engine *e, uint32_t source, uint32_t parent)
{
    if (parent != ATOLL_NONE && e->individuals.items[parent].source == source)
        return parent;
    return e->sources.items[source].best;
}

/* Proposes of the template of r until one is new; the template goes when nothing is left. */
static int send_tuned(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_individual *r,
                      struct atoll_err *err)
{
    int proposed, sent = 0;
    r->op = ATOLL_OPERATOR_TUNE;
    do {
        proposed = choose_instance(e, t, r->source, r->parent, &r->choice, err);
        if (proposed > 0)
            sent = send(e, t, r, err);
    } while (proposed > 0 && !sent);
    if (atoll_tune_exhausted(e->sources.items[r->source].tune))
        atoll_propose_drop_template(t, r->source);
    return proposed < 0 || sent < 0 ? -1 : 0;
}

int atoll_propose_tuned(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island, uint32_t parent,
                        struct atoll_err *err)
{
    uint32_t source = choose_template(e, t, parent);
    struct atoll_individual r = {.source = source, .parent = parent_in(e, source, parent), .island = island};
    return send_tuned(e, t, &r, err);
}

int atoll_propose_sampled(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                          struct atoll_err *err)
{
    struct atoll_individual r = {.source = any_template(t), .parent = ATOLL_NONE, .island = island};
    return send_tuned(e, t, &r, err);
}

static int is_new(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t source,
                  const struct atoll_choice *choice)
{
    const struct atoll_source *s = &e->sources.items[source];
    struct atoll_id id = atoll_source_candidate(s, t->task, choice);
    for (uint32_t i = t->pending_next; i < t->pending_count; i++) {
        const struct atoll_pending *p = &t->pending[i];
        if (p->source == source && p->has_choice &&
            memcmp(p->choice.values, choice->values, choice->count * sizeof(*choice->values)) == 0) {
            return 0;
        }
    }
    return atoll_individuals_find(&e->individuals, s->task, &id) == ATOLL_NONE;
}

/* Another value of this parameter, from a random one on; 0 when none is legal and new. */
static int vary(const struct atoll_engine *e, struct atoll_task_state *t, uint32_t source, uint32_t parameter,
                struct atoll_choice *choice)
{
    const struct atoll_plan *plan = e->sources.items[source].plan;
    size_t count = plan->params[parameter].value_count;
    size_t start = (size_t)atoll_random_below(atoll_random_next(&t->random), count);
    for (size_t i = 0; i < count; i++) {
        choice->values[parameter] = plan->params[parameter].values[(start + i) % count];
        if (atoll_plan_choice_legal(t->task, plan, choice, NULL) == 1 && is_new(e, t, source, choice))
            return 1;
    }
    return 0;
}

int atoll_propose_variant(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_pending *pending,
                          uint32_t source, uint32_t parameter, struct atoll_err *err)
{
    if (!e->sources.items[source].tune || e->sources.items[source].judged == ATOLL_JUDGED_DISCARDED)
        return 0;
    pending->source = source;
    pending->parent = parent_in(e, source, pending->parent);
    pending->has_choice = 1;
    int proposed = 0;
    if (parameter == ATOLL_NONE) {
        proposed = choose_instance(e, t, source, pending->parent, &pending->choice, err);
    } else if (pending->parent != ATOLL_NONE) {
        pending->choice = e->individuals.items[pending->parent].choice;
        if (parameter < pending->choice.count && vary(e, t, source, parameter, &pending->choice))
            proposed = atoll_tune_add(e->sources.items[source].tune, &pending->choice, err) ? -1 : 1;
    }
    if (atoll_tune_exhausted(e->sources.items[source].tune))
        atoll_propose_drop_template(t, source);
    return proposed == 1 && queue(t, pending, err) ? -1 : proposed;
}

int atoll_propose_instance(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_pending *pending,
                           struct atoll_err *err)
{
    if (!t->template_count)
        return 0;
    pending->source = choose_template(e, t, pending->parent);
    pending->parent = parent_in(e, pending->source, pending->parent);
    pending->has_choice = 1;
    int proposed = choose_instance(e, t, pending->source, pending->parent, &pending->choice, err);
    if (atoll_tune_exhausted(e->sources.items[pending->source].tune))
        atoll_propose_drop_template(t, pending->source);
    return proposed == 1 && queue(t, pending, err) ? -1 : proposed;
}

int atoll_propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    if (t->stage == ATOLL_STAGE_BASELINE || t->stage == ATOLL_STAGE_RIVAL) {
        uint32_t rival = atoll_rival_before_baseline(e, t);
        if (rival != ATOLL_NONE)
            return atoll_rival_measure(e, t, rival, err);
    }
    if (t->stage == ATOLL_STAGE_BASELINE) {
        struct atoll_pending p = {.source = t->baseline_source,
                                  .island = ATOLL_NONE,
                                  .parent = ATOLL_NONE,
                                  .op = e->sources.items[t->baseline_source].op};
        t->stage = ATOLL_STAGE_BASELINE_UNDER_WAY;
        return send_pending(e, t, &p, err);
    }
    if (t->stage == ATOLL_STAGE_BASELINE_WAITS)
        return send_individual(e, t, atoll_baseline_begin_round(e, t), err);
    if (atoll_propose_turn(e, t) == ATOLL_TURN_RIVAL)
        return atoll_rival_measure(e, t, atoll_rival_next(e, t), err);
    if (t->pending_next < t->pending_count) {
        struct atoll_pending next = t->pending[t->pending_next++];
        if (t->pending_next == t->pending_count)
            t->pending_next = t->pending_count = 0;
        return send_pending(e, t, &next, err);
    }
    const struct atoll_strategy *next = next_strategy(e, t);
    return next ? next->propose(e, t, err) : 0;
}
