/* budget.c - what a run may spend, from what answers cost so far. */
#include "evolution/engine/budget.h"

#include <float.h>
#include <math.h>

#define UNKNOWN_COST_NS 1e8  /* before anything was measured */
#define DUEL_COST       2    /* a duel in evaluations, before one was measured */
#define FINALS_SAFETY   1.25 /* final duels check more than others, compile, and may be followed by more */
#define FIRST_LOOK      6    /* of the referee at the pairs of a duel (mpi-eval/referee/duel.h) */
#define FINALS_LIMIT    0.35 /* of a budget, however long they may take */

#define MODEL_NS                                                                                             \
    3.5e5 /* of a processor, for a proposal of the tuner's model (docs/benchmarks/2026-11-21-search-quality.md) */
#define MODEL_SHARE 0.2 /* of one processor, at most, for all of them */

static double mean_of(double ns, uint64_t count, double otherwise)
{
    return ns > 0 && count ? ns / (double)count : otherwise;
}

/* Of everything but the baselines: the first look at a task also pays for its data and reference. */
static double mean_ns(const struct atoll_engine *e)
{
    return mean_of(e->device_ns - e->opening_ns, e->answers - e->opening_answers, UNKNOWN_COST_NS);
}

double atoll_budget_expected_ns(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    uint64_t answers = t->answers - t->opening_answers;
    double ns = t->device_ns - t->opening_ns;
    return ns > 0 && answers ? ns / (double)answers : mean_ns(e);
}

/* Evaluators ask for this many candidates a second: slots / mean_ns. */
int atoll_budget_affords_model(const struct atoll_engine *e)
{
    return e->slots * MODEL_NS <= MODEL_SHARE * mean_ns(e);
}

/* Device time of the final duels that are to come. */
static double duels_ns(const struct atoll_engine *e)
{
    double sum = 0, mean = mean_of(e->duels_ns, e->duels, DUEL_COST * mean_ns(e));
    for (uint32_t i = 0; i < e->task_count; i++) {
        const struct atoll_task_state *t = &e->tasks[i];
        if (t->stage == ATOLL_STAGE_OPEN && t->final != ATOLL_FINAL_OVER)
            sum += (t->rivals.fastest.time_ns > 0 ? 2 : 1) * mean_of(t->duels_ns, t->duels, mean);
    }
    return FINALS_SAFETY * sum;
}

/* By what rivals of its kind took so far, of any task. */
static double rival_ns(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t number)
{
    static const double unknown_ns[ATOLL_TORCH_MODE_COUNT] = {
        [ATOLL_TORCH_EAGER] = 5e9, [ATOLL_TORCH_COMPILE] = 3e10, [ATOLL_TORCH_MAX_AUTOTUNE] = 6e10};
    unsigned mode = t->task->rivals[number].mode;
    return mean_of(e->rivals_ns[mode], e->rivals[mode], unknown_ns[mode]);
}

/* Of the rivals that are in this state. */
static double rivals_in_ns(const struct atoll_engine *e, const struct atoll_task_state *t,
                           enum atoll_rival_state state)
{
    double sum = 0;
    for (uint32_t n = 0; n < t->task->rival_count; n++)
        if (t->rivals.states[n] == state)
            sum += rival_ns(e, t, n);
    return sum;
}

/* Device time of all that is to come when no more candidates are proposed. */
static double finals_ns(const struct atoll_engine *e)
{
    double sum = duels_ns(e);
    for (uint32_t i = 0; i < e->task_count; i++) {
        const struct atoll_task_state *t = &e->tasks[i];
        if (t->stage == ATOLL_STAGE_OPEN && e->model_count && e->models[t->model].torch_slots)
            sum += rivals_in_ns(e, t, ATOLL_RIVAL_UNTRIED);
    }
    return sum;
}

double atoll_budget_under_way_ns(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return (double)(t->under_way - t->rivals.under_way) * atoll_budget_expected_ns(e, t);
}

double atoll_budget_rivals_ns(const struct atoll_engine *e)
{
    double sum = 0;
    for (unsigned mode = 0; mode < ATOLL_TORCH_MODE_COUNT; mode++)
        sum += e->rivals_ns[mode];
    return sum;
}

/* A duel of the search ends when it has decided, or cannot; a final that is won when its interval is narrow.  That gets narrower with
 * the root of the pairs. */
