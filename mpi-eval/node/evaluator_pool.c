/* evaluator_pool.c - evaluator processes of this machine.
 * States of a place: running (a stream), down (waiting to be started again), gone (for good).  A stream that
 * ends makes the place down and shows as PEER_LOST once; the spawner's word about how the process ended
 * decides what follows: after a signal or status 0 (it found its socket closed) it is started again,
 * any other status (it said FAILED before) is final. */
#include "mpi-eval/node/evaluator_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"
#include "core/message.h"
#include "base/clock.h"
#include "mpi-eval/node/stream.h"

#define EXIT_WAIT_NS 5e9 /* a process whose socket closed but that does not end is killed */
#define LONG_LIFE_NS 60e9

enum place_state { PLACE_RUNNING, PLACE_DOWN, PLACE_GONE };

struct place {
    enum place_state state;
    struct atoll_stream *stream;
    int has_process, must_say_lost;
    unsigned restarts;
    double started_ns, lost_ns;
};

struct atoll_evaluator_pool {
    struct atoll_spawner *spawner; /* borrowed */
    unsigned count, next;          /* next: whose turn it is to be read */
    int retired, spawner_gone;
    unsigned char loss; /* payload of the last PEER_LOST */
    struct place *places;
};

static int place_start(struct atoll_evaluator_pool *pool, unsigned index, struct atoll_err *err)
{
    struct place *place = &pool->places[index];
    pid_t pid;
    int fd;
    if (atoll_spawner_start(pool->spawner, index, &pid, &fd, err) != 0)
        return -1;
    place->has_process = 1;
    place->stream = atoll_stream_create(fd, 0, err);
    if (!place->stream)
        return -1;
    place->state = PLACE_RUNNING;
    place->started_ns = atoll_clock_mono_ns();
    return 0;
}

static void place_lose(struct atoll_evaluator_pool *pool, unsigned index, const char *why)
{
    struct place *place = &pool->places[index];
    if (place->state != PLACE_RUNNING)
        return;
    atoll_log(pool->retired ? ATOLL_LOG_DEBUG : ATOLL_LOG_WARNING, "eval.pool.lost", "evaluator %u: %s",
              index, why);
    atoll_stream_destroy(place->stream);
    place->stream = NULL;
    place->state = PLACE_DOWN;
    place->must_say_lost = 1;
    place->lost_ns = atoll_clock_mono_ns();
    if (place->lost_ns - place->started_ns > LONG_LIFE_NS)
        place->restarts = 0;
}

static void place_give_up(struct atoll_evaluator_pool *pool, unsigned index)
{
    pool->places[index].state = PLACE_GONE;
    pool->places[index].must_say_lost = 1;
}

static void exit_note(struct atoll_evaluator_pool *pool, unsigned index, int status)
{
    struct place *place = &pool->places[index];
    place->has_process = 0;
    if (WIFSIGNALED(status)) {
        atoll_log(ATOLL_LOG_WARNING, "eval.pool.killed", "evaluator %u was ended by signal %d", index,
                  WTERMSIG(status));
        return;
    }
    if (!pool->retired)
        atoll_log(ATOLL_LOG_WARNING, "eval.pool.left", "evaluator %u left with status %d", index,
                  WEXITSTATUS(status));
    if (WEXITSTATUS(status) != 0) /* 0: it found its socket closed, by us */
        place->restarts = ATOLL_EVALUATOR_POOL_RESTART_LIMIT;
}

static void exits_collect(struct atoll_evaluator_pool *pool)
{
    unsigned tag = 0;
    int status = 0, rc = 0;
    while (!pool->spawner_gone && (rc = atoll_spawner_exited(pool->spawner, &tag, &status)) > 0) {
        if (tag < pool->count)
            exit_note(pool, tag, status);
    }
    if (rc >= 0 || pool->spawner_gone)
        return;
    atoll_log(ATOLL_LOG_ERROR, "eval.spawner.lost",
              "the spawner process is gone: no evaluator can be started again");
    pool->spawner_gone = 1;
    for (unsigned i = 0; i < pool->count; i++)
        pool->places[i].has_process = 0;
}

/* A place that is down is started again once its old process is reaped. */
static void place_revive(struct atoll_evaluator_pool *pool, unsigned index)
{
    struct place *place = &pool->places[index];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (place->state != PLACE_DOWN)
        return;
    if (place->has_process && !pool->spawner_gone) {
        if (atoll_clock_mono_ns() - place->lost_ns > EXIT_WAIT_NS)
            atoll_spawner_kill(pool->spawner, index, NULL);
        return;
    }
    if (pool->retired || pool->spawner_gone || place->restarts >= ATOLL_EVALUATOR_POOL_RESTART_LIMIT) {
        place_give_up(pool, index);
        return;
    }
    place->restarts++;
    if (place_start(pool, index, &err) != 0) {
        atoll_log_err(ATOLL_LOG_ERROR, "eval.pool.start", &err);
        place_give_up(pool, index);
    }
}

static int keeper_send(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err)
{
    struct atoll_evaluator_pool *pool = context;
    struct place *place = &pool->places[peer];
    if (place->state != PLACE_RUNNING)
        return atoll_err_set(err, ATOLL_E_CHILD, "evaluator %u is not running", peer);
    return atoll_stream_send_encoded(place->stream, frame, length, err);
}

