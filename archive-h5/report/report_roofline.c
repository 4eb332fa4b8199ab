/* report_roofline.c - a figure with both scales logarithmic, over whole powers of ten; a zero or an infinity never gets into
 * it. */
#include "archive-h5/report/report_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH        560.0
#define HEIGHT       260.0
#define LEFT         56.0
#define RIGHT        14.0
#define TOP          14.0
#define BOTTOM       38.0
#define LINE_HEIGHT  11.0
#define LETTER_WIDTH 5.6
#define POINT_MOST   256u
#define PEAK_MOST    10u

struct point {
    double x, y; /* operations per byte, operations per second */
    struct atoll_id candidate;
    int is_best;
};

struct peak {
    const char *name;
    double flops;
};

struct roof {
    struct atoll_buffer *out;
    const struct atoll_query *query;
    struct atoll_row_task task;
    struct atoll_row_device device;
    struct peak peaks[PEAK_MOST];
    struct point points[POINT_MOST];
    size_t peak_count, point_count;
    double x_low, x_high, y_low, y_high;
};

static int find_device(const struct atoll_tables *t, uint32_t campaign, uint64_t key,
                       struct atoll_row_device *ret)
{
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, ret);
        if (ret->campaign == campaign && ret->key == key)
            return 0;
    }
    return -1;
}

/* Median of the first timed variant, which is the one that was counted. */
static double counted_time(const struct atoll_query *query, uint64_t evaluation_row)
{
    struct atoll_rows rows = atoll_query_timings(query, evaluation_row);
    struct atoll_row_timing timing;
    if (rows.count == 0)
        return 0;
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TIMINGS, rows.rows[0], &timing);
    return timing.median_ns;
}

/* Where a candidate stands; -1 when it was not counted, or not on a device of this model. */
static int place(const struct roof *r, uint64_t candidate_row, struct point *ret)
{
    const struct atoll_tables *t = atoll_query_tables(r->query);
    struct atoll_row_profile p;
    struct atoll_row_device device;
    uint64_t evaluation;
    int64_t row = atoll_query_candidate_profile(r->query, candidate_row, r->task.model, &evaluation);
    if (row < 0)
        return -1;
    atoll_tables_get(t, ATOLL_TABLE_PROFILES, (uint64_t)row, &p);
    double read = p.counters[ATOLL_COUNTER_DRAM_READ_BYTES],
           written = p.counters[ATOLL_COUNTER_DRAM_WRITE_BYTES];
    double time_ns = counted_time(r->query, evaluation);
    if (!(p.intensity_flops_per_byte > 0) || !(read >= 0) || !(time_ns > 0) ||
        find_device(t, p.campaign, p.device, &device) != 0 || device.model != r->device.model)
        return -1;
    double flops = p.intensity_flops_per_byte * (read + (written > 0 ? written : 0));
    *ret = (struct point){p.intensity_flops_per_byte, flops / time_ns * 1e9, p.candidate,
                          atoll_id_equal(&p.candidate, &r->task.best)};
    return ret->y > 0 && isfinite(ret->y) ? 0 : -1;
}

static void add_point(struct roof *r, const struct atoll_id *candidate)
{
    int64_t row = atoll_query_candidate(r->query, r->task.campaign, candidate);
    for (size_t i = 0; i < r->point_count; i++)
        if (atoll_id_equal(&r->points[i].candidate, candidate))
            return;
    if (row >= 0 && r->point_count < POINT_MOST && place(r, (uint64_t)row, &r->points[r->point_count]) == 0)
        r->point_count++;
}

/* The best first, so that it has room; then every candidate that holds or held a cell, the newest first. */
static void collect_points(struct roof *r)
{
    const struct atoll_tables *t = atoll_query_tables(r->query);
    add_point(r, &r->task.best);
    for (uint64_t i = atoll_tables_count(t, ATOLL_TABLE_ELITES); i-- > 0;) {
        struct atoll_row_elite e;
        atoll_tables_get(t, ATOLL_TABLE_ELITES, i, &e);
        if (e.campaign == r->task.campaign && e.task == r->task.task && e.model == r->task.model)
            add_point(r, &e.candidate);
    }
}

static int higher_first(const void *a, const void *b)
{
    const struct peak *x = a, *y = b;
    return (x->flops < y->flops) - (x->flops > y->flops);
}

static void collect_peaks(struct roof *r)
{
    const struct atoll_row_device *d = &r->device;
    const struct peak all[PEAK_MOST] = {
        {"f64", d->peak_f64_flops},          {"f32", d->peak_f32_flops},
        {"f16", d->peak_f16_flops},          {"bf16", d->peak_bf16_flops},
        {"tensor f64", d->tensor_f64_flops}, {"tensor tf32", d->tensor_tf32_flops},
        {"tensor f16", d->tensor_f16_flops}, {"tensor bf16", d->tensor_bf16_flops},
        {"tensor f8", d->tensor_f8_flops},   {"tensor i8", d->tensor_i8_flops}};
    for (size_t i = 0; i < PEAK_MOST; i++)
        if (all[i].flops > 0 && isfinite(all[i].flops))
            r->peaks[r->peak_count++] = all[i];
    qsort(r->peaks, r->peak_count, sizeof *r->peaks, higher_first);
}

