/* judge.c - who is asked about, and who waits for the answer (judgement.c). */
#include "evolution/population/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/engine/decide.h"
#include "evolution/population/best.h"
#include "evolution/population/null_control.h"
#include "evolution/strategy/ask.h"

static struct atoll_source *source_of(const struct atoll_engine *e, uint32_t individual)
{
    return &e->sources.items[e->individuals.items[individual].source];
}

static int ask(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual, struct atoll_err *err)
{
    uint32_t island = e->individuals.items[individual].island;
    struct atoll_asked asked =
        atoll_ask_about(e, t, ATOLL_ASK_JUDGE, ATOLL_OPERATOR_PLAN, island, individual);
    struct atoll_source *s = source_of(e, individual);
    s->judged = ATOLL_JUDGED_ASKED;
    s->judge = asked.ask.number;
    return atoll_ask_make(e, t, &asked, err);
}

/* 1 it may go on, 0 an answer is waited for, -1. */
static int allows(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                  struct atoll_err *err)
{
    const struct atoll_source *s = source_of(e, individual);
    if (s->op == ATOLL_OPERATOR_SEED || atoll_null_control_is(&e->individuals.items[individual]))
        return 1;
    if (s->judged == ATOLL_JUDGED_NOT)
        return !atoll_ask_is_outside(e, t) ? 1 : ask(e, t, individual, err) ? -1 : 0;
    return s->judged == ATOLL_JUDGED_KEPT;
}

int atoll_judge_allows_elite(struct atoll_engine *e, struct atoll_task_state *t, uint32_t island,
                             uint32_t individual, uint32_t defeated, struct atoll_err *err)
{
    if (e->search.judge != ATOLL_JUDGE_ALL)
        return 1;
    int may = allows(e, t, individual, err);
    if (may)
        return may;
    struct atoll_judging *j = &t->judging;
    for (uint32_t i = 0; i < j->count; i++)
        if (j->items[i].individual == individual && j->items[i].island == island)
            return 0;
    if (atoll_array_reserve(&j->items, &j->capacity, j->count + 1, sizeof(*j->items), err))
        return -1;
    j->items[j->count++] = (struct atoll_judging_entry){individual, island, defeated};
    return 0;
}

int atoll_judge_allows_final(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual,
                             struct atoll_err *err)
{
    return e->search.judge == ATOLL_JUDGE_OFF ? 1 : allows(e, t, individual, err);
}

static void announce(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual)
{
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_DISCARD, t, individual);
    d.answers_ask = source_of(e, individual)->judge;
    atoll_decide(e, &d);
}

int atoll_judge_take_instance(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual)
{
    if (source_of(e, individual)->judged != ATOLL_JUDGED_DISCARDED)
        return 0;
    announce(e, t, individual);
    atoll_best_strike(e, t, individual, ATOLL_INDIVIDUAL_DISCARDED);
    if (t->finalist == individual) { /* compared while there was nobody to ask */
        t->finalist = ATOLL_NONE;
        t->final_ratio = 0;
    }
    if (t->rivals.finalist == individual) {
        t->rivals.finalist = ATOLL_NONE;
        t->rivals.ratio = 0;
    }
    return 1;
}

void atoll_judging_fini(struct atoll_judging *judging)
{
    free(judging->items);
    memset(judging, 0, sizeof(*judging));
}

static int is_own(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t individual)
{
    return individual < e->individuals.count &&
           e->individuals.items[individual].task == atoll_task_position(e, t);
}

int atoll_judging_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                        struct atoll_err *err)
{
    struct atoll_judging *j = &t->judging;
    uint32_t count = j->count;
    atoll_codec_count(c, &count, 12);
    if (c->in && atoll_array_reserve(&j->items, &j->capacity, count, sizeof(*j->items), err))
        return -1;
    j->count = count;
    for (uint32_t i = 0; i < count && !atoll_codec_failed(c); i++) {
        struct atoll_judging_entry *one = &j->items[i];
        atoll_codec_u32(c, &one->individual);
        atoll_codec_u32(c, &one->island);
        atoll_codec_u32(c, &one->defeated);
        if (c->in && (!is_own(e, t, one->individual) || one->island >= e->search.islands ||
                      (one->defeated != ATOLL_NONE && !is_own(e, t, one->defeated))))
            c->in->failed = 1;
    }
    return 0;
}
