#include "scheduler/campaign/campaign_status.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "base/units.h"
#include "base/json.h"
#include "core/decision.h"
#include "scheduler/campaign/device_time_json.h"
#include "scheduler/campaign/sweep_jobs.h"

#define POLL_S        90.0
#define AGE_TOLD_S    5.0
#define HISTORY_SHOWN 5
#define DEVICES_SHOWN 8 /* with a line each */
#define KERNEL_DIGITS 8 /* of an id: rarely more are needed, and whoever wants one is told */

/* ---- how far its parts are ---- */

static const char *const state_names[ATOLL_STATE_COUNT] = {
    [ATOLL_STATE_FRESH] = "fresh", [ATOLL_STATE_RUNNING] = "running",       [ATOLL_STATE_WAITING] = "waiting",
    [ATOLL_STATE_ENDED] = "ended", [ATOLL_STATE_UNREADABLE] = "unreadable",
};

const char *atoll_campaign_progress_state_name(enum atoll_campaign_progress_state state)
{
    return (unsigned)state < ATOLL_STATE_COUNT ? state_names[state] : "unknown";
}

/* Whoever holds an ended part only writes its archive. */
enum atoll_campaign_progress_state
atoll_campaign_progress_row_state(const struct atoll_campaign_progress_row *row)
{
    if (!row->progress)
        return ATOLL_STATE_UNREADABLE;
    if (row->progress->phase == ATOLL_CAMPAIGN_PROGRESS_ENDED)
        return ATOLL_STATE_ENDED;
    if (row->is_held)
        return ATOLL_STATE_RUNNING;
    return row->progress->phase == ATOLL_CAMPAIGN_PROGRESS_FRESH ? ATOLL_STATE_FRESH : ATOLL_STATE_WAITING;
}

static const char *state_text(const struct atoll_campaign_progress_row *row)
{
    return atoll_campaign_progress_state_name(atoll_campaign_progress_row_state(row));
}

/* Of a part's only task the journal tells how often it was evaluated; of several, the search. */
static uint64_t task_evaluated(const struct atoll_campaign_progress *s,
                               const struct atoll_campaign_progress_task *task)
{
    return s->hint.task_count == 1 ? s->evaluated : task->evaluated;
}

static int is_counted(const struct atoll_campaign_progress *s)
{
    return s->has_hint || s->hint.task_count == 1 || s->phase == ATOLL_CAMPAIGN_PROGRESS_FRESH;
}

static double age_s(const struct atoll_campaign_progress *s, int64_t now_unix_ns)
{
    double age = (double)(now_unix_ns - s->hint.written_unix_ns) / 1e9;

    return age > 0 ? age : 0; /* clocks of nodes differ */
}

/* ---- sums ---- */

/* Geometric mean of tasks' speedups over one yardstick. */
struct mean {
    double logs;
    size_t count;
    int is_unconfirmed; /* one of them is no final comparison's */
};

struct means {
    struct mean rival, seed;
};

static void mean_add(struct mean *mean, struct atoll_progress_speedup speedup)
{
    if (!(speedup.ratio > 0))
        return;
    mean->logs += log(speedup.ratio);
    mean->count++;
    mean->is_unconfirmed |= !speedup.is_final;
}

static void means_add(struct means *means, const struct atoll_campaign_progress *s)
{
    for (size_t i = 0; i < s->hint.task_count; i++) {
        mean_add(&means->rival, atoll_progress_over_rival(&s->hint.tasks[i]));
        mean_add(&means->seed, atoll_progress_over_seed(&s->hint.tasks[i]));
    }
}

static struct atoll_progress_speedup mean_value(const struct mean *mean)
{
    return (struct atoll_progress_speedup){mean->count ? exp(mean->logs / (double)mean->count) : 0,
                                           !mean->is_unconfirmed};
}

/* Speedups are over the rival where a task of these has one; over the seed they stand second. */
static int have_rivals(const struct atoll_campaign_progress_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; rows[i].progress && t < rows[i].progress->hint.task_count; t++)
            if (rows[i].progress->hint.tasks[t].rival_ns > 0)
                return 1;
    return 0;
}

struct sums {
    size_t states[ATOLL_STATE_COUNT], tasks;
    uint64_t evaluated, duelled, evaluators;
    double device_s;
    struct means means;
};

