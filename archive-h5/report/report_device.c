/* report_device.c - the devices of an archive. */
#include "archive-h5/report/report_html.h"

#include "base/units.h"

/* What only device APIs have, in the last cell. */
static void put_limits(struct atoll_buffer *out, const struct atoll_tables *t,
                       const struct atoll_row_device *d)
{
    char memory[32];
    if (d->multiprocessors == 0)
        return;
    uint64_t bytes = d->memory_bytes > 0 && d->memory_bytes < 1e18 ? (uint64_t)d->memory_bytes : 0;
    atoll_buffer_printf(out, "<br/>%u multiprocessors, %s, up to %.0f MHz; driver ", d->multiprocessors,
                        atoll_bytes_text(bytes, memory, sizeof memory), d->clock_hz * 1e-6);
    atoll_html_text(out, atoll_tables_text(t, d->driver));
    atoll_buffer_printf(out, ", ");
    atoll_html_text(out, atoll_tables_text(t, d->target));
    atoll_buffer_printf(out, "; tensor f16 %.1f Tflop/s, tf32 %.1f Tflop/s; counters: ",
                        d->tensor_f16_flops * 1e-12, d->tensor_tf32_flops * 1e-12);
    atoll_html_text(out, atoll_tables_text(t, d->counters));
}

void atoll_html_devices(struct atoll_buffer *out, const struct atoll_query *query)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    char bytes[32];
    if (atoll_tables_count(t, ATOLL_TABLE_DEVICES) == 0)
        return;
    atoll_buffer_printf(
        out, "<h2>Devices</h2>\n<div class=\"card scroll\"><table><tr><th class=\"l\">node</th><th "
             "class=\"l\">device</th>"
             "<th class=\"l\">backend</th><th>threads</th><th>bandwidth</th><th>peak f32</th><th>cache</th>"
             "<th class=\"l\">toolchain</th></tr>\n");
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
            atoll_bytes_text(cache, bytes, sizeof bytes));
        atoll_html_text(out, atoll_tables_text(t, d.toolchain));
        put_limits(out, t, &d);
        atoll_buffer_printf(out, "</td></tr>\n");
    }
    atoll_buffer_printf(out, "</table></div>\n");
}
