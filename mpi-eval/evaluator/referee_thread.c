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
#include "mpi-eval/referee/rival.h"
#include "base/clock.h"

#define REQUEST_KINDS 8

/* What a request is about where it says nothing else.  No default: a new kind has to say it. */
static enum atoll_time_part part_of(enum atoll_referee_request_kind kind)
{
    switch (kind) {
    case ATOLL_REFEREE_REQUEST_OPEN: return ATOLL_TIME_START;
    case ATOLL_REFEREE_REQUEST_TASK: return ATOLL_TIME_TASKS;
    case ATOLL_REFEREE_REQUEST_EVALUATE:
    case ATOLL_REFEREE_REQUEST_CHECK:
    case ATOLL_REFEREE_REQUEST_DUEL: return ATOLL_TIME_OTHER;
    case ATOLL_REFEREE_REQUEST_RIVAL:
    case ATOLL_REFEREE_REQUEST_RIVAL_DUEL: return ATOLL_TIME_RIVALS;
    case ATOLL_REFEREE_REQUEST_ANSWER: return ATOLL_TIME_ANSWERS;
    }
    return ATOLL_TIME_OTHER;
}

struct list {
    struct atoll_referee_request *first, **end;
};

struct atoll_referee_thread {
    struct atoll_setup setup;
    struct atoll_compiler *compiler;
    struct atoll_referee *referee; /* written by the thread under the mutex */
    struct atoll_time_account *account;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted_something;
    struct list posted, done;
    int leave, event_fd;
    double spent_ns[REQUEST_KINDS],
        waited_ns; /* the thread's: by kind of request, and without one since OPEN */
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_append(struct list *list, struct atoll_referee_request *request)
{
    request->next = NULL;
    *list->end = request;
    list->end = &request->next;
}

static struct atoll_referee_request *list_take(struct list *list)
{
    struct atoll_referee_request *request = list->first;
    if (!request)
        return NULL;
    list->first = request->next;
    if (!list->first)
        list->end = &list->first;
    return request;
}

/* Trouble of ours in a measurement may be the device's: then it must show that it still computes. */
static int check_device_after(struct atoll_referee_thread *x, enum atoll_verdict verdict,
                              struct atoll_err *err)
{
    if (verdict != ATOLL_V_INFRASTRUCTURE)
        return 0;
    atoll_time_account_enter(x->account, ATOLL_TIME_START);
    return atoll_referee_requalify(x->referee, err);
}

/* What compiles beside stands still all the while: a rival uses every core of the device. */
static void measure_rival(struct atoll_referee_thread *x, struct atoll_referee_request *r)
{
    atoll_compiler_pause(x->compiler);
    atoll_referee_rival(x->referee, r->task_number, r->order, &r->rival);
    atoll_compiler_resume(x->compiler);
    r->rc = check_device_after(x, r->rival.verdict, &r->err);
}

/* An error is that of whoever needs the draw. */
static void answer_ahead(struct atoll_referee_thread *x, struct atoll_referee_request *r)
{
    double begin = atoll_clock_mono_ns();
    r->has_answered = atoll_referee_answer_ahead(x->referee, r->task_number, r->is_ordered, NULL) > 0;
    r->answer_ns = atoll_clock_mono_ns() - begin;
    r->rc = 0;
}

static void run_request(struct atoll_referee_thread *x, struct atoll_referee_request *r)
{
    const struct atoll_object *reference = r->reference, *candidate = r->candidate_object,
                              *elite = r->elite_object;
    struct atoll_referee *referee;
    switch (r->kind) {
    case ATOLL_REFEREE_REQUEST_OPEN:
        referee = atoll_referee_create(atoll_backend_find(x->setup.backend), &x->setup, x->compiler, &r->err);
        r->rc = referee ? 0 : -1;
        if (referee)
            atoll_referee_set_account(referee, x->account);
        pthread_mutex_lock(&x->mutex);
        x->referee = referee;
        pthread_mutex_unlock(&x->mutex);
        break;
    case ATOLL_REFEREE_REQUEST_TASK:
        r->rc = reference ? atoll_referee_add_compiled_task(x->referee, r->task_number, r->task,
                                                            reference->bytes, reference->length, &r->err)
                          : atoll_referee_add_task(x->referee, r->task_number, r->task, &r->err);
        break;
    case ATOLL_REFEREE_REQUEST_EVALUATE:
        r->evaluation.binary = candidate->binary;
        atoll_referee_evaluate(x->referee, r->task_number, r->order, r->candidate, candidate->bytes,
                               candidate->length, &r->evaluation);
        r->rc = check_device_after(x, r->evaluation.verdict, &r->err);
        break;
    case ATOLL_REFEREE_REQUEST_DUEL:
        atoll_referee_duel(x->referee, r->task_number, r->order, r->elite, elite->bytes, elite->length,
                           r->candidate, candidate->bytes, candidate->length, &r->duel);
        r->rc = check_device_after(x, r->duel.verdict, &r->err);
        break;
    case ATOLL_REFEREE_REQUEST_RIVAL: measure_rival(x, r); break;
    case ATOLL_REFEREE_REQUEST_RIVAL_DUEL:
        atoll_referee_rival_duel(x->referee, r->task_number, r->order, r->candidate, candidate->bytes,
                                 candidate->length, &r->duel);
        r->rc = check_device_after(x, r->duel.verdict, &r->err);
        break;
    case ATOLL_REFEREE_REQUEST_ANSWER: answer_ahead(x, r); break;
    case ATOLL_REFEREE_REQUEST_CHECK:
        atoll_referee_check(x->referee, r->task_number, r->order, r->candidate, candidate->bytes,
                            candidate->length, &r->evaluation);
        r->rc = check_device_after(x, r->evaluation.verdict, &r->err);
        break;
    }
}

/* Where the time went: for whoever wonders why a device was idle, or not at its candidates. */
struct atoll_answer_counts atoll_referee_thread_answers(const struct atoll_referee_thread *x, uint32_t task)
{
    struct atoll_answer_counts none;
    memset(&none, 0, sizeof(none));
    return x->referee ? atoll_referee_answers(x->referee, task) : none;
}

static void log_account(const struct atoll_referee_thread *x)
{
    static const char *const kinds[REQUEST_KINDS] = {
        "opening",           "tasks",         "evaluations",      "duels", "rivals",
        "duels with rivals", "answers ahead", "checks for models"};
    char text[512] = "";
    size_t n = 0;
    for (int k = 0; k < REQUEST_KINDS; k++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %.2f s, ", kinds[k], x->spent_ns[k] / 1e9);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "waiting %.2f s", x->waited_ns / 1e9);
    const struct atoll_phases *phases = x->referee ? atoll_referee_phases(x->referee) : NULL;
    if (phases && phases->trial_count)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "; %lu samples:", phases->trial_count);
    for (int k = 0; phases && phases->trial_count && k < ATOLL_PHASE_COUNT; k++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s %.3f ms", k ? "," : "",
                              atoll_phase_name((enum atoll_phase)k),
                              phases->ns[k] / 1e6 / (double)phases->trial_count);
    }
    const struct atoll_answer_counts answers = atoll_referee_thread_answers(x, ATOLL_ANSWERS_OF_ALL);
    if (answers.made[0])
        snprintf(text + n, sizeof(text) - n, "; %lu answers, %lu made again",
                 answers.made[0] + answers.made[1], answers.made[1]);
    atoll_log(ATOLL_LOG_INFO, "eval.referee.account", "%s", text);
}

