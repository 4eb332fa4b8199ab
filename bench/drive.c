#include "mpi-eval/backend/backends.h"
#include "bench/drive.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"

#define LEAVE_NS     10e9
#define LOOK_MS      100
#define SLOT_LIMIT   16u
#define AHEAD        8u /* orders beside those that compile */
#define ORDER_BYTES  ((size_t)4 << 20)
#define ANSWER_BYTES ((size_t)16 << 20)

/* As in mpi-eval/evaluator/evaluator.c, which keeps all cores but two busy with compilations for a GPU. */
static unsigned slots_of(unsigned slots)
{
    cpu_set_t cores;
    unsigned count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 1;
    if (slots == 0)
        slots = count > 2 ? count - 2 : 1;
    return slots > SLOT_LIMIT ? SLOT_LIMIT : slots;
}

static void events_wait(struct atoll_drive *d)
{
    struct pollfd fds[64];
    size_t count = 0;
    int timeout_ms = LOOK_MS;
    fds[count++] = (struct pollfd){.fd = atoll_referee_thread_fd(d->referee_thread), .events = POLLIN};
    if (atoll_pipeline_owns_compiler(d->pipeline)) {
        int deadline_ms = atoll_compiler_timeout_ms(d->compiler);
        count += atoll_compiler_pollfds(d->compiler, fds + count, sizeof(fds) / sizeof(fds[0]) - count);
        if (deadline_ms >= 0 && deadline_ms < timeout_ms)
            timeout_ms = deadline_ms;
    }
    poll(fds, (nfds_t)count, timeout_ms);
}

int atoll_drive_open(struct atoll_drive *d, const struct atoll_setup *setup, unsigned slots,
                     struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(setup->backend);
    double begin = atoll_clock_mono_ns();
    memset(d, 0, sizeof(*d));
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    d->slots = slots_of(slots);
    if (!backend)
        return atoll_err_set(err, ATOLL_E_INPUT, "this program has no backend \"%.15s\"", setup->backend);
    d->compiler = backend->compiler_create(setup, d->slots, err);
    if (d->compiler)
        d->referee_thread = atoll_referee_thread_create(setup, d->compiler, err);
    if (d->referee_thread)
        d->pipeline = atoll_pipeline_create(backend, d->compiler, d->referee_thread, err);
    if (!d->pipeline)
        return -1;
    for (;;) {
        if (atoll_pipeline_advance(d->pipeline, err) != 0)
            return -1;
        if (atoll_pipeline_is_open(d->pipeline))
            break;
        events_wait(d);
    }
    d->open_ns = atoll_clock_mono_ns() - begin;
    return 0;
}

int atoll_drive_close(struct atoll_drive *d)
{
    int hangs = atoll_referee_thread_destroy(d->referee_thread, LEAVE_NS) != 0;
    atoll_compiler_destroy(d->compiler);
    if (hangs)
        return -1;
    atoll_pipeline_destroy(d->pipeline);
    memset(d, 0, sizeof(*d));
    return 0;
}

static int task_add(struct atoll_drive *d, uint32_t number, const struct atoll_task *task,
                    struct atoll_err *err)
{
    struct atoll_buffer bytes;
    struct atoll_task *copy = NULL;
    atoll_buffer_init(&bytes, (size_t)64 << 20);
    if (atoll_task_encode(task, &bytes, err) == 0)
        copy = atoll_task_decode(bytes.data, bytes.length, err);
    atoll_buffer_fini(&bytes);
    return copy ? atoll_pipeline_add_task(d->pipeline, number, copy, err) : -1;
}

int atoll_drive_add_tasks(struct atoll_drive *d, const struct atoll_mix_tasks *tasks, struct atoll_err *err)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (task_add(d, (uint32_t)i, tasks->tasks[i], err) != 0)
            return -1;
    return 0;
}

/* ---- a series ---- */