static void sums_make(const struct atoll_campaign_progress_row *rows, size_t count, struct sums *ret_sums)
{
    *ret_sums = (struct sums){.tasks = 0};
    for (size_t i = 0; i < count; i++) {
        const struct atoll_campaign_progress *s = rows[i].progress;
        enum atoll_campaign_progress_state state = atoll_campaign_progress_row_state(&rows[i]);

        ret_sums->states[state]++;
        if (!s)
            continue;
        ret_sums->tasks += s->hint.task_count;
        ret_sums->evaluated += s->evaluated;
        ret_sums->duelled += s->duelled;
        ret_sums->device_s += s->hint.device_s;
        ret_sums->evaluators += state == ATOLL_STATE_RUNNING ? s->hint.evaluators : 0;
        means_add(&ret_sums->means, s);
    }
}

static void print_means(FILE *out, const struct sums *sums)
{
    const struct mean *rival = &sums->means.rival, *seed = &sums->means.seed;
    const struct mean *first = rival->count > 0 ? rival : seed;

    if (first->count == 0)
        return;
    atoll_print(out, "%zu of %zu tasks timed%s, geometric mean %s%.2fx over the %s", first->count,
                sums->tasks, rival->count > 0 ? " beside a rival" : "; no rival measured",
                first->is_unconfirmed ? "~" : "", mean_value(first).ratio,
                rival->count > 0 ? "rival" : "seed");
    if (rival->count > 0 && seed->count > 0)
        atoll_print(out, ", %s%.2fx over the seed", seed->is_unconfirmed ? "~" : "", mean_value(seed).ratio);
    fputs(first->is_unconfirmed ? " (~ the quotient of two times measured apart)\n" : "\n", out);
}

static void print_sums(FILE *out, const struct atoll_campaign_progress_row *rows, size_t count)
{
    char device[32];
    struct sums sums;
    const char *between = ": ";

    sums_make(rows, count, &sums);
    atoll_print(out, "%zu task%s in %zu part%s", sums.tasks, sums.tasks == 1 ? "" : "s", count,
                count == 1 ? "" : "s");
    for (size_t i = 0; i < ATOLL_STATE_COUNT; i++) {
        if (sums.states[i]) {
            atoll_print(out, "%s%zu %s", between, sums.states[i], state_names[i]);
            between = ", ";
        }
    }
    fprintf(out, "; %llu evaluations", (unsigned long long)sums.evaluated);
    if (sums.device_s > 0)
        atoll_print(out, ", %s of device time",
                    atoll_duration_text(1e9 * sums.device_s, device, sizeof(device)));
    fputc('\n', out);
    print_means(out, &sums);
}

/* ---- where the time went ---- */

/* A device of these parts, and what it took for all of them, as those tell that told last. */
struct device_sum {
    const char *key, *node;
    struct atoll_device_time time;
};

/* At most limit of them; how many there are. */
static size_t devices_sum(const struct atoll_campaign_progress_row *rows, size_t count,
                          struct device_sum *ret_sums, size_t limit, struct atoll_device_time *ret_all)
{
    size_t device_count = 0;

    *ret_all = (struct atoll_device_time){{0}};
    for (size_t i = 0; i < count; i++) {
        const struct atoll_progress_json *hint = rows[i].progress ? &rows[i].progress->hint : NULL;

        for (size_t d = 0; hint && d < hint->device_count; d++) {
            const struct atoll_campaign_progress_device *device = &hint->devices[d];
            struct atoll_device_time time = atoll_campaign_progress_device_time(device);
            size_t at = 0;

            atoll_device_time_add(ret_all, &time);
            while (at < device_count && at < limit && strcmp(ret_sums[at].key, device->key) != 0)
                at++;
            if (at == device_count && !(atoll_device_time_whole_ns(&time) > 0))
                continue;
            if (at == device_count && at < limit)
                ret_sums[at] = (struct device_sum){.key = device->key, .node = device->node};
            device_count += at == device_count;
            if (at < limit)
                atoll_device_time_add(&ret_sums[at].time, &time);
        }
    }
    return device_count;
}

/* A line a device; one for all where they are many. */
static void print_times(FILE *out, const struct atoll_campaign_progress_row *rows, size_t count)
{
    struct device_sum sums[DEVICES_SHOWN];
    struct atoll_device_time all;
    size_t device_count = devices_sum(rows, count, sums, DEVICES_SHOWN, &all);
    char text[ATOLL_DEVICE_TIME_TEXT];

    if (device_count > DEVICES_SHOWN) {
        atoll_print(out, "more than %d devices: %s\n", DEVICES_SHOWN,
                    atoll_device_time_text(&all, atoll_device_time_whole_ns(&all), text, sizeof(text)));
        return;
    }
    for (size_t i = 0; i < device_count; i++)
        atoll_print(out, "device %zu (%s): %s\n", i, sums[i].node,
                    atoll_device_time_text(&sums[i].time, atoll_device_time_whole_ns(&sums[i].time), text,
                                           sizeof(text)));
}

