#include "mpi-eval/coordinator/shutdown.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define DRAIN_FILES_NS     2e9 /* between two looks: they may lie on a shared file system */
#define FULL_DISK_LOG_NS   10e9
#define FULL_DISK_PAUSE_NS 500000000L

void atoll_shutdown_record_round_trip(struct atoll_shutdown *s, double round_trip_ns)
{
    s->round_trips_ns[s->round_trip_count++ % ATOLL_SHUTDOWN_WINDOW] = round_trip_ns;
}

double atoll_shutdown_longest_order_ns(const struct atoll_shutdown *s)
{
    double longest = s->round_trip_count > 0 ? 0 : ATOLL_SHUTDOWN_UNSEEN_ORDER_NS;
    for (unsigned i = 0; i < s->round_trip_count && i < ATOLL_SHUTDOWN_WINDOW; i++)
        longest = fmax(longest, s->round_trips_ns[i]);
    return longest;
}

double atoll_shutdown_closing_ns(const struct atoll_shutdown *s)
{
    return fmax(s->archive_ns, ATOLL_SHUTDOWN_CLOSING_NS);
}

int atoll_shutdown_has_room(const struct atoll_shutdown *s, double left_ns)
{
    return left_ns >= atoll_shutdown_longest_order_ns(s) + atoll_shutdown_closing_ns(s);
}

static int is_interrupted(const struct atoll_shutdown *s)
{
    return s->interrupts && *s->interrupts;
}

static double left_ns(const struct atoll_shutdown *s, double now_ns)
{
    return s->until_ns > 0 ? s->until_ns - now_ns : INFINITY;
}

int atoll_shutdown_ends_search(const struct atoll_shutdown *s)
{
    return is_interrupted(s) && !s->drains_on_interrupt;
}

static int is_drain_file_there(struct atoll_shutdown *s, double now_ns)
{
    if (s->drain_file_count == 0 || now_ns - s->looked_ns < DRAIN_FILES_NS)
        return 0;
    s->looked_ns = now_ns;
    for (size_t i = 0; i < s->drain_file_count; i++)
        if (access(s->drain_files[i], F_OK) == 0)
            return 1;
    return 0;
}

int atoll_shutdown_start_draining(struct atoll_shutdown *s, double now_ns, size_t under_way_count)
{
    if (s->is_draining)
        return 0;
    int is_asked = (s->drains_on_interrupt && is_interrupted(s)) || is_drain_file_there(s, now_ns);
    if (!is_asked && atoll_shutdown_has_room(s, left_ns(s, now_ns)))
        return 0;
    s->is_draining = 1;
    atoll_log(ATOLL_LOG_INFO, "eval.drain",
              "%s: no more orders are sent; waiting for the %zu under way (the longest of late took %.1f s; "
              "%.0f s are kept for closing the journal and the archive)",
              is_asked ? "draining was asked for" : "the time of this run is nearly over", under_way_count,
              atoll_shutdown_longest_order_ns(s) / 1e9, atoll_shutdown_closing_ns(s) / 1e9);
    return 1;
}

int atoll_shutdown_is_over(const struct atoll_shutdown *s, double now_ns, size_t under_way_count)
{
    return s->is_draining && (under_way_count == 0 || left_ns(s, now_ns) < atoll_shutdown_closing_ns(s));
}

int atoll_shutdown_wait_for_space(struct atoll_shutdown *s, double now_ns, const struct atoll_err *why)
{
    struct timespec pause = {.tv_nsec = FULL_DISK_PAUSE_NS};
    if (s->full_disk_logged_ns <= 0 || now_ns - s->full_disk_logged_ns > FULL_DISK_LOG_NS) {
        s->full_disk_logged_ns = now_ns;
        atoll_log(ATOLL_LOG_WARNING, "eval.journal.full", "%s; the run waits until there is space",
                  why->text);
    }
    if (is_interrupted(s) || left_ns(s, now_ns) < 0)
        return -1;
    nanosleep(&pause, NULL);
    return 0;
}