static double final_pairs(const struct atoll_duel *duel, uint32_t pair_limit)
{
    double half = (duel->ratio_hi - duel->ratio_lo) / 2, pairs = duel->pair_count;
    if (duel->purpose == ATOLL_DUEL_RIVAL || !(half > 0) || !(duel->ratio > 0) || !isfinite(half))
        return pairs;
    double times = half / (ATOLL_DUEL_TOLD_WITHIN * duel->ratio);
    return fmin(fmax(pairs * times * times, FIRST_LOOK), 2.0 * pair_limit);
}

void atoll_budget_learn_final(struct atoll_engine *e, struct atoll_task_state *t,
                              const struct atoll_duel *duel, uint32_t pair_limit)
{
    double pairs = fmax(duel->pair_count, 1), ns = duel->occupied_ns * final_pairs(duel, pair_limit) / pairs;
    t->duels++;
    t->duels_ns += ns;
    e->duels++;
    e->duels_ns += ns;
}

void atoll_budget_charge_rival(struct atoll_engine *e, struct atoll_task_state *t, uint32_t number,
                               double occupied_ns)
{
    unsigned mode = t->task->rivals[number].mode;
    if (!isfinite(occupied_ns) || occupied_ns <= 0)
        return;
    e->rivals[mode]++;
    e->rivals_ns[mode] += occupied_ns;
    t->rivals.device_ns += occupied_ns;
    t->device_ns += occupied_ns;
    e->device_ns += occupied_ns;
    t->opening_ns += occupied_ns;
    e->opening_ns += occupied_ns;
}

void atoll_budget_open(struct atoll_engine *e, struct atoll_task_state *t)
{
    t->stage = ATOLL_STAGE_OPEN;
    e->opening_ns += t->device_ns - t->opening_ns;
    t->opening_ns = t->device_ns;
    t->opening_answers = t->answers;
    e->opening_answers += t->opening_answers;
}

/* Up to where a budget is for proposals when what follows them needs so much.  Finals get their share of what it was last
 * extended by. */
static double end_ns(const struct atoll_engine *e, double from_ns, double budget_ns, double need_ns)
{
    double span_ns = budget_ns - from_ns;
    return budget_ns - fmax(e->search.finals_share * span_ns, fmin(need_ns, FINALS_LIMIT * span_ns));
}

/* Before the finals that follow have to begin. */
double atoll_budget_wall_left_ns(const struct atoll_engine *e)
{
    double need_ns = e->slots ? duels_ns(e) / e->slots : 0;
    return e->search.wall_budget_ns > 0
               ? end_ns(e, e->wall_from_ns, e->search.wall_budget_ns, need_ns) - (double)e->campaign_ns
               : HUGE_VAL;
}

int atoll_budget_allows_rival(const struct atoll_engine *e, const struct atoll_task_state *t, uint32_t number)
{
    double budget_ns = e->search.device_budget_ns, its_ns = rival_ns(e, t, number);
    return its_ns < atoll_budget_wall_left_ns(e) &&
           (!(budget_ns > 0) || e->device_ns + its_ns < end_ns(e, e->device_from_ns, budget_ns, duels_ns(e)));
}

static int device_is_spent(const struct atoll_engine *e, double expected_ns)
{
    double budget_ns = e->search.device_budget_ns;
    return budget_ns > 0 &&
           e->device_ns + expected_ns >= end_ns(e, e->device_from_ns, budget_ns, finals_ns(e));
}

enum atoll_reason atoll_budget_asks_reason(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    if (s->token_budget && e->tokens >= s->token_budget)
        return ATOLL_REASON_TOKENS;
    if (s->money_budget_usd > 0 && e->cost_usd >= s->money_budget_usd)
        return ATOLL_REASON_MONEY;
    return ATOLL_REASON_NONE;
}

enum atoll_reason atoll_budget_reason(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    if (s->evaluation_budget && e->evaluated >= s->evaluation_budget)
        return ATOLL_REASON_EVALUATIONS;
    if (device_is_spent(e, 0))
        return ATOLL_REASON_DEVICE_TIME;
    /* Evaluators work at the same time; while none is there, nothing is known of how long it will take. */
    double under_way_ns = 0;
    for (uint32_t i = 0; i < e->task_count; i++)
        under_way_ns +=
            atoll_budget_under_way_ns(e, &e->tasks[i]) + rivals_in_ns(e, &e->tasks[i], ATOLL_RIVAL_UNDER_WAY);
    double need_ns = e->slots ? (finals_ns(e) + under_way_ns) / e->slots : 0;
    if (s->wall_budget_ns > 0 &&
        (double)e->campaign_ns >= end_ns(e, e->wall_from_ns, s->wall_budget_ns, need_ns))
        return ATOLL_REASON_WALL_TIME;
    int only_asks = !s->evaluation_budget && !(s->device_budget_ns > 0) && !(s->wall_budget_ns > 0);
    return only_asks ? atoll_budget_asks_reason(e) : ATOLL_REASON_NONE;
}

