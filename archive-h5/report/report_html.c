/* report_html.c - the words and tables of the report. */
#include "archive-h5/report/report_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/failure.h"
#include "archive-h5/report/task_rival.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/evaluation.h"
#include "core/search.h"

#define LINEAGE_LIMIT   64u
#define SIGNIFICANT     0.05
#define FAILURES_SHOWN  3u
#define TEMPLATES_SHOWN 8u
#define GROUPS_SHOWN    64u

static const char style[] =
    ":root{color-scheme:light "
    "dark;--page:#fbfbfa;--card:#fff;--ink:#1c1f23;--soft:#68707a;--line:#e3e5e8;--accent:#0b6e8f;--accent-"
    "soft:#0b6e8f1c;--good:#2b7a4b;--warn:#a4510a}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1b1f23;--ink:#e6e8ea;--soft:#98a1ab;--line:#"
    "2c3238;--accent:#4fb3d3;--accent-soft:#4fb3d326;--good:#6cc08b;--warn:#e0a061}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe "
    "UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}\n"
    "main{max-width:1180px;margin:0 auto;padding:44px 28px 64px}\n"
    "header{margin-bottom:30px}h1{font-size:30px;line-height:1.15;letter-spacing:-.02em;margin:0 0 "
    "6px;font-weight:650}\n"
    "h2{font-size:19px;letter-spacing:-.01em;margin:48px 0 12px;font-weight:620}h3{font-size:13px;margin:0 0 "
    "8px;font-weight:600;color:var(--soft)}\n"
    "p{margin:0 0 "
    "10px}.soft{color:var(--soft)}.mono,code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'"
    "DejaVu Sans Mono',monospace;font-size:.87em}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:1px;background:var(--"
    "line);border:1px solid var(--line);border-radius:10px;overflow:hidden}\n"
    ".tile{background:var(--card);padding:16px 18px}.tile "
    "b{display:block;font-size:25px;line-height:1.2;font-weight:640;letter-spacing:-.02em}.tile "
    "span{color:var(--soft);font-size:13px}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th{font-weight:550;"
    "color:var(--soft);font-size:12.5px;text-align:right;padding:8px 12px;border-bottom:1px solid "
    "var(--line);white-space:nowrap}\n"
    "td{padding:8px 12px;border-bottom:1px solid "
    "var(--line);text-align:right;white-space:nowrap}th.l,td.l{text-align:left}tr:last-child "
    "td{border-bottom:0}\n"
    "td.wrap{white-space:normal;text-align:left;min-width:220px}td "
    "a{color:inherit;text-decoration:none;font-weight:560}td "
    "a:hover{color:var(--accent);text-decoration:underline}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:6px "
    "8px}.task{padding:20px 22px;margin-bottom:22px}\n"
    ".task>h2{margin:0}.task "
    ".soft{margin-bottom:16px}.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,"
    "430px),1fr));gap:26px;margin-bottom:18px}.figures>div{min-width:0}\n"
    "svg{display:block;width:100%;height:auto}svg "
    "text{fill:currentColor;font-size:11px}.tick{fill:var(--soft)!important;font-size:10.5px}.caption{font-"
    "size:11px}\n"
    ".grid{stroke:var(--line)}.base{stroke:var(--soft);stroke-dasharray:2 "
    "3}.floor{stroke:var(--good);stroke-dasharray:5 "
    "4}.dot{fill:var(--accent);fill-opacity:.42}.best{fill:none;stroke:var(--accent);stroke-width:2;stroke-"
    "linejoin:round}\n"
    ".empty{fill:none;stroke:var(--line)}.elite{fill:var(--accent)}.cell{font-size:10.5px!important}.strong{"
    "fill:var(--card)!important;font-weight:600}\n"
    ".bar{display:inline-block;height:8px;border-radius:2px;background:var(--accent);opacity:.75;vertical-"
    "align:middle;margin-right:9px}\n"
    ".range{font-size:12px}.good{color:var(--good)}.warn{color:var(--warn)}.none{color:var(--soft);padding:"
    "24px 0}\n"
    "details{border-top:1px solid "
    "var(--line);padding-top:10px;margin-top:6px}summary{cursor:pointer;font-weight:560}pre{margin:10px 0 "
    "0;padding:14px 16px;background:var(--page);border:1px solid "
    "var(--line);border-radius:8px;overflow-x:auto;line-height:1.45;tab-size:4;max-height:560px}\n"
    "footer{margin-top:44px;color:var(--soft);font-size:13px;max-width:76ch}\n"
    "@media print{body{background:#fff}.card,.task{break-inside:avoid}}\n";

