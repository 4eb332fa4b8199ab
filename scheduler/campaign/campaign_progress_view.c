#include "scheduler/campaign/campaign_progress_view.h"

#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"
#include "core/ratio_mean.h"
#include "archive-h5/report/query_name.h"
#include "scheduler/campaign/device_time_json.h"

#define DEVICES_SHOWN 8   /* with a line each */
#define WHOLE_COLUMNS 135 /* of a task's line; with rivals 13 more */
#define PART_COLUMNS  106 /* of a part's line; with rivals 13 more */
#define NAME_COLUMNS  20  /* of a task; a longer one stands above its figures */
#define NARROW_NAME   16

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
    struct atoll_ratio_mean ratios;
    int is_unconfirmed; /* one of them is no final comparison's */
};

struct means {
    struct mean rival, seed;
};

static void mean_add(struct mean *mean, struct atoll_progress_speedup speedup)
{
    if (!(speedup.ratio > 0))
        return;
    atoll_ratio_mean_add(&mean->ratios, speedup.ratio, speedup.lo, speedup.hi);
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
    struct atoll_progress_speedup value = {.is_final = !mean->is_unconfirmed};

    value.ratio = atoll_ratio_mean_value(&mean->ratios, &value.lo, &value.hi);
    return value;
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

/* "1.90x (1.85-1.95)"; "~3.00x" where one of its ratios is unconfirmed. */
static const char *mean_text(const struct mean *mean, char *ret_text, size_t bytes)
{
    struct atoll_progress_speedup value = mean_value(mean);
    int length = snprintf(ret_text, bytes, "%s%.2fx", value.is_final ? "" : "~", value.ratio);

    if (value.hi > 0)
        snprintf(ret_text + length, bytes - (size_t)length, " (%.2f-%.2f)", value.lo, value.hi);
    return ret_text;
}

static void print_means(FILE *out, const struct sums *sums)
{
    const struct mean *rival = &sums->means.rival, *seed = &sums->means.seed;
    const struct mean *first = rival->ratios.count > 0 ? rival : seed;
    char text[2][96], second[128] = "";

    if (first->ratios.count == 0)
        return;
    if (first == rival && seed->ratios.count > 0)
        snprintf(second, sizeof(second), ", %s over the seed", mean_text(seed, text[1], sizeof(text[1])));
    atoll_print_line(
        out, 4, "%llu of %zu tasks timed%s, geometric mean %s over the %s%s%s",
        (unsigned long long)first->ratios.count, sums->tasks,
        first == rival ? " beside a rival" : "; no rival measured",
        mean_text(first, text[0], sizeof(text[0])), first == rival ? "rival" : "seed", second,
        first->is_unconfirmed || seed->is_unconfirmed ? " (~ the quotient of two times measured apart)" : "");
}

/* ", 5m 00s of 10m 00s of device time": budget 0 is none.  What was under way at the end of a budget may take more:
 * ", 10m 05s of device time (10m 00s were given)". */
static void print_used(FILE *out, double used_s, double budget_s, const char *what)
{
    char used[32], budget[32];
    int is_beyond;

    if (!(used_s > 0) && !(budget_s > 0))
        return;
    atoll_duration_text(1e9 * used_s, used, sizeof(used));
    atoll_duration_text(1e9 * budget_s, budget, sizeof(budget));
    is_beyond = used_s > budget_s && strcmp(used, budget) != 0;
    atoll_print(out, ", %s", used);
    if (budget_s > 0 && !is_beyond)
        atoll_print(out, " of %s", budget);
    atoll_print(out, " of %s", what);
    if (budget_s > 0 && is_beyond)
        atoll_print(out, " (%s were given)", budget);
}

/* What parts used of their budgets, as extensions left those; a sum has one where each part has one.  The clock is told of one
 * part only, models where they cost something or may. */
static void print_budgets(FILE *out, const struct atoll_campaign_progress_row *rows, size_t count,
                          const struct sums *sums)
{
    struct atoll_progress_json all = {.tokens = 0};

    for (size_t i = 0; i < count; i++) {
        const struct atoll_campaign_progress *s = rows[i].progress;
        struct atoll_progress_json own = s ? s->hint : all;

        own.evaluation_budget = s ? s->evaluation_budget : 0;
#define SUM(field) all.field = own.field > 0 && (i == 0 || all.field > 0) ? all.field + own.field : 0
        SUM(evaluation_budget);
        SUM(device_budget_s);
        SUM(token_budget);
        SUM(money_budget_usd);
#undef SUM
        all.tokens += s ? own.tokens : 0;
        all.cost_usd += s ? own.cost_usd : 0;
    }
    fprintf(out, "; %llu ", (unsigned long long)sums->evaluated);
    if (all.evaluation_budget)
        fprintf(out, "of %llu ", (unsigned long long)all.evaluation_budget);
    fputs("evaluations", out);
    if (count == 1 && rows[0].progress && rows[0].progress->hint.wall_budget_s > 0)
        print_used(out, rows[0].progress->campaign_s, rows[0].progress->hint.wall_budget_s, "clock");
    print_used(out, sums->device_s, all.device_budget_s, "device time");
    if (all.tokens || all.token_budget)
        fprintf(out, ", %llu ", (unsigned long long)all.tokens);
    if (all.token_budget)
        fprintf(out, "of %llu ", (unsigned long long)all.token_budget);
    if (all.tokens || all.token_budget)
        fputs("tokens", out);
    if (all.cost_usd > 0 || all.money_budget_usd > 0)
        fprintf(out, ", $%.2f", all.cost_usd);
    if (all.money_budget_usd > 0)
        fprintf(out, " of $%.2f", all.money_budget_usd);
}

static void print_sums(FILE *out, const struct atoll_campaign_progress_row *rows, size_t count)
{
    struct sums sums;
    const char *between = ": ";
    char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);

    sums_make(rows, count, &sums);
    if (line) {
        atoll_print(line, "%zu task%s in %zu part%s", sums.tasks, sums.tasks == 1 ? "" : "s", count,
                    count == 1 ? "" : "s");
        for (size_t i = 0; i < ATOLL_STATE_COUNT; i++) {
            if (sums.states[i]) {
                atoll_print(line, "%s%zu %s", between, sums.states[i], state_names[i]);
                between = ", ";
            }
        }
        print_budgets(line, rows, count, &sums);
        if (fclose(line) == 0)
            atoll_print_line(out, 4, "%s", text);
        free(text);
    }
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
        atoll_print_line(out, 4, "device %zu (%s): %s", i, sums[i].node,
                         atoll_device_time_text(&sums[i].time, atoll_device_time_whole_ns(&sums[i].time),
                                                text, sizeof(text)));
}

