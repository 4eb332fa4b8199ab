/* Beam search (papers/004 2.1 and 2.2).  An iteration asks for plans for every member of the beam, each of beam_plans
 * samples an ask of its own so that no two see the same words, and for attempts at every plan that came; the attempts at
 * one plan are a group.  An answer without anything usable, a candidate that is known already and one that is given up only
 * close their place, so that nothing waits for what is lost; a member none of whose samples brought a plan is planned for,
 * and worked on, by the built-in operator.  When every group is closed what was learnt is summarised; then the fastest
 * correct candidate of each group is the pool, the fastest of the pool are the next beam, and places that are left go to
 * members of the last one.  A plan that says what was planned for the same member before, word for word, is asked for once
 * more, and dropped when it comes again.  What nobody asked for, seeds and imports, is a group of its own: so the
 * first beam are the fastest seeds.  A beam never holds a candidate twice; it is smaller while fewer are known.
 * What is translated from another language or device model is a group, too: it joins the pool of the iteration in which it comes.
 * A slot of the beam works on one island, whose role stands in the asks for its plans. */
#include <stdlib.h>

#include "evolution/strategy/ask.h"
#include "evolution/strategy/lesson.h"
#include "evolution/strategy/plan_repeat.h"
#include "evolution/population/inspire.h"
#include "evolution/population/null_control.h"
#include "evolution/strategy/strategy.h"
#include "evolution/strategy/translate.h"

#define WIDTH_LIMIT 64 /* of the setting */

struct member {
    uint32_t individual;
    uint32_t asked;   /* plans asked for */
    uint8_t is_alone; /* the built-in operator plans, for nobody else did */
};

/* A plan that repeats another one of its member. */
enum again { AGAIN_NOT, AGAIN_WANTED, AGAIN_ASKED, AGAIN_COUNT };

/* An ask for plans. */
struct plan {
    uint64_t ask;
    uint32_t member;
    uint32_t first; /* which of the member's plans its first one is */
    uint32_t count; /* that came, ATOLL_NONE: not answered */
    uint32_t tried; /* of these: attempts are asked for */
    uint8_t here;   /* the built-in operator plans, so it also carries out */
    uint8_t again;  /* enum again */
};

struct group {
    uint64_t ask;  /* for the attempts */
    uint32_t left; /* candidates that are not settled, ATOLL_NONE: not answered */
    uint32_t best; /* while the pool is made */
};

struct beam {
    uint32_t iterations; /* begun */
    uint32_t first;      /* individual; the pool is made of those from here on */
    uint32_t member_count, plan_count, plan_capacity, group_count, group_capacity;
    uint8_t is_curated; /* what the iteration taught is chosen */
    struct member members[WIDTH_LIMIT];
    struct plan *plans; /* both in the order of their asks; one that is asked for again keeps its place */
    struct group *groups;
    struct atoll_plan_repeats repeats;
};

static int create(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    t->strategy = calloc(1, sizeof(struct beam));
    return t->strategy ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a beam");
}

static void destroy(void *state)
{
    struct beam *b = state;
    free(b->plans);
    free(b->groups);
    atoll_plan_repeats_fini(&b->repeats);
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
    b->plan_count = b->group_count = 0;
    b->is_curated = 0;
    b->member_count = next.count;
    for (uint32_t i = 0; i < next.count; i++)
        b->members[i] = (struct member){.individual = next.items[i]};
}

/* ---- asking ---- */

static int has_attempts(const struct plan *p)
{
    return p->count != ATOLL_NONE && p->tried < p->count;
}

static struct plan *next_plan(const struct beam *b)
{
    for (uint32_t i = 0; i < b->plan_count; i++)
        if (has_attempts(&b->plans[i]))
            return &b->plans[i];
    return NULL;
}

static struct plan *next_again(const struct beam *b)
{
    for (uint32_t i = 0; i < b->plan_count; i++)
        if (b->plans[i].again == AGAIN_WANTED)
            return &b->plans[i];
    return NULL;
}

/* All of its samples are answered, and none is a plan. */
static int is_unplanned(const struct beam *b, uint32_t member)
{
    for (uint32_t i = 0; i < b->plan_count; i++)
        if (b->plans[i].member == member && b->plans[i].count)
            return 0;
    return 1;
}

/* Whom to ask for a plan for; member_count: nobody. */
static uint32_t next_member(const struct atoll_engine *e, const struct atoll_task_state *t,
                            const struct beam *b)
{
    for (uint32_t i = 0; i < b->member_count; i++)
        if (e->individuals.items[b->members[i].individual].state != ATOLL_INDIVIDUAL_DISCARDED &&
            (b->members[i].asked < e->search.beam_plans ||
             (!b->members[i].is_alone && t->template_count && is_unplanned(b, i))))
            return i;
    return b->member_count;
}