void atoll_html_text(struct atoll_buffer *out, const char *text)
{
    while (*text) {
        size_t length = *text == '\n' || *text == '\t' ? 1 : atoll_utf8_printable_bytes(text);
        if (length == 0) {
            atoll_buffer_printf(out, "&#65533;");
            length = atoll_utf8_character_bytes(text, 4);
        } else if (strchr("&<>\"'", *text)) {
            atoll_buffer_printf(out, "&#%d;", *text);
        } else {
            atoll_buffer_put_bytes(out, text, length);
        }
        text += length ? length : 1;
    }
}

static void put_duration(struct atoll_buffer *out, double ns)
{
    char text[64];
    if (ns > 0)
        atoll_html_text(out, atoll_duration_text(ns, text, sizeof(text)));
    else
        atoll_buffer_printf(out, "<span class=\"soft\">&#8211;</span>");
}

static void put_budget(struct atoll_buffer *out, const struct atoll_row_campaign *c)
{
    int is_any = 0;
    atoll_buffer_printf(out, ", budget ");
    if (c->wall_budget_ns > 0) {
        put_duration(out, c->wall_budget_ns);
        atoll_buffer_printf(out, " of clock");
        is_any = 1;
    }
    if (c->device_budget_ns > 0) {
        atoll_buffer_printf(out, is_any ? ", " : "");
        put_duration(out, c->device_budget_ns);
        atoll_buffer_printf(out, " of devices");
        is_any = 1;
    }
    if (c->evaluation_budget) {
        atoll_buffer_printf(out, "%s%llu evaluations", is_any ? ", " : "",
                            (unsigned long long)c->evaluation_budget);
        is_any = 1;
    }
    atoll_buffer_printf(out, is_any ? "" : "not limited");
}

/* With what the campaign was made; files of earlier schemas do not say it. */
static void put_origin(struct atoll_buffer *out, const struct atoll_tables *t,
                       const struct atoll_row_campaign *c)
{
    if (!atoll_tables_text_length(t, c->settings))
        return;
    atoll_buffer_printf(out, "<p class=\"soft\">Strategy %s, seed %llu", atoll_strategy_name(c->strategy),
                        (unsigned long long)c->seed);
    put_budget(out, c);
    if (atoll_tables_text_length(t, c->suite)) {
        atoll_buffer_printf(out, ", suites <span class=\"mono\">");
        atoll_html_text(out, atoll_tables_text(t, c->suite));
        atoll_buffer_printf(out, "</span>");
    }
    atoll_buffer_printf(out, "</p>\n");
    if (atoll_tables_text_length(t, c->command_line)) {
        atoll_buffer_printf(out, "<p class=\"soft mono\">");
        atoll_html_text(out, atoll_tables_text(t, c->command_line));
        atoll_buffer_printf(out, "</p>\n");
    }
    atoll_buffer_printf(out, "<details><summary>All settings</summary>\n<pre>");
    atoll_html_text(out, atoll_tables_text(t, c->options));
    atoll_html_text(out, atoll_tables_text(t, c->settings));
    atoll_buffer_printf(out, "</pre></details>\n");
}

