/* Every candidate is right and as fast as its incumbent, so that it is measured to the end. */
#include <stdlib.h>
#include <string.h>

#include "bench/report.h"
#include "bench/session.h"

/* Seconds per candidate of KernelBench's own harness on an H200 (5 correctness trials, 100 timed), issue 3. */
static const struct {
    const char *task;
    double seconds;
} yardsticks[] = {{"matmul", 24}, {"relu_huge", 80}};

static double yardstick_of(const char *task)
{
    for (size_t i = 0; i < sizeof(yardsticks) / sizeof(yardsticks[0]); i++)
        if (strcmp(yardsticks[i].task, task) == 0)
            return yardsticks[i].seconds;
    return 0;
}

struct standing {
    size_t correct, dropped, wide;
    double draws, compared, samples, width, median_ns;
};

static void standing_make(const struct atoll_session *s, const struct atoll_drive_record *records,
                          size_t count, struct standing *ret_standing)
{
    double *widths = calloc(2 * count + 1, sizeof(*widths));
    struct atoll_spread width, median;
    memset(ret_standing, 0, sizeof(*ret_standing));
    for (size_t i = 0; widths && i < count; i++) {
        const struct atoll_drive_record *e = &records[i];
        if (e->verdict != ATOLL_V_CORRECT)
            continue;
        widths[ret_standing->correct] = e->half_width;
        widths[count + ret_standing->correct++] = e->median_ns;
        ret_standing->dropped += (e->flags & ATOLL_TIMING_DROPPED_EARLY) != 0;
        ret_standing->wide += e->half_width > s->setup.interval_target;
        ret_standing->draws += e->draws;
        ret_standing->compared += e->compared;
        ret_standing->samples += e->samples;
    }
    if (widths && ret_standing->correct) {
        double n = (double)ret_standing->correct;
        atoll_spread_of(widths, ret_standing->correct, &width);
        atoll_spread_of(widths + count, ret_standing->correct, &median);
        ret_standing->width = width.median;
        ret_standing->median_ns = median.median;
        ret_standing->draws /= n;
        ret_standing->compared /= n;
        ret_standing->samples /= n;
    }
    free(widths);
}

static void yardstick_print(struct atoll_session *s, const char *task, const char *seed,
                            const struct atoll_drive_series *series, const struct standing *st)
{
    double seconds = series->wall_ns / 1e9 / (double)series->answered, other = yardstick_of(task);
    double occupied_ns = 0;
    for (size_t i = 0; i < series->answered; i++)
        occupied_ns += series->records[i].occupied_ns;
    printf("%-10s %-10s %5zu %7zu %7zu %9.4f %9.1f %6.1f %8.1f %7.1f %9.1f %8.3f %5zu %7.1f\n", task, seed,
           series->answered, st->correct, st->dropped, seconds, other / seconds, st->draws, st->compared,
           st->samples, st->median_ns / 1e3, 100 * st->width, st->wide, 100 * occupied_ns / series->wall_ns);
    fflush(stdout);
    if (s->json)
        fprintf(s->json,
                "  {\"task\": \"%s\", \"seed\": \"%s\", \"count\": %zu, \"correct\": %zu, \"dropped\": %zu, "
                "\"s_per_candidate\": %.5f, \"ratio\": %.2f, \"draws\": %.2f, \"compared\": %.2f, "
                "\"samples\": %.2f, \"median_ns\": %.0f, \"half_width\": %.6f, \"wider_than_target\": %zu}",
                task, seed, series->answered, st->correct, st->dropped, seconds, other / seconds, st->draws,
                st->compared, st->samples, st->median_ns, st->width < 1 ? st->width : -1.0, st->wide);
}

/* All seeds of one task; their own time is the incumbent, so none falls behind. */
static int task_measure(struct atoll_session *s, uint32_t task, const double *medians, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    size_t count = atoll_mix_seeds(s->tasks.tasks[task], seeds);
    struct atoll_drive_record *records = calloc(s->options.each, sizeof(*records));
    int rc = records ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the results");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct atoll_drive_series series;
        struct standing st;
        rc = atoll_session_seed_run(s, task, seeds[i], (unsigned)(i * s->options.each), s->options.each,
                                    medians[i], records, &series, err);
        if (rc != 0)
            break;
        standing_make(s, records, series.answered, &st);
        if (s->json)
            fputs(task || i ? ",\n" : "", s->json);
        yardstick_print(s, s->tasks.tasks[task]->name, s->tasks.tasks[task]->seeds[seeds[i]].name, &series,
                        &st);
    }
    free(records);
    return rc;
}

/* Keeps the two tasks. */
static void tasks_reduce(struct atoll_mix_tasks *tasks)
{
    size_t kept = 0;
    for (size_t i = 0; i < tasks->count; i++)
        if (yardstick_of(tasks->tasks[i]->name) > 0)
            tasks->tasks[kept++] = tasks->tasks[i];
        else
            atoll_task_destroy(tasks->tasks[i]);
    tasks->count = kept;
}

int atoll_yardstick_run(struct atoll_session *s, struct atoll_err *err)
{
    static double medians[ATOLL_MIX_TASK_LIMIT][ATOLL_TASK_SEED_LIMIT];
    tasks_reduce(&s->tasks);
    if (s->tasks.count == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "neither matmul nor relu_huge is among the tasks");
    if (atoll_session_open(s, err) != 0 || atoll_session_warm(s, medians, err) != 0)
        return -1;
    printf("\n%-10s %-10s %5s %7s %7s %9s %9s %6s %8s %7s %9s %8s %5s %7s\n", "task", "seed", "count",
           "correct", "dropped", "s each", "times", "draws", "in full", "samples", "median us", "width %",
           "wide", "busy %");
    if (s->json)
        fprintf(s->json, ",\n \"counters_option\": \"%s\", \"yardstick\": [\n", s->options.counters);
    for (uint32_t t = 0; t < s->tasks.count; t++)
        if (task_measure(s, t, medians[t], err) != 0)
            return -1;
    if (s->json)
        fprintf(s->json, "]");
    printf("times: KernelBench's %.0f s (matmul) and %.0f s (elementwise) over s each; wide: medians not "
           "known to "
           "%.1f %%\n",
           yardsticks[0].seconds, yardsticks[1].seconds, 100 * s->setup.interval_target);
    return 0;
}