/* ---- lines ---- */

static void print_speedup(FILE *out, struct atoll_progress_speedup speedup)
{
    char text[48];

    atoll_print(out, "%12s ",
                atoll_ratio_interval_text(!speedup.is_final, speedup.ratio, speedup.lo, speedup.hi, text,
                                          sizeof(text)));
}

/* The same in two columns. */
static void print_speedup_wide(FILE *out, struct atoll_progress_speedup speedup)
{
    char text[48] = "-", interval[48] = "-";

    if (speedup.ratio > 0)
        snprintf(text, sizeof(text), "%s%.2fx", speedup.is_final ? "" : "~", speedup.ratio);
    if (speedup.hi > 0)
        snprintf(interval, sizeof(interval), "%.2f-%.2f", speedup.lo, speedup.hi);
    atoll_print(out, "%9s %13s ", text, interval);
}

static void print_count(FILE *out, int columns, int is_known, uint64_t count)
{
    if (is_known)
        fprintf(out, "%*llu ", columns, (unsigned long long)count);
    else
        atoll_print(out, "%*s ", columns, "-");
}

static void print_time(FILE *out, double ns, double lo, double hi)
{
    char text[48];

    atoll_print(out, "%13s ", atoll_duration_interval_text(ns, lo, hi, text, sizeof(text)));
}

static void print_name(FILE *out, int columns, const char *name)
{
    if ((int)strlen(name) > columns)
        atoll_print(out, "%s\n%*s ", name, columns, "");
    else
        atoll_print(out, "%-*s ", columns, name);
}

/* A terminal on which a whole line does not fit: what the best is compared with, correct ones, kernel and the part's name are left
 * out, intervals are told in percent. */
static void print_task_narrow(FILE *out, const struct atoll_campaign_progress_row *row,
                              const struct atoll_campaign_progress_task *t, int has_rivals)
{
    const struct atoll_campaign_progress *s = row->progress;
    struct atoll_progress_speedup seed = atoll_progress_over_seed(t),
                                  first = has_rivals ? atoll_progress_over_rival(t) : seed;

    print_name(out, NARROW_NAME, t->name);
    print_time(out, t->best_ns, t->best_lo_ns, t->best_hi_ns);
    print_speedup(out, first);
    print_count(out, 5, first.pair_count > 0, first.pair_count);
    if (has_rivals)
        print_speedup(out, seed);
    print_count(out, 6, is_counted(s), task_evaluated(s, t));
    atoll_print(out, " %s\n", t->is_done ? "done" : state_text(row));
}