/* ---- lines ---- */

static void print_speedup(FILE *out, struct atoll_progress_speedup speedup)
{
    char text[32] = "-";

    if (speedup.ratio > 0)
        snprintf(text, sizeof(text), "%s%.2fx", speedup.is_final ? "" : "~", speedup.ratio);
    atoll_print(out, "%9s ", text);
}

static void print_count(FILE *out, int is_known, uint64_t count)
{
    if (is_known)
        fprintf(out, " %8llu", (unsigned long long)count);
    else
        atoll_print(out, " %8s", "-");
}

static void print_tasks(FILE *out, const struct atoll_campaign_progress_row *row, int has_rivals)
{
    const struct atoll_campaign_progress *s = row->progress;

    if (!s) {
        atoll_print(out, "%-20s %12s %12s %9s %s %8s %8s  %-*s %-8s %s\n    %s\n", "-", "-", "-", "-",
                    has_rivals ? "        - " : "", "-", "-", KERNEL_DIGITS, "-", state_text(row), row->name,
                    row->trouble ? row->trouble : "it cannot be read");
        return;
    }
    for (size_t i = 0; i < s->hint.task_count; i++) {
        const struct atoll_campaign_progress_task *t = &s->hint.tasks[i];
        double yardstick_ns = has_rivals ? t->rival_ns : t->baseline_ns;
        char yardstick[32], best[32];

        atoll_print(out, "%-20s %12s %12s ", t->name,
                    yardstick_ns > 0 ? atoll_duration_text(yardstick_ns, yardstick, sizeof(yardstick)) : "-",
                    t->best_ns > 0 ? atoll_duration_text(t->best_ns, best, sizeof(best)) : "-");
        if (has_rivals)
            print_speedup(out, atoll_progress_over_rival(t));
        print_speedup(out, atoll_progress_over_seed(t));
        print_count(out, is_counted(s), task_evaluated(s, t));
        print_count(out, s->has_hint, t->correct);
        atoll_print(out, "  %-*.*s %-8s %s%s%s%s%s\n", KERNEL_DIGITS, KERNEL_DIGITS, *t->best ? t->best : "-",
                    t->is_done ? "done" : state_text(row), row->name, *t->model ? "  " : "", t->model,
                    t->is_done && *t->reason ? "  " : "", t->is_done ? atoll_reason_text(t->reason) : "");
    }
}

static void print_part(FILE *out, const struct atoll_campaign_progress_row *row, int has_rivals,
                       int64_t now_unix_ns)
{
    const struct atoll_campaign_progress *s = row->progress;
    char device[32], age[32], done[48];
    struct means means = {.rival.count = 0};
    size_t done_count = 0;

    if (!s) {
        atoll_print(out, "%-12s %-10s\n    %s\n", row->name, state_text(row),
                    row->trouble ? row->trouble : "it cannot be read");
        return;
    }
    means_add(&means, s);
    for (size_t i = 0; i < s->hint.task_count; i++)
        done_count += s->hint.tasks[i].is_done != 0;
    snprintf(done, sizeof(done), "%zu/%zu", done_count, s->hint.task_count);
    atoll_print(out, "%-12s %-10s %9s ", row->name, state_text(row), done);
    if (has_rivals)
        print_speedup(out, mean_value(&means.rival));
    print_speedup(out, mean_value(&means.seed));
    print_count(out, 1, s->evaluated);
    print_count(out, s->has_hint, s->hint.correct);
    atoll_print(out, " %12s %10s%s%s\n",
                s->has_hint ? atoll_duration_text(1e9 * s->hint.device_s, device, sizeof(device)) : "-",
                s->has_hint ? atoll_duration_text(1e9 * age_s(s, now_unix_ns), age, sizeof(age)) : "-",
                row->holder ? "  " : "", row->holder ? row->holder : "");
}

