/* report_html.c - the frame of the report: style, head, legend; texts and times of all its parts. */
#include "archive-h5/report/report_page.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "archive-h5/report/budget_text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/search.h"

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

void atoll_html_duration(struct atoll_buffer *out, double ns)
{
    char text[64];
    if (ns > 0)
        atoll_html_text(out, atoll_duration_text(ns, text, sizeof(text)));
    else
        atoll_buffer_printf(out, "<span class=\"soft\">&#8211;</span>");
}

/* What it may use, and what extensions added. */
static void put_budget(struct atoll_buffer *out, const struct atoll_row_campaign *c)
{
    char text[ATOLL_BUDGET_TEXT_BYTES];
    atoll_buffer_printf(out, ", budget %s", atoll_budget_text(c, text));
    if (*atoll_budget_extended_text(c, text))
        atoll_buffer_printf(out, ", extended %s", text);
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
        atoll_html_duration(out, (double)c.campaign_ns);
        atoll_buffer_printf(out, ", Atoll ");
        atoll_html_text(out, atoll_tables_text(t, c.atoll_version));
        atoll_buffer_printf(out, ", timed with %s caches</p>\n", c.timing ? "warm" : "cold");
        put_origin(out, t, &c);
    }
    atoll_buffer_printf(out, "</header>\n");
}

void atoll_html_time(struct atoll_buffer *out, double ns, double lo, double hi)
{
    atoll_html_duration(out, ns);
    if (!(ns > 0) || !(hi > 0))
        return;
    atoll_buffer_printf(out, "<br/><span class=\"soft range\">");
    atoll_html_duration(out, lo);
    atoll_buffer_printf(out, " to ");
    atoll_html_duration(out, hi);
    atoll_buffer_printf(out, "</span>");
}

/* Sentences of the legend, each for pages that hold its mark. */
static const struct {
    const char *mark, *text;
} legend[] = {
    {" pairs</span>", "Speedup is the time of what is compared with over the best time, the ratio of "
                      "interleaved samples of both on one "
                      "device where "
                      "a final comparison was made, with its one-sided p-value and the number of pairs."},
    {"~", "~ is the quotient of two medians measured apart: no final comparison was made."},
    {"<th>rival</th>", "The rival is what PyTorch makes of the task: at every shape the fastest of eager "
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
    {"&#8201;%*</td>",
     "*: the floor is of memory alone, as how many operations the task needs is not known."},
    {"<th>evaluations</th>",
     "Correct: share of the evaluations that judged a candidate; an unstable one says "
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
    {"<th>candidates</th>",
     "Where the devices' time went: candidates, they run; answers, the reference says what is right; inputs, "
     "flush and checks, "
     "samples are made, caches emptied, results looked at; processes, samples are begun and ended; "
     "compiling, orders wait for a "
     "compiler or are loaded; start, the device is opened and calibrated; idle, no order is in hand."},
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
