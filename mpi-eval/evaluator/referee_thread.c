/* referee_thread.c - the referee's thread.  Two lists under one mutex (posted, done), a condition for the thread,
 * an eventfd for the other side.  The referee is made and destroyed in the thread; the other side reads its
 * device after OPEN. */
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/evaluator/referee_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"

#define ERRAND_KINDS 4

struct list {
    struct atoll_process *first, **end;
};

struct atoll_referee_thread {
    struct atoll_setup setup;
    struct atoll_compiler *compiler;
    struct atoll_referee *referee; /* written by the thread under the mutex */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted_something;
    struct list posted, done;
    int leave, event_fd;
    double spent_ns[ERRAND_KINDS],
        waited_ns; /* the thread's: by kind of process, and without one since OPEN */
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_append(struct list *list, struct atoll_process *process)
{
    process->next = NULL;
    *list->end = process;
    list->end = &process->next;
}

static struct atoll_process *list_take(struct list *list)
{
    struct atoll_process *process = list->first;
    if (!process)
        return NULL;
    list->first = process->next;
    if (!list->first)
        list->end = &list->first;
    return process;
}

static void run_open(struct atoll_referee_thread *x, struct atoll_process *process)
{
    struct atoll_referee *referee =
        atoll_referee_create(atoll_backend_find(x->setup.backend), &x->setup, x->compiler, &process->err);
    process->rc = referee ? 0 : -1;
    pthread_mutex_lock(&x->mutex);
    x->referee = referee;
    pthread_mutex_unlock(&x->mutex);
}

static void run_task(struct atoll_referee_thread *x, struct atoll_process *process)
{
    const struct atoll_object *reference = process->reference;
    process->rc =
        reference ? atoll_referee_add_compiled_task(x->referee, process->task_number, process->task,
                                                    reference->bytes, reference->length, &process->err)
                  : atoll_referee_add_task(x->referee, process->task_number, process->task, &process->err);
}

/* Trouble of ours may be the device's: it must show that it computes. */
static void run_doubt(struct atoll_referee_thread *x, struct atoll_process *process,
                      enum atoll_verdict verdict)
{
    if (verdict == ATOLL_V_INFRASTRUCTURE)
        process->rc = atoll_referee_requalify(x->referee, &process->err);
}

static void run_evaluate(struct atoll_referee_thread *x, struct atoll_process *process)
{
    atoll_referee_evaluate(x->referee, process->task_number, process->order, process->candidate,
                           process->candidate_object->bytes, process->candidate_object->length,
                           &process->evaluation);
    run_doubt(x, process, process->evaluation.verdict);
}

static void run_duel(struct atoll_referee_thread *x, struct atoll_process *process)
{
    atoll_referee_duel(x->referee, process->task_number, process->order, process->elite,
                       process->elite_object->bytes, process->elite_object->length, process->candidate,
                       process->candidate_object->bytes, process->candidate_object->length, &process->duel);
    run_doubt(x, process, process->duel.verdict);
}

static void (*const runs[])(struct atoll_referee_thread *, struct atoll_process *) = {
    [ATOLL_PROCESS_OPEN] = run_open,
    [ATOLL_PROCESS_TASK] = run_task,
    [ATOLL_PROCESS_EVALUATE] = run_evaluate,
    [ATOLL_PROCESS_DUEL] = run_duel,
};

/* Where the time went: for whoever wonders why a device was idle, or not at its candidates. */
static void account_say(const struct atoll_referee_thread *x)
{
    static const char *const kinds[ERRAND_KINDS] = {"opening", "tasks", "evaluations", "duels"};
    char text[512] = "";
    size_t n = 0;
    for (int k = 0; k < ERRAND_KINDS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %.2f s, ", kinds[k], x->spent_ns[k] / 1e9);
    n += (size_t)snprintf(text + n, sizeof text - n, "waiting %.2f s", x->waited_ns / 1e9);
    const struct atoll_phases *phases = x->referee ? atoll_referee_phases(x->referee) : NULL;
    if (phases && phases->trial_count)
        n += (size_t)snprintf(text + n, sizeof text - n, "; %lu samples:", phases->trial_count);
    for (int k = 0; phases && phases->trial_count && k < ATOLL_PHASE_COUNT; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %.3f ms", k ? "," : "",
                              atoll_phase_name((enum atoll_phase)k),
                              phases->ns[k] / 1e6 / (double)phases->trial_count);
    atoll_log(ATOLL_LOG_INFO, "eval.referee.account", "%s", text);
}

static struct atoll_process *next_errand(struct atoll_referee_thread *x)
{
    double begin = atoll_clock_mono_ns();
    struct atoll_process *process = NULL;
    pthread_mutex_lock(&x->mutex);
    while (!x->leave && !x->posted.first)
        pthread_cond_wait(&x->posted_something, &x->mutex);
    if (!x->leave)
        process = list_take(&x->posted);
    pthread_mutex_unlock(&x->mutex);
    x->waited_ns += x->referee ? atoll_clock_mono_ns() - begin : 0;
    return process;
}

static void *thread_main(void *argument)
{
    struct atoll_referee_thread *x = argument;
    for (struct atoll_process *process = next_errand(x); process; process = next_errand(x)) {
        double begin = atoll_clock_mono_ns();
        runs[process->kind](x, process);
        x->spent_ns[process->kind] += atoll_clock_mono_ns() - begin;
        pthread_mutex_lock(&x->mutex);
        list_append(&x->done, process);
        pthread_mutex_unlock(&x->mutex);
        eventfd_write(x->event_fd, 1);
    }
    account_say(x);
    atoll_referee_destroy(x->referee);
    return NULL;
}

/* Signals are the main thread's business. */
static int thread_start(struct atoll_referee_thread *x)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&x->thread, NULL, thread_main, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct atoll_referee_thread *atoll_referee_thread_create(const struct atoll_setup *setup,
                                                         struct atoll_compiler *compiler,
                                                         struct atoll_err *err)
{
    struct atoll_referee_thread *x = calloc(1, sizeof *x);
    if (!x) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the referee's thread");
        return NULL;
    }
    x->setup = *setup;
    x->compiler = compiler;
    pthread_mutex_init(&x->mutex, NULL);
    pthread_cond_init(&x->posted_something, NULL);
    list_init(&x->posted);
    list_init(&x->done);
    x->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int rc = x->event_fd < 0 ? errno : thread_start(x);
    if (rc == 0)
        return x;
    atoll_err_errno(err, rc, "cannot start the referee's thread");
    if (x->event_fd >= 0)
        close(x->event_fd);
    free(x);
    return NULL;
}

int atoll_referee_thread_destroy(struct atoll_referee_thread *x, double wait_ns)
{
    struct timespec until;
    if (!x)
        return 0;
    pthread_mutex_lock(&x->mutex);
    x->leave = 1;
    if (x->referee)
        atoll_referee_cancel(x->referee);
    pthread_cond_signal(&x->posted_something);
    pthread_mutex_unlock(&x->mutex);
    until = atoll_clock_after_ns(CLOCK_REALTIME, wait_ns);
    if (pthread_timedjoin_np(x->thread, NULL, &until) != 0)
        return -1;
    pthread_mutex_destroy(&x->mutex);
    pthread_cond_destroy(&x->posted_something);
    close(x->event_fd);
    free(x);
    return 0;
}

void atoll_referee_thread_post(struct atoll_referee_thread *x, struct atoll_process *process)
{
    pthread_mutex_lock(&x->mutex);
    list_append(&x->posted, process);
    pthread_cond_signal(&x->posted_something);
    pthread_mutex_unlock(&x->mutex);
}

void atoll_referee_thread_post_first(struct atoll_referee_thread *x, struct atoll_process *process)
{
    pthread_mutex_lock(&x->mutex);
    process->next = x->posted.first;
    if (!process->next)
        x->posted.end = &process->next;
    x->posted.first = process;
    pthread_cond_signal(&x->posted_something);
    pthread_mutex_unlock(&x->mutex);
}

struct atoll_process *atoll_referee_thread_collect(struct atoll_referee_thread *x)
{
    eventfd_t count;
    eventfd_read(x->event_fd, &count); /* before the look: what is done afterwards rings again */
    pthread_mutex_lock(&x->mutex);
    struct atoll_process *process = list_take(&x->done);
    pthread_mutex_unlock(&x->mutex);
    return process;
}

int atoll_referee_thread_fd(const struct atoll_referee_thread *x)
{
    return x->event_fd;
}

const struct atoll_device_info *atoll_referee_thread_device(const struct atoll_referee_thread *x)
{
    return x->referee ? atoll_referee_device(x->referee) : NULL;
}

const char *atoll_referee_thread_pci(const struct atoll_referee_thread *x)
{
    return x->referee ? atoll_referee_pci(x->referee) : "";
}

const struct atoll_phases *atoll_referee_thread_phases(const struct atoll_referee_thread *x)
{
    return x->referee ? atoll_referee_phases(x->referee) : NULL;
}
