/* budget_share.c - each part first gets one, then its tasks' share of the rest: differences of one running sum, so nothing is
 * lost or doubled by rounding. */
#include "scheduler/campaign/budget_share.h"

#include <stdint.h>

static uint64_t running(uint64_t rest, size_t done, size_t tasks)
{
    return rest / tasks * done + rest % tasks * done / tasks;
}

static uint64_t counted(uint64_t budget, const struct atoll_budget_share *share)
{
    uint64_t rest;

    if (budget == 0) {
        return 0;
    }
    rest = budget - share->parts;
    return 1 + running(rest, share->first + share->count, share->tasks) -
           running(rest, share->first, share->tasks);
}

static int check(const char *option, uint64_t budget, size_t parts, struct atoll_err *err)
{
    return budget == 0 || budget >= parts
               ? 0
               : atoll_err_set(err, ATOLL_E_USAGE,
                               "--%s %llu is less than one for each of %zu parts; lower --jobs or raise "
                               "--tasks-per-part",
                               option, (unsigned long long)budget, parts);
}

int atoll_budget_share_check(const struct atoll_search *whole, size_t parts, struct atoll_err *err)
{
    return check("evaluations", whole->evaluation_budget, parts, err) != 0
               ? -1
               : check("tokens", whole->token_budget, parts, err);
}

struct atoll_search atoll_budget_share_of(const struct atoll_search *whole,
                                          const struct atoll_budget_share *share)
{
    double tasks = (double)share->count / (double)share->tasks;
    double clock = (double)share->jobs / (double)share->parts;
    struct atoll_search part = *whole;

    part.seed += share->number;
    part.evaluation_budget = counted(whole->evaluation_budget, share);
    part.token_budget = counted(whole->token_budget, share);
    part.device_budget_ns *= tasks;
    part.money_budget_usd *= tasks;
    part.wall_budget_ns *= clock < 1 ? clock : 1;
    return part;
}
