#include "evolution/strategy/lesson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/strategy/ask.h"

#define DISTIL_GAIN  1.1 /* of the oldest ancestor's time over the best's */
#define DISTIL_LEAST 2   /* ancestors */

static const struct atoll_individual *at(const struct atoll_engine *e, uint32_t individual)
{
    return &e->individuals.items[individual];
}

static int is_correct(const struct atoll_engine *e, uint32_t individual)
{
    return individual != ATOLL_NONE && at(e, individual)->state == ATOLL_V_CORRECT;
}

/* ---- groups ---- */

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    struct atoll_lessons *l = &t->lessons;
    int is_try = asked->ask.op == ATOLL_OPERATOR_UNIVERSAL || asked->ask.op == ATOLL_OPERATOR_EXECUTE ||
                 asked->ask.op == ATOLL_OPERATOR_STAGED;
    if (atoll_ask_is_lesson(asked->ask.kind))
        return 1;
    if (!accepted || asked->is_here || asked->ask.kind != ATOLL_ASK_WRITE || !e->search.memory || !is_try ||
        asked->parent == ATOLL_NONE ||
        e->search.strategy == ATOLL_STRATEGY_REPEATED) /* which has no memory */
        return 0;
    if (atoll_array_reserve(&l->groups, &l->group_capacity, l->group_count + 1, sizeof(*l->groups), err))
        return -1;
    l->groups[l->group_count++] = (struct atoll_lesson_group){.ask = asked->ask.number,
                                                              .plan = asked->ask.plan,
                                                              .plan_index = asked->ask.plan_index,
                                                              .island = asked->ask.island,
                                                              .left = accepted,
                                                              .parent = asked->parent,
                                                              .fastest = ATOLL_NONE,
                                                              .slowest = ATOLL_NONE};
    return 0;
}

/* The strongest first; the weakest goes where there are more than can be asked about. */
static void keep(struct atoll_lesson *kept, uint32_t *count, uint32_t limit,
                 const struct atoll_lesson *lesson)
{
    uint32_t place = *count;
    while (place > 0 && lesson->ratio > kept[place - 1].ratio)
        place--;
    if (place == limit)
        return;
    *count += *count < limit;
    memmove(&kept[place + 1], &kept[place], (*count - place - 1) * sizeof(*kept));
    kept[place] = *lesson;
}

static void close_group(const struct atoll_engine *e, struct atoll_lessons *l,
                        const struct atoll_lesson_group *g)
{
    if (!is_correct(e, g->parent) || !is_correct(e, g->fastest) || !is_correct(e, g->slowest))
        return;
    double parent_ns = at(e, g->parent)->time_ns;
    double gain = parent_ns / at(e, g->fastest)->time_ns, loss = at(e, g->slowest)->time_ns / parent_ns;
    struct atoll_lesson lesson = {.plan = g->plan, .plan_index = g->plan_index, .island = g->island};
    if (gain > e->search.memory_gain) {
        lesson.slow = g->parent;
        lesson.fast = g->fastest;
        lesson.ratio = gain;
        keep(l->gains, &l->gain_count, e->search.memory_top, &lesson);
    } else if (gain * e->search.memory_loss < 1) {
        lesson.slow = g->slowest;
        lesson.fast = g->parent;
        lesson.ratio = loss;
        keep(l->losses, &l->loss_count, e->search.memory_top, &lesson);
    }
}

static uint32_t generation_of(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return (uint32_t)(t->evaluated / ((uint64_t)e->search.generation_size * e->search.islands));
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    struct atoll_lessons *l = &t->lessons;
    uint32_t i = 0;
    while (i < l->group_count && (!ask || l->groups[i].ask != ask))
        i++;
    if (i < l->group_count) {
        struct atoll_lesson_group *g = &l->groups[i];
        if (is_correct(e, individual)) {
            double ns = at(e, individual)->time_ns;
            g->fastest =
                g->fastest == ATOLL_NONE || ns < at(e, g->fastest)->time_ns ? individual : g->fastest;
            g->slowest =
                g->slowest == ATOLL_NONE || ns > at(e, g->slowest)->time_ns ? individual : g->slowest;
        }
        if (!--g->left) {
            close_group(e, l, g);
            memmove(g, g + 1, (l->group_count - i - 1) * sizeof(*g));
            l->group_count--;
        }
    }
    uint32_t generation = generation_of(e, t);
    if (e->search.strategy != ATOLL_STRATEGY_BEAM && generation != l->generation) {
        l->generation = generation;
        atoll_lessons_curate(e, t);
    }
    return 0;
}

