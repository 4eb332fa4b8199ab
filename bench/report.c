#include "bench/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS 3600e9

/* ---- sums ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void atoll_spread_of(double *values, size_t count, struct atoll_spread *ret_spread)
{
    memset(ret_spread, 0, sizeof(*ret_spread));
    if (count == 0)
        return;
    qsort(values, count, sizeof(*values), ascending);
    for (size_t i = 0; i < count; i++)
        ret_spread->sum += values[i];
    ret_spread->count = count;
    ret_spread->mean = ret_spread->sum / (double)count;
    ret_spread->median = 0.5 * (values[(count - 1) / 2] + values[count / 2]);
    ret_spread->p90 = values[(size_t)ceil(0.9 * (double)count) - 1];
}

static void verdicts_make(struct atoll_report *r, double *scratch)
{
    for (int v = 0; v < ATOLL_VERDICT_COUNT; v++) {
        size_t count = 0;
        for (size_t i = 0; i < r->count; i++)
            if ((int)r->records[i].verdict == v)
                scratch[count++] = r->records[i].occupied_ns;
        atoll_spread_of(scratch, count, &r->verdicts[v]);
    }
}

static void split_make(struct atoll_report *r, double occupied_ns)
{
    double count = (double)r->count;
    struct atoll_split *s = &r->split;
    for (size_t i = 0; i < r->count; i++) {
        s->compile_ns += r->records[i].compile_ns / count;
        s->check_ns += r->records[i].check_ns / count;
        s->sampling_ns += r->records[i].sampling_ns / count;
        s->counters_ns += r->records[i].counters_ns / count;
    }
    s->other_ns = occupied_ns / count - s->check_ns - s->sampling_ns - s->counters_ns;
    s->idle_ns = (r->wall_ns - occupied_ns) / count;
}

/* Once there is nothing more to order, the device waits for whatever takes longest to compile. */
static void fed_make(struct atoll_report *r)
{
    double occupied_ns = 0;
    r->fed_ns = 0;
    for (size_t i = 0; i < r->count; i++)
        r->fed_ns = fmax(r->fed_ns, r->records[i].ordered_ns);
    for (size_t i = 0; i < r->count; i++) {
        double end_ns = r->records[i].answered_ns, begin_ns = end_ns - r->records[i].occupied_ns;
        occupied_ns += fmax(0, fmin(end_ns, r->fed_ns) - begin_ns);
    }
    r->fed_share = r->fed_ns > 0 ? fmin(1, occupied_ns / r->fed_ns) : 0;
}

void atoll_report_make(struct atoll_report *r)
{
    double occupied_ns = 0, candidate_ns = 0, *scratch = malloc((r->count + 1) * sizeof(*scratch));
    r->hang_ns = 0;
    r->hang_count = r->as_meant_count = r->read_count = r->known_count = 0;
    r->split = (struct atoll_split){0};
    for (size_t i = 0; i < r->count; i++) {
        const struct atoll_drive_record *record = &r->records[i];
        int hung = record->verdict == ATOLL_V_TIMEOUT;
        occupied_ns += record->occupied_ns;
        candidate_ns += record->candidate_ns;
        r->hang_ns += hung ? record->occupied_ns : 0;
        r->hang_count += hung ? 1 : 0;
        r->read_count += record->counters_ns > 0 ? 1 : 0;
        r->known_count += record->tier == ATOLL_TIER_COUNTERS && !(record->counters_ns > 0) ? 1 : 0;
        r->as_meant_count += atoll_mix_is_as_meant(record->mutant, record->verdict) ? 1 : 0;
    }
    r->per_hour = (double)r->count / r->wall_ns * HOUR_NS;
    r->per_hour_without_hangs = (double)(r->count - r->hang_count) / (r->wall_ns - r->hang_ns) * HOUR_NS;
    r->occupied_share = occupied_ns / r->wall_ns;
    r->candidate_share = candidate_ns / r->wall_ns;
    fed_make(r);
    if (r->count)
        split_make(r, occupied_ns);
    if (scratch)
        verdicts_make(r, scratch);
    free(scratch);
}

/* ---- by task ---- */

struct row {
    size_t count, correct, dropped;
    double occupied_ns, least_ns, width, draws, compared; /* occupied, width, draws: means of correct ones */
};