struct run {
    struct atoll_drive *drive;
    const struct atoll_mix_tasks *tasks;
    struct atoll_drive_series *series;
    uint64_t first; /* evaluation number of the first candidate */
    size_t sent;
    double begin_ns;
    struct atoll_buffer order, answer;
};

/* The cell is known to a coordinator before it sends: it classifies sources itself. */
static double incumbent_of(const struct run *r, const struct atoll_mix_candidate *c)
{
    const struct atoll_task *task = r->tasks->tasks[c->task];
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body;
    double best = r->series->incumbent_ns;
    struct atoll_arena *arena = best > 0 ? NULL : atoll_arena_create(ORDER_BYTES, &err);
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, task, "cuda", c->source, &body, &err) : NULL;
    if (plan)
        best = r->drive->known[c->task]
                   .elite_ns[atoll_behaviour_cell(atoll_behaviour_classify("cuda", body, plan, &c->choice))];
    atoll_arena_destroy(arena);
    return best;
}

static int order_send(struct run *r, struct atoll_err *err)
{
    const struct atoll_mix_candidate *c = &r->series->candidates[r->sent];
    struct atoll_order order;
    atoll_mix_order(c, r->first + r->sent, &order);
    order.baseline_ns = r->drive->known[c->task].baseline_ns;
    order.incumbent_ns = incumbent_of(r, c);
    atoll_buffer_clear(&r->order);
    atoll_order_encode(&order, &r->order);
    if (atoll_buffer_check(&r->order, err) != 0)
        return -1;
    r->series->records[r->sent].ordered_ns = atoll_clock_mono_ns() - r->begin_ns;
    r->sent++;
    return atoll_pipeline_order(r->drive->pipeline, r->order.data, r->order.length, err);
}

static int orders_send(struct run *r, struct atoll_err *err)
{
    struct atoll_drive_series *s = r->series;
    int is_late = s->limit_ns > 0 && atoll_clock_mono_ns() - r->begin_ns > s->limit_ns;
    while (!is_late && r->sent < s->count && r->sent - s->answered < r->drive->slots + AHEAD)
        if (order_send(r, err) != 0)
            return -1;
    return 0;
}

static void record_fill(struct atoll_drive_record *record, const struct atoll_mix_candidate *c,
                        const struct atoll_evaluation *e)
{
    *record = (struct atoll_drive_record){.ordered_ns = record->ordered_ns,
                                          .task = c->task,
                                          .seed = c->seed,
                                          .mutant = c->mutant,
                                          .verdict = e->verdict,
                                          .compile_ns = e->compile_ns,
                                          .check_ns = e->check_ns,
                                          .sampling_ns = e->sampling_ns,
                                          .counters_ns = e->profile.wall_ns,
                                          .occupied_ns = e->occupied_ns,
                                          .candidate_ns = e->candidate_ns,
                                          .draws = e->draw_count,
                                          .compared = e->fully_compared_count,
                                          .tier = e->profile.tier};
    snprintf(record->detail, sizeof(record->detail), "%.255s", e->detail);
    if (e->timing_count == 0)
        return;
    record->median_ns = e->timings[0].summary.median;
    record->half_width = e->timings[0].summary.relative_half_width;
    record->samples = (uint32_t)e->timings[0].sample_count;
    record->flags = e->timings[0].flags;
}

static void known_update(struct run *r, const struct atoll_mix_candidate *c, const struct atoll_evaluation *e)
{
    const struct atoll_task *task = r->tasks->tasks[c->task];
    double time = atoll_evaluation_time_ns(e, task);
    double *elite = &r->drive->known[c->task].elite_ns[atoll_behaviour_cell(e->behaviour)];
    if (e->verdict != ATOLL_V_CORRECT || !(time > 0))
        return;
    if (!(*elite > 0) || time < *elite)
        *elite = time;
    if (task->seeds[c->seed].is_baseline && !(r->drive->known[c->task].baseline_ns > 0))
        r->drive->known[c->task].baseline_ns = time;
}