static int lost_frame(struct atoll_evaluator_pool *pool, unsigned index, unsigned *ret_peer,
                      struct atoll_frame *ret_frame)
{
    struct place *place = &pool->places[index];
    place->must_say_lost = 0;
    pool->loss = place->state == PLACE_GONE ? ATOLL_PEER_GONE : ATOLL_PEER_RESTARTS;
    *ret_peer = index;
    *ret_frame = (struct atoll_frame){.type = ATOLL_MSG_PEER_LOST, .payload = &pool->loss, .length = 1};
    return 1;
}

static int place_receive(struct atoll_evaluator_pool *pool, unsigned index, unsigned *ret_peer,
                         struct atoll_frame *ret_frame)
{
    struct place *place = &pool->places[index];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (place->state == PLACE_RUNNING) {
        int rc = atoll_stream_receive(place->stream, ret_frame, &err);
        if (rc > 0)
            *ret_peer = index;
        if (rc >= 0)
            return rc;
        place_lose(pool, index, err.text);
        if (err.code != ATOLL_E_CHILD && !pool->spawner_gone)
            atoll_spawner_kill(pool->spawner, index, NULL);
    }
    if (place->must_say_lost)
        return lost_frame(pool, index, ret_peer, ret_frame);
    place_revive(pool, index);
    return place->must_say_lost ? lost_frame(pool, index, ret_peer, ret_frame) : 0;
}

static int keeper_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
{
    struct atoll_evaluator_pool *pool = context;
    exits_collect(pool);
    for (unsigned turn = 0; turn < pool->count; turn++) {
        unsigned index = pool->next;
        pool->next = (pool->next + 1) % pool->count;
        if (place_receive(pool, index, ret_peer, ret_frame))
            return 1;
    }
    return 0;
}

static size_t keeper_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    struct atoll_evaluator_pool *pool = context;
    size_t count = 0;
    if (limit > 0 && !pool->spawner_gone)
        ret_fds[count++] = (struct pollfd){.fd = atoll_spawner_fd(pool->spawner), .events = POLLIN};
    for (unsigned i = 0; i < pool->count && count < limit; i++) {
        struct atoll_stream *stream = pool->places[i].stream;
        if (stream)
            ret_fds[count++] =
                (struct pollfd){.fd = atoll_stream_fd(stream), .events = atoll_stream_events(stream)};
    }
    return count;
}

static void streams_flush(struct atoll_evaluator_pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++) {
        struct atoll_stream *stream = pool->places[i].stream;
        if (stream && atoll_stream_waiting_bytes(stream) > 0 && atoll_stream_flush(stream, NULL) != 0)
            place_lose(pool, i, "its socket is broken");
    }
}

static void keeper_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
{
    struct pollfd fds[2 * ATOLL_SPAWNER_CHILD_LIMIT];
    size_t limit = sizeof fds / sizeof fds[0];
    size_t own = keeper_pollfds(context, fds, limit);
    if (other_count > limit - own)
        other_count = limit - own;
    for (size_t i = 0; i < other_count; i++)
        fds[own + i] = others[i];
    if (poll(fds, own + other_count, timeout_ms) < 0)
        return;
    for (size_t i = 0; i < other_count; i++)
        others[i].revents = fds[own + i].revents;
    streams_flush(context);
}

static void keeper_drop(void *context, unsigned peer)
{
    struct atoll_evaluator_pool *pool = context;
    place_lose(pool, peer, "given up by the coordinator");
    if (!pool->spawner_gone)
        atoll_spawner_kill(pool->spawner, peer, NULL);
}

static size_t keeper_waiting(void *context)
{
    struct atoll_evaluator_pool *pool = context;
    size_t bytes = 0;
    streams_flush(pool);
    for (unsigned i = 0; i < pool->count; i++)
        bytes += pool->places[i].stream ? atoll_stream_waiting_bytes(pool->places[i].stream) : 0;
    return bytes;
}

struct atoll_peers atoll_evaluator_pool_peers(struct atoll_evaluator_pool *pool)
{
    return (struct atoll_peers){.context = pool,
                                .count = pool->count,
                                .send = keeper_send,
                                .receive = keeper_receive,
                                .wait = keeper_wait,
                                .pollfds = keeper_pollfds,
                                .drop = keeper_drop,
                                .waiting = keeper_waiting};
}

unsigned atoll_evaluator_pool_alive(const struct atoll_evaluator_pool *pool)
{
    unsigned alive = 0;
    for (unsigned i = 0; i < pool->count; i++)
        alive += pool->places[i].state != PLACE_GONE || pool->places[i].has_process;
    return alive;
}

void atoll_evaluator_pool_retire(struct atoll_evaluator_pool *pool)
{
    pool->retired = 1;
}

struct atoll_evaluator_pool *atoll_evaluator_pool_create(struct atoll_spawner *spawner, unsigned count,
                                                         struct atoll_err *err)
{
    struct atoll_evaluator_pool *pool = calloc(1, sizeof *pool);
    struct place *places = calloc(count ? count : 1, sizeof *places);
    if (!pool || !places || count == 0 || count > ATOLL_SPAWNER_CHILD_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "cannot keep %u evaluators on one machine (1 to %d)", count,
                      ATOLL_SPAWNER_CHILD_LIMIT);
        free(pool);
        free(places);
        return NULL;
    }
    *pool = (struct atoll_evaluator_pool){.spawner = spawner, .count = count, .places = places};
    for (unsigned i = 0; i < count; i++) {
        if (place_start(pool, i, err) == 0)
            continue;
        atoll_evaluator_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void atoll_evaluator_pool_destroy(struct atoll_evaluator_pool *pool)
{
    if (!pool)
        return;
    for (unsigned i = 0; i < pool->count; i++)
        atoll_stream_destroy(pool->places[i].stream);
    free(pool->places);
    free(pool);
}
