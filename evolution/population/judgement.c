/* judgement.c - who waited for an answer enters again, by its old way: nothing else was kept from going on meanwhile. */
#include "evolution/population/judgement.h"

#include <string.h>

#include "evolution/engine/propose.h"
#include "evolution/population/best.h"
#include "evolution/population/challenge.h"
#include "evolution/population/judge.h"

/* All of them leave their places before any place is given to another. */
static int discard(struct atoll_engine *e, struct atoll_task_state *t, uint32_t source, struct atoll_err *err)
{
    int is_best = t->best != ATOLL_NONE && e->individuals.items[t->best].source == source;
    uint32_t best = t->best;
    atoll_propose_drop_template(t, source);
    for (uint32_t i = 0; i < e->individuals.count; i++) {
        const struct atoll_individual *r = &e->individuals.items[i];
        if (r->source == source && r->state == ATOLL_V_CORRECT)
            atoll_judge_take_instance(e, t, i);
    }
    if (t->done) { /* so many finalists may go, and no more */
        t->finals++;
        t->finals_failed++;
    }
    return is_best ? atoll_best_withdraw(e, t, best, err) : 0;
}

/* Those of this source enter where they would have. */
static int let_in(struct atoll_engine *e, struct atoll_task_state *t, uint32_t source, struct atoll_err *err)
{
    struct atoll_judging *j = &t->judging;
    uint32_t at = 0;
    while (at < j->count) {
        struct atoll_judging_entry one = j->items[at];
        const struct atoll_individual *r = &e->individuals.items[one.individual];
        if (r->source != source) {
            at++;
            continue;
        }
        memmove(&j->items[at], &j->items[at + 1], (j->count - at - 1) * sizeof(*j->items));
        j->count--;
        if (r->state == ATOLL_V_CORRECT &&
            atoll_challenge_judged(e, t, one.island, one.individual, one.defeated, err))
            return -1;
    }
    return 0;
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    if (asked->ask.kind != ATOLL_ASK_JUDGE)
        return 0;
    uint32_t source = e->individuals.items[asked->parent].source;
    int is_cheat = 0;
    for (uint32_t i = 0; reply->status == ATOLL_REPLY_OK && i < reply->item_count; i++)
        is_cheat |=
            reply->items[i].kind == ATOLL_ITEM_JUDGEMENT && reply->items[i].gain_low > e->search.judge_limit;
    e->sources.items[source].judged = is_cheat ? ATOLL_JUDGED_DISCARDED : ATOLL_JUDGED_KEPT;
    if ((is_cheat && discard(e, t, source, err)) || let_in(e, t, source, err) ||
        (is_cheat && atoll_best_continue(e, t, err)))
        return -1;
    return 1;
}

static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t number, uint32_t individual,
                   struct atoll_err *err)
{
    return 0;
}

const struct atoll_strategy atoll_strategy_judge = {.name = "judge", .settled = settled, .replied = replied};
