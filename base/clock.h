/* clock.h - the clocks of the processes, in ns.
 * Layer: base.  Deadlines by the monotonic one, what is timed by the raw one, which nobody adjusts, records by the
 * Unix one. */
#ifndef ATOLL_BASE_CLOCK_H
#define ATOLL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t atoll_clock_read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double atoll_clock_mono_ns(void)
{
    return (double)atoll_clock_read_ns(CLOCK_MONOTONIC);
}

static inline double atoll_clock_raw_ns(void)
{
    return (double)atoll_clock_read_ns(CLOCK_MONOTONIC_RAW);
}

static inline int64_t atoll_clock_unix_ns(void)
{
    return atoll_clock_read_ns(CLOCK_REALTIME);
}

static inline double atoll_clock_mono_s(void)
{
    return 1e-9 * atoll_clock_mono_ns();
}

static inline double atoll_clock_unix_s(void)
{
    return 1e-9 * (double)atoll_clock_unix_ns();
}

/* What the clock will show in so many ns, for calls that wait until then. */
static inline struct timespec atoll_clock_after_ns(clockid_t id, double ns)
{
    int64_t until = atoll_clock_read_ns(id) + (int64_t)ns;
    return (struct timespec){.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
}

/* CPU time of this process, all threads. */
static inline double atoll_clock_cpu_ns(void)
{
    return (double)atoll_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
