/* lease_renewer.c - one thread, one lock, one condition.
 * Times are of CLOCK_BOOTTIME: a machine that slept must not believe in a renewal of before.  A renewal counts from before its
 * beat was written, so that no watcher can have begun to count earlier. */
#include "mpi-eval/coordinator/lease_renewer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/clock.h"

#define TRUSTED_SHARE 0.8 /* of the lease's time since the last renewal */
#define WAIT_LOG_NS   10e9

struct atoll_lease_renewer {
    struct atoll_lease *lease;
    double beat_ns, trusted_ns, life_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by the monotonic clock */
    /* below: under the lock */
    double renewed_ns, alive_ns;
    int is_ending, is_wanted, is_lost;
    struct atoll_err loss;
};

static double now_ns(void)
{
    return (double)atoll_clock_read_ns(CLOCK_BOOTTIME);
}

/* The lock is held.  Until somebody signals or for so long. */
static void wait_ns(struct atoll_lease_renewer *t, double ns)
{
    struct timespec until = atoll_clock_after_ns(CLOCK_MONOTONIC, ns);
    pthread_cond_timedwait(&t->changed, &t->lock, &until);
}

/* One renewal; the lock is held by the caller, but not while the file system is asked.  Returns for how long to wait. */
static double renew(struct atoll_lease_renewer *t, int *failures)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double began_ns = now_ns();
    t->is_wanted = 0;
    pthread_mutex_unlock(&t->lock);
    int rc = atoll_lease_renew(t->lease, &err);
    pthread_mutex_lock(&t->lock);
    if (rc == 0) {
        t->renewed_ns = began_ns;
        *failures = 0;
        return t->beat_ns;
    }
    if (err.code == ATOLL_E_BUSY) {
        t->is_lost = 1;
        t->loss = err;
        atoll_err_add(&t->loss,
                      "that run goes on with the campaign; this one ends and writes nothing more, what it "
                      "had acknowledged is in the journal");
        atoll_log(ATOLL_LOG_ERROR, "eval.lease.lost", "%s", t->loss.text);
    } else if ((*failures)++ == 0) {
        atoll_log(ATOLL_LOG_WARNING, "eval.lease.renew", "%s; tried again", err.text);
    }
    return t->beat_ns / 10;
}

static void *renew_always(void *context)
{
    struct atoll_lease_renewer *t = context;
    int failures = 0, has_logged = 0;
    double pause_ns = t->beat_ns;
    pthread_mutex_lock(&t->lock);
    while (!t->is_ending && !t->is_lost) {
        if (!t->is_wanted)
            wait_ns(t, pause_ns);
        if (t->is_ending)
            break;
        pause_ns = t->beat_ns;
        int is_alive = now_ns() - t->alive_ns <= t->life_ns;
        if (is_alive) {
            pause_ns = renew(t, &failures);
        } else if (!has_logged) {
            atoll_log(ATOLL_LOG_ERROR, "eval.lease.hung",
                      "rank 0 has shown no life for %.0f s: its lease is not renewed until it does",
                      t->life_ns / 1e9);
        }
        has_logged = !is_alive;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct atoll_lease_renewer *atoll_lease_renewer_create(struct atoll_lease *lease,
                                                       const struct atoll_lease_renewer_settings *settings,
                                                       struct atoll_err *err)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    struct atoll_lease_renewer *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the lease");
        return NULL;
    }
    double time_s = settings->time_s > 0 ? settings->time_s : ATOLL_LEASE_TIME_S;
    double beat_s =
        settings->beat_s > 0 ? settings->beat_s : time_s * (ATOLL_LEASE_BEAT_S / ATOLL_LEASE_TIME_S);
    t->lease = lease;
    t->beat_ns = beat_s * 1e9;
    t->trusted_ns = TRUSTED_SHARE * time_s * 1e9;
    t->life_ns = (settings->life_s > 0 ? settings->life_s : ATOLL_LEASE_RENEWER_LIFE_S) * 1e9;
    t->renewed_ns = t->alive_ns = now_ns();
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&t->lock, NULL);
    sigfillset(&all); /* signals are the main thread's business */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->thread, NULL, renew_always, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return t;
    atoll_err_errno(err, failed, "cannot start the thread that renews the lease");
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}

void atoll_lease_renewer_destroy(struct atoll_lease_renewer *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->is_ending = 1;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void atoll_lease_renewer_show_life(struct atoll_lease_renewer *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->alive_ns = now_ns();
    pthread_mutex_unlock(&t->lock);
}

int atoll_lease_renewer_check(struct atoll_lease_renewer *t, struct atoll_err *err)
{
    double logged_ns = 0;
    if (!t)
        return 0;
    pthread_mutex_lock(&t->lock);
    t->alive_ns = now_ns();
    t->is_wanted = t->alive_ns - t->renewed_ns > t->trusted_ns;
    if (t->is_wanted)
        pthread_cond_broadcast(&t->changed);
    while (!t->is_lost && now_ns() - t->renewed_ns > t->trusted_ns) {
        t->alive_ns = now_ns(); /* whoever waits here lives */
        if (now_ns() - logged_ns > WAIT_LOG_NS && logged_ns > 0) {
            atoll_log(
                ATOLL_LOG_WARNING, "eval.lease.waits",
                "the lease was renewed %.0f s ago for the last time; nothing is written until it is again",
                (now_ns() - t->renewed_ns) / 1e9);
        }
        if (now_ns() - logged_ns > WAIT_LOG_NS)
            logged_ns = now_ns();
        wait_ns(t, t->beat_ns);
    }
    int is_lost = t->is_lost;
    if (is_lost && err)
        *err = t->loss;
    pthread_mutex_unlock(&t->lock);
    return is_lost ? -1 : 0;
}