static int answer_take(struct run *r, struct atoll_err *err)
{
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    int rc = atoll_evaluation_decode(r->answer.data, r->answer.length, &e, err);
    uint64_t place = e.evaluation - r->first;
    if (rc == 0 && place >= r->series->count)
        rc = atoll_err_set(err, ATOLL_E_INTERNAL, "an answer to an order that was not given");
    if (rc == 0) {
        struct atoll_drive_record *record = &r->series->records[place];
        record_fill(record, &r->series->candidates[place], &e);
        record->answered_ns = atoll_clock_mono_ns() - r->begin_ns;
        known_update(r, &r->series->candidates[place], &e);
        r->series->answered++;
    }
    atoll_evaluation_fini(&e);
    return rc;
}

static int answers_take(struct run *r, struct atoll_err *err)
{
    uint16_t type;
    int rc = atoll_pipeline_advance(r->drive->pipeline, err);
    while (rc == 0 && atoll_pipeline_result(r->drive->pipeline, &type, &r->answer)) {
        rc = answer_take(r, err);
        atoll_buffer_clear(&r->answer);
    }
    return rc;
}

int atoll_drive_run(struct atoll_drive *d, const struct atoll_mix_tasks *tasks, struct atoll_drive_series *s,
                    struct atoll_err *err)
{
    struct run r = {.drive = d, .tasks = tasks, .series = s, .first = d->evaluations + 1};
    int rc = 0;
    atoll_buffer_init(&r.order, ORDER_BYTES);
    atoll_buffer_init(&r.answer, ANSWER_BYTES);
    r.begin_ns = atoll_clock_mono_ns();
    s->answered = 0;
    for (;;) {
        size_t before;
        do {
            before = s->answered;
            rc = orders_send(&r, err) != 0 || answers_take(&r, err) != 0 ? -1 : 0;
        } while (rc == 0 && s->answered != before);
        if (rc != 0 || s->answered == r.sent)
            break;
        events_wait(d);
    }
    s->wall_ns = atoll_clock_mono_ns() - r.begin_ns;
    d->evaluations += s->count;
    atoll_buffer_fini(&r.order);
    atoll_buffer_fini(&r.answer);
    return rc;
}

const struct atoll_phases *atoll_drive_phases(const struct atoll_drive *d)
{
    return atoll_referee_thread_phases(d->referee_thread);
}

struct atoll_answer_counts atoll_drive_answers(const struct atoll_drive *d, uint32_t task)
{
    return atoll_referee_thread_answers(d->referee_thread, task);
}

void atoll_drive_task_times(const struct atoll_drive *d, struct atoll_device_time *ret_times, size_t count)
{
    struct atoll_time_report report = {.count = 0};
    struct atoll_time_account *account = atoll_referee_thread_account(d->referee_thread);
    memset(ret_times, 0, count * sizeof(*ret_times));
    if (atoll_time_account_report(account, 1, &report, NULL) != 0)
        return;
    for (size_t i = 0; i < report.count; i++)
        if (report.times[i].task < count)
            ret_times[report.times[i].task] = report.times[i].time;
    free(report.times);
}

struct atoll_device_time atoll_drive_times(const struct atoll_drive *d)
{
    struct atoll_device_time sum = {{0}};
    struct atoll_time_report report = {.count = 0};
    struct atoll_time_account *account = atoll_referee_thread_account(d->referee_thread);
    if (atoll_time_account_report(account, 1, &report, NULL) != 0)
        return sum;
    for (size_t i = 0; i < report.count; i++)
        atoll_device_time_add(&sum, &report.times[i].time);
    free(report.times);
    return sum;
}

const struct atoll_device_info *atoll_drive_device(const struct atoll_drive *d)
{
    return atoll_referee_thread_device(d->referee_thread);
}