void atoll_html_begin(struct atoll_buffer *out, const struct atoll_query *query)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_campaign c;
    char hex[ATOLL_ID_HEX];
    atoll_buffer_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                             "style-src 'unsafe-inline'\"/>\n<title>Atoll report</title>\n<style>\n");
    atoll_buffer_put_bytes(out, style, sizeof(style) - 1);
    atoll_buffer_printf(out, "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>Atoll report</h1>\n");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN) && i < 8; i++) {
        atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, i, &c);
        atoll_id_hex(&c.id, hex);
        atoll_buffer_printf(out, "<p class=\"soft\">Campaign <span class=\"mono\">%.12s</span>, started ",
                            hex);
        char date[64];
        time_t seconds = (time_t)(c.created_unix_ns / 1000000000);
        struct tm tm;
        if (gmtime_r(&seconds, &tm) && strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm) > 0)
            atoll_buffer_printf(out, "%s", date);
        atoll_buffer_printf(out, ", ran ");
        put_duration(out, (double)c.campaign_ns);
        atoll_buffer_printf(out, ", Atoll ");
        atoll_html_text(out, atoll_tables_text(t, c.atoll_version));
        atoll_buffer_printf(out, ", timed with %s caches</p>\n", c.timing ? "warm" : "cold");
        put_origin(out, t, &c);
    }
    atoll_buffer_printf(out, "</header>\n");
}

