/* time_account.c - one clock and the part it runs for: an interval is booked when the part changes, or when somebody reads.
 * Rows: one per task that was worked on, in ascending order, and a last one for the time of no task. */
#include "mpi-eval/referee/time_account.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"

struct row {
    struct atoll_task_time of;
    double told_ns; /* the whole of it when it was read last */
};

struct atoll_time_account {
    pthread_mutex_t mutex;
    atoll_time_account_clock *clock;
    void *context;
    int64_t since_unix_ns;
    double mark_ns; /* everything before it is booked */
    enum atoll_time_part part;
    int is_waiting, is_sampling, has_orders;
    struct row *rows;             /* owned */
    uint32_t count, capacity, at; /* at: the row of the task at hand */
};

static double mono_ns(void *context)
{
    (void)context;
    return atoll_clock_mono_ns();
}

struct atoll_time_account *atoll_time_account_create(atoll_time_account_clock *clock, void *context,
                                                     struct atoll_err *err)
{
    struct atoll_time_account *a = calloc(1, sizeof(*a));
    if (!a || atoll_array_reserve(&a->rows, &a->capacity, 1, sizeof(*a->rows), err) != 0) {
        free(a);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the account of a device's time");
        return NULL;
    }
    pthread_mutex_init(&a->mutex, NULL);
    a->clock = clock ? clock : mono_ns;
    a->context = context;
    a->since_unix_ns = atoll_clock_unix_ns();
    a->mark_ns = a->clock(a->context);
    a->part = ATOLL_TIME_START;
    a->rows[a->count++].of.task = ATOLL_TIME_OF_NO_TASK;
    return a;
}

void atoll_time_account_destroy(struct atoll_time_account *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->mutex);
    free(a->rows);
    free(a);
}

/* The time since the last mark, which begins anew. */
static double take_ns(struct atoll_time_account *a)
{
    double now = a->clock(a->context), ns = now > a->mark_ns ? now - a->mark_ns : 0;
    a->mark_ns = now;
    return ns;
}

static void book(struct atoll_time_account *a)
{
    if (!a->is_sampling)
        a->rows[a->at].of.time.ns[a->part] += take_ns(a);
}

/* Without memory the time is of no task. */
static void choose_row(struct atoll_time_account *a, uint32_t task)
{
    uint32_t at = 0;
    while (a->rows[at].of.task < task)
        at++;
    if (a->rows[at].of.task != task) {
        if (atoll_array_reserve(&a->rows, &a->capacity, a->count + 1, sizeof(*a->rows), NULL) != 0) {
            a->at = a->count - 1;
            return;
        }
        for (uint32_t i = a->count++; i > at; i--)
            a->rows[i] = a->rows[i - 1];
        a->rows[at] = (struct row){.of.task = task};
    }
    a->at = at;
}

static enum atoll_time_part change_part(struct atoll_time_account *a, enum atoll_time_part part)
{
    enum atoll_time_part before = a->part;
    book(a);
    a->part = part;
    a->is_waiting = 0;
    return before;
}

enum atoll_time_part atoll_time_account_enter(struct atoll_time_account *a, enum atoll_time_part part)
{
    if (!a)
        return part;
    pthread_mutex_lock(&a->mutex);
    enum atoll_time_part before = change_part(a, part);
    pthread_mutex_unlock(&a->mutex);
    return before;
}

void atoll_time_account_begin(struct atoll_time_account *a, enum atoll_time_part part, uint32_t task)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    change_part(a, part);
    choose_row(a, task);
    pthread_mutex_unlock(&a->mutex);
}

void atoll_time_account_wait(struct atoll_time_account *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    book(a);
    a->at = a->count - 1;
    a->is_waiting = 1;
    a->part = a->has_orders ? ATOLL_TIME_COMPILING : ATOLL_TIME_IDLE;
    pthread_mutex_unlock(&a->mutex);
}

void atoll_time_account_orders(struct atoll_time_account *a, int are_in_hand)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    a->has_orders = are_in_hand != 0;
    if (a->is_waiting) {
        book(a);
        a->part = a->has_orders ? ATOLL_TIME_COMPILING : ATOLL_TIME_IDLE;
    }
    pthread_mutex_unlock(&a->mutex);
}

void atoll_time_account_sample_begin(struct atoll_time_account *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    book(a);
    a->is_sampling = 1;
    pthread_mutex_unlock(&a->mutex);
}

void atoll_time_account_sample_end(struct atoll_time_account *a, const struct atoll_device_time *parts)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    struct atoll_device_time *time = &a->rows[a->at].of.time;
    double ns = take_ns(a), sum = 0;
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        sum += parts->ns[i] > 0 ? parts->ns[i] : 0;
    double scale = sum > ns ? ns / sum : 1;
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        time->ns[i] += parts->ns[i] > 0 ? scale * parts->ns[i] : 0;
    time->ns[a->part] += sum < ns ? ns - sum : 0;
    a->is_sampling = 0;
    pthread_mutex_unlock(&a->mutex);
}

int atoll_time_account_report(struct atoll_time_account *a, int is_all, struct atoll_time_report *ret_report,
                              struct atoll_err *err)
{
    pthread_mutex_lock(&a->mutex);
    book(a);
    struct atoll_time_report report = {.since_unix_ns = a->since_unix_ns};
    report.times = calloc(a->count, sizeof(*report.times));
    for (uint32_t i = 0; i < a->count && report.times; i++) {
        struct row *row = &a->rows[i];
        double whole_ns = atoll_device_time_whole_ns(&row->of.time);
        if (!is_all && !(whole_ns > row->told_ns))
            continue;
        row->told_ns = whole_ns;
        report.times[report.count++] = row->of;
    }
    pthread_mutex_unlock(&a->mutex);
    if (!report.times)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a report of a device's time");
    *ret_report = report;
    return 0;
}
