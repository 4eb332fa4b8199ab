/* evaluator_pool.c - evaluator processes of this machine.
 * States of a member: RUNNING (a stream), DOWN (waiting to be started again), GONE (for good).  A stream that
 * ends makes the member DOWN and shows as PEER_LOST once; how its process ended, which the spawner reports,
 * decides what follows: after a signal or status 0 (it found its socket closed) it is started again,
 * any other status (it sent FAILED before) is final. */
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

enum member_state { MEMBER_RUNNING, MEMBER_DOWN, MEMBER_GONE };

struct member {
    enum member_state state;
    struct atoll_stream *stream;
    int has_process, must_report_loss;
    unsigned restarts;
    double started_ns, lost_ns;
};

struct atoll_evaluator_pool {
    struct atoll_spawner *spawner; /* borrowed */
    unsigned count, next;          /* next: whose turn it is to be read */
    int retired, spawner_gone;
    unsigned char loss; /* payload of the last PEER_LOST */
    struct member *members;
};

static int start_member(struct atoll_evaluator_pool *pool, unsigned index, struct atoll_err *err)
{
    struct member *member = &pool->members[index];
    pid_t pid;
    int fd;
    if (atoll_spawner_start(pool->spawner, index, &pid, &fd, err) != 0)
        return -1;
    member->has_process = 1;
    member->stream = atoll_stream_create(fd, 0, err);
    if (!member->stream)
        return -1;
    member->state = MEMBER_RUNNING;
    member->started_ns = atoll_clock_mono_ns();
    return 0;
}

static void lose_member(struct atoll_evaluator_pool *pool, unsigned index, const char *why)
{
    struct member *member = &pool->members[index];
    if (member->state != MEMBER_RUNNING)
        return;
    atoll_log(pool->retired ? ATOLL_LOG_DEBUG : ATOLL_LOG_WARNING, "eval.pool.lost", "evaluator %u: %s",
              index, why);
    atoll_stream_destroy(member->stream);
    member->stream = NULL;
    member->state = MEMBER_DOWN;
    member->must_report_loss = 1;
    member->lost_ns = atoll_clock_mono_ns();
    if (member->lost_ns - member->started_ns > LONG_LIFE_NS)
        member->restarts = 0;
}

static void give_up_member(struct atoll_evaluator_pool *pool, unsigned index)
{
    pool->members[index].state = MEMBER_GONE;
    pool->members[index].must_report_loss = 1;
}

static void collect_exits(struct atoll_evaluator_pool *pool)
{
    unsigned tag = 0;
    int status = 0, rc = 0;
    while (!pool->spawner_gone && (rc = atoll_spawner_exited(pool->spawner, &tag, &status)) > 0) {
        if (tag >= pool->count)
            continue;
        struct member *member = &pool->members[tag];
        member->has_process = 0;
        if (WIFSIGNALED(status)) {
            atoll_log(ATOLL_LOG_WARNING, "eval.pool.killed", "evaluator %u was ended by signal %d", tag,
                      WTERMSIG(status));
            continue;
        }
        if (!pool->retired) {
            atoll_log(ATOLL_LOG_WARNING, "eval.pool.left", "evaluator %u left with status %d", tag,
                      WEXITSTATUS(status));
        }
        if (WEXITSTATUS(status) != 0) /* 0: it found its socket closed, by us */
            member->restarts = ATOLL_EVALUATOR_POOL_RESTART_LIMIT;
    }
    if (rc >= 0 || pool->spawner_gone)
        return;
    atoll_log(ATOLL_LOG_ERROR, "eval.spawner.lost",
              "the spawner process is gone: no evaluator can be started again");
    pool->spawner_gone = 1;
    for (unsigned i = 0; i < pool->count; i++)
        pool->members[i].has_process = 0;
}

/* A member that is down is started again once its old process is reaped. */
static void revive_member(struct atoll_evaluator_pool *pool, unsigned index)
{
    struct member *member = &pool->members[index];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (member->state != MEMBER_DOWN)
        return;
    if (member->has_process && !pool->spawner_gone) {
        if (atoll_clock_mono_ns() - member->lost_ns > EXIT_WAIT_NS)
            atoll_spawner_kill(pool->spawner, index, NULL);
        return;
    }
    if (pool->retired || pool->spawner_gone || member->restarts >= ATOLL_EVALUATOR_POOL_RESTART_LIMIT) {
        give_up_member(pool, index);
        return;
    }
    member->restarts++;
    if (start_member(pool, index, &err) != 0) {
        atoll_log_err(ATOLL_LOG_ERROR, "eval.pool.start", &err);
        give_up_member(pool, index);
    }
}

static int pool_send(void *context, unsigned peer, const void *frame, size_t length, struct atoll_err *err)
{
    struct atoll_evaluator_pool *pool = context;
    struct member *member = &pool->members[peer];
    if (member->state != MEMBER_RUNNING)
        return atoll_err_set(err, ATOLL_E_CHILD, "evaluator %u is not running", peer);
    return atoll_stream_send_encoded(member->stream, frame, length, err);
}

static int lost_frame(struct atoll_evaluator_pool *pool, unsigned index, unsigned *ret_peer,
                      struct atoll_frame *ret_frame)
{
    struct member *member = &pool->members[index];
    member->must_report_loss = 0;
    pool->loss = member->state == MEMBER_GONE ? ATOLL_PEER_GONE : ATOLL_PEER_RESTARTS;
    *ret_peer = index;
    *ret_frame = (struct atoll_frame){.type = ATOLL_MSG_PEER_LOST, .payload = &pool->loss, .length = 1};
    return 1;
}