static void put_tiles(struct atoll_buffer *out, const struct atoll_archive_summary *s)
{
    const struct atoll_speedup_sums *sums = &s->tasks.over[s->tasks.headline];
    const char *over = s->tasks.headline == ATOLL_OVER_SEED ? "seed" : "rival";
    double tasks = sums->task_count ? (double)sums->task_count : 1;
    atoll_buffer_printf(out, "<section class=\"tiles\">\n");
    if (s->tasks.headline == ATOLL_OVER_SEED && s->tasks.floor_count) {
        atoll_buffer_printf(
            out,
            "<div class=\"tile\"><b>%.0f&#8201;%%</b><span>of the floor, geometric mean; no rival "
            "measured</span></div>\n",
            100 * s->tasks.floor_mean);
    }
    if (sums->geometric_mean > 0) {
        atoll_buffer_printf(
            out,
            "<div class=\"tile\"><b>%s%.2f&#215;</b><span>geometric mean speedup over the %s, %llu "
            "of %llu tasks; arithmetic %.2f&#215;</span></div>\n",
            sums->are_final ? "" : "~", sums->geometric_mean, over, (unsigned long long)sums->timed_count,
            (unsigned long long)s->tasks.task_count, sums->arithmetic_mean);
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
        atoll_buffer_printf(
            out, "<div class=\"tile\"><b>%s%.2f&#215;</b><span>geometric mean over the seed</span></div>\n",
            s->tasks.over[ATOLL_OVER_SEED].are_final ? "" : "~",
            s->tasks.over[ATOLL_OVER_SEED].geometric_mean);
    }
    atoll_buffer_printf(
        out, "<div class=\"tile\"><b>%llu</b><span>evaluations, %.0f&#8201;%% correct</span></div>\n",
        (unsigned long long)s->tasks.evaluated,
        s->tasks.judged ? 100.0 * (double)s->tasks.correct / (double)s->tasks.judged : 0.0);
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

/* A time with its 95 % interval beneath. */
static void put_time(struct atoll_buffer *out, double ns, double lo, double hi)
{
    put_duration(out, ns);
    if (!(ns > 0) || !(hi > 0))
        return;
    atoll_buffer_printf(out, "<br/><span class=\"soft range\">");
    put_duration(out, lo);
    atoll_buffer_printf(out, " to ");
    put_duration(out, hi);
    atoll_buffer_printf(out, "</span>");
}

/* With a bar, its interval, and the final comparison in a cell of its own. */
static void put_speedup(struct atoll_buffer *out, const struct atoll_task_summary *t,
                        const struct atoll_speedup *s, double most)
{
    if (s->ratio <= 0) {
        atoll_buffer_printf(out, "<td class=\"l\"><span class=\"soft\">&#8211;</span></td><td></td>");
        return;
    }
    atoll_buffer_printf(
        out, "<td class=\"l\"><span class=\"bar\" style=\"width:%.0fpx\"></span><b>%s%.2f&#215;</b>",
        fmax(2, 130 * s->ratio / most), s->is_final ? "" : "~", s->ratio);
    if (s->hi > 0)
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%.2f to %.2f</span>", s->lo, s->hi);
    atoll_buffer_printf(out, "</td>");
    if (s->pair_count) {
        atoll_buffer_printf(out, "<td class=\"%s\">", s->p_value < SIGNIFICANT ? "good" : "soft");
        atoll_buffer_printf(out, s->p_value < 0.0001 ? "p &lt; 0.0001" : "p = %.4f", s->p_value);
        atoll_buffer_printf(out, "<br/><span class=\"soft range\">%u pairs</span></td>", s->pair_count);
    } else {
        atoll_buffer_printf(out, "<td class=\"soft\">%s</td>",
                            t->is_baseline_best ? "baseline is best" : "not compared");
    }
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

static void put_failed(struct atoll_buffer *out, const struct atoll_task_summary *t)
{
    const char *between = "";
    atoll_buffer_printf(out, "<td class=\"l soft\">");
    for (unsigned v = ATOLL_V_CORRECT + 1; v < ATOLL_VERDICT_COUNT; v++) {
        if (!t->verdicts[v])
            continue;
        atoll_buffer_printf(out, "%s%llu&#160;%s", between, (unsigned long long)t->verdicts[v],
                            atoll_verdict_name((enum atoll_verdict)v));
        between = "<br/>";
    }
    atoll_buffer_printf(out, "</td>");
}

static void put_share(struct atoll_buffer *out, double share)
{
    if (share > 0)
        atoll_buffer_printf(out, "<td>%.0f&#8201;%%</td>", 100 * share);
    else
        atoll_buffer_printf(out, "<td><span class=\"soft\">&#8211;</span></td>");
}

/* The rival's name, and its time; or that of the seed where no task has a rival. */
static void put_yardstick(struct atoll_buffer *out, const struct atoll_task_summary *t, int has_rivals)
{
    const struct atoll_speedup *first = &t->over[has_rivals ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED];
    if (has_rivals) {
        atoll_buffer_printf(out, "<td class=\"l\">");
        atoll_html_text(out, *t->rival ? t->rival : "-");
        atoll_buffer_printf(out, "</td>");
    }
    atoll_buffer_printf(out, "<td>");
    put_time(out, first->yardstick_ns, first->yardstick_lo_ns, first->yardstick_hi_ns);
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
        put_share(out, t->floor_share);
    put_yardstick(out, t, has_rivals);
    atoll_buffer_printf(out, "<td>");
    put_time(out, t->best_ns, t->best_lo_ns, t->best_hi_ns);
    atoll_buffer_printf(out, "</td>");
    put_speedup(out, t, &t->over[has_rivals ? ATOLL_OVER_RIVAL : ATOLL_OVER_SEED], most);
    if (has_rivals) {
        const struct atoll_speedup *seed = &t->over[ATOLL_OVER_SEED];
        if (seed->ratio > 0)
            atoll_buffer_printf(out, "<td>%s%.2f&#215;</td>", seed->is_final ? "" : "~", seed->ratio);
        else
            atoll_buffer_printf(out, "<td><span class=\"soft\">&#8211;</span></td>");
    }
    put_maker(out, t);
    if (has_rivals)
        put_share(out, t->floor_share);
    atoll_buffer_printf(out, "<td>%llu</td>", (unsigned long long)t->evaluated);
    put_share(out, t->correct_share);
    put_failed(out, t);
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
        if (over->timed_count)
            atoll_buffer_printf(out, "<td>%s%.2f&#215;</td><td>%s%.2f&#215;</td></tr>\n",
                                over->are_final ? "" : "~", over->geometric_mean, over->are_final ? "" : "~",
                                over->arithmetic_mean);
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
    atoll_buffer_printf(
        out,
        "<h2>Tasks</h2>\n<div class=\"card scroll\"><table><tr><th "
        "class=\"l\">task</th>%s<th>best</th><th class=\"l\">%s</th><th>final "
        "comparison</th>%s<th class=\"l\">made by</th>%s<th>evaluations</th><th>correct</th><th "
        "class=\"l\">not correct</th></tr>\n",
        has_rivals ? "<th class=\"l\">rival</th><th>its time</th>" : "<th>of floor</th><th>seed</th>",
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

static const char *value_name(enum atoll_table table, const char *name, unsigned value)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    for (size_t c = 0; c < schema->column_count; c++)
        if (!strcmp(schema->columns[c].name, name))
            return value < schema->columns[c].value_count ? schema->columns[c].value_name(value) : "unknown";
    return "unknown";
}

static void put_ancestor(struct atoll_buffer *out, const struct atoll_query *query, uint64_t row,
                         const struct atoll_row_task *task)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_candidate c;
    struct atoll_row_evaluation e = {.verdict = ATOLL_V_INFRASTRUCTURE};
    char hex[ATOLL_ID_HEX];
    int64_t evaluation = atoll_query_best_evaluation(query, row, task->model);
    atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, row, &c);
    if (evaluation >= 0)
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, (uint64_t)evaluation, &e);
    atoll_id_hex(&c.id, hex);
    atoll_buffer_printf(out, "<tr><td class=\"l mono\">%.12s</td><td class=\"l\">", hex);
    atoll_html_text(out, value_name(ATOLL_TABLE_CANDIDATES, "operator", c.operator_));
    atoll_buffer_printf(out, "</td><td class=\"l\">");
    atoll_html_text(out, atoll_tables_text(t, c.origin));
    atoll_buffer_printf(out, "</td><td class=\"wrap mono\">");
    atoll_html_text(out, atoll_tables_text(t, c.choice));
    atoll_buffer_printf(out, "</td><td>%u</td><td>%u</td><td class=\"l\">", c.island, c.generation);
    atoll_html_text(out, evaluation >= 0 ? value_name(ATOLL_TABLE_EVALUATIONS, "verdict", e.verdict)
                                         : "under way");
    atoll_buffer_printf(out, "</td><td>");
    put_time(out, e.time_ns, e.time_lo_ns, e.time_hi_ns);
    double yardstick_ns = atoll_task_yardstick_ns(task);
    if (e.time_ns > 0 && yardstick_ns > 0)
        atoll_buffer_printf(out, "</td><td>~%.2f&#215;</td></tr>\n", yardstick_ns / e.time_ns);
    else
        atoll_buffer_printf(out, "</td><td></td></tr>\n");
}

