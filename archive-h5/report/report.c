/* report.c - the page, top to bottom; the devices of an archive; and why the best kernel of a task is as fast as it is: limiter,
 * resources and counters in words and figures, where what is not known is left out. */
#include "archive-h5/report/report.h"

#include <math.h>

#include "archive-h5/report/archive_summary.h"
#include "archive-h5/report/report_page.h"
#include "archive-h5/report/task_words.h"
#include "base/units.h"

#define PAGE_LIMIT_BYTES ((size_t)512 << 20)

/* What only device APIs have, in the last cell. */
static void put_limits(struct atoll_buffer *out, const struct atoll_tables *t,
                       const struct atoll_row_device *d)
{
    char memory[32];
    if (d->multiprocessors == 0)
        return;
    uint64_t bytes = d->memory_bytes > 0 && d->memory_bytes < 1e18 ? (uint64_t)d->memory_bytes : 0;
    atoll_buffer_printf(out, "<br/>%u multiprocessors, %s, up to %.0f MHz; driver ", d->multiprocessors,
                        atoll_bytes_text(bytes, memory, sizeof(memory)), d->clock_hz * 1e-6);
    atoll_html_text(out, atoll_tables_text(t, d->driver));
    atoll_buffer_printf(out, ", ");
    atoll_html_text(out, atoll_tables_text(t, d->target));
    atoll_buffer_printf(out, "; tensor f16 %.1f Tflop/s, tf32 %.1f Tflop/s; counters: ",
                        d->tensor_f16_flops * 1e-12, d->tensor_tf32_flops * 1e-12);
    atoll_html_text(out, atoll_tables_text(t, d->counters));
}

static void put_devices(struct atoll_buffer *out, const struct atoll_query *query)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    char bytes[32];
    if (atoll_tables_count(t, ATOLL_TABLE_DEVICES) == 0)
        return;
    atoll_buffer_printf(
        out, "<h2>Devices</h2>\n<div class=\"card scroll\"><table><tr><th class=\"l\">node</th><th "
             "class=\"l\">device</th><th class=\"l\">backend</th><th>threads</th><th>bandwidth</th><th>peak "
             "f32</th><th>cache</th><th class=\"l\">toolchain</th></tr>\n");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_row_device d;
        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &d);
        const uint32_t texts[] = {d.node, d.model, d.backend};
        atoll_buffer_printf(out, "<tr>");
        for (size_t k = 0; k < 3; k++) {
            atoll_buffer_printf(out, "<td class=\"l\">");
            atoll_html_text(out, atoll_tables_text(t, texts[k]));
            atoll_buffer_printf(out, "</td>");
        }
        uint64_t cache = d.last_level_cache_bytes > 0 && d.last_level_cache_bytes < 1e15
                             ? (uint64_t)d.last_level_cache_bytes
                             : 0;
        atoll_buffer_printf(
            out, "<td>%u</td><td>%.1f GB/s</td><td>%.1f Gflop/s</td><td>%s</td><td class=\"wrap mono\">",
            d.threads, d.bandwidth_bytes_per_s * 1e-9, d.peak_f32_flops * 1e-9,
            atoll_bytes_text(cache, bytes, sizeof(bytes)));
        atoll_html_text(out, atoll_tables_text(t, d.toolchain));
        put_limits(out, t, &d);
        atoll_buffer_printf(out, "</td></tr>\n");
    }
    atoll_buffer_printf(out, "</table></div>\n");
}

static void put_pair(struct atoll_buffer *out, const char *name, double value, const char *unit)
{
    const char *space = unit[0] && unit[0] != '1' ? "&#8201;" : "";
    int is_long = value >= 1e6;
    atoll_buffer_printf(out, "<tr><td class=\"l\">");
    for (; *name; name++)
        atoll_buffer_put_u8(out, *name == '_' ? ' ' : (uint8_t)*name);
    atoll_buffer_printf(out, is_long ? "</td><td>%.4g%s" : "</td><td>%.6g%s", value, space);
    if (*space)
        atoll_html_text(out, unit);
    atoll_buffer_printf(out, "</td></tr>\n");
}

static void put_resources(struct atoll_buffer *out, const struct atoll_row_profile *p)
{
    if (p->registers) { /* a processor's binary tells of none of these */
        put_pair(out, "registers", p->registers, "");
        put_pair(out, "static shared memory", p->static_shared_bytes, "bytes");
        put_pair(out, "dynamic shared memory", p->dynamic_shared_bytes, "bytes");
        put_pair(out, "stack", p->stack_bytes, "bytes");
        put_pair(out, "spill stores", p->spill_store_bytes, "bytes");
        put_pair(out, "spill loads", p->spill_load_bytes, "bytes");
    }
    if (p->theoretical_occupancy > 0)
        put_pair(out, "theoretical occupancy", 100 * p->theoretical_occupancy, "%");
    for (unsigned m = 0; m < ATOLL_MIX_COUNT; m++)
        if (p->mix[m])
            put_pair(out, atoll_mix_name((enum atoll_mix)m), p->mix[m], "instructions");
}

