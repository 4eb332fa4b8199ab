/* report_svg.c - figures. */
#include "archive-h5/report/report_svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/behaviour/behaviour.h"
#include "core/evaluation.h"

#define WIDTH     560.0
#define HEIGHT    230.0
#define LEFT      46.0
#define RIGHT     14.0
#define TOP       14.0
#define BOTTOM    34.0
#define DOT_LIMIT 1200u

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
        e.verdict != ATOLL_V_CORRECT || !(e.time_ns > 0))
        return 0;
    *ret_seconds = (double)e.campaign_ns * 1e-9;
    *ret_speedup = p->task.baseline_ns / e.time_ns;
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
        atoll_buffer_printf(
            p->out,
            "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g&#215;</text>\n",
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
    if (p->y_max >= 1)
        atoll_buffer_printf(p->out,
                            "<line class=\"base\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                            WIDTH - RIGHT, y_of(p, 1), y_of(p, 1));
}

/* The floor as a ceiling of speedups, where it lies in the picture. */
static void draw_floor(struct plot *p)
{
    double y = p->task.floor_ns > 0 ? p->task.baseline_ns / p->task.floor_ns : 0;
    if (y <= 0 || y > p->y_max)
        return;
    atoll_buffer_printf(p->out,
                        "<line class=\"floor\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\">floor</text>\n",
                        LEFT, WIDTH - RIGHT, y_of(p, y), y_of(p, y), LEFT + 5, y_of(p, y) - 4);
}

static void draw_dots(struct plot *p, uint64_t points)
{
    uint64_t every = points / DOT_LIMIT + 1, seen = 0;
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(p->query), ATOLL_TABLE_EVALUATIONS); i++) {
        double x, y;
        if (point_at(p, i, &x, &y) && seen++ % every == 0)
            atoll_buffer_printf(p->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"/>",
                                x_of(p, x), y_of(p, y));
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
    uint64_t points = p.task.baseline_ns > 0 ? measure(&p) : 0;
    if (points == 0) {
        atoll_buffer_printf(out, "<p class=\"none\">No correct candidate was timed.</p>\n");
        return;
    }
    p.x_max = p.x_max > 0 ? p.x_max : 1;
    p.y_max *= 1.12;
    atoll_buffer_printf(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"speedup over the baseline "
        "against time\">\n",
        WIDTH, HEIGHT);
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
    memset(last, 0, sizeof last);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_ELITES); i++) {
        struct atoll_row_elite e;
        atoll_tables_get(t, ATOLL_TABLE_ELITES, i, &e);
        unsigned cell = e.memory * 16u + e.algorithm * 4u + e.coordination;
        if (e.campaign == task->campaign && e.task == task->task && e.model == task->model &&
            e.island < island_limit && cell < ATOLL_BEHAVIOUR_CELLS)
            last[e.island][cell] = (struct cell){e.time_ns, e.fitness};
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
    double share = fmin(1, fmax(0, (c->fitness - 0.5) * 2)), speedup = task->baseline_ns / c->time_ns;
    atoll_buffer_printf(
        out,
        "<rect class=\"elite\" x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"3\" "
        "fill-opacity=\"%.2f\"/><text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.*f</text>",
        x, y, CELL, CELL, 0.15 + 0.85 * share, share > 0.45 ? "cell strong" : "cell", x + CELL / 2,
        y + CELL / 2 + 3.5, speedup < 9.95 ? 1 : 0, isfinite(speedup) ? speedup : 0);
}

void atoll_svg_elites(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    static const char *const captions[] = {"independent", "barriers", "sub-groups", "across blocks"};
    struct atoll_row_task task;
    struct cell cells[ATOLL_BEHAVIOUR_CELLS];
    memset(cells, 0, sizeof cells);
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TASKS, task_row, &task);
    unsigned occupied = collect(query, &task, cells);
    atoll_buffer_printf(out,
                        "<svg class=\"elites\" viewBox=\"0 0 %.0f 168\" role=\"img\" aria-label=\"elites: %u "
                        "of 64 cells\">\n",
                        4 * GRID_WIDTH + 20, occupied);
    atoll_buffer_printf(out, "<text class=\"tick\" x=\"10\" y=\"82\" text-anchor=\"middle\" "
                             "transform=\"rotate(-90 10 82)\">memory "
                             "&#8594;</text>\n");
    for (unsigned coordination = 0; coordination < 4; coordination++) {
        double left = 20 + coordination * GRID_WIDTH;
        atoll_buffer_printf(out, "<text class=\"caption\" x=\"%.1f\" y=\"12\">%s</text>\n", left,
                            captions[coordination]);
        for (unsigned memory = 0; memory < 4; memory++)
            for (unsigned algorithm = 0; algorithm < 4; algorithm++)
                draw_cell(out, &task, &cells[memory * 16 + algorithm * 4 + coordination],
                          left + algorithm * (CELL + GAP), 20 + (3 - memory) * (CELL + GAP));
        atoll_buffer_printf(out, "\n<text class=\"tick\" x=\"%.1f\" y=\"160\">algorithm &#8594;</text>\n",
                            left);
    }
    atoll_buffer_printf(out, "</svg>\n");
}
