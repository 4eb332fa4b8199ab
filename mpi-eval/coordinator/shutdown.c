/* shutdown.c - the coordinator's end where the search goes on later: a signal, or a time that is over.
 * RUNNING -> DRAINING (nothing is sent; what is under way is waited for) -> over (all came back, or the time is). */
#include <math.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi-eval/coordinator/coordinator_state.h"

#define DRAIN_FILES_NS 2e9

int atoll_shutdown_is_interrupted(const struct coordinator *c)
{
    return c->settings->interrupts && *c->settings->interrupts;
}

double atoll_shutdown_left_ns(const struct coordinator *c)
{
    return c->settings->until_ns > 0 ? c->settings->until_ns - atoll_coordinator_now_ns(c) : INFINITY;
}

/* One of the files is there: looked for every two seconds, they may lie on a shared file system. */
static int is_drain_file_there(struct coordinator *c)
{
    double now_ns = atoll_coordinator_now_ns(c);
    if (c->settings->drain_file_count == 0 || now_ns - c->drain_files_ns < DRAIN_FILES_NS)
        return 0;
    c->drain_files_ns = now_ns;
    for (size_t i = 0; i < c->settings->drain_file_count; i++) {
        if (access(c->settings->drain_files[i], F_OK) == 0)
            return 1;
    }
    return 0;
}

void atoll_shutdown_consider(struct coordinator *c)
{
    int is_asked = (c->settings->drains_on_interrupt && atoll_shutdown_is_interrupted(c)) ||
                   (!c->is_draining && is_drain_file_there(c));
    if (c->is_draining || (!is_asked && atoll_drain_has_room(&c->drain, atoll_shutdown_left_ns(c))))
        return;
    c->is_draining = 1;
    atoll_llm_queue_hold(c->questions);
    atoll_log(ATOLL_LOG_INFO, "eval.drain",
              "%s: nothing more is sent, %zu orders are waited for; an order took up to %.1f s lately, %.0f "
              "s are kept "
              "for closing",
              is_asked ? "it was asked for" : "the time is nearly over",
              atoll_dispatch_under_way_count(c->dispatch), atoll_drain_order_ns(&c->drain) / 1e9,
              atoll_drain_shutdown_ns(&c->drain) / 1e9);
}

int atoll_shutdown_is_over(const struct coordinator *c)
{
    return c->is_draining && (atoll_dispatch_under_way_count(c->dispatch) == 0 ||
                              atoll_shutdown_left_ns(c) < atoll_drain_shutdown_ns(&c->drain));
}