void atoll_campaign_progress_view_print(FILE *out, const struct atoll_campaign_progress_row *rows,
                                        size_t count, int by_task, int64_t now_unix_ns)
{
    int has_rivals = have_rivals(rows, count);
    const char *speedups = has_rivals ? "  speedup over seed" : "over seed";

    if (by_task) {
        atoll_print(out, "%-20s %12s %12s %s  %8s %8s  %-*s %-8s %s\n", "task", has_rivals ? "rival" : "seed",
                    "best", speedups, "evals", "correct", KERNEL_DIGITS, "kernel", "state", "part");
    } else {
        atoll_print(out, "%-12s %-10s %9s %s  %8s %8s %12s %10s  %s\n", "part", "state", "tasks", speedups,
                    "evals", "correct", "device", "told", "job");
    }
    for (size_t i = 0; i < count; i++)
        if (by_task)
            print_tasks(out, &rows[i], has_rivals);
        else
            print_part(out, &rows[i], has_rivals, now_unix_ns);
    print_sums(out, rows, count);
    print_times(out, rows, count);
}

/* ---- JSON ---- */

static json_t *known_real(int is_known, double value)
{
    return is_known ? json_real(value) : json_null();
}

static json_t *known_count(int is_known, uint64_t value)
{
    return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *known_text(const char *text)
{
    return text && *text ? atoll_json_text(text) : json_null();
}

static void add_progress(json_t *part, const struct atoll_campaign_progress *s, int64_t now_unix_ns)
{
    const struct atoll_progress_json *hint = &s->hint;
    const struct atoll_campaign_progress_asks *a = &hint->asks;
    json_t *tasks = json_array(), *devices = json_array(), *asks, *more;

    asks = !hint->has_asks ? json_null()
                           : json_pack("{s:I, s:I, s:I, s:I, s:f}", "open", (json_int_t)a->open, "answered",
                                       (json_int_t)a->answered, "failed", (json_int_t)a->failed, "tokens",
                                       (json_int_t)a->tokens, "cost_usd", a->cost_usd);
    for (size_t i = 0; i < hint->task_count; i++) {
        const struct atoll_campaign_progress_task *t = &hint->tasks[i];

        struct atoll_progress_speedup rival = atoll_progress_over_rival(t),
                                      seed = atoll_progress_over_seed(t);
        struct atoll_progress_speedup first = t->rival_ns > 0 ? rival : seed;

        json_array_append_new(
            tasks, json_pack("{s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:b, s:s, s:f, s:f, s:o, s:b, s:o, s:o}",
                             "task", atoll_json_text(t->name), "model", known_text(t->model), "evaluated",
                             known_count(is_counted(s), task_evaluated(s, t)), "correct",
                             known_count(s->has_hint, t->correct), "baseline_ns", t->baseline_ns, "best_ns",
                             t->best_ns, "ratio", first.ratio, "final", first.is_final, "ratio_over",
                             t->rival_ns > 0 ? "rival" : "seed", "ratio_seed", seed.ratio, "rival_ns",
                             t->rival_ns, "rival", known_text(t->rival), "done", t->is_done, "reason",
                             known_text(t->is_done ? t->reason : ""), "candidate", known_text(t->best)));
    }
    for (size_t i = 0; i < hint->device_count; i++) {
        struct atoll_device_time time = atoll_campaign_progress_device_time(&hint->devices[i]);
        json_t *device =
            json_pack("{s:o, s:o, s:o}", "key", known_text(hint->devices[i].key), "node",
                      known_text(hint->devices[i].node), "model", known_text(hint->devices[i].model));

        json_object_update_new(device, atoll_device_time_json(&time));
        json_array_append_new(devices, device);
    }
    more = json_pack("{s:o, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "attempt",
                     known_text(s->attempt), "attempts", (json_int_t)s->attempt_count, "evaluated",
                     (json_int_t)s->evaluated, "duelled", (json_int_t)s->duelled, "evaluation_budget",
                     (json_int_t)s->evaluation_budget, "campaign_s", s->campaign_s, "reason",
                     known_text(s->reason), "correct", known_count(s->has_hint, hint->correct), "device_s",
                     known_real(s->has_hint, hint->device_s), "busy", known_real(s->has_hint, hint->busy),
                     "evaluators", known_count(s->has_hint, hint->evaluators), "hint_age_s",
                     known_real(s->has_hint, age_s(s, now_unix_ns)), "asks", asks, "tasks", tasks, "devices",
                     devices);
    json_object_update(part, more);
    json_decref(more);
}

json_t *atoll_campaign_progress_view_json(const struct atoll_campaign_progress_row *rows, size_t count,
                                          int64_t now_unix_ns)
{
    json_t *parts = json_array(), *all;
    const struct mean *first;
    struct sums sums;

    for (size_t i = 0; i < count; i++) {
        json_t *part = json_pack("{s:o, s:s, s:o, s:o}", "part", atoll_json_text(rows[i].name), "state",
                                 state_text(&rows[i]), "holder", known_text(rows[i].holder), "error",
                                 known_text(rows[i].trouble));

        if (rows[i].progress)
            add_progress(part, rows[i].progress, now_unix_ns);
        json_array_append_new(parts, part);
    }
    sums_make(rows, count, &sums);
    first = sums.means.rival.count > 0 ? &sums.means.rival : &sums.means.seed;
    all = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o, s:s, s:o}", "parts", (json_int_t)count, "tasks",
                    (json_int_t)sums.tasks, "timed", (json_int_t)first->count, "evaluated",
                    (json_int_t)sums.evaluated, "duelled", (json_int_t)sums.duelled, "device_s",
                    sums.device_s, "evaluators", (json_int_t)sums.evaluators, "geometric_mean",
                    known_real(first->count > 0, mean_value(first).ratio), "geometric_mean_over",
                    sums.means.rival.count > 0 ? "rival" : "seed", "geometric_mean_seed",
                    known_real(sums.means.seed.count > 0, mean_value(&sums.means.seed).ratio));
    for (size_t i = 0; all && i < ATOLL_STATE_COUNT; i++)
        json_object_set_new(all, state_names[i], json_integer((json_int_t)sums.states[i]));
    return json_pack("{s:o, s:o}", "parts", parts, "sums", all);
}

