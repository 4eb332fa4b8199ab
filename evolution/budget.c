#include "evolution/budget.h"

#define UNKNOWN_COST_NS 1e8 /* before anything was measured */

enum atoll_reason atoll_budget_reason(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    double share = 1 - s->finals_share;
    if (s->evaluation_budget && e->evaluated >= s->evaluation_budget)
        return ATOLL_REASON_EVALUATIONS;
    if (s->device_budget_ns > 0 && e->device_ns >= s->device_budget_ns * share)
        return ATOLL_REASON_DEVICE_TIME;
    if (s->wall_budget_ns > 0 && (double)e->campaign_ns >= s->wall_budget_ns * share)
        return ATOLL_REASON_WALL_TIME;
    return ATOLL_REASON_NONE;
}

static double mean_ns(const struct atoll_engine *e)
{
    uint64_t answers = e->evaluated + e->challenges;
    return e->device_ns > 0 && answers ? e->device_ns / (double)answers : UNKNOWN_COST_NS;
}

double atoll_budget_expected_ns(const struct atoll_engine *e, const struct atoll_engine_task *t)
{
    return t->answers ? t->device_ns / (double)t->answers : mean_ns(e);
}

int atoll_budget_allows(const struct atoll_engine *e)
{
    const struct atoll_search *s = &e->search;
    if (s->evaluation_budget && e->evaluated + e->proposals.evaluations >= s->evaluation_budget)
        return 0;
    if (!(s->device_budget_ns > 0) || !e->proposals.alive)
        return 1;
    double expected = e->device_ns + (double)e->proposals.alive * mean_ns(e);
    return expected < s->device_budget_ns * (1 - s->finals_share);
}

int atoll_budget_over(const struct atoll_engine *e)
{
    return e->search.wall_budget_ns > 0 && (double)e->campaign_ns >= e->search.wall_budget_ns;
}

int atoll_budget_allows_final(const struct atoll_engine *e)
{
    return !(e->search.device_budget_ns > 0) || e->device_ns < e->search.device_budget_ns;
}
