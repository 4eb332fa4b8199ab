#include "scheduler/campaign/campaign_progress_view.h"

#include <math.h>
#include <string.h>

#include "base/print.h"
#include "base/units.h"
#include "base/json.h"
#include "core/decision.h"

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

/* 0 while unknown. */
static double speedup_of(const struct atoll_campaign_progress_task *task)
{
    if (task->final_ratio > 0)
        return task->final_ratio;
    return task->baseline_ns > 0 && task->best_ns > 0 ? task->baseline_ns / task->best_ns : 0;
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

/* Geometric mean of tasks' speedups. */
struct mean {
    double logs;
    size_t count;
    int all_final;
};

static void mean_add(struct mean *mean, const struct atoll_campaign_progress *s)
{
    for (size_t i = 0; i < s->hint.task_count; i++) {
        double speedup = speedup_of(&s->hint.tasks[i]);

        if (speedup > 0) {
            mean->logs += log(speedup);
            mean->count++;
            mean->all_final &= s->hint.tasks[i].final_ratio > 0;
        }
    }
}

static double mean_value(const struct mean *mean)
{
    return mean->count ? exp(mean->logs / (double)mean->count) : 0;
}

struct sums {
    size_t states[ATOLL_STATE_COUNT], tasks;
    uint64_t evaluated, duelled, evaluators;
    double device_s;
    struct mean mean;
};

static void sums_make(const struct atoll_campaign_progress_row *rows, size_t count, struct sums *ret_sums)
{
    *ret_sums = (struct sums){.mean.all_final = 1};
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
        mean_add(&ret_sums->mean, s);
    }
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
    if (sums.mean.count > 0) {
        atoll_print(out, "%zu of %zu tasks timed, geometric mean %.2fx%s\n", sums.mean.count, sums.tasks,
                    mean_value(&sums.mean),
                    sums.mean.all_final ? "" : " (* not from an interleaved final comparison)");
    }
}

/* ---- lines ---- */

static void print_speedup(FILE *out, double speedup, int is_final)
{
    if (speedup > 0)
        atoll_print(out, "%8.2fx%s ", speedup, is_final ? " " : "*");
    else
        atoll_print(out, "%9s  ", "-");
}

static void print_count(FILE *out, int is_known, uint64_t count)
{
    if (is_known)
        fprintf(out, " %8llu", (unsigned long long)count);
    else
        atoll_print(out, " %8s", "-");
}

static void print_tasks(FILE *out, const struct atoll_campaign_progress_row *row)
{
    const struct atoll_campaign_progress *s = row->progress;

    if (!s) {
        atoll_print(out, "%-20s %12s %12s %9s   %8s %8s  %-8s %s\n    %s\n", "-", "-", "-", "-", "-", "-",
                    state_text(row), row->name, row->trouble ? row->trouble : "it cannot be read");
        return;
    }
    for (size_t i = 0; i < s->hint.task_count; i++) {
        const struct atoll_campaign_progress_task *t = &s->hint.tasks[i];
        char baseline[32], best[32];

        atoll_print(out, "%-20s %12s %12s ", t->name,
                    t->baseline_ns > 0 ? atoll_duration_text(t->baseline_ns, baseline, sizeof(baseline))
                                       : "-",
                    t->best_ns > 0 ? atoll_duration_text(t->best_ns, best, sizeof(best)) : "-");
        print_speedup(out, speedup_of(t), t->final_ratio > 0);
        print_count(out, is_counted(s), task_evaluated(s, t));
        print_count(out, s->has_hint, t->correct);
        atoll_print(out, "  %-8s %s%s%s%s%s\n", t->is_done ? "done" : state_text(row), row->name,
                    *t->model ? "  " : "", t->model, t->is_done && *t->reason ? "  " : "",
                    t->is_done ? atoll_reason_text(t->reason) : "");
    }
}