/* ---- the campaign ---- */

static const char *const phase_names[ATOLL_PHASE_COUNT] = {"done",   "cancelled", "paused", "running",
                                                           "queued", "blocked",   "idle"};

const char *atoll_campaign_phase_name(enum atoll_campaign_phase phase)
{
    return phase < ATOLL_PHASE_COUNT ? phase_names[phase] : "unknown";
}

/* ---- parts ---- */

static void trouble_set(struct atoll_campaign_status *s, size_t i, const struct atoll_err *err)
{
    snprintf(s->troubles[i], sizeof(s->troubles[i]), "%s", err->text);
    s->rows[i].trouble = s->troubles[i];
}

static void part_read(struct atoll_campaign_status *s, size_t i, const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_holder self;

    atoll_lease_holder_self("status", 0, &self);
    if (atoll_campaign_progress_read(path, &s->progresses[i], &err) != 0) {
        trouble_set(s, i, &err);
        return;
    }
    s->rows[i].progress = &s->progresses[i];
    if (atoll_lease_look(path, &self, &s->leases[i], NULL) == 0 && s->leases[i].state == ATOLL_LEASE_HELD) {
        s->rows[i].is_held = 1;
        s->rows[i].holder = s->leases[i].holder.job;
    }
}

static int parts_create(struct atoll_campaign_status *s, size_t count, struct atoll_err *err)
{
    s->progresses = calloc(count, sizeof(*s->progresses));
    s->rows = calloc(count, sizeof(*s->rows));
    s->leases = calloc(count, sizeof(*s->leases));
    s->troubles = calloc(count, sizeof(*s->troubles));
    s->part_count = count;
    if (!s->progresses || !s->rows || !s->leases || !s->troubles)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu parts", count);
    return 0;
}

/* ---- jobs ---- */

static int jobs_pick(struct atoll_campaign_status *s, const struct atoll_job_list *list,
                     struct atoll_err *err)
{
    char name[ATOLL_SWEEP_NAME_BYTES];

    atoll_sweep_job_name(s->sweep, name);
    s->jobs = calloc(list->count + 1, sizeof(*s->jobs));
    if (!s->jobs)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu jobs", list->count);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->jobs[i].name, name) == 0)
            s->jobs[s->job_count++] = list->jobs[i];
    s->jobs_age_s = list->age_s;
    return 0;
}

static int jobs_read(struct atoll_campaign_status *s, double max_age_s, double timeout_s,
                     struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_sweep_site(s->sweep, &why);
    struct atoll_job_list list;
    int status;

    s->jobs_age_s = HUGE_VAL;
    if (!site) {
        snprintf(s->jobs_trouble, sizeof(s->jobs_trouble), "%.500s", why.text);
        return 0;
    }
    if (max_age_s < 0)
        max_age_s = site->limits.poll_s > 0 ? site->limits.poll_s : POLL_S;
    status = atoll_job_list_get(site->launcher, timeout_s, max_age_s, &list, &why);
    atoll_site_destroy(site);
    if (status != 0)
        snprintf(s->jobs_trouble, sizeof(s->jobs_trouble), "%.500s", why.text);
    if (status < 0)
        return 0;
    status = jobs_pick(s, &list, err);
    atoll_job_list_fini(&list);
    return status;
}

