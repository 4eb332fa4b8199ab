/* baseline.c - the rounds of an unstable baseline.  Searches that began without the setting have none, and their states no
 * word of it. */
#include "evolution/population/baseline.h"

#include <string.h>

#include "evolution/engine/budget.h"
#include "evolution/engine/decide.h"
#include "evolution/population/rival.h"

#define FIRST_TRIES    20 /* at once, where the task has nothing else to be measured by */
#define TRIES          3  /* of every further round, and where a rival is known */
#define FIRST_PAUSE_NS INT64_C(15000000000)

void atoll_baseline_lose(struct atoll_engine *e, struct atoll_task_state *t)
{
    if (t->done)
        return;
    if (atoll_rival_may_serve(e, t))
        t->stage = ATOLL_STAGE_RIVAL;
    else
        atoll_decide_task_done(e, t, ATOLL_REASON_NO_BASELINE);
}

void atoll_baseline_settle(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual)
{
    if (e->individuals.items[individual].state != ATOLL_V_CORRECT) {
        atoll_baseline_lose(e, t);
        return;
    }
    atoll_budget_open(e, t);
    t->baseline = individual;
    struct atoll_decision d = atoll_decide_about(e, ATOLL_DECIDE_BASELINE, t, individual);
    atoll_decide(e, &d);
}

int atoll_baseline_tries_again(const struct atoll_task_state *t, uint32_t retries)
{
    int is_needed = !(t->rivals.fastest.time_ns > 0) && !t->unstable.rounds;
    return retries < (is_needed ? FIRST_TRIES : TRIES);
}

int atoll_baseline_postpone(struct atoll_engine *e, struct atoll_task_state *t, uint32_t individual)
{
    struct atoll_unstable_baseline *u = &t->unstable;
    if (!e->search.baseline_rounds || atoll_rival_may_serve(e, t))
        return 0;
    u->individual = individual;
    if (t->done || u->rounds >= e->search.baseline_rounds)
        return 0;
    u->due_ns = e->campaign_ns + (FIRST_PAUSE_NS << u->rounds);
    t->stage = ATOLL_STAGE_BASELINE_WAITS;
    return 1;
}

int atoll_baseline_is_due(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return t->stage == ATOLL_STAGE_BASELINE_WAITS && e->campaign_ns >= t->unstable.due_ns;
}

uint32_t atoll_baseline_begin_round(struct atoll_engine *e, struct atoll_task_state *t)
{
    t->stage = ATOLL_STAGE_BASELINE_UNDER_WAY;
    t->unstable.rounds++;
    e->individuals.items[t->unstable.individual].state = ATOLL_INDIVIDUAL_UNDER_WAY;
    return t->unstable.individual;
}

/* Of what the task knows nothing is left but its own count: the baseline was all it tried. */
void atoll_baseline_reopen(const struct atoll_engine *e, struct atoll_task_state *t)
{
    if (t->unstable.individual == ATOLL_NONE || t->under_way)
        return;
    unsigned state = e->individuals.items[t->unstable.individual].state;
    int is_over = t->stage == ATOLL_STAGE_BASELINE_UNDER_WAY &&
                  (state == ATOLL_V_UNSTABLE || state == ATOLL_INDIVIDUAL_ABANDONED);
    if (!is_over && t->stage != ATOLL_STAGE_BASELINE_WAITS)
        return;
    t->stage = ATOLL_STAGE_BASELINE_WAITS;
    t->unstable.rounds = 0;
    t->unstable.due_ns = e->campaign_ns;
    memset(&t->failures, 0, sizeof(t->failures));
}

void atoll_baseline_codec(const struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *codec)
{
    struct atoll_unstable_baseline *u = &t->unstable;
    if (e->search.baseline_rounds) {
        atoll_codec_u32(codec, &u->individual);
        atoll_codec_u32(codec, &u->rounds);
        atoll_codec_i64(codec, &u->due_ns);
    }
    if (codec->in && ((u->individual == ATOLL_NONE && t->stage == ATOLL_STAGE_BASELINE_WAITS) ||
                      (u->individual != ATOLL_NONE && u->individual >= e->individuals.count) ||
                      u->rounds > e->search.baseline_rounds)) {
        u->individual = ATOLL_NONE;
        codec->in->failed = 1;
    }
}
