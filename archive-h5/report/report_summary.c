/* report_summary.c - all tasks together: tiles, the table of tasks, fast_p, sums by level and category. */
#include "archive-h5/report/report_page.h"

#include <math.h>
#include <stdio.h>

#include "archive-h5/report/archive_summary.h"

#define SIGNIFICANT  0.05
#define BAR_PX       56 /* of the largest speedup */
#define GROUPS_SHOWN 64u
#define RANGE_BYTES  64

/* The interval of a geometric mean, between its tile's figure and words; "" where there is none. */
static const char *range_text(const struct atoll_speedup_sums *sums, char ret_text[RANGE_BYTES])
{
    ret_text[0] = '\0';
    if (sums->geometric_hi > 0)
        snprintf(ret_text, RANGE_BYTES, " <span class=\"range\">%.2f&#8211;%.2f</span><br/>",
                 sums->geometric_lo, sums->geometric_hi);
    return ret_text;
}

/* Over what is told first, and over the seed where that is something else. */
static void put_speedup_tiles(struct atoll_buffer *out, const struct atoll_archive_summary *s)
{
    const struct atoll_speedup_sums *sums = &s->tasks.over[s->tasks.headline];
    const char *over = s->tasks.headline == ATOLL_OVER_SEED ? "seed" : "rival";
    double tasks = sums->task_count ? (double)sums->task_count : 1;
    if (s->tasks.headline == ATOLL_OVER_SEED && s->tasks.floor_count) {
        atoll_buffer_printf(
            out,
            "<div class=\"tile\"><b>%.0f&#8201;%%</b><span>of the floor, geometric mean; no rival "
            "measured</span></div>\n",
            100 * s->tasks.floor_mean);
    }
    if (sums->geometric_mean > 0) {
        char range[RANGE_BYTES];
        atoll_buffer_printf(
            out,
            "<div class=\"tile\"><b>%s%.2f&#215;</b>%s<span>geometric mean speedup over the %s, %llu "
            "of %llu tasks; arithmetic %.2f&#215;</span></div>\n",
            sums->are_final ? "" : "~", sums->geometric_mean, range_text(sums, range), over,
            (unsigned long long)sums->timed_count, (unsigned long long)s->tasks.task_count,
            sums->arithmetic_mean);
    } else {
        atoll_buffer_printf(out,
                            "<div class=\"tile\"><b>&#8211;</b><span>geometric mean speedup</span></div>\n");
    }
    atoll_buffer_printf(
        out,
        "<div class=\"tile\"><b>%.0f of %.0f</b><span>tasks more than 1.5&#215; as fast as the "
        "%s</span></div>\n",
        sums->fast_share[1] * tasks, (double)sums->task_count, over);
    if (s->tasks.headline != ATOLL_OVER_SEED && s->tasks.over[ATOLL_OVER_SEED].timed_count) {
        const struct atoll_speedup_sums *seed = &s->tasks.over[ATOLL_OVER_SEED];
        char range[RANGE_BYTES];
        atoll_buffer_printf(
            out, "<div class=\"tile\"><b>%s%.2f&#215;</b>%s<span>geometric mean over the seed</span></div>\n",
            seed->are_final ? "" : "~", seed->geometric_mean, range_text(seed, range));
    }
}

static void put_tiles(struct atoll_buffer *out, const struct atoll_archive_summary *s)
{
    atoll_buffer_printf(out, "<section class=\"tiles\">\n");
    put_speedup_tiles(out, s);
    char correct[48] = ""; /* of none there is no share */
    if (s->tasks.judged)
        snprintf(correct, sizeof(correct), ", %.0f&#8201;%% correct",
                 100.0 * (double)s->tasks.correct / (double)s->tasks.judged);
    atoll_buffer_printf(out, "<div class=\"tile\"><b>%llu</b><span>evaluations%s</span></div>\n",
                        (unsigned long long)s->tasks.evaluated, correct);
    if (s->noop_challenges) {
        atoll_buffer_printf(out,
                            "<div class=\"tile\"><b class=\"%s\">%llu of %llu</b><span>false promotions of "
                            "no-op challenges</span></div>\n",
                            s->noop_promotions ? "warn" : "good", (unsigned long long)s->noop_promotions,
                            (unsigned long long)s->noop_challenges);
    } else {
        atoll_buffer_printf(out, "<div class=\"tile\"><b>&#8211;</b><span>false promotions: no no-op "
                                 "challenge was made</span></div>\n");
    }
    if (s->device_wall_ns > 0) {
        atoll_buffer_printf(out,
                            "<div class=\"tile\"><b>%.0f&#8201;%%</b><span>devices occupied; %.0f&#8201;%% "
                            "by candidates</span></div>\n",
                            100 * s->occupied_ns / s->device_wall_ns,
                            100 * s->candidate_ns / s->device_wall_ns);
    }
    if (s->asks) {
        atoll_buffer_printf(out,
                            "<div class=\"tile\"><b>%llu</b><span>asks of operators outside, %llu tokens, "
                            "$%.2f</span></div>\n",
                            (unsigned long long)s->asks, (unsigned long long)s->tokens, s->cost_usd);
    }
    atoll_buffer_printf(out, "</section>\n");
}