/* ---- why nothing runs ---- */

static const struct atoll_job *job_in(const struct atoll_campaign_status *s, int is_running)
{
    for (size_t i = 0; i < s->job_count; i++) {
        enum atoll_job_state state = s->jobs[i].state;
        int runs =
            state == ATOLL_JOB_RUNNING || state == ATOLL_JOB_COMPLETING || state == ATOLL_JOB_SUSPENDED;

        if (state != ATOLL_JOB_UNKNOWN && !atoll_job_has_ended(state) && runs == is_running)
            return &s->jobs[i];
    }
    return NULL;
}

/* The last one that did not end well: what the user would ask for when nothing goes on. */
static const struct atoll_job *job_lost(const struct atoll_campaign_status *s)
{
    const struct atoll_job *last = NULL;

    for (size_t i = 0; i < s->job_count; i++) {
        const struct atoll_job *job = &s->jobs[i];

        if (atoll_job_has_ended(job->state) && (!last || job->end_unix_s >= last->end_unix_s))
            last = job;
    }
    return last && last->state != ATOLL_JOB_COMPLETED ? last : NULL;
}

static void phase_set(struct atoll_campaign_status *s, enum atoll_campaign_phase phase, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
static void phase_set(struct atoll_campaign_status *s, enum atoll_campaign_phase phase, const char *format,
                      ...)
{
    va_list arguments;

    s->phase = phase;
    va_start(arguments, format);
    vsnprintf(s->why, sizeof(s->why), format, arguments);
    va_end(arguments);
}

static void phase_find(struct atoll_campaign_status *s)
{
    const char *dir = s->sweep->dir;
    const struct atoll_job *waiting = job_in(s, 0);
    const struct atoll_job *lost = job_lost(s);
    const char *other = atoll_sweep_waits_for(s->sweep->after, s->sweep->after_count);
    const char *reason = lost && strcmp(lost->reason, "None") != 0 ? lost->reason : "";
    struct stat st;
    int is_held = 0;

    for (size_t i = 0; i < s->sweep->part_count; i++)
        is_held |= s->rows[i].is_held;
    if (atoll_sweep_is_done(dir)) {
        phase_set(s, ATOLL_PHASE_DONE, "%s", "");
    } else if (is_held || job_in(s, 1)) {
        phase_set(s, ATOLL_PHASE_RUNNING, "%s", "");
    } else if (atoll_sweep_is_marked(dir, ATOLL_SWEEP_CANCELLED)) {
        phase_set(s, ATOLL_PHASE_CANCELLED, "it was cancelled; atoll resume %s lets it go on", dir);
    } else if (atoll_sweep_is_marked(dir, ATOLL_SWEEP_PAUSED)) {
        phase_set(s, ATOLL_PHASE_PAUSED, "it was paused; atoll continue %s lets it go on", dir);
    } else if (waiting) {
        phase_set(s, ATOLL_PHASE_QUEUED, "job %s waits: %s", waiting->id,
                  waiting->reason[0] ? waiting->reason : atoll_job_state_name(waiting->state));
    } else if (other) {
        phase_set(s, ATOLL_PHASE_BLOCKED, "%s must be done before", other);
    } else if (stat(dir, &st) == 0 && st.st_uid != geteuid()) { /* launchers list the caller's own jobs */
        phase_set(s, ATOLL_PHASE_IDLE, "no part is worked on; jobs of its owner cannot be seen by you");
    } else if (!(s->jobs_age_s < HUGE_VAL)) {
        phase_set(s, ATOLL_PHASE_IDLE, "no part is worked on, and the scheduler cannot be asked: %.300s",
                  s->jobs_trouble);
    } else if (lost) {
        phase_set(s, ATOLL_PHASE_IDLE,
                  "job %s ended as %s%s%.200s, and no other is in the queue; atoll resume %s submits what it "
                  "wants",
                  lost->id, atoll_job_state_name(lost->state), *reason ? ": " : "", reason, dir);
    } else {
        phase_set(s, ATOLL_PHASE_IDLE, "no job of it is in the queue; atoll resume %s submits what it wants",
                  dir);
    }
}

int atoll_campaign_status_read(const struct atoll_sweep *sweep, double max_age_s, double timeout_s,
                               struct atoll_campaign_status *ret_status, struct atoll_err *err)
{
    *ret_status = (struct atoll_campaign_status){.sweep = sweep, .dir = sweep->dir};
    snprintf(ret_status->id, sizeof(ret_status->id), "%s", sweep->id);
    if (parts_create(ret_status, sweep->part_count, err) != 0)
        goto failed;
    for (size_t i = 0; i < sweep->part_count; i++) {
        struct atoll_err own = ATOLL_ERR_INIT;
        char path[PATH_MAX];

        ret_status->rows[i].name = sweep->parts[i].name;
        if (atoll_sweep_part_path(sweep, i, path, sizeof(path), &own) == 0)
            part_read(ret_status, i, path);
        else
            trouble_set(ret_status, i, &own);
    }
    if (jobs_read(ret_status, max_age_s, timeout_s, err) != 0)
        goto failed;
    phase_find(ret_status);
    return 0;
failed:
    atoll_campaign_status_fini(ret_status);
    return -1;
}

/* ---- a campaign of `atoll run` ---- */

static void run_phase_find(struct atoll_campaign_status *s, double silent_s)
{
    const struct atoll_lease_seen *lease = &s->leases[0];
    const struct atoll_campaign_progress *progress = s->rows[0].progress;

    if (progress && progress->phase == ATOLL_CAMPAIGN_PROGRESS_ENDED) {
        phase_set(s, ATOLL_PHASE_DONE, "%s",
                  *progress->reason ? atoll_reason_text(progress->reason) : "the search has come to its end");
    } else if (s->rows[0].is_held && silent_s <= ATOLL_LEASE_TIME_S) {
        phase_set(s, ATOLL_PHASE_RUNNING, "process %lld on %.60s works on it", (long long)lease->holder.pid,
                  lease->holder.host);
    } else if (s->rows[0].is_held) {
        s->rows[0].is_held = 0;
        phase_set(
            s, ATOLL_PHASE_IDLE,
            "process %lld on %.60s has not moved for %.0f s: it counts as lost; atoll resume %s goes on",
            (long long)lease->holder.pid, lease->holder.host, silent_s, s->dir);
    } else if (progress && progress->phase == ATOLL_CAMPAIGN_PROGRESS_FRESH) {
        phase_set(s, ATOLL_PHASE_IDLE, "nobody has begun it; atoll resume %s does", s->dir);
    } else {
        phase_set(s, ATOLL_PHASE_IDLE,
                  "nobody works on it: it was interrupted or killed; atoll resume %s goes on", s->dir);
    }
}

int atoll_campaign_status_read_run(const char *dir, double silent_s, struct atoll_campaign_status *ret_status,
                                   struct atoll_err *err)
{
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    const char *name;

    if (!campaign)
        return -1;
    *ret_status = (struct atoll_campaign_status){.dir = dir, .jobs_age_s = HUGE_VAL};
    atoll_id_hex(&atoll_campaign_config(campaign)->id, ret_status->id);
    atoll_campaign_close(campaign);
    if (parts_create(ret_status, 1, err) != 0) {
        atoll_campaign_status_fini(ret_status);
        return -1;
    }
    name = strrchr(dir, '/');
    ret_status->rows[0].name = name && name[1] ? name + 1 : dir;
    part_read(ret_status, 0, dir);
    ret_status->rows[0].holder = NULL; /* "local" tells nobody anything */
    run_phase_find(ret_status, silent_s);
    return 0;
}

void atoll_campaign_status_fini(struct atoll_campaign_status *status)
{
    for (size_t i = 0; status->progresses && i < status->part_count; i++)
        if (status->rows && status->rows[i].progress)
            atoll_campaign_progress_fini(&status->progresses[i]);
    free(status->progresses);
    free(status->rows);
    free(status->leases);
    free(status->troubles);
    free(status->jobs);
    *status = (struct atoll_campaign_status){0};
}

/* ---- for people ---- */

static void job_print(const struct atoll_job *job, FILE *out)
{
    char text[32];
    double left_s = (double)job->end_unix_s - (double)time(NULL);

    atoll_print(out, "  job %-12s %-10s", job->id, atoll_job_state_name(job->state));
    if (job->state == ATOLL_JOB_RUNNING && job->end_unix_s > 0 && left_s > 0)
        atoll_print(out, " %s left", atoll_duration_text(left_s * 1e9, text, sizeof(text)));
    if (job->restart_count)
        fprintf(out, " started %u times", job->restart_count + 1);
    atoll_print(out, " %s%s%s\n", job->nodes, job->nodes[0] && job->reason[0] ? " " : "",
                strcmp(job->reason, "None") ? job->reason : "");
}

/* The last things that happened that a user would want to know of. */
static void history_print(const struct atoll_sweep *sweep, FILE *out)
{
    static const char *const kinds[] = {"lost",      "node",    "given-up", "takeover",   "requeue",
                                        "successor", "restart", "left",     "quarantined"};
    char path[PATH_MAX], line[2048], shown[HISTORY_SHOWN][2048];
    size_t count = 0;
    FILE *file = atoll_sweep_path(sweep, ATOLL_SWEEP_HISTORY, path, sizeof(path), NULL) == 0
                     ? fopen(path, "re")
                     : NULL;

    while (file && fgets(line, sizeof(line), file)) {
        json_t *object = json_loads(line, 0, NULL);
        const char *what = json_string_value(json_object_get(object, "what"));
        const char *job = json_string_value(json_object_get(object, "job"));
        const char *text = json_string_value(json_object_get(object, "text"));
        time_t when = (time_t)json_integer_value(json_object_get(object, "unix_s"));
        struct tm local;
        char stamp[32] = "";

        for (size_t i = 0; what && job && text && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            if (strcmp(what, kinds[i]) == 0 && localtime_r(&when, &local)) {
                strftime(stamp, sizeof(stamp), "%m-%d %H:%M:%S", &local);
                snprintf(shown[count++ % HISTORY_SHOWN], sizeof(shown[0]), "  %s job %s: %.1900s", stamp, job,
                         text);
            }
        }
        json_decref(object);
    }
    if (file)
        fclose(file);
    for (size_t i = count > HISTORY_SHOWN ? count - HISTORY_SHOWN : 0; i < count; i++) {
        for (char *c = shown[i % HISTORY_SHOWN]; *c; c++) /* another user's words do not move the cursor */
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        atoll_print(out, "%s\n", shown[i % HISTORY_SHOWN]);
    }
}

void atoll_campaign_status_print(const struct atoll_campaign_status *s, int by_task, FILE *out)
{
    char age[32];

    atoll_print(out, "%s: %s%s%s\n", s->dir, atoll_campaign_phase_name(s->phase), s->why[0] ? ": " : "",
                s->why);
    for (size_t i = 0; i < s->job_count; i++)
        if (!atoll_job_has_ended(s->jobs[i].state))
            job_print(&s->jobs[i], out);
    if (!s->jobs_trouble[0] && s->jobs_age_s > AGE_TOLD_S && s->phase != ATOLL_PHASE_DONE) {
        atoll_print(out, "  jobs are as of %s ago; --fresh asks the scheduler now\n",
                    atoll_duration_text(s->jobs_age_s * 1e9, age, sizeof(age)));
    }
    if (s->jobs_trouble[0] && s->jobs_age_s < HUGE_VAL) {
        atoll_print(out, "  the scheduler did not answer (%s); jobs are as of %s ago\n", s->jobs_trouble,
                    atoll_duration_text(s->jobs_age_s * 1e9, age, sizeof(age)));
    }
    if (s->sweep)
        history_print(s->sweep, out);
    atoll_campaign_progress_view_print(out, s->rows, s->part_count, by_task || !s->sweep,
                                       atoll_clock_unix_ns());
}

/* ---- for programs ---- */

static json_t *job_json(const struct atoll_job *job)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:i, s:I, s:I, s:I}", "job", job->id, "state",
                     atoll_job_state_name(job->state), "reason", atoll_json_text(job->reason), "nodes",
                     atoll_json_text(job->nodes), "restarts", (int)job->restart_count, "submit_unix_s",
                     (json_int_t)job->submit_unix_s, "start_unix_s", (json_int_t)job->start_unix_s,
                     "end_unix_s", (json_int_t)job->end_unix_s);
}

json_t *atoll_campaign_status_json(const struct atoll_campaign_status *s)
{
    json_t *jobs = json_array(), *object;

    for (size_t i = 0; i < s->job_count; i++)
        json_array_append_new(jobs, job_json(&s->jobs[i]));
    object = json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o}", "campaign", atoll_json_text(s->dir), "id",
                       s->id, "kind", s->sweep ? "submitted" : "run", "phase",
                       atoll_campaign_phase_name(s->phase), "why", atoll_json_text(s->why), "jobs", jobs,
                       "jobs_age_s", s->jobs_age_s < HUGE_VAL ? json_real(s->jobs_age_s) : json_null());
    if (object) {
        json_object_update_missing_new(
            object, atoll_campaign_progress_view_json(s->rows, s->part_count, atoll_clock_unix_ns()));
    }
    return object;
}
