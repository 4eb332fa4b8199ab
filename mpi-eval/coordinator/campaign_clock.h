/* campaign_clock.h - the time of a campaign: it goes on where the attempt before ended, and not while none runs.
 * Layer: mpi-eval.  Plain values. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_CAMPAIGN_CLOCK_H
#define ATOLL_MPI_EVAL_COORDINATOR_CAMPAIGN_CLOCK_H

#include "base/clock.h"
#include "core/event.h"

struct atoll_campaign_clock {
    double (*now_ns)(void *context); /* monotonic; NULL: that of the system */
    void *context;
    double started_ns; /* this attempt, on that clock */
    int64_t base_ns;   /* campaign time at the start of this attempt */
};

static inline double atoll_campaign_clock_now_ns(const struct atoll_campaign_clock *clock)
{
    return clock->now_ns ? clock->now_ns(clock->context) : atoll_clock_mono_ns();
}

static inline int64_t atoll_campaign_clock_campaign_ns(const struct atoll_campaign_clock *clock)
{
    return clock->base_ns + (int64_t)(atoll_campaign_clock_now_ns(clock) - clock->started_ns);
}

/* An event of now. */
static inline void atoll_campaign_clock_event(const struct atoll_campaign_clock *clock,
                                              struct atoll_event *event, enum atoll_event_type type)
{
    atoll_event_init(event, type);
    event->campaign_ns = atoll_campaign_clock_campaign_ns(clock);
    event->unix_ns = atoll_clock_unix_ns();
}

#endif