/* The final comparison behind a speedup. */
static void put_final(struct atoll_buffer *out, const struct atoll_task_summary *t,
                      const struct atoll_speedup *s)
{
    if (!s->pair_count) {
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%s</span>",
                            t->is_baseline_best ? "baseline is best" : "not compared");
        return;
    }
    atoll_buffer_printf(out, "<br/><span class=\"%s range\">", s->p_value < SIGNIFICANT ? "good" : "soft");
    atoll_buffer_printf(out, s->p_value < 0.0001 ? "p &lt; 0.0001" : "p = %.4f", s->p_value);
    atoll_buffer_printf(out, ", %u pairs</span>", s->pair_count);
}

/* With a bar, short enough that the table fits a page, its interval and the final comparison. */
static void put_speedup(struct atoll_buffer *out, const struct atoll_task_summary *t,
                        const struct atoll_speedup *s, double most)
{
    if (s->ratio <= 0) {
        atoll_buffer_printf(out, "<td class=\"l\"><span class=\"soft\">&#8211;</span></td>");
        return;
    }
    atoll_buffer_printf(
        out, "<td class=\"l\"><span class=\"bar\" style=\"width:%.0fpx\"></span><b>%s%.2f&#215;</b>",
        fmax(2, BAR_PX * s->ratio / most), s->is_final ? "" : "~", s->ratio);
    if (s->hi > 0)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%.2f to %.2f</span>", s->lo, s->hi);
    put_final(out, t, s);
    atoll_buffer_printf(out, "</td>");
}

/* Who made the best kernel, and what the search added to the seeds. */
static void put_maker(struct atoll_buffer *out, const struct atoll_task_summary *t)
{
    if (t->made_by == ATOLL_MAKER_NONE) {
        atoll_buffer_printf(out, "<td class=\"l\"><span class=\"soft\">&#8211;</span></td>");
        return;
    }
    atoll_buffer_printf(out, "<td class=\"l\">%s", atoll_maker_name(t->made_by));
    if (t->gain_over_seeds > 0 && t->made_by != ATOLL_MAKER_SEED)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%.2f&#215; the best seed</span>",
                            t->gain_over_seeds);
    atoll_buffer_printf(out, "</td>");
}

/* How many, how many of them are correct, and what became of the others. */
static void put_evaluations(struct atoll_buffer *out, const struct atoll_task_summary *t)
{
    atoll_buffer_printf(out, "<td>%llu", (unsigned long long)t->evaluated);
    if (t->correct_share > 0)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%.0f&#8201;%% correct</span>",
                            100 * t->correct_share);
    for (unsigned v = ATOLL_V_CORRECT + 1; v < ATOLL_VERDICT_COUNT; v++) {
        if (!t->verdicts[v] || v == ATOLL_V_INFRASTRUCTURE)
            continue;
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%llu&#160;%s</span>",
                            (unsigned long long)t->verdicts[v], atoll_verdict_name((enum atoll_verdict)v));
    }
    if (t->verdicts[ATOLL_V_INFRASTRUCTURE]) /* no candidate's */
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%llu&#160;without a verdict</span>",
                            (unsigned long long)t->verdicts[ATOLL_V_INFRASTRUCTURE]);
    atoll_buffer_printf(out, "</td>");
}

/* Of the floor; of one that knows no operations it has a mark. */
static void put_share(struct atoll_buffer *out, const struct atoll_task_summary *t)
{
    if (t->floor_share > 0)
        atoll_buffer_printf(out, "<td>%.0f&#8201;%%%s</td>", 100 * t->floor_share,
                            t->is_memory_floor ? "*" : "");
    else
        atoll_buffer_printf(out, "<td><span class=\"soft\">&#8211;</span></td>");
}

