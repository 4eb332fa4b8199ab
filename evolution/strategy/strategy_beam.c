/* Beam search (papers/004 2.1 and 2.2).  An iteration asks for plans for every member of the beam and for attempts at
 * every plan that came; the attempts at one plan are a group.  An answer without anything usable, a candidate that is
 * known already and one that is given up only close their place, so that nothing waits for what is lost.  When every
 * group is closed the fastest correct candidate of each is the pool, the fastest of the pool are the next beam, and
 * places that are left go to members of the last one.  What nobody asked for, seeds and imports, is a group of its own:
 * so the first beam are the fastest seeds.  A beam never holds a candidate twice; it is smaller while fewer are known.
 * A slot of the beam works on one island, whose role stands in the asks for its plans. */
#include <stdlib.h>

#include "evolution/strategy/ask.h"
#include "evolution/population/inspire.h"
#include "evolution/population/null_control.h"
#include "evolution/strategy/strategy.h"

#define WIDTH_LIMIT 64 /* of the setting */

struct member {
    uint32_t individual;
    uint64_t ask;   /* for its plans, 0: not made yet */
    uint32_t plans; /* that came, ATOLL_NONE: not answered */
    uint32_t tried; /* of these: attempts are asked for */
    uint8_t here;   /* the built-in operator plans, so it also carries out */
};

struct group {
    uint64_t ask;  /* for the attempts */
    uint32_t left; /* candidates that are not settled, ATOLL_NONE: not answered */
    uint32_t best; /* while the pool is made */
};

struct beam {
    uint32_t iterations; /* begun */
    uint32_t first;      /* individual; the pool is made of those from here on */
    uint32_t member_count, group_count, group_capacity;
    struct member members[WIDTH_LIMIT];
    struct group *groups; /* in the order of their asks */
};

static int create(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    t->strategy = calloc(1, sizeof(struct beam));
    return t->strategy ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a beam");
}

static void destroy(void *state)
{
    struct beam *b = state;
    free(b->groups);
    free(b);
}

/* ---- the next beam ---- */

/* The fastest, in this order. */
struct ranking {
    uint32_t items[WIDTH_LIMIT];
    uint32_t count, limit;
};

static int faster(const struct atoll_engine *e, uint32_t a, uint32_t b)
{
    return b == ATOLL_NONE || e->individuals.items[a].time_ns < e->individuals.items[b].time_ns;
}

static void rank(const struct atoll_engine *e, struct ranking *r, uint32_t individual)
{
    uint32_t at = r->count;
    while (at > 0 && faster(e, individual, r->items[at - 1]))
        at--;
    if (at == r->limit)
        return;
    r->count += r->count < r->limit;
    for (uint32_t i = r->count - 1; i > at; i--)
        r->items[i] = r->items[i - 1];
    r->items[at] = individual;
}

static int is_correct(const struct atoll_engine *e, uint32_t individual)
{
    return e->individuals.items[individual].state == ATOLL_V_CORRECT;
}

static struct group *group_of(const struct beam *b, uint64_t ask)
{
    for (uint32_t i = 0; i < b->group_count; i++)
        if (b->groups[i].ask == ask)
            return &b->groups[i];
    return NULL;
}

/* Verdicts and times are read late: duels correct them. */
static void pool(const struct atoll_engine *e, const struct atoll_task_state *t, const struct beam *b,
                 struct ranking *ranking)
{
    for (uint32_t i = 0; i < b->group_count; i++)
        b->groups[i].best = ATOLL_NONE;
    for (uint32_t i = b->first; i < e->individuals.count; i++) {
        const struct atoll_individual *r = &e->individuals.items[i];
        if (r->task != atoll_task_position(e, t) || !is_correct(e, i) || atoll_null_control_is(r))
            continue;
        struct group *group = r->ask ? group_of(b, r->ask) : NULL;
        if (!r->ask)
            rank(e, ranking, i);
        else if (group && faster(e, i, group->best))
            group->best = i;
    }
    for (uint32_t i = 0; i < b->group_count; i++)
        if (b->groups[i].best != ATOLL_NONE)
            rank(e, ranking, b->groups[i].best);
}

static void begin(struct atoll_engine *e, const struct atoll_task_state *t, struct beam *b)
{
    struct ranking next = {.limit = e->search.beam_width};
    pool(e, t, b, &next);
    struct ranking old = {.limit =
                              next.limit - next.count}; /* members of the last beam take the places left */
    for (uint32_t i = 0; i < b->member_count && old.limit; i++)
        if (is_correct(e, b->members[i].individual))
            rank(e, &old, b->members[i].individual);
    for (uint32_t i = 0; i < old.count; i++)
        next.items[next.count++] = old.items[i];
    if (!next.count) { /* duels proved the whole beam wrong: once more with what nobody asked for */
        b->first = 0;
        pool(e, t, b, &next);
    }
    b->iterations = next.count ? b->iterations + 1 : e->search.beam_iterations;
    b->first = e->individuals.count;
    b->group_count = 0;
    b->member_count = next.count;
    for (uint32_t i = 0; i < next.count; i++)
        b->members[i] = (struct member){.individual = next.items[i], .plans = ATOLL_NONE};
}

/* ---- asking ---- */

static int has_plans(const struct member *m)
{
    return m->plans != ATOLL_NONE && m->tried < m->plans;
}

/* Whom to ask about: first attempts at plans that are there. */
static struct member *next_member(struct beam *b)
{
    struct member *next = NULL;
    for (uint32_t i = b->member_count; i-- > 0;)
        if (!b->members[i].ask)
            next = &b->members[i];
    for (uint32_t i = b->member_count; i-- > 0;)
        if (has_plans(&b->members[i]))
            next = &b->members[i];
    return next;
}

