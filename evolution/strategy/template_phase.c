#include "evolution/strategy/template_phase.h"

#include "evolution/engine/budget.h"
#include "evolution/engine/propose.h"
#include "evolution/strategy/analysis.h"
#include "evolution/strategy/ask.h"
#include "evolution/strategy/lesson.h"

#define DUE         0.8  /* of a budget */
#define TUNED_LIMIT 60   /* evaluations without a new best, where stagnation ends nothing */
#define ANY_SHARE   0.25 /* of instances that are of any of its templates instead of the fastest */

int atoll_template_phase_is_left(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->phase.state == ATOLL_PHASE_NONE && e->search.template_rounds && !t->done &&
           e->search.strategy != ATOLL_STRATEGY_REPEATED && t->stage == ATOLL_STAGE_OPEN &&
           t->best != ATOLL_NONE && e->individuals.items[t->best].state == ATOLL_V_CORRECT &&
           atoll_propose_has_samples(e, t) && atoll_ask_is_outside(e, t);
}

void atoll_template_phase_begin(struct atoll_task_state *t)
{
    t->phase.state = ATOLL_PHASE_ASK;
}

static int is_of_phase(const struct atoll_engine *e, uint32_t source)
{
    return e->sources.items[source].op == ATOLL_OPERATOR_TEMPLATE;
}

/* The fastest of the phase's templates, before any of which nothing is known; ATOLL_NONE: none has something left. */
static uint32_t fastest_template(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint32_t found = ATOLL_NONE;
    for (uint32_t i = 0; i < t->template_count; i++) {
        const struct atoll_source *s = &e->sources.items[t->templates[i]];
        if (!is_of_phase(e, t->templates[i]))
            continue;
        const struct atoll_source *best = found == ATOLL_NONE ? NULL : &e->sources.items[found];
        int is_faster = best && s->best_ns > 0 && (!(best->best_ns > 0) || s->best_ns < best->best_ns);
        if (!best || is_faster)
            found = t->templates[i];
    }
    return found;
}

static uint32_t any_template(const struct atoll_engine *e, struct atoll_task_state *t)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < t->template_count; i++)
        own += (uint32_t)is_of_phase(e, t->templates[i]);
    uint64_t which = atoll_random_below(atoll_random_next(&t->random), own);
    for (uint32_t i = 0; i < t->template_count; i++)
        if (is_of_phase(e, t->templates[i]) && which-- == 0)
            return t->templates[i];
    return ATOLL_NONE;
}

static int may_tune(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint64_t limit = e->search.stagnation_limit ? e->search.stagnation_limit : TUNED_LIMIT;
    return t->evaluated - t->phase.tuned_from < limit && atoll_propose_has_samples(e, t) &&
           fastest_template(e, t) != ATOLL_NONE;
}

int atoll_template_phase_is_active(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return atoll_template_phase_is_asking(t) || (t->phase.state == ATOLL_PHASE_TUNING && may_tune(e, t));
}

/* The search has nothing left to do. */
static int is_over(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return !t->under_way && !t->asks && t->pending_next == t->pending_count &&
           !atoll_strategy_of(e)->ready(e, t) && !atoll_strategy_lessons.ready(e, t) &&
           !atoll_strategy_analyses.ready(e, t);
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    switch (t->phase.state) {
    case ATOLL_PHASE_NONE:
        return atoll_template_phase_is_left(e, t) && (atoll_budget_used(e, t) >= DUE || is_over(e, t));
    case ATOLL_PHASE_ASK: return atoll_ask_allowed(e, t);
    case ATOLL_PHASE_TUNING: return may_tune(e, t);
    default: return 0;
    }
}

static void close_round(const struct atoll_engine *e, struct atoll_task_state *t)
{
    t->phase.rounds++;
    t->phase.state = t->phase.rounds < e->search.template_rounds ? ATOLL_PHASE_ASK : ATOLL_PHASE_TUNING;
    t->phase.tuned_from = t->evaluated;
    t->phase.best = t->best;
}

static int tune(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t source = atoll_random_unit(atoll_random_next(&t->random)) < ANY_SHARE ? any_template(e, t)
                                                                                   : fastest_template(e, t);
    struct atoll_pending p = {
        .island = atoll_propose_island(e, t), .parent = ATOLL_NONE, .op = ATOLL_OPERATOR_TUNE};
    int queued = atoll_propose_variant(e, t, &p, source, ATOLL_NONE, err);
    if (!queued)
        t->phase.state = ATOLL_PHASE_OVER;
    return queued < 0 ? -1 : 0;
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    if (t->phase.state == ATOLL_PHASE_NONE) {
        atoll_template_phase_begin(t);
        return 0;
    }
    if (t->phase.state == ATOLL_PHASE_TUNING)
        return tune(e, t, err);
    /* Nobody to ask any more, or the best was wrong, and nothing has its place. */
    if (!atoll_ask_is_outside(e, t) || t->best == ATOLL_NONE ||
        e->individuals.items[t->best].state != ATOLL_V_CORRECT) {
        t->phase.rounds = e->search.template_rounds;
        close_round(e, t);
        return 0;
    }
    uint32_t island = e->individuals.items[t->best].island;
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_TEMPLATE, island, t->best);
    asked.ask.count = e->search.template_count;
    asked.ask.round = (uint8_t)t->phase.rounds;
    t->phase.ask = asked.ask.number;
    t->phase.state = ATOLL_PHASE_ASKED;
    return atoll_ask_make(e, t, &asked, err);
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    if (t->phase.state != ATOLL_PHASE_ASKED || asked->ask.number != t->phase.ask)
        return 0;
    t->phase.left = accepted;
    t->phase.state = ATOLL_PHASE_TRYING;
    if (!accepted)
        close_round(e, t);
    return 1;
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    if (t->phase.state == ATOLL_PHASE_TUNING && !may_tune(e, t))
        t->phase.state = ATOLL_PHASE_OVER;
    if (t->phase.state == ATOLL_PHASE_TUNING && t->best != t->phase.best) {
        t->phase.best = t->best;
        t->phase.tuned_from = t->evaluated;
    }
    if (!ask || ask != t->phase.ask)
        return 0;
    if (t->phase.state == ATOLL_PHASE_TRYING && !--t->phase.left)
        close_round(e, t);
    return 1;
}

const struct atoll_strategy atoll_strategy_template_phase = {
    .name = "templates", .ready = ready, .propose = propose, .settled = settled, .replied = replied};

void atoll_template_phase_codec(const struct atoll_engine *e, struct atoll_template_phase *phase,
                                struct atoll_codec *c)
{
    atoll_codec_u8(c, &phase->state);
    atoll_codec_u32(c, &phase->rounds);
    atoll_codec_u64(c, &phase->ask);
    atoll_codec_u32(c, &phase->left);
    atoll_codec_u64(c, &phase->tuned_from);
    atoll_codec_u32(c, &phase->best);
    if (c->in && (phase->state >= ATOLL_PHASE_STATE_COUNT || phase->rounds > e->search.template_rounds ||
                  phase->ask >= e->next_ask || (phase->state == ATOLL_PHASE_TRYING && !phase->left) ||
                  (phase->best != ATOLL_NONE && phase->best >= e->individuals.count))) {
        phase->state = ATOLL_PHASE_NONE;
        c->in->failed = 1;
    }
}