static void put_source(struct atoll_buffer *out, const struct atoll_query *query, uint64_t row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_candidate c;
    atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, row, &c);
    atoll_buffer_printf(out, "<details><summary>Source of the best kernel</summary>\n");
    if (atoll_tables_text_length(t, c.choice)) {
        atoll_buffer_printf(out, "<p class=\"soft mono\">");
        atoll_html_text(out, atoll_tables_text(t, c.choice));
        atoll_buffer_printf(out, "</p>");
    }
    atoll_buffer_printf(out, "<pre>");
    atoll_html_text(out, atoll_tables_text(t, c.source));
    atoll_buffer_printf(out, "</pre></details>\n");
}

/* Time, one call from Python, and versions; or why it is none. */
static void put_rival(struct atoll_buffer *out, const struct atoll_tables *t, const struct atoll_row_rival *r)
{
    const uint32_t texts[] = {r->name, r->expression};
    atoll_buffer_printf(out, "<tr><td class=\"l\">");
    atoll_html_text(out, atoll_tables_text(t, texts[0]));
    atoll_buffer_printf(out, "</td><td class=\"l\">%s</td><td class=\"wrap mono\">",
                        atoll_torch_mode_name((enum atoll_torch_mode)r->mode));
    atoll_html_text(out, atoll_tables_text_length(t, texts[1]) ? atoll_tables_text(t, texts[1])
                                                               : "the reference's module");
    if (r->verdict == ATOLL_V_CORRECT) {
        atoll_buffer_printf(out, "</td><td>");
        put_time(out, r->time_ns, r->time_lo_ns, r->time_hi_ns);
        atoll_buffer_printf(out, "</td><td>");
        put_duration(out, r->host_ns);
        atoll_buffer_printf(out, "</td><td class=\"l soft\">");
        atoll_html_text(out, atoll_tables_text(t, r->versions));
    } else {
        atoll_buffer_printf(out, "</td><td colspan=\"3\" class=\"wrap warn\">%s: ",
                            atoll_verdict_name((enum atoll_verdict)r->verdict));
        atoll_html_text(out, atoll_tables_text(t, r->detail));
    }
    atoll_buffer_printf(out, "</td></tr>\n");
}

