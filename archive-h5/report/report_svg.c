/* report_svg.c - the figures of the report, as inline SVG coloured by the page's style.  The roofline has both scales logarithmic,
 * over whole powers of ten; a zero or an infinity never gets into it. */
#include "archive-h5/report/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/report/task_summary.h"
#include "core/behaviour/behaviour.h"
#include "core/evaluation.h"

#define WIDTH        560.0
#define ROOF_HEIGHT  260.0
#define ROOF_LEFT    56.0
#define RIGHT        14.0
#define TOP          14.0
#define ROOF_BOTTOM  38.0
#define LINE_HEIGHT  11.0
#define LETTER_WIDTH 5.6
#define POINT_MOST   256u
#define PEAK_MOST    10u
#define HEIGHT       230.0
#define LEFT         46.0
#define BOTTOM       34.0
#define DOT_LIMIT    1200u

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
    struct atoll_rows timings = atoll_query_timings(r->query, evaluation);
    struct atoll_row_timing counted = {.median_ns =
                                           0}; /* the first timed variant is the one that was counted */
    if (timings.count > 0)
        atoll_tables_get(t, ATOLL_TABLE_TIMINGS, timings.rows[0], &counted);
    double time_ns = counted.median_ns;
    if (!(p.intensity_flops_per_byte > 0) || !(read >= 0) || !(time_ns > 0) ||
        find_device(t, p.campaign, p.device, &device) != 0 || device.model != r->device.model) {
        return -1;
    }
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

/* Whole powers of ten around everything. */
static void measure_roof(struct roof *r)
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

static double roof_x(const struct roof *r, double value)
{
    return ROOF_LEFT +
           (WIDTH - ROOF_LEFT - RIGHT) * fmin(1, fmax(0, (log10(value) - r->x_low) / (r->x_high - r->x_low)));
}

static double roof_y(const struct roof *r, double value)
{
    return ROOF_HEIGHT - ROOF_BOTTOM -
           (ROOF_HEIGHT - TOP - ROOF_BOTTOM) *
               fmin(1, fmax(0, (log10(value) - r->y_low) / (r->y_high - r->y_low)));
}

/* 10^exponent with a prefix: "10G". */
static void put_power(struct atoll_buffer *out, int exponent)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    int prefix = exponent < 0 ? 0 : exponent / 3 < 6 ? exponent / 3 : 6;
    atoll_buffer_printf(out, "%g%s", pow(10, exponent - 3 * prefix), prefixes[prefix]);
}

static void draw_powers(const struct roof *r)
{
    for (int e = (int)r->y_low; e <= (int)r->y_high; e++) {
        double y = roof_y(r, pow(10, e));
        atoll_buffer_printf(r->out,
                            "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                            "class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">",
                            ROOF_LEFT, WIDTH - RIGHT, y, y, ROOF_LEFT - 7, y + 3.5);
        put_power(r->out, e);
        atoll_buffer_printf(r->out, "</text>\n");
    }
    for (int e = (int)r->x_low; e <= (int)r->x_high; e++) {
        atoll_buffer_printf(r->out, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">",
                            roof_x(r, pow(10, e)), ROOF_HEIGHT - ROOF_BOTTOM + 14,
                            e < (int)r->x_high ? "middle" : "end");
        put_power(r->out, e);
        atoll_buffer_printf(r->out, "</text>\n");
    }
    atoll_buffer_printf(r->out,
                        "<text class=\"tick\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">operations per "
                        "byte</text><text class=\"tick\" x=\"%.0f\" y=\"10\">operations per second</text>\n",
                        WIDTH - RIGHT, ROOF_HEIGHT - 5, ROOF_LEFT + 4);
}