/* The rival's time and its name; or the time of the seed where no task has a rival. */
static void put_yardstick(struct atoll_buffer *out, const struct atoll_task_summary *t, int has_rivals)
{
    const struct atoll_speedup *first = &t->over[has_rivals ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED];
    atoll_buffer_printf(out, "<td>");
    atoll_html_time(out, first->yardstick_ns, first->yardstick_lo_ns, first->yardstick_hi_ns);
    if (has_rivals && *t->rival) {
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">");
        atoll_html_text(out, t->rival);
        atoll_buffer_printf(out, "</span>");
    }
    atoll_buffer_printf(out, "</td>");
}

/* Over the seed, where a rival is the first: with the interval and the pairs of its own final comparison. */
static void put_second(struct atoll_buffer *out, const struct atoll_speedup *seed)
{
    atoll_buffer_printf(out, "<td>%s%.2f&#215;", seed->is_final ? "" : "~", seed->ratio);
    if (seed->hi > 0)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%.2f to %.2f</span>", seed->lo, seed->hi);
    if (seed->pair_count)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%u pairs</span>", seed->pair_count);
    atoll_buffer_printf(out, "</td>");
}

static void put_task_row(struct atoll_buffer *out, const struct atoll_task_summary *t, double most,
                         int has_rivals)
{
    atoll_buffer_printf(out, "<tr><td class=\"l\"><a href=\"#task-%llu\">", (unsigned long long)t->row);
    atoll_html_text(out, t->name);
    if (*t->model) {
        atoll_buffer_printf(out, " <span class=\"soft\">");
        atoll_html_text(out, t->model);
        atoll_buffer_printf(out, "</span>");
    }
    atoll_buffer_printf(out, "</a></td>");
    if (!has_rivals)
        put_share(out, t);
    put_yardstick(out, t, has_rivals);
    atoll_buffer_printf(out, "<td>");
    atoll_html_time(out, t->best_ns, t->best_lo_ns, t->best_hi_ns);
    atoll_buffer_printf(out, "</td>");
    put_speedup(out, t, &t->over[has_rivals ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED], most);
    if (has_rivals) {
        const struct atoll_speedup *seed = &t->over[ATOLL_OVER_SEED];
        if (seed->ratio > 0)
            put_second(out, seed);
        else
            atoll_buffer_printf(out, "<td><span class=\"soft\">&#8211;</span></td>");
    }
    put_maker(out, t);
    if (has_rivals)
        put_share(out, t);
    put_evaluations(out, t);
    atoll_buffer_printf(out, "</tr>\n");
}

/* A row for each yardstick that some task has. */
static void put_fast(struct atoll_buffer *out, const struct atoll_task_sums *s)
{
    atoll_buffer_printf(out, "<h2>Share of tasks more than p times as fast (fast<sub>p</sub>)</h2>\n<div "
                             "class=\"card scroll\"><table><tr><th class=\"l\">p</th>");
    for (size_t k = 0; k < ATOLL_FAST_COUNT; k++)
        atoll_buffer_printf(out, "<th>%.1f&#215;</th>", atoll_fast_thresholds[k]);
    atoll_buffer_printf(out, "</tr>");
    for (int y = 0; y < ATOLL_YARDSTICK_COUNT; y++) {
        if (y != ATOLL_OVER_SEED && s->over[y].task_count == 0)
            continue;
        atoll_buffer_printf(out, "<tr><td class=\"l\">over the %s</td>",
                            y == ATOLL_OVER_EAGER ? "rival eager"
                                                  : atoll_yardstick_name((enum atoll_yardstick)y));
        for (size_t k = 0; k < ATOLL_FAST_COUNT; k++)
            atoll_buffer_printf(out, "<td>%.0f&#8201;%%</td>", 100 * s->over[y].fast_share[k]);
        atoll_buffer_printf(out, "</tr>");
    }
    atoll_buffer_printf(out, "</table></div>\n");
}