/* ---- choosing ---- */

/* The kernels on the way to one, the nearest first; instances of one source count once. */
static size_t ancestors_of(const struct atoll_engine *e, uint32_t individual,
                           uint32_t ret_ancestors[ATOLL_ASK_INSPIRATION_LIMIT])
{
    size_t count = 0;
    for (uint32_t last = individual, next = at(e, individual)->parent;
         next != ATOLL_NONE && count < ATOLL_ASK_INSPIRATION_LIMIT; next = at(e, next)->parent) {
        if (at(e, next)->source == at(e, last)->source || !is_correct(e, next))
            continue;
        ret_ancestors[count++] = last = next;
    }
    return count;
}

static int is_worth_distilling(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint32_t ancestors[ATOLL_ASK_INSPIRATION_LIMIT];
    if (!e->search.distil || e->search.strategy == ATOLL_STRATEGY_REPEATED || !is_correct(e, t->best) ||
        t->best == t->lessons.distilled)
        return 0;
    size_t count = ancestors_of(e, t->best, ancestors);
    return count >= DISTIL_LEAST &&
           at(e, ancestors[count - 1])->time_ns >= DISTIL_GAIN * at(e, t->best)->time_ns;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void atoll_lessons_curate(struct atoll_engine *e, struct atoll_task_state *t)
{
    struct atoll_lessons *l = &t->lessons;
    int is_outside = atoll_ask_is_outside(e, t);
    uint32_t gains = lesser(l->gain_count, (e->search.memory_top + 1) / 2);
    uint32_t losses = lesser(l->loss_count, e->search.memory_top - gains);
    l->chosen_count = l->chosen_next = 0;
    for (uint32_t i = 0; i < gains && is_outside; i++)
        l->chosen[l->chosen_count++] = l->gains[i];
    for (uint32_t i = 0; i < losses && is_outside; i++)
        l->chosen[l->chosen_count++] = l->losses[i];
    l->gain_count = l->loss_count = 0;
    if (is_outside && is_worth_distilling(e, t))
        l->distil = t->best;
}

/* ---- asking ---- */

static int has_chosen(const struct atoll_task_state *t)
{
    return t->lessons.chosen_next < t->lessons.chosen_count || t->lessons.distil != ATOLL_NONE;
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return has_chosen(t) && atoll_ask_is_outside(e, t) && t->lesson_asks < e->search.asks;
}

int atoll_lessons_wait(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->lesson_asks || (has_chosen(t) && atoll_ask_is_outside(e, t));
}

static int ask_to_distil(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    uint32_t ancestors[ATOLL_ASK_INSPIRATION_LIMIT], best = t->lessons.distil;
    size_t count = ancestors_of(e, best, ancestors);
    t->lessons.distil = ATOLL_NONE;
    t->lessons.distilled = best;
    if (!is_correct(e, best) || count < DISTIL_LEAST) /* a duel proved one of them wrong meanwhile */
        return 0;
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_DISTIL, ATOLL_OPERATOR_PLAN, at(e, best)->island, best);
    for (size_t i = 0; i < count; i++)
        asked.ask.inspirations[i] = at(e, ancestors[count - 1 - i])->id;
    asked.ask.inspiration_count = count;
    return atoll_ask_make(e, t, &asked, err);
}