/* Whole powers of ten around everything. */
static void measure(struct roof *r)
{
    double x_low = 1, x_high = 1, y_low = HUGE_VAL, y_high = 0;
    for (size_t i = 0; i < r->peak_count; i++) {
        x_high = fmax(x_high, 2 * r->peaks[i].flops / r->device.bandwidth_bytes_per_s);
        y_high = fmax(y_high, r->peaks[i].flops);
    }
    for (size_t i = 0; i < r->point_count; i++) {
        x_low = fmin(x_low, r->points[i].x);
        x_high = fmax(x_high, r->points[i].x);
        y_low = fmin(y_low, r->points[i].y);
        y_high = fmax(y_high, r->points[i].y);
    }
    r->x_low = floor(log10(x_low));
    r->x_high = fmin(r->x_low + 12, fmax(r->x_low + 1, ceil(log10(x_high))));
    r->y_high = ceil(log10(y_high));
    r->y_low = fmax(r->y_high - 12, fmin(r->y_high - 1, floor(log10(y_low))));
}

static double x_of(const struct roof *r, double value)
{
    return LEFT +
           (WIDTH - LEFT - RIGHT) * fmin(1, fmax(0, (log10(value) - r->x_low) / (r->x_high - r->x_low)));
}

static double y_of(const struct roof *r, double value)
{
    return HEIGHT - BOTTOM -
           (HEIGHT - TOP - BOTTOM) * fmin(1, fmax(0, (log10(value) - r->y_low) / (r->y_high - r->y_low)));
}

/* 10^exponent with a prefix: "10G". */
static void put_power(struct atoll_buffer *out, int exponent)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    int prefix = exponent < 0 ? 0 : exponent / 3 < 6 ? exponent / 3 : 6;
    atoll_buffer_printf(out, "%g%s", pow(10, exponent - 3 * prefix), prefixes[prefix]);
}

static void draw_axes(const struct roof *r)
{
    for (int e = (int)r->y_low; e <= (int)r->y_high; e++) {
        double y = y_of(r, pow(10, e));
        atoll_buffer_printf(r->out,
                            "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                            "class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">",
                            LEFT, WIDTH - RIGHT, y, y, LEFT - 7, y + 3.5);
        put_power(r->out, e);
        atoll_buffer_printf(r->out, "</text>\n");
    }
    for (int e = (int)r->x_low; e <= (int)r->x_high; e++) {
        atoll_buffer_printf(r->out, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">",
                            x_of(r, pow(10, e)), HEIGHT - BOTTOM + 14, e < (int)r->x_high ? "middle" : "end");
        put_power(r->out, e);
        atoll_buffer_printf(r->out, "</text>\n");
    }
    atoll_buffer_printf(
        r->out,
        "<text class=\"tick\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">operations per byte</text>"
        "<text class=\"tick\" x=\"%.0f\" y=\"10\">operations per second</text>\n",
        WIDTH - RIGHT, HEIGHT - 5, LEFT + 4);
}

/* Names of peaks, the highest first; one that would lie on its neighbour stands left of it. */
static void draw_names(const struct roof *r)
{
    double x = WIDTH - RIGHT - 3, y = -LINE_HEIGHT;
    for (size_t i = 0; i < r->peak_count; i++) {
        double here = y_of(r, r->peaks[i].flops) - 3;
        if (here - y >= LINE_HEIGHT) {
            x = WIDTH - RIGHT - 3;
            y = here;
        }
        atoll_buffer_printf(r->out,
                            "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", x,
                            y, r->peaks[i].name);
        x -= LETTER_WIDTH * (double)strlen(r->peaks[i].name) + LETTER_WIDTH;
    }
}

/* The slope of bandwidth from where it enters the picture to the highest peak, and a line for each peak. */
static void draw_roof(const struct roof *r)
{
    double bandwidth = r->device.bandwidth_bytes_per_s, highest = 0;
    for (size_t i = 0; i < r->peak_count; i++)
        highest = fmax(highest, r->peaks[i].flops);
    double from = fmax(pow(10, r->x_low), pow(10, r->y_low) / bandwidth),
           to = fmin(pow(10, r->x_high), (highest > 0 ? highest : pow(10, r->y_high)) / bandwidth);
    if (from < to)
        atoll_buffer_printf(r->out,
                            "<line class=\"floor\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                            x_of(r, from), x_of(r, to), y_of(r, from * bandwidth), y_of(r, to * bandwidth));
    for (size_t i = 0; i < r->peak_count; i++) {
        double y = y_of(r, r->peaks[i].flops);
        atoll_buffer_printf(r->out,
                            "<line class=\"floor\" x1=\"%.1f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                            x_of(r, r->peaks[i].flops / bandwidth), WIDTH - RIGHT, y, y);
    }
    draw_names(r);
}

int atoll_svg_roofline(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row,
                       uint64_t best_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct roof r = {.out = out, .query = query};
    struct atoll_row_evaluation e;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &r.task);
    int64_t evaluation = atoll_query_best_evaluation(query, best_row, r.task.model);
    if (evaluation < 0)
        return 0;
    atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, (uint64_t)evaluation, &e);
    if (find_device(t, e.campaign, e.device, &r.device) != 0 || !(r.device.bandwidth_bytes_per_s > 0) ||
        !isfinite(r.device.bandwidth_bytes_per_s))
        return 0;
    collect_points(&r);
    if (r.point_count == 0)
        return 0;
    collect_peaks(&r);
    measure(&r);
    atoll_buffer_printf(
        out,
        "<svg class=\"roofline\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"operations per "
        "second against operations per byte\">\n",
        WIDTH, HEIGHT);
    draw_axes(&r);
    draw_roof(&r);
    for (size_t i = r.point_count; i-- > 0;)
        atoll_buffer_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>\n",
                            r.points[i].is_best ? "elite" : "dot", x_of(&r, r.points[i].x),
                            y_of(&r, r.points[i].y), r.points[i].is_best ? "4.5" : "3");
    atoll_buffer_printf(out, "</svg>\n");
    return 1;
}