static void put_group(struct atoll_buffer *out, const struct atoll_task_group *g, int with_level)
{
    const struct atoll_task_sums *s = &g->sums;
    int is_first = 1;
    for (int y = 0; y < ATOLL_YARDSTICK_COUNT; y++) {
        const struct atoll_speedup_sums *over = &s->over[y];
        if (y != ATOLL_OVER_SEED && over->task_count == 0)
            continue;
        atoll_buffer_printf(out, "<tr><td class=\"l\">");
        if (is_first && with_level && g->level)
            atoll_buffer_printf(out, "%u", g->level);
        else if (is_first)
            atoll_html_text(out, *g->category ? g->category : "none");
        atoll_buffer_printf(out, "</td>");
        if (is_first)
            atoll_buffer_printf(out, "<td>%llu</td><td>%.0f&#8201;%%</td>", (unsigned long long)s->task_count,
                                100.0 * (double)s->solved_count / (double)s->task_count);
        else
            atoll_buffer_printf(out, "<td></td><td></td>");
        atoll_buffer_printf(out, "<td class=\"l\">%s</td><td>%.0f&#8201;%%</td><td>%.0f&#8201;%%</td>",
                            atoll_yardstick_name((enum atoll_yardstick)y), 100 * over->fast_share[0],
                            100 * over->fast_share[1]);
        char interval[80] = "";
        if (over->geometric_hi > 0)
            snprintf(interval, sizeof(interval), " <span class=\"range\">%.2f&#8211;%.2f</span>",
                     over->geometric_lo, over->geometric_hi);
        if (over->timed_count)
            atoll_buffer_printf(out, "<td>%s%.2f&#215;%s</td><td>%s%.2f&#215;</td></tr>\n",
                                over->are_final ? "" : "~", over->geometric_mean, interval,
                                over->are_final ? "" : "~", over->arithmetic_mean);
        else
            atoll_buffer_printf(out, "<td>&#8211;</td><td>&#8211;</td></tr>\n");
        is_first = 0;
    }
}

/* Nothing where no task has a level, or a category. */
static void put_groups(struct atoll_buffer *out, const struct atoll_query *query, enum atoll_grouping by)
{
    struct atoll_task_group groups[GROUPS_SHOWN];
    size_t count = atoll_query_groups(query, by, groups, GROUPS_SHOWN);
    if (count == 0)
        return;
    atoll_buffer_printf(
        out,
        "<h2>By %s</h2>\n<div class=\"card scroll\"><table><tr><th class=\"l\">%s</th><th>tasks</th>"
        "<th>correct rate</th><th class=\"l\">over</th><th>fast<sub>1</sub></th><th>fast<sub>1.5"
        "</sub></th><th>geometric mean</th><th>arithmetic mean</th></tr>\n",
        by == ATOLL_BY_LEVEL ? "level" : "category", by == ATOLL_BY_LEVEL ? "level" : "category");
    for (size_t g = 0; g < count; g++)
        put_group(out, &groups[g], by == ATOLL_BY_LEVEL);
    atoll_buffer_printf(out, "</table></div>\n");
}

void atoll_html_summary(struct atoll_buffer *out, const struct atoll_query *query)
{
    struct atoll_archive_summary s;
    double most = 1; /* the largest speedup */
    atoll_query_summary(query, &s);
    for (uint64_t i = 0; i < s.tasks.task_count; i++) {
        struct atoll_task_summary t;
        atoll_query_task_summary(query, i, &t);
        most = fmax(most, t.over[s.tasks.headline].ratio);
    }
    put_tiles(out, &s);
    int has_rivals = s.tasks.headline != ATOLL_OVER_SEED;
    atoll_buffer_printf(out,
                        "<h2>Tasks</h2>\n<div class=\"card scroll\"><table><tr><th "
                        "class=\"l\">task</th>%s<th>best</th><th class=\"l\">%s</th>%s<th class=\"l\">made "
                        "by</th>%s<th>evaluations</th></tr>\n",
                        has_rivals ? "<th>rival</th>" : "<th>of floor</th><th>seed</th>",
                        has_rivals ? "speedup" : "over seed", has_rivals ? "<th>over seed</th>" : "",
                        has_rivals ? "<th>of floor</th>" : "");
    for (uint64_t i = 0; i < s.tasks.task_count; i++) {
        struct atoll_task_summary t;
        atoll_query_task_summary(query, i, &t);
        put_task_row(out, &t, most, has_rivals);
    }
    atoll_buffer_printf(out, "</table></div>\n");
    put_fast(out, &s.tasks);
    put_groups(out, query, ATOLL_BY_LEVEL);
    put_groups(out, query, ATOLL_BY_CATEGORY);
}
