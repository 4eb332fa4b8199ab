#include "mpi-eval/referee/counting.h"

#include <stdio.h>

#include "mpi-eval/referee/backend.h"

int atoll_counting_wanted(const struct atoll_setup *setup, double incumbent_ns, double time_ns)
{
    if (!(setup->profile_ratio > 0))
        return 0;
    return setup->profile_all || !(incumbent_ns > 0) || time_ns <= setup->profile_ratio * incumbent_ns;
}

void atoll_counting_run(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, const struct atoll_order *order,
                        uint32_t variant, double time_ns, struct atoll_evaluation *evaluation)
{
    struct atoll_profile *p = &evaluation->profile;
    /* Why there are no counters although nothing failed; NULL when they are to be read. */
    const char *reason = !referee->backend->profile            ? "this backend has no counters"
                         : !(referee->setup.profile_ratio > 0) ? "counters are switched off"
                         : !atoll_counting_wanted(&referee->setup, order->incumbent_ns, time_ns)
                             ? "too far behind the elite of its cell"
                             : NULL;
    p->resources = candidate->resources;
    p->tier = p->resources.kernel_count ? ATOLL_TIER_STATIC
              : p->clock_hz > 0         ? ATOLL_TIER_MONITOR
                                        : ATOLL_TIER_TIMES;
    if (reason) {
        snprintf(p->reason, sizeof(p->reason), "%s", reason);
    } else {
        double begin = atoll_referee_now_ns();
        referee->backend->profile(referee, known, candidate, variant, p);
        p->wall_ns = atoll_referee_now_ns() - begin;
    }
    p->limiter = atoll_limiter_of(p, time_ns, referee->info.empty_launch_ns);
}