static struct atoll_asked ask_about(const struct atoll_engine *e, const struct atoll_task_state *t,
                                    uint32_t member, enum atoll_ask_kind kind, enum atoll_operator op)
{
    const struct beam *b = t->strategy;
    return atoll_ask_about(e, t, kind, op, member % e->search.islands, b->members[member].individual);
}

/* One sample outside; here all that are left at once, for the built-in operator tells them by their numbers. */
static int ask_plan(struct atoll_engine *e, struct atoll_task_state *t, uint32_t member,
                    struct atoll_err *err)
{
    struct beam *b = t->strategy;
    struct member *m = &b->members[member];
    uint32_t wanted = e->search.beam_plans;
    struct atoll_asked asked = ask_about(e, t, member, ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN);
    if (atoll_array_reserve(&b->plans, &b->plan_capacity, b->plan_count + 1, sizeof(*b->plans), err))
        return -1;
    m->is_alone = m->asked >= wanted;
    struct plan plan = {
        .ask = asked.ask.number,
        .member = member,
        .first = m->is_alone ? 0 : m->asked,
        .count = ATOLL_NONE,
        .here = (uint8_t)(m->is_alone || !atoll_ask_is_outside(e, t) || atoll_ask_stays_here(e, t))};
    asked.ask.count = plan.here ? wanted - plan.first : 1;
    m->asked = plan.first + asked.ask.count;
    if (!m->is_alone)
        atoll_inspire(e, t, &asked);
    b->plans[b->plan_count++] = plan;
    return (plan.here ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

/* One more sample in the place of one that repeated another; nobody outside left: it is dropped. */
static int ask_again(struct atoll_engine *e, struct atoll_task_state *t, struct plan *p,
                     struct atoll_err *err)
{
    struct atoll_asked asked = ask_about(e, t, p->member, ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN);
    p->again = AGAIN_ASKED;
    if (!atoll_ask_is_outside(e, t) || asked.parent == ATOLL_NONE ||
        e->individuals.items[asked.parent].state == ATOLL_INDIVIDUAL_DISCARDED) {
        p->count = 0;
        return 0;
    }
    p->ask = asked.ask.number;
    atoll_inspire(e, t, &asked);
    return atoll_ask_make(e, t, &asked, err);
}

static int ask_attempts(struct atoll_engine *e, struct atoll_task_state *t, struct plan *p,
                        struct atoll_err *err)
{
    struct beam *b = t->strategy;
    struct atoll_asked asked = ask_about(e, t, p->member, ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXECUTE);
    if (atoll_array_reserve(&b->groups, &b->group_capacity, b->group_count + 1, sizeof(*b->groups), err))
        return -1;
    int is_here = p->here || !atoll_ask_is_outside(e, t);
    asked.ask.count = e->search.beam_attempts;
    asked.ask.plan = p->ask;
    asked.ask.plan_index = is_here ? p->first + p->tried : p->tried;
    p->tried++;
    b->groups[b->group_count++] =
        (struct group){.ask = asked.ask.number, .left = ATOLL_NONE, .best = ATOLL_NONE};
    return (is_here ? atoll_ask_make_here : atoll_ask_make)(e, t, &asked, err);
}

static int ask_translation(struct atoll_engine *e, struct atoll_task_state *t, uint32_t elite,
                           struct atoll_err *err)
{
    struct beam *b = t->strategy;
    if (atoll_array_reserve(&b->groups, &b->group_capacity, b->group_count + 1, sizeof(*b->groups), err))
        return -1;
    struct atoll_asked asked = atoll_translate_ask(e, t, elite, b->iterations % e->search.islands);
    b->groups[b->group_count++] =
        (struct group){.ask = asked.ask.number, .left = ATOLL_NONE, .best = ATOLL_NONE};
    return atoll_ask_make(e, t, &asked, err);
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    struct beam *b = t->strategy;
    if (!atoll_ask_allowed(e, t) || (!atoll_ask_is_outside(e, t) && !t->template_count))
        return 0;
    if (next_plan(b) || next_again(b) || next_member(e, t, b) < b->member_count)
        return 1;
    if (b->iterations >= e->search.beam_iterations)
        return 0;
    for (uint32_t i = 0; i < b->plan_count; i++)
        if (b->plans[i].count == ATOLL_NONE)
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
    return !b->is_curated || !atoll_lessons_wait(e, t);
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct beam *b = t->strategy;
    uint32_t elite = atoll_ask_is_outside(e, t) ? atoll_translate_elite(e, t) : ATOLL_NONE;
    if (elite != ATOLL_NONE)
        return ask_translation(e, t, elite, err);
    if (next_again(b))
        return ask_again(e, t, next_again(b), err);
    if (!next_plan(b) && next_member(e, t, b) == b->member_count) {
        if (!b->is_curated) { /* the next plans are made by what this iteration taught */
            b->is_curated = 1;
            atoll_lessons_curate(e, t);
            return 0;
        }
        begin(e, t, b);
    }
    struct plan *p = next_plan(b);
    uint32_t member = next_member(e, t, b);
    if (p)
        return ask_attempts(e, t, p, err);
    return member < b->member_count ? ask_plan(e, t, member, err) : 0;
}

/* ---- answers ---- */

/* Who plans carries out: of the built-in operator's plans there are no words.  Without a template it carries out nothing, and
 * somebody outside takes a step of its own. */
static void close_plan(const struct atoll_task_state *t, struct plan *p, const struct atoll_asked *asked,
                       uint32_t plans)
{
    p->count = plans < asked->ask.count ? plans : asked->ask.count;
    p->here |= asked->is_here && t->template_count;
}

/* 1: all that it says its member had before. */
static int repeats(struct beam *b, const struct plan *p, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, struct atoll_err *err)
{
    const struct atoll_reply_item *step = atoll_items_plan(reply->items, reply->item_count, 0);
    if (!step || asked->is_here || asked->ask.count != 1)
        return 0;
    return atoll_plan_repeats_add(&b->repeats, b->members[p->member].individual, step->text, err);
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    struct beam *b = t->strategy;
    struct group *group = group_of(b, reply->ask);
    uint32_t plans = reply->status == ATOLL_REPLY_OK ? reply->plan_count : 0;
    if (group)
        group->left = accepted;
    for (uint32_t i = 0; i < b->plan_count && !group; i++) {
        struct plan *p = &b->plans[i];
        if (p->ask != reply->ask)
            continue;
        int is_repeat = plans ? repeats(b, p, asked, reply, err) : 0;
        if (is_repeat < 0)
            return -1;
        if (is_repeat && p->again == AGAIN_NOT)
            p->again = AGAIN_WANTED; /* it stays unanswered */
        else
            close_plan(t, p, asked, is_repeat ? 0 : plans);
        break;
    }
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
    atoll_codec_count(c, &b->member_count, 9);
    if (b->member_count > e->search.beam_width) {
        b->member_count = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < b->member_count; i++) {
        struct member *m = &b->members[i];
        atoll_codec_u32(c, &m->individual);
        atoll_codec_u32(c, &m->asked);
        atoll_codec_u8(c, &m->is_alone);
        if (c->in && (m->individual >= e->individuals.count ||
                      e->individuals.items[m->individual].task != atoll_task_position(e, t) ||
                      m->asked > e->search.beam_plans || m->is_alone > 1)) {
            c->in->failed = 1;
        }
    }
}

static int plans_codec(const struct atoll_engine *e, struct beam *b, struct atoll_codec *c,
                       struct atoll_err *err)
{
    uint32_t count = b->plan_count;
    atoll_codec_count(c, &count, 26);
    if (c->in && atoll_array_reserve(&b->plans, &b->plan_capacity, count, sizeof(*b->plans), err))
        return -1;
    b->plan_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct plan *p = &b->plans[i];
        atoll_codec_u64(c, &p->ask);
        atoll_codec_u32(c, &p->member);
        atoll_codec_u32(c, &p->first);
        atoll_codec_u32(c, &p->count);
        atoll_codec_u32(c, &p->tried);
        atoll_codec_u8(c, &p->here);
        atoll_codec_u8(c, &p->again);
        if (c->in && (!p->ask || p->ask >= e->next_ask || p->member >= b->member_count ||
                      p->first >= e->search.beam_plans ||
                      (p->count != ATOLL_NONE && p->count > e->search.beam_plans) || p->tried > p->count ||
                      p->here > 1 || p->again >= AGAIN_COUNT ||
                      (p->again == AGAIN_WANTED && p->count != ATOLL_NONE))) {
            c->in->failed = 1;
        }
    }
    return 0;
}

static int codec(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                 struct atoll_err *err)
{
    struct beam *b = t->strategy;
    atoll_codec_u32(c, &b->iterations);
    atoll_codec_u32(c, &b->first);
    atoll_codec_u8(c, &b->is_curated);
    members_codec(e, t, b, c);
    if (c->in && b->is_curated > 1)
        c->in->failed = 1;
    if (plans_codec(e, b, c, err))
        return -1;
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
    return atoll_plan_repeats_codec(&b->repeats, e->individuals.count, c, err);
}

const struct atoll_strategy atoll_strategy_beam = {.name = "beam",
                                                   .create = create,
                                                   .destroy = destroy,
                                                   .ready = ready,
                                                   .propose = propose,
                                                   .settled = settled,
                                                   .replied = replied,
                                                   .codec = codec};