/* Every end chooses summaries anew, so a lesson that waited for the last of them might wait for ever. */
static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct atoll_lessons *l = &t->lessons;
    if (l->distil != ATOLL_NONE)
        return ask_to_distil(e, t, err);
    const struct atoll_lesson lesson = l->chosen[l->chosen_next++];
    if (!is_correct(e, lesson.slow) || !is_correct(e, lesson.fast))
        return 0;
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_SUMMARISE, ATOLL_OPERATOR_PLAN, lesson.island, lesson.slow);
    asked.ask.inspirations[asked.ask.inspiration_count++] = at(e, lesson.fast)->id;
    asked.ask.plan = lesson.plan;
    asked.ask.plan_index = lesson.plan_index;
    return atoll_ask_make(e, t, &asked, err);
}

const struct atoll_strategy atoll_strategy_lessons = {
    .name = "lessons", .ready = ready, .propose = propose, .settled = settled, .replied = replied};

void atoll_lessons_fini(struct atoll_lessons *lessons)
{
    free(lessons->groups);
    memset(lessons, 0, sizeof(*lessons));
}

/* ---- as bytes ---- */

static void individual_codec(const struct atoll_engine *e, const struct atoll_task_state *t,
                             uint32_t *individual, int may_be_none, struct atoll_codec *c)
{
    atoll_codec_u32(c, individual);
    int is_own = *individual < e->individuals.count &&
                 e->individuals.items[*individual].task == atoll_task_position(e, t);
    if (c->in && !is_own && !(may_be_none && *individual == ATOLL_NONE))
        c->in->failed = 1;
}

static void island_codec(const struct atoll_engine *e, uint32_t *island, struct atoll_codec *c)
{
    atoll_codec_u32(c, island);
    if (c->in && *island >= e->search.islands)
        c->in->failed = 1;
}

static void list_codec(const struct atoll_engine *e, const struct atoll_task_state *t,
                       struct atoll_lesson *lessons, uint32_t *count, struct atoll_codec *c)
{
    atoll_codec_count(c, count, 32);
    if (c->in && (*count > e->search.memory_top || c->in->failed)) {
        *count = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < *count && !atoll_codec_failed(c); i++) {
        individual_codec(e, t, &lessons[i].slow, 0, c);
        individual_codec(e, t, &lessons[i].fast, 0, c);
        atoll_codec_u64(c, &lessons[i].plan);
        atoll_codec_u32(c, &lessons[i].plan_index);
        island_codec(e, &lessons[i].island, c);
        atoll_codec_f64(c, &lessons[i].ratio);
        if (c->in && !(isfinite(lessons[i].ratio) && lessons[i].ratio > 0))
            c->in->failed = 1;
    }
}

static int groups_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err)
{
    struct atoll_lessons *l = &t->lessons;
    uint32_t count = l->group_count;
    atoll_codec_count(c, &count, 40);
    if (c->in && atoll_array_reserve(&l->groups, &l->group_capacity, count, sizeof(*l->groups), err))
        return -1;
    l->group_count = count;
    for (uint32_t i = 0; i < count && !atoll_codec_failed(c); i++) {
        struct atoll_lesson_group *g = &l->groups[i];
        atoll_codec_u64(c, &g->ask);
        atoll_codec_u64(c, &g->plan);
        atoll_codec_u32(c, &g->plan_index);
        island_codec(e, &g->island, c);
        atoll_codec_u32(c, &g->left);
        individual_codec(e, t, &g->parent, 0, c);
        individual_codec(e, t, &g->fastest, 1, c);
        individual_codec(e, t, &g->slowest, 1, c);
        if (c->in && (!g->ask || g->ask >= e->next_ask || !g->left))
            c->in->failed = 1;
    }
    return 0;
}

/* Of what was chosen only what was not asked is written. */
int atoll_lessons_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err)
{
    struct atoll_lessons *l = &t->lessons;
    uint32_t waiting = l->chosen_count - l->chosen_next;
    if (groups_codec(e, t, c, err))
        return -1;
    list_codec(e, t, l->gains, &l->gain_count, c);
    list_codec(e, t, l->losses, &l->loss_count, c);
    list_codec(e, t, l->chosen + l->chosen_next, &waiting, c);
    if (c->in)
        l->chosen_count = waiting;
    individual_codec(e, t, &l->distil, 1, c);
    individual_codec(e, t, &l->distilled, 1, c);
    atoll_codec_u32(c, &l->generation);
    return 0;
}