/* Names of peaks, the highest first; one that would lie on its neighbour stands left of it. */
static void draw_names(const struct roof *r)
{
    double x = WIDTH - RIGHT - 3, y = -LINE_HEIGHT;
    for (size_t i = 0; i < r->peak_count; i++) {
        double here = roof_y(r, r->peaks[i].flops) - 3;
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
    if (from < to) {
        atoll_buffer_printf(
            r->out, "<line class=\"floor\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            roof_x(r, from), roof_x(r, to), roof_y(r, from * bandwidth), roof_y(r, to * bandwidth));
    }
    for (size_t i = 0; i < r->peak_count; i++) {
        double y = roof_y(r, r->peaks[i].flops);
        atoll_buffer_printf(r->out,
                            "<line class=\"floor\" x1=\"%.1f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                            roof_x(r, r->peaks[i].flops / bandwidth), WIDTH - RIGHT, y, y);
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
        !isfinite(r.device.bandwidth_bytes_per_s)) {
        return 0;
    }
    collect_points(&r);
    if (r.point_count == 0)
        return 0;
    const struct atoll_row_device *d = &r.device;
    const struct peak all[PEAK_MOST] = {
        {"f64", d->peak_f64_flops},          {"f32", d->peak_f32_flops},
        {"f16", d->peak_f16_flops},          {"bf16", d->peak_bf16_flops},
        {"tensor f64", d->tensor_f64_flops}, {"tensor tf32", d->tensor_tf32_flops},
        {"tensor f16", d->tensor_f16_flops}, {"tensor bf16", d->tensor_bf16_flops},
        {"tensor f8", d->tensor_f8_flops},   {"tensor i8", d->tensor_i8_flops}};
    for (size_t i = 0; i < PEAK_MOST; i++)
        if (all[i].flops > 0 && isfinite(all[i].flops))
            r.peaks[r.peak_count++] = all[i];
    qsort(r.peaks, r.peak_count, sizeof(*r.peaks), higher_first);
    measure_roof(&r);
    atoll_buffer_printf(out,
                        "<svg class=\"roofline\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
                        "aria-label=\"operations per second against operations per byte\">\n",
                        WIDTH, ROOF_HEIGHT);
    draw_powers(&r);
    draw_roof(&r);
    for (size_t i = r.point_count; i-- > 0;) {
        atoll_buffer_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>\n",
                            r.points[i].is_best ? "elite" : "dot", roof_x(&r, r.points[i].x),
                            roof_y(&r, r.points[i].y), r.points[i].is_best ? "4.5" : "3");
    }
    atoll_buffer_printf(out, "</svg>\n");
    return 1;
}

struct plot {
    struct atoll_buffer *out;
    const struct atoll_query *query;
    struct atoll_row_task task;
    double x_max, y_max; /* seconds, speedup */
};

static double x_of(const struct plot *p, double seconds)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / p->x_max;
}

static double y_of(const struct plot *p, double speedup)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * speedup / p->y_max;
}

/* 1, 2 or 5 times a power of ten, so that about `wanted` steps fill the range. */
static double nice_step(double range, double wanted)
{
    double raw = range / wanted, power = pow(10, floor(log10(raw))), share = raw / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/* The evaluation at a row when it is a dot of this task: 1 and ret. */
static int point_at(const struct plot *p, uint64_t row, double *ret_seconds, double *ret_speedup)
{
    struct atoll_row_evaluation e;
    atoll_tables_get(atoll_query_tables(p->query), ATOLL_TABLE_EVALUATIONS, row, &e);
    if (e.campaign != p->task.campaign || e.task != p->task.task || e.model != p->task.model ||
        e.verdict != ATOLL_V_CORRECT || !(e.time_ns > 0)) {
        return 0;
    }
    *ret_seconds = (double)e.campaign_ns * 1e-9;
    *ret_speedup = atoll_task_yardstick_ns(&p->task) / e.time_ns;
    return isfinite(*ret_speedup);
}

static uint64_t measure(struct plot *p)
{
    uint64_t points = 0;
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(p->query), ATOLL_TABLE_EVALUATIONS); i++) {
        double x, y;
        if (!point_at(p, i, &x, &y))
            continue;
        points++;
        p->x_max = fmax(p->x_max, x);
        p->y_max = fmax(p->y_max, y);
    }
    return points;
}

