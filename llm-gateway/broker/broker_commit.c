/* broker_commit.c - what a turn makes last, and what follows behind.
 * Written, a record outlives the process: that is what calls and answers wait for.  Synced, it outlives the machine: that is
 * done behind them, by the syncer, store before ledger.  What the end of the machine undoes is bounded: money by the ledger's
 * covers, time by LATEST_S. */
#include "llm-gateway/broker/broker_state.h"

#include <sys/epoll.h>

#include "base/log.h"
#include "llm-gateway/budget/syncer.h"

#define SYNC_BEHIND_S 0.1
#define LATEST_S      1.0 /* a sync that takes longer is waited for */

static void on_synced(void *context, int fd, uint32_t epoll_events)
{
    struct atoll_broker *broker = context;
    atoll_syncer_quiet(broker->syncer);
}

int atoll_broker_open_syncer(struct atoll_broker *broker, struct atoll_err *err)
{
    if (broker->config->mode == ATOLL_EXCHANGE_REPLAY || (!broker->store && !broker->spending))
        return 0;
    broker->syncer = atoll_syncer_create(err);
    return broker->syncer ? atoll_loop_watch(broker->loop, atoll_syncer_fd(broker->syncer), EPOLLIN,
                                             on_synced, broker, err)
                          : -1;
}

/* After ledger and store were closed: they wait for what they started. */
void atoll_broker_close_syncer(struct atoll_broker *broker)
{
    atoll_loop_cancel(broker->loop, broker->sync_timer);
    if (!broker->syncer)
        return;
    atoll_loop_watch(broker->loop, atoll_syncer_fd(broker->syncer), 0, NULL, NULL, NULL);
    atoll_syncer_destroy(broker->syncer);
}

int atoll_broker_sync(struct atoll_broker *broker, struct atoll_err *err)
{
    if (broker->store && atoll_store_sync(broker->store, err))
        return -1;
    return broker->spending ? atoll_spending_sync(broker->spending, err) : 0;
}

static void sync_rang(void *context)
{
    struct atoll_broker *broker = context;
    broker->sync_timer = 0;
    broker->is_sync_due = 1;
}

static int is_synced(const struct atoll_broker *broker)
{
    return (!broker->store || atoll_store_is_synced(broker->store)) &&
           (!broker->spending || atoll_spending_is_synced(broker->spending));
}

/* 1: none is under way. */
static int look_at_end(struct atoll_broker *broker)
{
    int store_ended = !broker->store || atoll_store_sync_end(broker->store);
    int spending_ended = !broker->spending || atoll_spending_sync_end(broker->spending);
    return store_ended && spending_ended;
}

static int begin(struct atoll_broker *broker, double now_ns, struct atoll_err *err)
{
    broker->is_sync_due = 0;
    broker->sync_begun_ns = now_ns;
    if (broker->store && atoll_store_sync_begin(broker->store, broker->syncer, err))
        return -1;
    return broker->spending ? atoll_spending_sync_begin(broker->spending, broker->syncer, err) : 0;
}

static int sync_behind(struct atoll_broker *broker, struct atoll_err *err)
{
    double now_ns = atoll_loop_now_ns(broker->loop);
    if (!look_at_end(broker))
        return now_ns - broker->sync_begun_ns > LATEST_S * ATOLL_NS_PER_S ? atoll_broker_sync(broker, err)
                                                                          : 0;
    if (is_synced(broker))
        return 0;
    if (broker->is_sync_due)
        return begin(broker, now_ns, err);
    if (broker->sync_timer)
        return 0;
    return atoll_loop_at(broker->loop, now_ns + SYNC_BEHIND_S * ATOLL_NS_PER_S, sync_rang, broker,
                         &broker->sync_timer, err);
}

static int make_room(struct atoll_broker *broker, struct atoll_err *err)
{
    if (broker->is_crowded && atoll_store_sync(broker->store, err))
        return -1;
    broker->is_crowded = 0;
    return 0;
}

int atoll_broker_commit(struct atoll_broker *broker, struct atoll_err *err)
{
    if (make_room(broker, err))
        return -1;
    if (broker->store && atoll_store_is_dirty(broker->store) && atoll_store_write(broker->store, err))
        return -1;
    if (broker->spending && atoll_spending_is_dirty(broker->spending) &&
        atoll_spending_commit(broker->spending, err))
        return -1;
    return broker->syncer ? sync_behind(broker, err) : 0;
}