void atoll_html_rivals(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    size_t count = atoll_query_rivals(query, task_row, rows);
    if (count == 0)
        return;
    atoll_buffer_printf(
        out, "<h3>Rivals</h3>\n<div class=\"scroll\"><table><tr><th class=\"l\">rival</th><th "
             "class=\"l\">mode</th><th class=\"l\">what it computes</th><th>time</th><th>one call from "
             "Python</th><th class=\"l\">versions</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival r;
        atoll_tables_get(t, ATOLL_TABLE_RIVALS, rows[i], &r);
        put_rival(out, t, &r);
    }
    atoll_buffer_printf(out, "</table></div>\n");
}

void atoll_html_failures(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    uint64_t rows[FAILURES_SHOWN];
    struct atoll_dead_template dead[TEMPLATES_SHOWN];
    size_t count = atoll_query_failures(query, task_row, rows, FAILURES_SHOWN),
           dead_count = atoll_query_dead_templates(query, task_row, dead, TEMPLATES_SHOWN);
    if (count + dead_count == 0)
        return;
    atoll_buffer_printf(out, "<details%s><summary>What failed last</summary>\n<ul>\n",
                        dead_count ? " open=\"open\"" : "");
    for (size_t i = 0; i < dead_count; i++) {
        struct atoll_row_candidate c;
        struct atoll_row_evaluation e;
        atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, dead[i].candidate, &c);
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, dead[i].evaluation, &e);
        atoll_buffer_printf(out, "<li class=\"warn\">");
        atoll_html_text(out, atoll_tables_text(t, c.origin));
        atoll_buffer_printf(out, ": none of the %llu combinations that were tried compiles: ",
                            (unsigned long long)dead[i].combinations);
        atoll_html_text(out, atoll_tables_text(t, e.detail));
        atoll_buffer_printf(out, "</li>\n");
    }
    for (size_t i = 0; i < count; i++) {
        struct atoll_row_evaluation e;
        char hex[ATOLL_ID_HEX];
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, rows[i], &e);
        atoll_id_hex(&e.candidate, hex);
        atoll_buffer_printf(out, "<li><span class=\"mono\">%.12s</span> %s: ", hex,
                            atoll_verdict_name((enum atoll_verdict)e.verdict));
        atoll_html_text(out, atoll_tables_text(t, e.detail));
        atoll_buffer_printf(out, "</li>\n");
    }
    atoll_buffer_printf(out, "</ul></details>\n");
}