static void print_task_wide(FILE *out, const struct atoll_campaign_progress_row *row,
                            const struct atoll_campaign_progress_task *t, int has_rivals)
{
    const struct atoll_campaign_progress *s = row->progress;
    struct atoll_progress_speedup seed = atoll_progress_over_seed(t),
                                  first = has_rivals ? atoll_progress_over_rival(t) : seed;

    print_name(out, NAME_COLUMNS, t->name);
    if (has_rivals)
        print_time(out, t->rival_ns, t->rival_lo_ns, t->rival_hi_ns);
    else
        print_time(out, t->baseline_ns, t->baseline_lo_ns, t->baseline_hi_ns);
    print_time(out, t->best_ns, t->best_lo_ns, t->best_hi_ns);
    print_speedup_wide(out, first);
    print_count(out, 5, first.pair_count > 0, first.pair_count);
    if (has_rivals)
        print_speedup(out, seed);
    print_count(out, 8, is_counted(s), task_evaluated(s, t));
    print_count(out, 8, s->has_hint, t->correct);
    atoll_print(out, " %-*.*s %-8s %s%s%s%s%s\n", ATOLL_QUERY_ID_DIGITS, ATOLL_QUERY_ID_DIGITS,
                *t->best ? t->best : "-", t->is_done ? "done" : state_text(row), row->name,
                *t->model ? "  " : "", t->model, t->is_done && *t->reason ? "  " : "",
                t->is_done ? atoll_reason_text(t->reason) : "");
}

static void print_tasks(FILE *out, const struct atoll_campaign_progress_row *row, int has_rivals,
                        int is_narrow)
{
    const struct atoll_campaign_progress *s = row->progress;

    if (!s) {
        atoll_print(out, "%s: %s\n", row->name, state_text(row));
        atoll_print_line(out, 6, "    %s", row->trouble ? row->trouble : "it cannot be read");
        return;
    }
    for (size_t i = 0; i < s->hint.task_count; i++) {
        const struct atoll_campaign_progress_task *t = &s->hint.tasks[i];
        char waits[96];
        const char *unstable =
            atoll_unstable_text(t->unstable_rounds, t->unstable_limit, waits, sizeof(waits));

        if (is_narrow)
            print_task_narrow(out, row, t, has_rivals);
        else
            print_task_wide(out, row, t, has_rivals);
        if (*unstable)
            atoll_print_line(out, 6, "    %s", unstable);
    }
}

