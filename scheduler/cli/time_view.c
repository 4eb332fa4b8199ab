#include "scheduler/cli/time_view.h"

#include "archive-h5/report/query_name.h"
#include "archive-h5/report/time_split.h"
#include "base/json.h"
#include "base/print.h"
#include "scheduler/campaign/device_time_json.h"

#define DEVICES_SHOWN 16
#define TASKS_SHOWN   5

/* What a device took in all campaigns, and what lies between parts of one job; 0: it is told of at an earlier row, or nothing is. */
static int device_sum(const struct atoll_query *query, uint64_t device_row, struct atoll_device_time *ret_sum,
                      double *ret_gaps_ns)
{
    uint64_t count = atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_DEVICES);
    int is_told = 0;

    *ret_sum = (struct atoll_device_time){{0}};
    if (atoll_query_device_first(query, device_row) != device_row)
        return 0;
    for (uint64_t i = device_row; i < count; i++) {
        struct atoll_device_time time;

        if (atoll_query_device_first(query, i) != device_row || !atoll_query_device_time(query, i, &time))
            continue;
        atoll_device_time_add(ret_sum, &time);
        is_told = 1;
    }
    *ret_gaps_ns = is_told ? atoll_query_device_gaps_ns(query, device_row) : 0;
    return is_told;
}

/* Of all devices together; how many of them. */
static size_t devices_sum(const struct atoll_query *query, struct atoll_device_time *ret_sum,
                          double *ret_gaps_ns)
{
    uint64_t count = atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_DEVICES);
    struct atoll_device_time time;
    double gaps_ns;
    size_t told = 0;

    *ret_sum = (struct atoll_device_time){{0}};
    *ret_gaps_ns = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!device_sum(query, i, &time, &gaps_ns))
            continue;
        atoll_device_time_add(ret_sum, &time);
        *ret_gaps_ns += gaps_ns;
        told++;
    }
    return told;
}

static void print_line(FILE *out, const char *who, const struct atoll_device_time *time, double gaps_ns)
{
    double whole_ns = atoll_device_time_whole_ns(time) + gaps_ns;
    char text[ATOLL_DEVICE_TIME_TEXT], gaps[48] = "";

    if (gaps_ns > 0 && whole_ns > 0)
        snprintf(gaps, sizeof(gaps), ", between parts %.1f %%", 100 * gaps_ns / whole_ns);
    atoll_print_line(out, 4, "%s: %s%s", who, atoll_device_time_text(time, whole_ns, text, sizeof(text)),
                     gaps);
}

void atoll_time_view_print(const struct atoll_query *query, FILE *out)
{
    uint64_t count = atoll_tables_count(atoll_query_tables(query), ATOLL_TABLE_DEVICES);
    struct atoll_device_time time;
    double gaps_ns;
    size_t told = devices_sum(query, &time, &gaps_ns), number = 0;
    char who[64];

    if (told > DEVICES_SHOWN) {
        snprintf(who, sizeof(who), "%zu devices", told);
        print_line(out, who, &time, gaps_ns);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!device_sum(query, i, &time, &gaps_ns))
            continue;
        snprintf(who, sizeof(who), "device %zu", number++);
        print_line(out, who, &time, gaps_ns);
    }
}

/* The task that took most among those that took less than below_ns; 0: none is left. */
static int next_task(const struct atoll_query *query, double below_ns, struct atoll_timed_task *ret_task)
{
    struct atoll_timed_task task;
    double most_ns = 0;

    for (uint64_t at = 0; atoll_query_next_timed_task(query, &at, &task);) {
        double whole_ns = atoll_device_time_whole_ns(&task.time);

        if (whole_ns < below_ns && whole_ns > most_ns) {
            *ret_task = task;
            most_ns = whole_ns;
        }
    }
    return most_ns > 0;
}

void atoll_time_view_print_tasks(const struct atoll_query *query, FILE *out)
{
    struct atoll_device_time all;
    struct atoll_timed_task task = {.name = ""};
    double below_ns = 1e300, gaps_ns;
    char text[ATOLL_DEVICE_TIME_TEXT];

    if (devices_sum(query, &all, &gaps_ns) == 0)
        return;
    double whole_ns = atoll_device_time_whole_ns(&all) + gaps_ns;
    for (int shown = 0; shown < TASKS_SHOWN && next_task(query, below_ns, &task); shown++) {
        below_ns = atoll_device_time_whole_ns(&task.time);
        atoll_print_line(out, 4, "task %s: %.0f %% of the devices' time: %s", task.name,
                         whole_ns > 0 ? 100 * below_ns / whole_ns : 0,
                         atoll_device_time_text(&task.time, whole_ns, text, sizeof(text)));
    }
}

json_t *atoll_time_view_tasks_json(const struct atoll_query *query)
{
    json_t *list = json_array();
    struct atoll_timed_task task;

    for (uint64_t at = 0; atoll_query_next_timed_task(query, &at, &task);) {
        json_t *object = atoll_device_time_json(&task.time);

        json_object_set_new(object, "task", atoll_json_text(task.name));
        json_object_set_new(object, "model", atoll_json_text(task.model));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *device_json(const struct atoll_tables *t, const struct atoll_row_device_time *row)
{
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_row_device device;

        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &device);
        if (device.key == row->device && device.campaign == row->campaign)
            return json_integer((json_int_t)i);
    }
    return json_null();
}

json_t *atoll_time_view_rows_json(const struct atoll_query *query)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    json_t *list = json_array();

    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICE_TIME); i++) {
        struct atoll_row_device_time row;

        atoll_tables_get(t, ATOLL_TABLE_DEVICE_TIME, i, &row);
        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:o, s:o, s:o}", "attempt", (json_int_t)row.attempt, "job",
                      atoll_json_text(atoll_tables_text(t, row.job)), "device", device_json(t, &row), "task",
                      row.task == ATOLL_TIME_OF_NO_TASK
                          ? json_null()
                          : atoll_json_text(atoll_query_task_name(query, row.campaign, row.task)),
                      "time", atoll_device_time_json(&row.time)));
    }
    return list;
}