void atoll_html_lineage(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    struct atoll_row_task task;
    uint64_t rows[LINEAGE_LIMIT];
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TASKS, task_row, &task);
    int64_t best =
        atoll_id_is_zero(&task.best) ? -1 : atoll_query_candidate(query, task.campaign, &task.best);
    if (best < 0)
        return;
    size_t count = atoll_query_lineage(query, (uint64_t)best, rows, LINEAGE_LIMIT);
    atoll_buffer_printf(
        out,
        "<h3>Lineage of the best kernel, newest first</h3>\n<div class=\"scroll\"><table><tr><th "
        "class=\"l\">candidate</th><th class=\"l\">operator</th><th class=\"l\">origin</th><th "
        "class=\"l\">parameters</th><th>island</th><th>generation</th><th "
        "class=\"l\">verdict</th><th>time</th><th>over the %s</th></tr>\n",
        task.rival_ns > 0 ? "rival" : "seed");
    for (size_t i = 0; i < count; i++)
        put_ancestor(out, query, rows[i], &task);
    atoll_buffer_printf(out, "</table></div>\n");
    put_source(out, query, (uint64_t)best);
}

/* Sentences of the legend, each for pages that hold its mark. */
static const struct {
    const char *mark, *text;
} legend[] = {
    {"pairs</span>", "Speedup is the time of what is compared with over the best time, the ratio of "
                     "interleaved samples of both on one "
                     "device where "
                     "a final comparison was made, with its one-sided p-value and the number of pairs."},
    {"~", "~ is the quotient of two medians measured apart: no final comparison was made."},
    {"<th>its time</th>", "The rival is what PyTorch makes of the task: at every shape the fastest of eager "
                          "and what torch.compile made, "
                          "measured by the same ruler; comparisons with it alternate blocks of samples in "
                          "two processes. The seed is the task's "
                          "own plain kernel."},
    {"one call from Python",
     "One call from Python: with nothing queued ahead, so what Python and the driver take is in it."},
    {"no rival measured",
     "No rival was measured: no Python with PyTorch, or the tasks name none. Speedups are over the "
     "task's own seed, a plain kernel: how good a kernel is the share of the floor says."},
    {"range\">", "Ranges are 95 % intervals."},
    {"made by",
     "Made by: seed, one of the task's seeds as it was; tuner, with parameters that the tuner chose; "
     "model, a language model; migrant, a source of an earlier campaign or another device."},
    {"of floor",
     "Of floor: the roofline floor (memory traffic or arithmetic that the task cannot avoid, from "
     "bandwidth and peaks measured on the device) over the best time."},
    {"not correct</th>", "Correct: share of the evaluations that judged a candidate; an unstable one says "
                         "nothing of it."},
    {"class=\"plot\"", "In the plots every dot is a correct candidate and the line is the best so far; the "
                       "dotted line is what is compared with."},
    {"class=\"elites\"",
     "In the grids a cell shows the speedup of its fastest elite over all islands, darker "
     "for higher fitness; grids without an elite are left out."},
    {"class=\"roofline\"",
     "Under the roofline every dot is a candidate that is or was an elite, the large one "
     "the best; the lines are the bandwidth and the peaks measured on the device, and "
     "operations are those the task needs."},
    {"no-op challenges",
     "False promotions: a copy of an elite under another name that was called better than "
     "it."},
};

void atoll_html_end(struct atoll_buffer *out)
{
    size_t page_bytes = out->length;
    int is_any = 0;
    for (size_t i = 0; i < sizeof(legend) / sizeof(*legend); i++) {
        if (out->failed || !memmem(out->data, page_bytes, legend[i].mark, strlen(legend[i].mark)))
            continue;
        atoll_buffer_printf(out, "%s%s", is_any ? " " : "<footer><p>", legend[i].text);
        is_any = 1;
    }
    atoll_buffer_printf(out, "%s</main>\n</body>\n</html>\n", is_any ? "</p></footer>\n" : "");
}
