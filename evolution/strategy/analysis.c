#include "evolution/strategy/analysis.h"

#include "evolution/engine/propose.h"
#include "evolution/strategy/ask.h"

static struct atoll_source *source_of(const struct atoll_engine *e, uint32_t individual)
{
    return &e->sources.items[e->individuals.items[individual].source];
}

/* Stages ask for analyses of their own, and independent samples must not know of each other. */
static int is_on(const struct atoll_engine *e)
{
    return e->search.analyses && e->search.strategy != ATOLL_STRATEGY_STAGED &&
           e->search.strategy != ATOLL_STRATEGY_REPEATED;
}

/* Seeds, or duels over them, are not answered: the best may be another in a moment. */
static int is_seeding(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        const struct atoll_proposal *p = &e->proposals.items[i];
        if (p->decision.type && p->individual != ATOLL_NONE && p->task == atoll_task_position(e, t) &&
            e->individuals.items[p->individual].op == ATOLL_OPERATOR_SEED)
            return 1;
    }
    return 0;
}

/* Correct, of a source that nobody was asked about, and faster by the promised margin than what the last report is about. */
static int is_news(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual)
{
    const struct atoll_individual *all = e->individuals.items;
    if (individual == ATOLL_NONE || all[individual].state != ATOLL_V_CORRECT ||
        source_of(e, individual)->analysed != ATOLL_ANALYSED_NOT)
        return 0;
    return t->analysed == ATOLL_NONE || all[t->analysed].state != ATOLL_V_CORRECT ||
           all[individual].time_ns * (1 + e->search.margin) < all[t->analysed].time_ns;
}

/* Whom to ask about; ATOLL_NONE: nobody. */
static uint32_t subject_of(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct atoll_individual *all = e->individuals.items;
    uint32_t best = is_news(e, t, t->best) ? t->best : ATOLL_NONE;
    if (!is_news(e, t, t->lead))
        return best;
    return best == ATOLL_NONE || all[t->lead].time_ns < all[best].time_ns ? t->lead : best;
}

/* While it can be of use: templates at the end are the last that is asked for. */
static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return is_on(e) && !t->analysis && t->analyses < e->search.analyses &&
           t->phase.state == ATOLL_PHASE_NONE && subject_of(e, t) != ATOLL_NONE &&
           atoll_ask_is_outside(e, t) && atoll_ask_allowed(e, t) && atoll_propose_has_samples(e, t) &&
           !is_seeding(e, t);
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t subject = subject_of(e, t);
    struct atoll_source *s = source_of(e, subject);
    struct atoll_asked asked = atoll_ask_about(e, t, ATOLL_ASK_ANALYSE, ATOLL_OPERATOR_PLAN,
                                               e->individuals.items[subject].island, subject);
    s->analysed = ATOLL_ANALYSED_ASKED;
    s->analysis = t->analysis = asked.ask.number;
    t->analyses++;
    t->analysed = subject;
    return atoll_ask_make(e, t, &asked, err);
}

/* The next parents of a beam, and the nodes of a tree, have won no comparison: the fastest of them goes before the best. */
static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    (void)ask;
    (void)err;
    const struct atoll_individual *all = e->individuals.items;
    int is_parent = e->search.strategy == ATOLL_STRATEGY_BEAM || e->search.strategy == ATOLL_STRATEGY_TREE;
    if (is_parent && individual != ATOLL_NONE && all[individual].state == ATOLL_V_CORRECT &&
        (t->lead == ATOLL_NONE || all[t->lead].state != ATOLL_V_CORRECT ||
         all[individual].time_ns < all[t->lead].time_ns))
        t->lead = individual;
    return 0;
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    (void)accepted;
    (void)err;
    if (asked->ask.kind != ATOLL_ASK_ANALYSE)
        return 0;
    if (reply->status == ATOLL_REPLY_OK && reply->item_count && asked->parent != ATOLL_NONE) {
        source_of(e, asked->parent)->analysed = ATOLL_ANALYSED_TOLD;
        source_of(e, asked->parent)->analysis = asked->ask.number;
    }
    if (t->analysis != asked->ask.number)
        return 0; /* a stage waits for it */
    t->analysis = 0;
    return 1;
}

const struct atoll_strategy atoll_strategy_analyses = {
    .name = "analyses", .ready = ready, .propose = propose, .settled = settled, .replied = replied};

void atoll_analyses_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c)
{
    uint32_t *const individuals[] = {&t->analysed, &t->lead};
    atoll_codec_u64(c, &t->analysis);
    atoll_codec_u32(c, &t->analyses);
    if (c->in && (t->analysis >= e->next_ask || (t->analysis && !t->analyses)))
        c->in->failed = 1;
    for (size_t i = 0; i < 2; i++) {
        atoll_codec_u32(c, individuals[i]);
        if (c->in && *individuals[i] != ATOLL_NONE &&
            (*individuals[i] >= e->individuals.count ||
             e->individuals.items[*individuals[i]].task != atoll_task_position(e, t)))
            c->in->failed = 1;
    }
}