/* Of a narrow terminal: without the correct ones, the device's time, and when it was told. */
static void print_part(FILE *out, const struct atoll_campaign_progress_row *row, int has_rivals,
                       int is_narrow, int64_t now_unix_ns)
{
    const struct atoll_campaign_progress *s = row->progress;
    char device[32], age[32], done[48];
    struct means means = {.rival.is_unconfirmed = 0};
    size_t done_count = 0;

    if (!s) {
        atoll_print(out, "%-12s %s\n", row->name, state_text(row));
        atoll_print_line(out, 6, "    %s", row->trouble ? row->trouble : "it cannot be read");
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
    print_count(out, 8, 1, s->evaluated);
    if (!is_narrow) {
        print_count(out, 8, s->has_hint, s->hint.correct);
        atoll_print(out, "%12s %10s ",
                    s->has_hint ? atoll_duration_text(1e9 * s->hint.device_s, device, sizeof(device)) : "-",
                    s->has_hint ? atoll_duration_text(1e9 * age_s(s, now_unix_ns), age, sizeof(age)) : "-");
    }
    atoll_print(out, "%s%s\n", row->holder ? " " : "", row->holder ? row->holder : "");
}

static void print_tasks_head(FILE *out, int has_rivals, int is_narrow)
{
    if (is_narrow) {
        atoll_print(out, "%-*s %13s %12s %5s %s%6s  %s\n", NARROW_NAME, "task", "best +-",
                    has_rivals ? "speedup +-" : "over seed +-", "pairs", has_rivals ? "over seed +- " : "",
                    "evals", "state");
        return;
    }
    atoll_print(out, "%-*s %13s %13s %9s %13s %5s %s%8s %8s  %-*s %-8s %s\n", NAME_COLUMNS, "task",
                has_rivals ? "rival +-" : "seed +-", "best +-", has_rivals ? "speedup" : "over seed",
                "95 % interval", "pairs", has_rivals ? "over seed +- " : "", "evals", "correct",
                ATOLL_QUERY_ID_DIGITS, "kernel", "state", "part");
}

static void print_parts_head(FILE *out, int has_rivals, int is_narrow)
{
    atoll_print(out, "%-12s %-10s %9s %s%12s %8s ", "part", "state", "tasks",
                has_rivals ? "  speedup +- " : "", "over seed +-", "evals");
    if (!is_narrow)
        atoll_print(out, "%8s %12s %10s ", "correct", "device", "told");
    fputs(" job\n", out);
}

void atoll_campaign_progress_view_print(FILE *out, const struct atoll_campaign_progress_row *rows,
                                        size_t count, int by_task, int64_t now_unix_ns)
{
    int has_rivals = have_rivals(rows, count);
    size_t columns = atoll_print_columns(out);
    int is_narrow =
        columns > 0 && columns < (by_task ? WHOLE_COLUMNS : PART_COLUMNS) + (has_rivals ? 13u : 0u);

    if (by_task)
        print_tasks_head(out, has_rivals, is_narrow);
    else
        print_parts_head(out, has_rivals, is_narrow);
    for (size_t i = 0; i < count; i++)
        if (by_task)
            print_tasks(out, &rows[i], has_rivals, is_narrow);
        else
            print_part(out, &rows[i], has_rivals, is_narrow, now_unix_ns);
    print_sums(out, rows, count);
    print_times(out, rows, count);
}

/* ---- JSON ---- */

static json_t *known_real(int is_known, double value)
{
    return is_known ? json_real(value) : json_null();
}

static json_t *known_interval(double lo, double hi)
{
    return hi > 0 ? json_pack("[f, f]", lo, hi) : json_null();
}

static json_t *known_count(int is_known, uint64_t value)
{
    return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *known_text(const char *text)
{
    return text && *text ? atoll_json_text(text) : json_null();
}

static json_t *task_json(const struct atoll_campaign_progress *s,
                         const struct atoll_campaign_progress_task *t)
{
    struct atoll_progress_speedup rival = atoll_progress_over_rival(t), seed = atoll_progress_over_seed(t);
    struct atoll_progress_speedup first = t->rival_ns > 0 ? rival : seed;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:b, s:s, s:f, s:f, s:o, s:b, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "task", atoll_json_text(t->name), "model", known_text(t->model), "evaluated",
        known_count(is_counted(s), task_evaluated(s, t)), "correct", known_count(s->has_hint, t->correct),
        "baseline_ns", t->baseline_ns, "best_ns", t->best_ns, "ratio", first.ratio, "final", first.is_final,
        "ratio_over", t->rival_ns > 0 ? "rival" : "seed", "ratio_seed", seed.ratio, "rival_ns", t->rival_ns,
        "rival", known_text(t->rival), "done", t->is_done, "reason", known_text(t->is_done ? t->reason : ""),
        "candidate", known_text(t->best), "baseline_interval_ns",
        known_interval(t->baseline_lo_ns, t->baseline_hi_ns), "best_interval_ns",
        known_interval(t->best_lo_ns, t->best_hi_ns), "ratio_interval", known_interval(first.lo, first.hi),
        "ratio_seed_interval", known_interval(seed.lo, seed.hi), "rival_interval_ns",
        known_interval(t->rival_lo_ns, t->rival_hi_ns), "pairs",
        known_count(first.pair_count > 0, first.pair_count), "pairs_seed",
        known_count(seed.pair_count > 0, seed.pair_count));
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
    for (size_t i = 0; i < hint->task_count; i++)
        json_array_append_new(tasks, task_json(s, &hint->tasks[i]));
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
    more =
        json_pack("{s:f, s:f, s:I, s:f, s:o, s:o}", "wall_budget_s", hint->wall_budget_s, "device_budget_s",
                  hint->device_budget_s, "token_budget", (json_int_t)hint->token_budget, "money_budget_usd",
                  hint->money_budget_usd, "tokens", known_count(s->has_hint, hint->tokens), "cost_usd",
                  known_real(s->has_hint, hint->cost_usd));
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
    first = sums.means.rival.ratios.count > 0 ? &sums.means.rival : &sums.means.seed;
    all = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o, s:s, s:o}", "parts", (json_int_t)count, "tasks",
                    (json_int_t)sums.tasks, "timed", (json_int_t)first->ratios.count, "evaluated",
                    (json_int_t)sums.evaluated, "duelled", (json_int_t)sums.duelled, "device_s",
                    sums.device_s, "evaluators", (json_int_t)sums.evaluators, "geometric_mean",
                    known_real(first->ratios.count > 0, mean_value(first).ratio), "geometric_mean_over",
                    sums.means.rival.ratios.count > 0 ? "rival" : "seed", "geometric_mean_seed",
                    known_real(sums.means.seed.ratios.count > 0, mean_value(&sums.means.seed).ratio));
    struct atoll_progress_speedup mean = mean_value(first), mean_seed = mean_value(&sums.means.seed);
    json_object_set_new(all, "geometric_mean_interval", known_interval(mean.lo, mean.hi));
    json_object_set_new(all, "geometric_mean_seed_interval", known_interval(mean_seed.lo, mean_seed.hi));
    for (size_t i = 0; all && i < ATOLL_STATE_COUNT; i++)
        json_object_set_new(all, state_names[i], json_integer((json_int_t)sums.states[i]));
    return json_pack("{s:o, s:o}", "parts", parts, "sums", all);
}