static void row_make(const struct atoll_report *r, uint32_t task, struct row *ret_row)
{
    double *widths = malloc((r->count + 1) * sizeof(*widths));
    struct atoll_spread spread;
    memset(ret_row, 0, sizeof(*ret_row));
    for (size_t i = 0; widths && i < r->count; i++) {
        const struct atoll_drive_record *e = &r->records[i];
        ret_row->count += e->task == task;
        if (e->task != task || e->verdict != ATOLL_V_CORRECT)
            continue;
        ret_row->dropped += (e->flags & ATOLL_TIMING_DROPPED_EARLY) != 0;
        if (!(e->flags & ATOLL_TIMING_DROPPED_EARLY))
            widths[ret_row->correct - ret_row->dropped] = e->half_width;
        ret_row->correct++;
        ret_row->occupied_ns += e->occupied_ns;
        ret_row->draws += e->draws;
        ret_row->compared += e->compared;
        if (e->median_ns > 0 && (!(ret_row->least_ns > 0) || e->median_ns < ret_row->least_ns))
            ret_row->least_ns = e->median_ns;
    }
    if (widths)
        atoll_spread_of(widths, ret_row->correct - ret_row->dropped, &spread);
    ret_row->width = widths ? spread.median : 0;
    if (ret_row->correct) {
        ret_row->occupied_ns /= (double)ret_row->correct;
        ret_row->draws /= (double)ret_row->correct;
        ret_row->compared /= (double)ret_row->correct;
    }
    free(widths);
}

static void tasks_print(const struct atoll_report *r)
{
    printf("\n%-16s %6s %8s %8s %12s %12s %10s %8s\n", "task", "all", "correct", "dropped", "ms/correct",
           "best us", "width %", "draws");
    for (uint32_t t = 0; t < r->tasks->count; t++) {
        struct row row;
        row_make(r, t, &row);
        if (row.count)
            printf("%-16s %6zu %8zu %8zu %12.2f %12.1f %10.3f %8.1f\n", r->tasks->tasks[t]->name, row.count,
                   row.correct, row.dropped, row.occupied_ns / 1e6, row.least_ns / 1e3, 100 * row.width,
                   row.draws);
    }
}

/* What answers cost, and where the device's time went, task by task: ms of all candidates of a task. */
static void answers_print(const struct atoll_report *r)
{
    static const enum atoll_time_part parts[] = {
        ATOLL_TIME_CANDIDATES, ATOLL_TIME_ANSWERS,  ATOLL_TIME_CHECKS, ATOLL_TIME_INPUTS, ATOLL_TIME_FLUSH,
        ATOLL_TIME_PROCESSES,  ATOLL_TIME_COUNTERS, ATOLL_TIME_OTHER,  ATOLL_TIME_START};
    printf("\nanswers made for the first time and again (ms each); checks by reference, whole values, "
           "fingerprint (ms each); ms of "
           "all by part\n%-16s %6s %7s %6s %7s %6s %7s %6s %7s %6s %7s |",
           "task", "first", "ms", "again", "ms", "byref", "ms", "whole", "ms", "print", "ms");
    for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
        printf(" %8.8s", atoll_time_part_name(parts[k]));
    printf(" %8s\n", "handover");
    for (uint32_t t = 0; t < r->tasks->count; t++) {
        const struct atoll_answer_counts *a = &r->answers[t];
        printf("%-16s", r->tasks->tasks[t]->name);
        for (unsigned i = 0; i < 2; i++)
            printf(" %6lu %7.2f", a->made[i], a->made[i] ? a->made_ns[i] / (double)a->made[i] / 1e6 : 0);
        for (unsigned i = 0; i < 3; i++)
            printf(" %6lu %7.2f", a->looked[i],
                   a->looked[i] ? a->looked_ns[i] / (double)a->looked[i] / 1e6 : 0);
        printf(" |");
        for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
            printf(" %8.1f", r->task_times[t].ns[parts[k]] / 1e6);
        printf(" %8.1f\n", a->hand_over_ns / 1e6);
    }
}

/* ---- text ---- */

static void unmeant_print(const struct atoll_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct atoll_drive_record *e = &r->records[i];
        if (atoll_mix_is_as_meant(e->mutant, e->verdict))
            continue;
        const struct atoll_task *task = r->tasks->tasks[e->task];
        printf("not as meant: %s/%s, %s: %s, %.120s\n", task->name, task->seeds[e->seed].name,
               atoll_mutant_name(e->mutant), atoll_verdict_name(e->verdict), e->detail);
    }
}