static void draw_axes(struct plot *p)
{
    double step = nice_step(p->y_max, 4);
    for (int i = 0; i * step <= p->y_max * 1.0001; i++) {
        double y = i * step;
        atoll_buffer_printf(p->out,
                            "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                            "class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g&#215;</text>\n",
                            LEFT, WIDTH - RIGHT, y_of(p, y), y_of(p, y), LEFT - 7, y_of(p, y) + 3.5, y);
    }
    step = nice_step(p->x_max, 6);
    for (int i = 0; i * step <= p->x_max * 1.0001; i++) {
        double x = i * step;
        atoll_buffer_printf(p->out,
                            "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                            x_of(p, x), HEIGHT - BOTTOM + 15, x);
    }
    atoll_buffer_printf(p->out,
                        "<text class=\"tick\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">seconds</text>\n",
                        WIDTH - RIGHT, HEIGHT - 4);
    if (p->y_max >= 1) {
        atoll_buffer_printf(p->out,
                            "<line class=\"base\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                            WIDTH - RIGHT, y_of(p, 1), y_of(p, 1));
    }
}

/* The floor as a ceiling of speedups, where it lies in the picture. */
static void draw_floor(struct plot *p)
{
    double y = p->task.floor_ns > 0 ? atoll_task_yardstick_ns(&p->task) / p->task.floor_ns : 0;
    if (y <= 0 || y > p->y_max)
        return;
    atoll_buffer_printf(p->out,
                        "<line class=\"floor\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                        "class=\"tick\" x=\"%.0f\" y=\"%.1f\">floor</text>\n",
                        LEFT, WIDTH - RIGHT, y_of(p, y), y_of(p, y), LEFT + 5, y_of(p, y) - 4);
}

static void draw_dots(struct plot *p, uint64_t points)
{
    uint64_t every = points / DOT_LIMIT + 1, seen = 0;
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(p->query), ATOLL_TABLE_EVALUATIONS); i++) {
        double x, y;
        if (point_at(p, i, &x, &y) && seen++ % every == 0) {
            atoll_buffer_printf(p->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"/>",
                                x_of(p, x), y_of(p, y));
        }
    }
}

static void draw_best(struct plot *p)
{
    double best = 0;
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(p->query), ATOLL_TABLE_EVALUATIONS); i++) {
        double x, y;
        if (!point_at(p, i, &x, &y) || y <= best)
            continue;
        if (best == 0)
            atoll_buffer_printf(p->out, "\n<path class=\"best\" d=\"M%.1f %.1f", x_of(p, x), y_of(p, y));
        else
            atoll_buffer_printf(p->out, "H%.1fV%.1f", x_of(p, x), y_of(p, y));
        best = y;
    }
    if (best > 0)
        atoll_buffer_printf(p->out, "H%.1f\"/>\n", x_of(p, p->x_max));
}

void atoll_svg_progress(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    struct plot p = {.out = out, .query = query};
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TASKS, task_row, &p.task);
    uint64_t points = atoll_task_yardstick_ns(&p.task) > 0 ? measure(&p) : 0;
    if (points == 0) {
        atoll_buffer_printf(out, "<p class=\"none\">No correct candidate was timed.</p>\n");
        return;
    }
    p.x_max = p.x_max > 0 ? p.x_max : 1;
    p.y_max *= 1.12;
    atoll_buffer_printf(out,
                        "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"speedup "
                        "over the %s against time\">\n",
                        WIDTH, HEIGHT, p.task.rival_ns > 0 ? "rival" : "seed");
    draw_axes(&p);
    draw_floor(&p);
    draw_dots(&p, points);
    draw_best(&p);
    atoll_buffer_printf(out, "</svg>\n");
}

#define CELL       29.0
#define GAP        2.0
#define GRID_WIDTH (4 * (CELL + GAP) + 16)

struct cell {
    double time_ns, fitness;
};