static struct atoll_referee_request *next_request(struct atoll_referee_thread *x)
{
    double begin = atoll_clock_mono_ns();
    struct atoll_referee_request *request = NULL;
    if (x->referee)
        atoll_time_account_wait(x->account);
    pthread_mutex_lock(&x->mutex);
    while (!x->leave && !x->posted.first)
        pthread_cond_wait(&x->posted_something, &x->mutex);
    if (!x->leave)
        request = list_take(&x->posted);
    pthread_mutex_unlock(&x->mutex);
    x->waited_ns += x->referee ? atoll_clock_mono_ns() - begin : 0;
    return request;
}

static void *thread_main(void *argument)
{
    struct atoll_referee_thread *x = argument;
    for (struct atoll_referee_request *request = next_request(x); request; request = next_request(x)) {
        double begin = atoll_clock_mono_ns();
        int is_of_task = request->kind != ATOLL_REFEREE_REQUEST_OPEN;
        atoll_time_account_begin(x->account, part_of(request->kind),
                                 is_of_task ? request->task_number : ATOLL_TIME_OF_NO_TASK);
        run_request(x, request);
        x->spent_ns[request->kind] += atoll_clock_mono_ns() - begin;
        pthread_mutex_lock(&x->mutex);
        list_append(&x->done, request);
        pthread_mutex_unlock(&x->mutex);
        eventfd_write(x->event_fd, 1);
    }
    log_account(x);
    atoll_referee_destroy(x->referee);
    return NULL;
}

struct atoll_referee_thread *atoll_referee_thread_create(const struct atoll_setup *setup,
                                                         struct atoll_compiler *compiler,
                                                         struct atoll_err *err)
{
    sigset_t all, before;
    struct atoll_referee_thread *x = calloc(1, sizeof(*x));
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
    int rc = x->event_fd < 0 ? errno : 0;
    x->account = atoll_time_account_create(NULL, NULL, NULL);
    if (rc == 0 && !x->account)
        rc = ENOMEM;
    sigfillset(&all); /* signals are the main thread's business */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rc == 0)
        rc = pthread_create(&x->thread, NULL, thread_main, x);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return x;
    atoll_err_errno(err, rc, "cannot start the referee's thread");
    atoll_time_account_destroy(x->account);
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
    atoll_time_account_destroy(x->account);
    close(x->event_fd);
    free(x);
    return 0;
}

void atoll_referee_thread_post(struct atoll_referee_thread *x, struct atoll_referee_request *request)
{
    pthread_mutex_lock(&x->mutex);
    list_append(&x->posted, request);
    pthread_cond_signal(&x->posted_something);
    pthread_mutex_unlock(&x->mutex);
}

void atoll_referee_thread_post_first(struct atoll_referee_thread *x, struct atoll_referee_request *request)
{
    pthread_mutex_lock(&x->mutex);
    request->next = x->posted.first;
    if (!request->next)
        x->posted.end = &request->next;
    x->posted.first = request;
    pthread_cond_signal(&x->posted_something);
    pthread_mutex_unlock(&x->mutex);
}

struct atoll_referee_request *atoll_referee_thread_collect(struct atoll_referee_thread *x)
{
    eventfd_t count;
    eventfd_read(x->event_fd, &count); /* before the look: what is done afterwards rings again */
    pthread_mutex_lock(&x->mutex);
    struct atoll_referee_request *request = list_take(&x->done);
    pthread_mutex_unlock(&x->mutex);
    return request;
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

struct atoll_time_account *atoll_referee_thread_account(const struct atoll_referee_thread *x)
{
    return x->account;
}

const struct atoll_phases *atoll_referee_thread_phases(const struct atoll_referee_thread *x)
{
    return x->referee ? atoll_referee_phases(x->referee) : NULL;
}
