/* report_task.c - of one task: its rivals, what failed last, and the lineage of its best kernel. */
#include "archive-h5/report/report_page.h"

#include <string.h>

#include "archive-h5/report/failure.h"
#include "archive-h5/report/task_rival.h"
#include "archive-h5/report/task_summary.h"

#define LINEAGE_LIMIT   64u
#define FAILURES_SHOWN  3u
#define TEMPLATES_SHOWN 8u

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
    atoll_html_time(out, e.time_ns, e.time_lo_ns, e.time_hi_ns);
    double yardstick_ns = atoll_task_yardstick_ns(task);
    if (e.time_ns > 0 && yardstick_ns > 0)
        atoll_buffer_printf(out, "</td><td>~%.2f&#215;</td></tr>\n", yardstick_ns / e.time_ns);
    else
        atoll_buffer_printf(out, "</td><td></td></tr>\n");
}

/* Which way through its plan each shape took; nothing where there is but one. */
static void put_paths(struct atoll_buffer *out, const struct atoll_query *query, int64_t evaluation)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_rows rows = {NULL, 0};
    int is_first = 1;
    if (evaluation >= 0)
        rows = atoll_query_timings(query, (uint64_t)evaluation);
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing timing;
        atoll_tables_get(t, ATOLL_TABLE_TIMINGS, rows.rows[i], &timing);
        if (!timing.path)
            continue;
        atoll_buffer_printf(out, "%s", is_first ? "<p class=\"soft\">Paths of its plan: " : ", ");
        atoll_html_text(out, atoll_tables_text(t, timing.variant_name));
        atoll_buffer_printf(out, " takes path %u", timing.path);
        is_first = 0;
    }
    if (!is_first)
        atoll_buffer_printf(out, "</p>\n");
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
        atoll_html_time(out, r->time_ns, r->time_lo_ns, r->time_hi_ns);
        atoll_buffer_printf(out, "</td><td>");
        atoll_html_duration(out, r->host_ns);
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
        out, "<h3>Rivals</h3>\n<div class=\"scroll\" style=\"margin-bottom:22px\"><table><tr><th "
             "class=\"l\">rival</th><th "
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
    struct atoll_task_summary summary;
    char tries[96];
    atoll_query_task_summary(query, task_row, &summary);
    if (summary.unstable_tries)
        atoll_buffer_printf(out, "<p class=\"warn\">No speedups: %s.</p>\n",
                            atoll_unstable_tries_text(summary.unstable_tries, tries, sizeof(tries)));
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

void atoll_html_discarded(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_task task;
    size_t shown = 0;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &task);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_JUDGEMENTS); i++) {
        struct atoll_row_judgement j;
        char hex[ATOLL_ID_HEX];
        atoll_tables_get(t, ATOLL_TABLE_JUDGEMENTS, i, &j);
        if (!j.discarded || j.campaign != task.campaign || j.task != task.task || j.model != task.model)
            continue;
        if (!shown++)
            atoll_buffer_printf(out, "<details><summary>Discarded as cheats by a judge</summary><ul>\n");
        atoll_id_hex(&j.candidate, hex);
        atoll_buffer_printf(out, "<li class=\"warn\"><span class=\"mono\">%.12s</span> %.0f %% likely: ", hex,
                            100 * j.likelihood);
        atoll_html_text(out, atoll_tables_text(t, j.reason));
        atoll_buffer_printf(out, "</li>\n");
    }
    if (shown)
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
    put_paths(out, query, atoll_query_best_evaluation(query, (uint64_t)best, task.model));
    put_source(out, query, (uint64_t)best);
}