static void print_part(FILE *out, const struct atoll_campaign_progress_row *row, int64_t now_unix_ns)
{
    const struct atoll_campaign_progress *s = row->progress;
    char device[32], age[32], done[48];
    struct mean mean = {.all_final = 1};
    size_t done_count = 0;

    if (!s) {
        atoll_print(out, "%-12s %-10s\n    %s\n", row->name, state_text(row),
                    row->trouble ? row->trouble : "it cannot be read");
        return;
    }
    mean_add(&mean, s);
    for (size_t i = 0; i < s->hint.task_count; i++)
        done_count += s->hint.tasks[i].is_done != 0;
    snprintf(done, sizeof(done), "%zu/%zu", done_count, s->hint.task_count);
    atoll_print(out, "%-12s %-10s %9s ", row->name, state_text(row), done);
    print_speedup(out, mean_value(&mean), mean.all_final);
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
    if (by_task) {
        atoll_print(out, "%-20s %12s %12s %9s   %8s %8s  %-8s %s\n", "task", "baseline", "best", "speedup",
                    "evals", "correct", "state", "part");
    } else {
        atoll_print(out, "%-12s %-10s %9s %9s   %8s %8s %12s %10s  %s\n", "part", "state", "tasks", "speedup",
                    "evals", "correct", "device", "told", "job");
    }
    for (size_t i = 0; i < count; i++)
        if (by_task)
            print_tasks(out, &rows[i]);
        else
            print_part(out, &rows[i], now_unix_ns);
    print_sums(out, rows, count);
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
    json_t *tasks = json_array(), *asks, *more;

    asks = !hint->has_asks ? json_null()
                           : json_pack("{s:I, s:I, s:I, s:I, s:f}", "open", (json_int_t)a->open, "answered",
                                       (json_int_t)a->answered, "failed", (json_int_t)a->failed, "tokens",
                                       (json_int_t)a->tokens, "cost_usd", a->cost_usd);
    for (size_t i = 0; i < hint->task_count; i++) {
        const struct atoll_campaign_progress_task *t = &hint->tasks[i];

        json_array_append_new(tasks, json_pack("{s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:b, s:b, s:o}", "task",
                                               atoll_json_text(t->name), "model", known_text(t->model),
                                               "evaluated", known_count(is_counted(s), task_evaluated(s, t)),
                                               "correct", known_count(s->has_hint, t->correct), "baseline_ns",
                                               t->baseline_ns, "best_ns", t->best_ns, "ratio", speedup_of(t),
                                               "final", t->final_ratio > 0, "done", t->is_done, "reason",
                                               known_text(t->is_done ? t->reason : "")));
    }
    more = json_pack("{s:o, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "attempt",
                     known_text(s->attempt), "attempts", (json_int_t)s->attempt_count, "evaluated",
                     (json_int_t)s->evaluated, "duelled", (json_int_t)s->duelled, "evaluation_budget",
                     (json_int_t)s->evaluation_budget, "campaign_s", s->campaign_s, "reason",
                     known_text(s->reason), "correct", known_count(s->has_hint, hint->correct), "device_s",
                     known_real(s->has_hint, hint->device_s), "busy", known_real(s->has_hint, hint->busy),
                     "evaluators", known_count(s->has_hint, hint->evaluators), "hint_age_s",
                     known_real(s->has_hint, age_s(s, now_unix_ns)), "asks", asks, "tasks", tasks);
    json_object_update(part, more);
    json_decref(more);
}

json_t *atoll_campaign_progress_view_json(const struct atoll_campaign_progress_row *rows, size_t count,
                                          int64_t now_unix_ns)
{
    json_t *parts = json_array(), *all;
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
    all = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "parts", (json_int_t)count, "tasks",
                    (json_int_t)sums.tasks, "timed", (json_int_t)sums.mean.count, "evaluated",
                    (json_int_t)sums.evaluated, "duelled", (json_int_t)sums.duelled, "device_s",
                    sums.device_s, "evaluators", (json_int_t)sums.evaluators, "geometric_mean",
                    known_real(sums.mean.count > 0, mean_value(&sums.mean)));
    for (size_t i = 0; all && i < ATOLL_STATE_COUNT; i++)
        json_object_set_new(all, state_names[i], json_integer((json_int_t)sums.states[i]));
    return json_pack("{s:o, s:o}", "parts", parts, "sums", all);
}