static void phases_print(const struct atoll_report *r)
{
    printf("phases of %lu samples, us each:", r->phases.trial_count);
    for (unsigned i = 0; i < ATOLL_PHASE_COUNT; i++)
        printf(" %s %.0f", atoll_phase_name((enum atoll_phase)i),
               r->phases.trial_count ? r->phases.ns[i] / (double)r->phases.trial_count / 1e3 : 0);
    printf("\n");
}

void atoll_report_print(const struct atoll_report *r)
{
    const struct atoll_split *s = &r->split;
    printf("%zu candidates in %.2f s: %.0f candidates per GPU-hour; occupied %.1f %%, candidates %.1f %%\n",
           r->count, r->wall_ns / 1e9, r->per_hour, 100 * r->occupied_share, 100 * r->candidate_share);
    printf("until the last order went out, after %.2f s: occupied %.1f %%\n", r->fed_ns / 1e9,
           100 * r->fed_share);
    printf("hung: %zu, which cost %.2f s; without them %.0f candidates per GPU-hour\n", r->hang_count,
           r->hang_ns / 1e9, r->per_hour_without_hangs);
    printf("ms per candidate: check %.2f  sampling %.2f  counters %.2f  other %.2f  idle %.2f  (beside them: "
           "compile %.2f)\n",
           s->check_ns / 1e6, s->sampling_ns / 1e6, s->counters_ns / 1e6, s->other_ns / 1e6, s->idle_ns / 1e6,
           s->compile_ns / 1e6);
    printf("counters: read of %zu (%.1f %% of the occupied time), known of %zu more\n", r->read_count,
           r->occupied_share > 0 ? 100 * s->counters_ns * (double)r->count / (r->occupied_share * r->wall_ns)
                                 : 0,
           r->known_count);
    char text[ATOLL_DEVICE_TIME_TEXT];
    double whole_ns = atoll_device_time_whole_ns(&r->times);
    printf("device: %s\n", atoll_device_time_text(&r->times, whole_ns, text, sizeof(text)));
    phases_print(r);
    printf("\n%-16s %6s %12s %12s %12s\n", "verdict", "count", "median ms", "p90 ms", "mean ms");
    for (int v = 0; v < ATOLL_VERDICT_COUNT; v++)
        if (r->verdicts[v].count)
            printf("%-16s %6zu %12.2f %12.2f %12.2f\n", atoll_verdict_name((enum atoll_verdict)v),
                   r->verdicts[v].count, r->verdicts[v].median / 1e6, r->verdicts[v].p90 / 1e6,
                   r->verdicts[v].mean / 1e6);
    tasks_print(r);
    answers_print(r);
    printf("\n%zu of %zu got the verdict that they were made for\n", r->as_meant_count, r->count);
    unmeant_print(r);
}

/* ---- JSON ---- */

void atoll_report_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at > 0x7e)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    fputc('"', out);
}

static void verdicts_json(const struct atoll_report *r, FILE *out)
{
    const char *comma = "";
    fprintf(out, ",\n \"verdicts\": {");
    for (int v = 0; v < ATOLL_VERDICT_COUNT; v++) {
        const struct atoll_spread *s = &r->verdicts[v];
        if (!s->count)
            continue;
        fprintf(out, "%s\"%s\": {\"count\": %zu, \"median_ns\": %.0f, \"p90_ns\": %.0f, \"mean_ns\": %.0f}",
                comma, atoll_verdict_name((enum atoll_verdict)v), s->count, s->median, s->p90, s->mean);
        comma = ", ";
    }
    fprintf(out, "}");
}

static void answers_json(const struct atoll_report *r, FILE *out)
{
    fprintf(out, ",\n \"answers\": {");
    for (uint32_t t = 0; t < r->tasks->count; t++) {
        const struct atoll_answer_counts *a = &r->answers[t];
        fprintf(
            out,
            "%s\n  \"%s\": {\"first\": %lu, \"first_ns\": %.0f, \"again\": %lu, \"again_ns\": %.0f, "
            "\"by_reference\": %lu, \"by_reference_ns\": %.0f, \"by_values\": %lu, \"by_values_ns\": %.0f, "
            "\"by_fingerprint\": %lu, \"by_fingerprint_ns\": %.0f, \"hand_over_ns\": %.0f, "
            "\"device_time_ns\": {",
            t ? "," : "", r->tasks->tasks[t]->name, a->made[0], a->made_ns[0], a->made[1], a->made_ns[1],
            a->looked[0], a->looked_ns[0], a->looked[1], a->looked_ns[1], a->looked[2], a->looked_ns[2],
            a->hand_over_ns);
        for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
            fprintf(out, "%s\"%s\": %.0f", k ? ", " : "", atoll_time_part_name((enum atoll_time_part)k),
                    r->task_times[t].ns[k]);
        fprintf(out, "}}");
    }
    fprintf(out, "}");
}