static int receive_from_member(struct atoll_evaluator_pool *pool, unsigned index, unsigned *ret_peer,
                               struct atoll_frame *ret_frame)
{
    struct member *member = &pool->members[index];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (member->state == MEMBER_RUNNING) {
        int rc = atoll_stream_receive(member->stream, ret_frame, &err);
        if (rc > 0)
            *ret_peer = index;
        if (rc >= 0)
            return rc;
        lose_member(pool, index, err.text);
        if (err.code != ATOLL_E_CHILD && !pool->spawner_gone)
            atoll_spawner_kill(pool->spawner, index, NULL);
    }
    if (member->must_report_loss)
        return lost_frame(pool, index, ret_peer, ret_frame);
    revive_member(pool, index);
    return member->must_report_loss ? lost_frame(pool, index, ret_peer, ret_frame) : 0;
}

static int pool_receive(void *context, unsigned *ret_peer, struct atoll_frame *ret_frame)
{
    struct atoll_evaluator_pool *pool = context;
    collect_exits(pool);
    for (unsigned turn = 0; turn < pool->count; turn++) {
        unsigned index = pool->next;
        pool->next = (pool->next + 1) % pool->count;
        if (receive_from_member(pool, index, ret_peer, ret_frame))
            return 1;
    }
    return 0;
}

static size_t pool_pollfds(void *context, struct pollfd *ret_fds, size_t limit)
{
    struct atoll_evaluator_pool *pool = context;
    size_t count = 0;
    if (limit > 0 && !pool->spawner_gone)
        ret_fds[count++] = (struct pollfd){.fd = atoll_spawner_fd(pool->spawner), .events = POLLIN};
    for (unsigned i = 0; i < pool->count && count < limit; i++) {
        struct atoll_stream *stream = pool->members[i].stream;
        if (stream) {
            ret_fds[count++] =
                (struct pollfd){.fd = atoll_stream_fd(stream), .events = atoll_stream_events(stream)};
        }
    }
    return count;
}

static void flush_streams(struct atoll_evaluator_pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++) {
        struct atoll_stream *stream = pool->members[i].stream;
        if (stream && atoll_stream_waiting_bytes(stream) > 0 && atoll_stream_flush(stream, NULL) != 0)
            lose_member(pool, i, "its socket is broken");
    }
}

static void pool_wait(void *context, struct pollfd *others, size_t other_count, int timeout_ms)
{
    struct pollfd fds[2 * ATOLL_SPAWNER_CHILD_LIMIT];
    size_t limit = sizeof(fds) / sizeof(fds[0]);
    size_t own = pool_pollfds(context, fds, limit);
    if (other_count > limit - own)
        other_count = limit - own;
    for (size_t i = 0; i < other_count; i++)
        fds[own + i] = others[i];
    if (poll(fds, own + other_count, timeout_ms) < 0)
        return;
    for (size_t i = 0; i < other_count; i++)
        others[i].revents = fds[own + i].revents;
    flush_streams(context);
}

static void pool_drop(void *context, unsigned peer)
{
    struct atoll_evaluator_pool *pool = context;
    lose_member(pool, peer, "given up by the coordinator");
    if (!pool->spawner_gone)
        atoll_spawner_kill(pool->spawner, peer, NULL);
}

static size_t pool_waiting(void *context)
{
    struct atoll_evaluator_pool *pool = context;
    size_t bytes = 0;
    flush_streams(pool);
    for (unsigned i = 0; i < pool->count; i++)
        bytes += pool->members[i].stream ? atoll_stream_waiting_bytes(pool->members[i].stream) : 0;
    return bytes;
}

struct atoll_peers atoll_evaluator_pool_peers(struct atoll_evaluator_pool *pool)
{
    return (struct atoll_peers){.context = pool,
                                .count = pool->count,
                                .send = pool_send,
                                .receive = pool_receive,
                                .wait = pool_wait,
                                .pollfds = pool_pollfds,
                                .drop = pool_drop,
                                .waiting = pool_waiting};
}

unsigned atoll_evaluator_pool_alive(const struct atoll_evaluator_pool *pool)
{
    unsigned alive = 0;
    for (unsigned i = 0; i < pool->count; i++)
        alive += pool->members[i].state != MEMBER_GONE || pool->members[i].has_process;
    return alive;
}

void atoll_evaluator_pool_retire(struct atoll_evaluator_pool *pool)
{
    pool->retired = 1;
}

struct atoll_evaluator_pool *atoll_evaluator_pool_create(struct atoll_spawner *spawner, unsigned count,
                                                         struct atoll_err *err)
{
    struct atoll_evaluator_pool *pool = calloc(1, sizeof(*pool));
    struct member *members = calloc(count ? count : 1, sizeof(*members));
    if (!pool || !members || count == 0 || count > ATOLL_SPAWNER_CHILD_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "cannot keep %u evaluators on one machine (1 to %d)", count,
                      ATOLL_SPAWNER_CHILD_LIMIT);
        free(pool);
        free(members);
        return NULL;
    }
    *pool = (struct atoll_evaluator_pool){.spawner = spawner, .count = count, .members = members};
    for (unsigned i = 0; i < count; i++) {
        if (start_member(pool, i, err) == 0)
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
        atoll_stream_destroy(pool->members[i].stream);
    free(pool->members);
    free(pool);
}
