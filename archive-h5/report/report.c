/* report.c - the page, top to bottom. */
#include "archive-h5/report/report.h"

#include "archive-h5/report/query.h"
#include "archive-h5/report/report_html.h"
#include "archive-h5/report/report_profile.h"
#include "archive-h5/report/report_svg.h"

#define PAGE_LIMIT_BYTES ((size_t)512 << 20)

static void put_task(struct atoll_buffer *out, const struct atoll_query *query, uint64_t row)
{
    struct atoll_row_task task;
    struct atoll_task_summary summary;
    const struct atoll_tables *t = atoll_query_tables(query);
    atoll_tables_get(t, ATOLL_TABLE_TASKS, row, &task);
    atoll_buffer_printf(out, "<section class=\"card task\" id=\"task-%llu\">\n<h2>", (unsigned long long)row);
    atoll_html_text(out, atoll_tables_text(t, task.name));
    atoll_query_task_summary(query, row, &summary);
    if (*summary.model) {
        atoll_buffer_printf(out, ", ");
        atoll_html_text(out, summary.model);
    }
    atoll_buffer_printf(out, "</h2>\n<p class=\"soft\">");
    atoll_html_text(out, atoll_tables_text(t, task.summary));
    atoll_buffer_printf(out, "</p>\n<div class=\"figures\">\n<div><h3>Speedup over the baseline</h3>\n");
    atoll_svg_progress(out, query, row);
    atoll_buffer_printf(out, "</div>\n<div><h3>Elites by behaviour, speedup</h3>\n");
    atoll_svg_elites(out, query, row);
    atoll_buffer_printf(out, "</div>\n</div>\n");
    atoll_html_profile(out, query, row);
    atoll_html_lineage(out, query, row);
    atoll_buffer_printf(out, "</section>\n");
}

int atoll_report_render(const struct atoll_tables *tables, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_query *query = atoll_query_create(tables, err);
    if (!query)
        return -1;
    atoll_html_begin(out, query);
    atoll_html_summary(out, query);
    atoll_buffer_printf(out, "<h2>Each task</h2>\n");
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++)
        put_task(out, query, i);
    atoll_html_devices(out, query);
    atoll_html_end(out);
    atoll_query_destroy(query);
    return atoll_buffer_check(out, err);
}

int atoll_report_write(const struct atoll_tables *tables, const char *path, const struct atoll_file_ops *ops,
                       struct atoll_err *err)
{
    struct atoll_buffer page;
    atoll_buffer_init(&page, PAGE_LIMIT_BYTES);
    int failed = atoll_report_render(tables, &page, err) != 0 ||
                 atoll_file_replace(ops, path, page.data, page.length, err) != 0;
    atoll_buffer_fini(&page);
    return failed ? -1 : 0;
}
