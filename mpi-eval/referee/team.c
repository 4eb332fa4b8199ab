/* A run is open from the call until its caller finds no piece left.  A thread that wakes up joins it while it is open, and the
 * caller waits for those that have joined only: one that the system keeps from its core delays nobody. */
#include "mpi-eval/referee/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "mpi-eval/referee/wide.h"

#define SETTLE_NS 1e6  /* who is not on its core by then is kept from it by others than us */
#define LOOKS     2000 /* at those that still work, before the caller sleeps: some ten microseconds */

struct member {
    struct atoll_team *team;
    pthread_t thread;
    int core;
};

struct atoll_team {
    pthread_mutex_t mutex;
    pthread_cond_t called, left;
    size_t count;
    struct member members[ATOLL_TEAM_LIMIT];
    unsigned long turn; /* of the last run */
    int is_open, is_over;
    atoll_team_work *work;
    void *context;
    size_t unit_count, piece;
    atomic_size_t next;  /* unit */
    atomic_uint at_work; /* members that have joined; changed under the mutex */
    atomic_uint noticed; /* members that are done with the last run, or came too late for it; the same */
};

static void take_pieces(struct atoll_team *t)
{
    for (;;) {
        size_t begin = atomic_fetch_add_explicit(&t->next, t->piece, memory_order_relaxed);
        if (begin >= t->unit_count)
            return;
        t->work(t->context, begin, t->unit_count - begin < t->piece ? t->unit_count : begin + t->piece);
    }
}

static void *member_main(void *argument)
{
    const struct member *m = argument;
    struct atoll_team *t = m->team;
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET((size_t)m->core, &core);
    sched_setaffinity(0, sizeof(core), &core); /* elsewhere it is slower, not wrong */
    pthread_mutex_lock(&t->mutex);
    for (unsigned long seen = 0;;) {
        while (!t->is_over && t->turn == seen)
            pthread_cond_wait(&t->called, &t->mutex);
        if (t->is_over)
            break;
        seen = t->turn;
        if (t->is_open) {
            atomic_fetch_add_explicit(&t->at_work, 1, memory_order_relaxed);
            pthread_mutex_unlock(&t->mutex);
            take_pieces(t);
            pthread_mutex_lock(&t->mutex);
            if (atomic_fetch_sub_explicit(&t->at_work, 1, memory_order_release) == 1 && !t->is_open)
                pthread_cond_signal(&t->left);
        }
        atomic_fetch_add_explicit(&t->noticed, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

struct atoll_team *atoll_team_create(const int *cores, size_t count, struct atoll_err *err)
{
    sigset_t all, before;
    struct atoll_team *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for threads of the referee");
        return NULL;
    }
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->called, NULL);
    pthread_cond_init(&t->left, NULL);
    sigfillset(&all); /* signals are the main thread's business */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < count && t->count < ATOLL_TEAM_LIMIT; i++) {
        struct member *m = &t->members[t->count];
        *m = (struct member){.team = t, .core = cores[i]};
        if (cores[i] < 0 || cores[i] >= CPU_SETSIZE || pthread_create(&m->thread, NULL, member_main, m) != 0)
            break;
        t->count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t;
}

void atoll_team_destroy(struct atoll_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->mutex);
    team->is_over = 1;
    pthread_cond_broadcast(&team->called);
    pthread_mutex_unlock(&team->mutex);
    for (size_t i = 0; i < team->count; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->called);
    pthread_cond_destroy(&team->left);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

/* They are mostly at their last piece. */
static void await_members(struct atoll_team *t)
{
    for (int i = 0; i < LOOKS && atomic_load_explicit(&t->at_work, memory_order_acquire) > 0; i++)
        ;
    pthread_mutex_lock(&t->mutex);
    while (atomic_load_explicit(&t->at_work, memory_order_acquire) > 0)
        pthread_cond_wait(&t->left, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}

void atoll_team_run(struct atoll_team *team, size_t count, size_t piece, atoll_team_work *work, void *context)
{
    if (!team || team->count == 0 || count <= piece) {
        for (size_t at = 0; at < count; at += piece)
            work(context, at, count - at < piece ? count : at + piece);
        return;
    }
    pthread_mutex_lock(&team->mutex);
    team->work = work;
    team->context = context;
    team->unit_count = count;
    team->piece = piece;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    atomic_store_explicit(&team->noticed, 0, memory_order_relaxed);
    team->is_open = 1;
    team->turn++;
    pthread_cond_broadcast(&team->called);
    pthread_mutex_unlock(&team->mutex);
    take_pieces(team);
    pthread_mutex_lock(&team->mutex);
    team->is_open = 0;
    pthread_mutex_unlock(&team->mutex);
    await_members(team);
}

int atoll_team_settle(const struct atoll_team *team)
{
    if (!team || team->turn == 0)
        return 1;
    double until = atoll_clock_mono_ns() + SETTLE_NS;
    while (atomic_load_explicit(&team->noticed, memory_order_relaxed) < team->count &&
           atoll_clock_mono_ns() < until)
        ;
    return atomic_load_explicit(&team->noticed, memory_order_relaxed) == team->count;
}

/* ---- copies ---- */

struct copying {
    const struct atoll_team_range *ranges;
    size_t count, piece;
};

static size_t pieces_of(const struct copying *c, size_t range)
{
    return (c->ranges[range].bytes + c->piece - 1) / c->piece;
}

/* Units: pieces of all ranges, one after the other. */
static void copy_pieces(void *context, size_t begin, size_t end)
{
    const struct copying *c = context;
    for (size_t i = 0, first = 0; i < c->count && first < end; i++) {
        const struct atoll_team_range *r = &c->ranges[i];
        size_t pieces = pieces_of(c, i);
        for (size_t k = begin > first ? begin - first : 0; k < pieces && first + k < end; k++) {
            size_t at = k * c->piece, bytes = r->bytes - at < c->piece ? r->bytes - at : c->piece;
            atoll_wide_copy((char *)r->to + at, (const char *)r->from + at, bytes);
        }
        first += pieces;
    }
}

void atoll_team_copy(struct atoll_team *team, const struct atoll_team_range *ranges, size_t count,
                     size_t piece_bytes)
{
    struct copying c = {ranges, count, piece_bytes};
    size_t pieces = 0;
    for (size_t i = 0; i < count; i++)
        pieces += pieces_of(&c, i);
    atoll_team_run(team, pieces, 1, copy_pieces, &c);
}
