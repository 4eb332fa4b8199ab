/* report_profile.c - the profile of the best candidate in words and figures; what is not known is left out. */
#include "archive-h5/report/report_profile.h"

#include <math.h>

#include "archive-h5/report/report_html.h"
#include "archive-h5/report/report_roofline.h"

static int64_t best_candidate(const struct atoll_query *query, uint64_t task_row)
{
    struct atoll_row_task task;
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_TASKS, task_row, &task);
    return atoll_id_is_zero(&task.best) ? -1 : atoll_query_candidate(query, task.campaign, &task.best);
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
    put_pair(out, "registers", p->registers, "");
    put_pair(out, "static shared memory", p->static_shared_bytes, "bytes");
    put_pair(out, "dynamic shared memory", p->dynamic_shared_bytes, "bytes");
    put_pair(out, "stack", p->stack_bytes, "bytes");
    put_pair(out, "spill stores", p->spill_store_bytes, "bytes");
    put_pair(out, "spill loads", p->spill_load_bytes, "bytes");
    if (p->theoretical_occupancy > 0)
        put_pair(out, "theoretical occupancy", 100 * p->theoretical_occupancy, "%");
    for (unsigned m = 0; m < ATOLL_MIX_COUNT; m++)
        if (p->mix[m])
            put_pair(out, atoll_mix_name((enum atoll_mix)m), p->mix[m], "instructions");
}

static void put_counters(struct atoll_buffer *out, const struct atoll_row_profile *p)
{
    for (unsigned c = 0; c < ATOLL_COUNTER_COUNT; c++)
        if (isfinite(p->counters[c]))
            put_pair(out, atoll_counter_name((enum atoll_counter)c), p->counters[c],
                     atoll_counter_unit((enum atoll_counter)c));
    if (p->intensity_flops_per_byte > 0)
        put_pair(out, "operations per byte", p->intensity_flops_per_byte, "");
    if (p->clock_hz > 0)
        put_pair(out, "clock", p->clock_hz * 1e-6, "MHz");
}

void atoll_html_profile(struct atoll_buffer *out, const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct atoll_row_profile p;
    uint64_t evaluation;
    struct atoll_row_task task;
    int64_t best = best_candidate(query, task_row);
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &task);
    int64_t row =
        best < 0 ? -1 : atoll_query_candidate_profile(query, (uint64_t)best, task.model, &evaluation);
    if (row < 0)
        return;
    atoll_tables_get(t, ATOLL_TABLE_PROFILES, (uint64_t)row, &p);
    atoll_buffer_printf(out,
                        "<div class=\"figures\">\n<div><h3>The best kernel</h3>\n<p>Limited by: <b>%s</b>",
                        atoll_limiter_name((enum atoll_limiter)p.limiter));
    if (atoll_tables_text_length(t, p.reason)) {
        atoll_buffer_printf(out, "<span class=\"soft\">. No more was measured: ");
        atoll_html_text(out, atoll_tables_text(t, p.reason));
        atoll_buffer_printf(out, "</span>");
    }
    if (p.throttle_reasons)
        atoll_buffer_printf(out, "<span class=\"warn\">. The device was throttled (0x%llx)</span>",
                            (unsigned long long)p.throttle_reasons);
    atoll_buffer_printf(out, "</p>\n<details><summary>Resources and counters</summary>\n<div "
                             "class=\"scroll\"><table><tr><th "
                             "class=\"l\">resource</th><th></th></tr>\n");
    if (p.kernel_count)
        put_resources(out, &p);
    atoll_buffer_printf(out, "<tr><th class=\"l\">counter</th><th></th></tr>\n");
    put_counters(out, &p);
    atoll_buffer_printf(out, "</table></div></details>\n</div>\n<div><h3>Elites under the roofline</h3>\n");
    if (!atoll_svg_roofline(out, query, task_row, (uint64_t)best))
        atoll_buffer_printf(out, "<p class=\"none\">Traffic of device memory was not counted.</p>\n");
    atoll_buffer_printf(out, "</div>\n</div>\n");
}