static struct atoll_asked ask_about(const struct atoll_engine *e, const struct atoll_task_state *t,
                                    const struct member *m, enum atoll_ask_kind kind, enum atoll_operator op)
{
    const struct beam *b = t->strategy;
    uint32_t island = (uint32_t)(m - b->members) % e->search.islands;
    return atoll_ask_about(e, t, kind, op, island, m->individual);
}

static int ask_plans(struct atoll_engine *e, struct atoll_task_state *t, struct member *m,
                     struct atoll_err *err)
{
    struct atoll_asked asked = ask_about(e, t, m, ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN);
    asked.ask.count = e->search.beam_plans;
    atoll_inspire(e, t, &asked);
    m->ask = asked.ask.number;
    m->here = (uint8_t)atoll_ask_stays_here(e, t);
    return (m->here ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

static int ask_attempts(struct atoll_engine *e, struct atoll_task_state *t, struct member *m,
                        struct atoll_err *err)
{
    struct beam *b = t->strategy;
    struct atoll_asked asked = ask_about(e, t, m, ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXECUTE);
    if (atoll_array_reserve(&b->groups, &b->group_capacity, b->group_count + 1, sizeof(*b->groups), err))
        return -1;
    asked.ask.count = e->search.beam_attempts;
    asked.ask.plan = m->ask;
    asked.ask.plan_index = m->tried++;
    b->groups[b->group_count++] =
        (struct group){.ask = asked.ask.number, .left = ATOLL_NONE, .best = ATOLL_NONE};
    return (m->here ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    struct beam *b = t->strategy;
    if (!atoll_ask_allowed(e, t) || (!atoll_ask_is_outside(e, t) && !t->template_count))
        return 0;
    if (next_member(b))
        return 1;
    if (b->iterations >= e->search.beam_iterations)
        return 0;
    for (uint32_t i = 0; i < b->member_count; i++)
        if (b->members[i].ask && b->members[i].plans == ATOLL_NONE)
            return 0; /* an ask for plans is not answered */
    for (uint32_t i = 0; i < b->group_count; i++)
        if (b->groups[i].left)
            return 0; /* a group is not closed */
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        const struct atoll_proposal *p = &e->proposals.items[i];
        const struct atoll_individual *r = &e->individuals.items[p->individual];
        if (p->decision.type == ATOLL_DECIDE_EVALUATE && r->task == atoll_task_position(e, t) && !r->ask)
            return 0; /* something nobody asked for waits for its verdict */
    }
    return 1;
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct beam *b = t->strategy;
    if (!next_member(b))
        begin(e, t, b);
    struct member *m = next_member(b);
    if (!m)
        return 0;
    return has_plans(m) ? ask_attempts(e, t, m, err) : ask_plans(e, t, m, err);
}

/* ---- answers ---- */

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    struct beam *b = t->strategy;
    struct group *group = group_of(b, reply->ask);
    uint32_t plans = reply->status == ATOLL_REPLY_OK ? reply->plan_count : 0;
    if (group)
        group->left = accepted;
    for (uint32_t i = 0; i < b->member_count && !group; i++)
        if (b->members[i].ask == reply->ask)
            b->members[i].plans = plans < e->search.beam_plans ? plans : e->search.beam_plans;
    return 0;
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    struct group *group = group_of(t->strategy, ask);
    if (group && group->left && group->left != ATOLL_NONE)
        group->left--;
    return 0;
}

/* ---- its state as bytes ---- */

static void members_codec(const struct atoll_engine *e, const struct atoll_task_state *t, struct beam *b,
                          struct atoll_codec *c)
{
    atoll_codec_count(c, &b->member_count, 21);
    if (b->member_count > e->search.beam_width) {
        b->member_count = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < b->member_count; i++) {
        struct member *m = &b->members[i];
        atoll_codec_u32(c, &m->individual);
        atoll_codec_u64(c, &m->ask);
        atoll_codec_u32(c, &m->plans);
        atoll_codec_u32(c, &m->tried);
        atoll_codec_u8(c, &m->here);
        if (c->in &&
            (m->individual >= e->individuals.count ||
             e->individuals.items[m->individual].task != atoll_task_position(e, t) || m->ask >= e->next_ask ||
             (m->plans != ATOLL_NONE && (!m->ask || m->plans > e->search.beam_plans)) ||
             m->tried > m->plans || m->here > 1)) {
            c->in->failed = 1;
        }
    }
}

static int codec(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                 struct atoll_err *err)
{
    struct beam *b = t->strategy;
    atoll_codec_u32(c, &b->iterations);
    atoll_codec_u32(c, &b->first);
    members_codec(e, t, b, c);
    uint32_t count = b->group_count;
    atoll_codec_count(c, &count, 12);
    if (c->in && atoll_array_reserve(&b->groups, &b->group_capacity, count, sizeof(*b->groups), err))
        return -1;
    b->group_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct group *g = &b->groups[i];
        atoll_codec_u64(c, &g->ask);
        atoll_codec_u32(c, &g->left);
        if (c->in && (!g->ask || g->ask >= e->next_ask ||
                      (g->left != ATOLL_NONE && g->left > ATOLL_ASK_COUNT_LIMIT))) {
            c->in->failed = 1;
        }
    }
    return 0;
}

const struct atoll_strategy atoll_strategy_beam = {.name = "beam",
                                                   .create = create,
                                                   .destroy = destroy,
                                                   .ready = ready,
                                                   .propose = propose,
                                                   .settled = settled,
                                                   .replied = replied,
                                                   .codec = codec};