static void tasks_json(const struct atoll_report *r, FILE *out)
{
    const char *comma = "";
    fprintf(out, ",\n \"tasks\": {");
    for (uint32_t t = 0; t < r->tasks->count; t++) {
        struct row row;
        row_make(r, t, &row);
        if (!row.count)
            continue;
        fprintf(
            out,
            "%s\n  \"%s\": {\"count\": %zu, \"correct\": %zu, \"dropped\": %zu, \"mean_occupied_ns\": %.0f, "
            "\"best_ns\": %.0f, \"half_width\": %.6f, \"draws\": %.2f, \"compared\": %.2f}",
            comma, r->tasks->tasks[t]->name, row.count, row.correct, row.dropped, row.occupied_ns,
            row.least_ns, isfinite(row.width) ? row.width : -1.0, row.draws, row.compared);
        comma = ",";
    }
    fprintf(out, "}");
}

/* Each candidate in the order in which they were sent: what was in hand at any time can be made of it. */
static void each_json(const struct atoll_report *r, FILE *out)
{
    fprintf(out, ",\n \"each\": [");
    for (size_t i = 0; i < r->count; i++) {
        const struct atoll_drive_record *e = &r->records[i];
        const struct atoll_task *task = r->tasks->tasks[e->task];
        fprintf(out,
                "%s\n  {\"task\": \"%s\", \"language\": \"%s\", \"verdict\": \"%s\", \"ordered_ns\": %.0f, "
                "\"answered_ns\": %.0f, \"compile_ns\": %.0f, \"occupied_ns\": %.0f}",
                i ? "," : "", task->name, task->seeds[e->seed].language, atoll_verdict_name(e->verdict),
                e->ordered_ns, e->answered_ns, e->compile_ns, e->occupied_ns);
    }
    fprintf(out, "]");
}

void atoll_report_json(const struct atoll_report *r, FILE *out)
{
    const struct atoll_split *s = &r->split;
    fprintf(
        out,
        " \"count\": %zu, \"wall_ns\": %.0f, \"candidates_per_gpu_hour\": %.1f,\n"
        " \"candidates_per_gpu_hour_without_hangs\": %.1f, \"hang_count\": %zu, \"hang_ns\": %.0f,\n"
        " \"occupied_share\": %.5f, \"candidate_share\": %.5f, \"fed_ns\": %.0f, \"fed_share\": %.5f, "
        "\"as_meant\": %zu,\n"
        " \"per_candidate_ns\": {\"compile\": %.0f, \"check\": %.0f, \"sampling\": %.0f, \"counters\": %.0f, "
        "\"other\": %.0f, \"idle\": %.0f},\n \"counters_read\": %zu, \"counters_known\": %zu, \"trials\": "
        "%lu, "
        "\"phases_ns\": {",
        r->count, r->wall_ns, r->per_hour, r->per_hour_without_hangs, r->hang_count, r->hang_ns,
        r->occupied_share, r->candidate_share, r->fed_ns, r->fed_share, r->as_meant_count, s->compile_ns,
        s->check_ns, s->sampling_ns, s->counters_ns, s->other_ns, s->idle_ns, r->read_count, r->known_count,
        r->phases.trial_count);
    for (unsigned i = 0; i < ATOLL_PHASE_COUNT; i++)
        fprintf(out, "%s\"%s\": %.0f", i ? ", " : "", atoll_phase_name((enum atoll_phase)i), r->phases.ns[i]);
    fprintf(out, "},\n \"device_time_ns\": {");
    for (unsigned i = 0; i < ATOLL_TIME_PART_COUNT; i++)
        fprintf(out, "%s\"%s\": %.0f", i ? ", " : "", atoll_time_part_name((enum atoll_time_part)i),
                r->times.ns[i]);
    fprintf(out, "}");
    verdicts_json(r, out);
    tasks_json(r, out);
    answers_json(r, out);
    each_json(r, out);
}