static double part_of(double used, double all)
{
    return all > 0 ? used / all : 0;
}

double atoll_budget_used(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct atoll_search *s = &e->search;
    double used = fmax(part_of((double)e->evaluated, (double)s->evaluation_budget),
                       part_of((double)t->samples, (double)s->samples));
    used = fmax(used, part_of((double)e->tokens, (double)s->token_budget));
    used = fmax(used, part_of(e->cost_usd, s->money_budget_usd));
    if (s->device_budget_ns > 0) {
        double end = end_ns(e, e->device_from_ns, s->device_budget_ns, finals_ns(e));
        used = fmax(used, part_of(e->device_ns - e->device_from_ns, end - e->device_from_ns));
    }
    if (s->wall_budget_ns > 0) {
        double need_ns = e->slots ? finals_ns(e) / e->slots : 0;
        double end = end_ns(e, e->wall_from_ns, s->wall_budget_ns, need_ns);
        used = fmax(used, part_of((double)e->campaign_ns - e->wall_from_ns, end - e->wall_from_ns));
    }
    return used;
}

/* What is under way on models that have no device now will not be answered while others work: it must not keep them
 * from working.  Should such a model come back, a run may exceed its evaluations by these. */
static uint32_t stuck_evaluations(const struct atoll_engine *e)
{
    uint32_t stuck = 0;
    if (e->model_count < 2)
        return 0;
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        const struct atoll_decision *d = &e->proposals.items[i].decision;
        stuck += d->type == ATOLL_DECIDE_EVALUATE && !e->models[d->model].slots;
    }
    return stuck;
}

int atoll_budget_allows(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    uint32_t stuck = stuck_evaluations(e);
    if (s->evaluation_budget && e->evaluated + e->proposals.evaluations - stuck >= s->evaluation_budget)
        return 0;
    uint32_t alive = e->proposals.alive - stuck;
    return !alive || !device_is_spent(e, (double)alive * mean_ns(e));
}

int atoll_budget_over(const struct atoll_engine *e)
{
    return e->search.wall_budget_ns > 0 && (double)e->campaign_ns >= e->search.wall_budget_ns;
}

int atoll_budget_allows_final(const struct atoll_engine *e)
{
    return !(e->search.device_budget_ns > 0) || e->device_ns < e->search.device_budget_ns;
}

static uint64_t sum_of(uint64_t used, uint64_t more)
{
    return more < UINT64_MAX - used ? used + more : UINT64_MAX;
}

/* A budget that ended the search and is not extended would end it again at once, so it is lifted; not so tokens and money,
 * which end only asks while another budget is there. */
void atoll_budget_extend(struct atoll_engine *e, const struct atoll_extension *by)
{
    struct atoll_search *s = &e->search;
    double now_ns = (double)e->campaign_ns;
    if (by->evaluations)
        s->evaluation_budget = sum_of(e->evaluated, by->evaluations);
    else if (e->evaluated >= s->evaluation_budget)
        s->evaluation_budget = 0;
    if (by->device_ns > 0) {
        e->device_from_ns = e->device_ns;
        s->device_budget_ns = e->device_ns + by->device_ns;
    } else if (e->reason == ATOLL_REASON_DEVICE_TIME || e->device_ns >= s->device_budget_ns) {
        s->device_budget_ns = 0;
    }
    if (by->wall_ns > 0) {
        e->wall_from_ns = now_ns;
        s->wall_budget_ns = now_ns + by->wall_ns;
    } else if (e->reason == ATOLL_REASON_WALL_TIME || now_ns >= s->wall_budget_ns) {
        s->wall_budget_ns = 0;
    }
    if (by->tokens)
        s->token_budget = sum_of(e->tokens, by->tokens);
    if (by->money_usd > 0)
        s->money_budget_usd = fmin(e->cost_usd + by->money_usd, DBL_MAX);
}
