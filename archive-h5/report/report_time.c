/* report_time.c - where the time of the devices went: a table by device, and one by task, of shares. */
#include "archive-h5/report/report_page.h"

#include "archive-h5/report/time_split.h"

#define LEAST_SHARE 0.005 /* a column stands where one of its cells has so much */

struct columns {
    int is_shown[ATOLL_TIME_PART_COUNT];
    double whole_ns; /* of all devices */
};

static void columns_add(struct columns *c, const struct atoll_device_time *time, double of_ns)
{
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
        c->is_shown[k] |= of_ns > 0 && time->ns[k] >= LEAST_SHARE * of_ns;
}

static void put_head(struct atoll_buffer *out, const struct columns *c, const char *first)
{
    atoll_buffer_printf(out, "<div class=\"card scroll\"><table><tr><th class=\"l\">%s</th><th>time</th>",
                        first);
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
        if (c->is_shown[k])
            atoll_buffer_printf(out, "<th>%s</th>", atoll_time_part_name((enum atoll_time_part)k));
    atoll_buffer_printf(out, "</tr>\n");
}

static void put_cells(struct atoll_buffer *out, const struct columns *c, const struct atoll_device_time *time,
                      double of_ns)
{
    atoll_buffer_printf(out, "<td>");
    atoll_html_duration(out, atoll_device_time_whole_ns(time));
    atoll_buffer_printf(out, "</td>");
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++) {
        if (!c->is_shown[k])
            continue;
        double share = of_ns > 0 ? time->ns[k] / of_ns : 0;
        if (share >= LEAST_SHARE)
            atoll_buffer_printf(out, "<td>%.0f&#8201;%%</td>", 100 * share);
        else
            atoll_buffer_printf(out, "<td></td>");
    }
    atoll_buffer_printf(out, "</tr>\n");
}

static void put_devices(struct atoll_buffer *out, const struct atoll_query *query, const struct columns *c)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    double gaps_ns = 0;
    put_head(out, c, "device");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_device_time time;
        struct atoll_row_device device;
        if (!atoll_query_device_time(query, i, &time))
            continue;
        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &device);
        atoll_buffer_printf(out, "<tr><td class=\"l\">%llu, ", (unsigned long long)i);
        atoll_html_text(out, atoll_tables_text(t, device.node));
        atoll_buffer_printf(out, "</td>");
        put_cells(out, c, &time, atoll_device_time_whole_ns(&time));
        gaps_ns += atoll_query_device_first(query, i) == i ? atoll_query_device_gaps_ns(query, i) : 0;
    }
    atoll_buffer_printf(out, "</table></div>\n");
    if (gaps_ns > 0) {
        atoll_buffer_printf(out, "<p class=\"soft\">Between parts of a job nobody worked on them for ");
        atoll_html_duration(out, gaps_ns);
        atoll_buffer_printf(out, ".</p>\n");
    }
}

static void put_tasks(struct atoll_buffer *out, const struct atoll_query *query, const struct columns *c)
{
    struct atoll_timed_task task;
    uint64_t at = 0;
    put_head(out, c, "task");
    while (atoll_query_next_timed_task(query, &at, &task)) {
        atoll_buffer_printf(out, "<tr><td class=\"l\"><a href=\"#task-%llu\">", (unsigned long long)task.row);
        atoll_html_text(out, task.name);
        atoll_buffer_printf(out, "</a></td>");
        put_cells(out, c, &task.time, c->whole_ns);
    }
    atoll_buffer_printf(out, "</table></div>\n");
}

void atoll_html_times(struct atoll_buffer *out, const struct atoll_query *query)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct columns devices = {.whole_ns = 0}, tasks = devices;
    struct atoll_device_time time;
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        double whole_ns = atoll_query_device_time(query, i, &time) ? atoll_device_time_whole_ns(&time) : 0;
        columns_add(&devices, &time, whole_ns);
        tasks.whole_ns += whole_ns;
    }
    if (!(tasks.whole_ns > 0))
        return;
    struct atoll_timed_task task;
    for (uint64_t at = 0; atoll_query_next_timed_task(query, &at, &task);)
        columns_add(&tasks, &task.time, tasks.whole_ns);
    atoll_buffer_printf(out, "<h2>Where the devices&#39; time went</h2>\n");
    put_devices(out, query, &devices);
    atoll_buffer_printf(out, "<h3>By task, of the time of all devices</h3>\n");
    put_tasks(out, query, &tasks);
}