/* The newest elite of every island and cell, the fastest over islands. */
static unsigned collect(const struct atoll_query *query, const struct atoll_row_task *task,
                        struct cell *cells)
{
    static const unsigned island_limit = 16;
    struct cell last[16][ATOLL_BEHAVIOUR_CELLS];
    const struct atoll_tables *t = atoll_query_tables(query);
    unsigned occupied = 0;
    memset(last, 0, sizeof(last));
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_ELITES); i++) {
        struct atoll_row_elite e;
        atoll_tables_get(t, ATOLL_TABLE_ELITES, i, &e);
        unsigned cell = e.memory * 16u + e.algorithm * 4u + e.coordination;
        if (e.campaign == task->campaign && e.task == task->task && e.model == task->model &&
            e.island < island_limit && cell < ATOLL_BEHAVIOUR_CELLS) {
            last[e.island][cell] = (struct cell){e.time_ns, e.fitness};
        }
    }
    for (unsigned c = 0; c < ATOLL_BEHAVIOUR_CELLS; c++) {
        for (unsigned i = 0; i < island_limit; i++)
            if (last[i][c].time_ns > 0 && (cells[c].time_ns <= 0 || last[i][c].time_ns < cells[c].time_ns))
                cells[c] = last[i][c];
        occupied += cells[c].time_ns > 0;
    }
    return occupied;
}

static void draw_cell(struct atoll_buffer *out, const struct atoll_row_task *task, const struct cell *c,
                      double x, double y)
{
    if (c->time_ns <= 0) {
        atoll_buffer_printf(
            out, "<rect class=\"empty\" x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"3\"/>", x,
            y, CELL, CELL);
        return;
    }
    double share = fmin(1, fmax(0, (c->fitness - 0.5) * 2)),
           speedup = atoll_task_yardstick_ns(task) / c->time_ns;
    atoll_buffer_printf(
        out,
        "<rect class=\"elite\" x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"3\" "
        "fill-opacity=\"%.2f\"/><text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.*f</text>",
        x, y, CELL, CELL, 0.15 + 0.85 * share, share > 0.45 ? "cell strong" : "cell", x + CELL / 2,
        y + CELL / 2 + 3.5, speedup < 9.95 ? 1 : 0, isfinite(speedup) ? speedup : 0);
}

static int is_grid_occupied(const struct cell *cells, unsigned coordination)
{
    for (unsigned i = 0; i < 16; i++)
        if (cells[i * 4 + coordination].time_ns > 0)
            return 1;
    return 0;
}

void atoll_svg_elites(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    static const char *const captions[] = {"independent", "barriers", "sub-groups", "across blocks"};
    struct atoll_row_task task;
    struct cell cells[ATOLL_BEHAVIOUR_CELLS];
    memset(cells, 0, sizeof(cells));
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TASKS, task_row, &task);
    unsigned occupied = collect(query, &task, cells);
    if (occupied == 0) {
        atoll_buffer_printf(out, "<p class=\"none\">There are no elites.</p>\n");
        return;
    }
    atoll_buffer_printf(out,
                        "<svg class=\"elites\" viewBox=\"0 0 %.0f 168\" role=\"img\" aria-label=\"elites: %u "
                        "of 64 cells\">\n",
                        4 * GRID_WIDTH + 20, occupied);
    atoll_buffer_printf(out, "<text class=\"tick\" x=\"10\" y=\"82\" text-anchor=\"middle\" "
                             "transform=\"rotate(-90 10 82)\">memory &#8594;</text>\n");
    double left = 20;
    for (unsigned coordination = 0; coordination < 4; coordination++) {
        if (!is_grid_occupied(cells, coordination))
            continue;
        atoll_buffer_printf(out, "<text class=\"caption\" x=\"%.1f\" y=\"12\">%s</text>\n", left,
                            captions[coordination]);
        for (unsigned memory = 0; memory < 4; memory++) {
            for (unsigned algorithm = 0; algorithm < 4; algorithm++) {
                draw_cell(out, &task, &cells[memory * 16 + algorithm * 4 + coordination],
                          left + algorithm * (CELL + GAP), 20 + (3 - memory) * (CELL + GAP));
            }
        }
        atoll_buffer_printf(out, "\n<text class=\"tick\" x=\"%.1f\" y=\"160\">algorithm &#8594;</text>\n",
                            left);
        left += GRID_WIDTH;
    }
    atoll_buffer_printf(out, "</svg>\n");
}
