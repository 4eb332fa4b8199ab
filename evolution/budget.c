#include "evolution/budget.h"

#include <math.h>

#define UNKNOWN_COST_NS 1e8  /* before anything was measured */
#define DUEL_COST       2    /* a duel in evaluations, before one was measured */
#define FINALS_SAFETY   1.5  /* final duels check more than others, compile, and may be followed by more */
#define FINALS_LIMIT    0.35 /* of a budget, however long they may take */

static double mean_ns(const struct atoll_engine *e)
{
    uint64_t answers = e->evaluated + e->challenges;
    return e->device_ns > 0 && answers ? e->device_ns / (double)answers : UNKNOWN_COST_NS;
}

double atoll_budget_expected_ns(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return t->answers ? t->device_ns / (double)t->answers : mean_ns(e);
}

static double duel_ns(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return t->duels ? t->duels_ns / (double)t->duels : DUEL_COST * atoll_budget_expected_ns(e, t);
}

/* Device time of the final duels that are to come. */
static double finals_ns(const struct atoll_engine *e)
{
    double sum = 0;
    for (uint32_t i = 0; i < e->task_count; i++)
        if (e->tasks[i].stage == ATOLL_STAGE_OPEN && e->tasks[i].final != ATOLL_FINAL_OVER)
            sum += duel_ns(e, &e->tasks[i]);
    return FINALS_SAFETY * sum;
}

static double under_way_ns(const struct atoll_engine *e)
{
    double sum = 0;
    for (uint32_t i = 0; i < e->task_count; i++)
        sum += (double)e->tasks[i].under_way * atoll_budget_expected_ns(e, &e->tasks[i]);
    return sum;
}

/* What is left of a budget for proposals when what follows them needs so much. */
static double left_ns(const struct atoll_engine *e, double budget_ns, double need_ns)
{
    return budget_ns - fmax(e->search.finals_share * budget_ns, fmin(need_ns, FINALS_LIMIT * budget_ns));
}

static int device_is_spent(const struct atoll_engine *e, double expected_ns)
{
    double budget_ns = e->search.device_budget_ns;
    return budget_ns > 0 && e->device_ns + expected_ns >= left_ns(e, budget_ns, finals_ns(e));
}

/* Evaluators work at the same time; while none is there, nothing is known of how long it will take. */
static int wall_is_spent(const struct atoll_engine *e)
{
    double budget_ns = e->search.wall_budget_ns;
    double need_ns = e->slots ? (finals_ns(e) + under_way_ns(e)) / e->slots : 0;
    return budget_ns > 0 && (double)e->campaign_ns >= left_ns(e, budget_ns, need_ns);
}

enum atoll_reason atoll_budget_reason(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    if (s->evaluation_budget && e->evaluated >= s->evaluation_budget)
        return ATOLL_REASON_EVALUATIONS;
    if (device_is_spent(e, 0))
        return ATOLL_REASON_DEVICE_TIME;
    if (wall_is_spent(e))
        return ATOLL_REASON_WALL_TIME;
    return ATOLL_REASON_NONE;
}

int atoll_budget_allows(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    if (s->evaluation_budget && e->evaluated + e->proposals.evaluations >= s->evaluation_budget)
        return 0;
    return !e->proposals.alive || !device_is_spent(e, (double)e->proposals.alive * mean_ns(e));
}

int atoll_budget_over(const struct atoll_engine *e)
{
    return e->search.wall_budget_ns > 0 && (double)e->campaign_ns >= e->search.wall_budget_ns;
}

int atoll_budget_allows_final(const struct atoll_engine *e)
{
    return !(e->search.device_budget_ns > 0) || e->device_ns < e->search.device_budget_ns;
}