static void put_counters(struct atoll_buffer *out, const struct atoll_row_profile *p)
{
    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++) {
        if (isfinite(p->counters[c])) {
            put_pair(out, atoll_counter_name((enum atoll_counter)c), p->counters[c],
                     atoll_counter_unit((enum atoll_counter)c));
        }
    }
    if (p->intensity_flops_per_byte > 0)
        put_pair(out, "operations per byte", p->intensity_flops_per_byte, "");
    if (p->clock_hz > 0)
        put_pair(out, "clock", p->clock_hz * 1e-6, "MHz");
}

static void put_profile(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_profile p;
    uint64_t evaluation;
    struct atoll_row_task task;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &task);
    int64_t best =
        atoll_id_is_zero(&task.best) ? -1 : atoll_query_candidate(query, task.campaign, &task.best);
    struct atoll_row_evaluation of = {.error_class = 0};
    struct atoll_diagnosis diagnosis;
    char text[ATOLL_DIAGNOSIS_BYTES] = "";
    int64_t row =
        best < 0 ? -1 : atoll_query_candidate_profile(query, (uint64_t)best, task.model, &evaluation);
    int64_t counted = best < 0 ? -1 : atoll_query_best_evaluation(query, (uint64_t)best, task.model);
    if (counted >= 0) {
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, (uint64_t)counted, &of);
        atoll_query_diagnosis(query, (uint64_t)counted, &diagnosis);
        atoll_diagnosis_text(&diagnosis, text, sizeof(text));
    }
    if (row < 0) {
        if (atoll_row_is_diagnosed(&of))
            atoll_buffer_printf(out, "<h3>The best kernel</h3>\n<p>%s</p>\n", text);
        return;
    }
    atoll_tables_get(t, ATOLL_TABLE_PROFILES, (uint64_t)row, &p);
    atoll_buffer_printf(out,
                        "<div class=\"figures\">\n<div><h3>The best kernel</h3>\n<p>Limited by: <b>%s</b>",
                        atoll_limiter_name(atoll_row_limiter(&of, &p)));
    if (atoll_row_is_diagnosed(&of))
        atoll_buffer_printf(out, ". %s", text);
    if (atoll_tables_text_length(t, p.reason)) {
        atoll_buffer_printf(out, "<span class=\"soft\">. %s ",
                            p.tier == ATOLL_TIER_COUNTERS ? "With" : "No more was measured:");
        atoll_html_text(out, atoll_tables_text(t, p.reason));
        atoll_buffer_printf(out, "</span>");
    }
    if (task.best_beyond_precisions) {
        char names[128];
        atoll_buffer_printf(
            out, "<span class=\"warn\">. It computes with %s, less exactly than the task's precisions</span>",
            atoll_mix_names(task.best_beyond_precisions, names, sizeof(names)));
    }
    if (p.throttle_reasons) {
        atoll_buffer_printf(out, "<span class=\"warn\">. The device was throttled (0x%llx)</span>",
                            (unsigned long long)p.throttle_reasons);
    }
    atoll_buffer_printf(out, "</p>\n<details><summary>Resources and counters</summary>\n<div "
                             "class=\"scroll\"><table><tr><th class=\"l\">resource</th><th></th></tr>\n");
    if (p.kernel_count)
        put_resources(out, &p);
    atoll_buffer_printf(out, "<tr><th class=\"l\">counter</th><th></th></tr>\n");
    put_counters(out, &p);
    atoll_buffer_printf(out, "</table></div></details>\n</div>\n<div><h3>Elites under the roofline</h3>\n");
    if (!atoll_svg_roofline(out, query, task_row, (uint64_t)best))
        atoll_buffer_printf(out, "<p class=\"none\">Traffic of device memory was not counted.</p>\n");
    atoll_buffer_printf(out, "</div>\n</div>\n");
}

static void put_task(struct atoll_buffer *out, const struct atoll_query *query, uint64_t row)
{
    struct atoll_row_task task;
    char from[400];
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
    if (atoll_task_word(t, &task, "tolerance", "from", from, sizeof(from))) {
        atoll_buffer_printf(out, "<br/>Tolerance: ");
        atoll_html_text(out, from);
    }
    atoll_buffer_printf(out, "</p>\n<div class=\"figures\">\n<div><h3>Speedup over the %s</h3>\n",
                        summary.headline == ATOLL_OVER_RIVAL ? "rival" : "seed");
    atoll_svg_progress(out, query, row);
    atoll_buffer_printf(out, "</div>\n<div><h3>Elites by behaviour, speedup</h3>\n");
    atoll_svg_elites(out, query, row);
    atoll_buffer_printf(out, "</div>\n</div>\n");
    atoll_html_rivals(out, query, row);
    put_profile(out, query, row);
    atoll_html_failures(out, query, row);
    atoll_html_discarded(out, query, row);
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
    atoll_html_times(out, query);
    atoll_html_asks(out, query);
    atoll_buffer_printf(out, "<h2>Each task</h2>\n");
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++)
        put_task(out, query, i);
    put_devices(out, query);
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
