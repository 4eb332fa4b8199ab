/* syncer.c - a queue, a mutex, two conditions and an eventfd.
 * The queue holds what is started and not yet done; its first job is the one the helper is at. */
#include "llm-gateway/budget/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct atoll_syncer {
    pthread_t helper;
    pthread_mutex_t lock;
    pthread_cond_t started, ended;
    struct atoll_syncer_job *first, *last;
    int is_closing;
    int fd;
};

static void do_first(struct atoll_syncer *syncer)
{
    static const uint64_t one = 1;
    struct atoll_syncer_job *job = syncer->first;
    pthread_mutex_unlock(&syncer->lock);
    int error = job->sync(job->context, job->fd) != 0 ? errno : 0;
    pthread_mutex_lock(&syncer->lock);
    syncer->first = job->next;
    job->error = error;
    job->is_done = 1; /* from here on it is the owner's again */
    pthread_cond_broadcast(&syncer->ended);
    if (write(syncer->fd, &one, sizeof one) < 0)
        return; /* it is readable already */
}

static void *help(void *context)
{
    struct atoll_syncer *syncer = context;
    pthread_mutex_lock(&syncer->lock);
    for (;;) {
        while (!syncer->first && !syncer->is_closing)
            pthread_cond_wait(&syncer->started, &syncer->lock);
        if (!syncer->first)
            break;
        do_first(syncer);
    }
    pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

/* Signals are for the owner's thread. */
static int start_helper(struct atoll_syncer *syncer)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&syncer->helper, NULL, help, syncer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct atoll_syncer *atoll_syncer_create(struct atoll_err *err)
{
    struct atoll_syncer *syncer = calloc(1, sizeof *syncer);
    if (!syncer) {
        atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for a syncer");
        return NULL;
    }
    pthread_mutex_init(&syncer->lock, NULL);
    pthread_cond_init(&syncer->started, NULL);
    pthread_cond_init(&syncer->ended, NULL);
    syncer->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int failed = syncer->fd < 0 ? errno : start_helper(syncer);
    if (!failed)
        return syncer;
    if (syncer->fd >= 0)
        close(syncer->fd);
    free(syncer);
    atoll_err_errno(err, failed, "gateway: no thread or descriptor for the syncs of its files");
    return NULL;
}

void atoll_syncer_destroy(struct atoll_syncer *syncer)
{
    if (!syncer)
        return;
    pthread_mutex_lock(&syncer->lock);
    syncer->is_closing = 1;
    pthread_cond_signal(&syncer->started);
    pthread_mutex_unlock(&syncer->lock);
    pthread_join(syncer->helper, NULL);
    pthread_cond_destroy(&syncer->started);
    pthread_cond_destroy(&syncer->ended);
    pthread_mutex_destroy(&syncer->lock);
    close(syncer->fd);
    free(syncer);
}

void atoll_syncer_start(struct atoll_syncer *syncer, struct atoll_syncer_job *job)
{
    job->is_done = job->error = 0;
    job->next = NULL;
    pthread_mutex_lock(&syncer->lock);
    if (syncer->first)
        syncer->last->next = job;
    else
        syncer->first = job;
    syncer->last = job;
    pthread_cond_signal(&syncer->started);
    pthread_mutex_unlock(&syncer->lock);
}

int atoll_syncer_is_done(struct atoll_syncer *syncer, const struct atoll_syncer_job *job)
{
    pthread_mutex_lock(&syncer->lock);
    int is_done = job->is_done;
    pthread_mutex_unlock(&syncer->lock);
    return is_done;
}

void atoll_syncer_wait(struct atoll_syncer *syncer, const struct atoll_syncer_job *job)
{
    pthread_mutex_lock(&syncer->lock);
    while (!job->is_done)
        pthread_cond_wait(&syncer->ended, &syncer->lock);
    pthread_mutex_unlock(&syncer->lock);
}

int atoll_syncer_fd(const struct atoll_syncer *syncer)
{
    return syncer->fd;
}

void atoll_syncer_quiet(struct atoll_syncer *syncer)
{
    uint64_t count;
    while (read(syncer->fd, &count, sizeof count) == (ssize_t)sizeof count)
        continue;
}
