#include "archive-h5/report/time_split.h"

#include <stdlib.h>
#include <string.h>

/* Which rows of device_time: NULL is any. */
struct filter {
    uint32_t campaign;
    const uint64_t *device;
    const uint32_t *task;
    const char *model; /* of the device */
};

static int is_of_model(const struct atoll_tables *t, uint32_t campaign, uint64_t key, const char *model)
{
    const uint64_t *keys = atoll_tables_column_named(t, ATOLL_TABLE_DEVICES, "key");
    const uint32_t *campaigns = atoll_tables_column_named(t, ATOLL_TABLE_DEVICES, "campaign"),
                   *models = atoll_tables_column_named(t, ATOLL_TABLE_DEVICES, "model");
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++)
        if (keys[i] == key && campaigns[i] == campaign)
            return strcmp(atoll_tables_text(t, models[i]), model) == 0;
    return 0;
}

static int sum(const struct atoll_query *query, const struct filter *f, struct atoll_device_time *ret_time)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    const uint32_t *campaigns = atoll_tables_column_named(t, ATOLL_TABLE_DEVICE_TIME, "campaign"),
                   *tasks = atoll_tables_column_named(t, ATOLL_TABLE_DEVICE_TIME, "task");
    const uint64_t *devices = atoll_tables_column_named(t, ATOLL_TABLE_DEVICE_TIME, "device");
    int is_any = 0;
    *ret_time = (struct atoll_device_time){{0}};
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICE_TIME); i++) {
        struct atoll_row_device_time row;
        if (campaigns[i] != f->campaign || (f->device && devices[i] != *f->device) ||
            (f->task && tasks[i] != *f->task) ||
            (f->model && !is_of_model(t, f->campaign, devices[i], f->model))) {
            continue;
        }
        atoll_tables_get(t, ATOLL_TABLE_DEVICE_TIME, i, &row);
        atoll_device_time_add(ret_time, &row.time);
        is_any = 1;
    }
    return is_any;
}

int atoll_query_device_time(const struct atoll_query *query, uint64_t device_row,
                            struct atoll_device_time *ret_time)
{
    struct atoll_row_device device;
    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_DEVICES, device_row, &device);
    const struct filter filter = {.campaign = device.campaign, .device = &device.key};
    return sum(query, &filter, ret_time);
}

int atoll_query_task_time(const struct atoll_query *query, uint64_t task_row,
                          struct atoll_device_time *ret_time)
{
    struct atoll_row_task task;
    const struct atoll_tables *t = atoll_query_tables(query);
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &task);
    const char *model = atoll_tables_text(t, task.model_name);
    const struct filter filter = {
        .campaign = task.campaign, .task = &task.task, .model = *model ? model : NULL};
    return sum(query, &filter, ret_time);
}

int atoll_query_next_timed_task(const struct atoll_query *query, uint64_t *at,
                                struct atoll_timed_task *ret_task)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    while (*at < atoll_tables_count(t, ATOLL_TABLE_TASKS)) {
        struct atoll_timed_task found = {.row = (*at)++};
        struct atoll_row_task task;
        if (!atoll_query_task_time(query, found.row, &found.time))
            continue;
        atoll_tables_get(t, ATOLL_TABLE_TASKS, found.row, &task);
        found.name = atoll_tables_text(t, task.name);
        found.model = atoll_tables_text(t, task.model_name);
        *ret_task = found;
        return 1;
    }
    return 0;
}

int atoll_query_campaign_time(const struct atoll_query *query, uint32_t campaign,
                              struct atoll_device_time *ret_time)
{
    const struct filter filter = {.campaign = campaign};
    return sum(query, &filter, ret_time);
}

/* ---- between attempts ---- */

/* An attempt on a device. */
struct stretch {
    uint32_t campaign, attempt;
    const char *job; /* "<job>.<number>" */
    int64_t began, told;
};

static int compare_stretches(const void *one, const void *other)
{
    const struct stretch *a = one, *b = other;
    return a->began < b->began ? -1 : a->began > b->began;
}

/* One that no scheduler gave a number has none: people begin such attempts whenever they like. */
static int are_of_one_job(const struct stretch *a, const struct stretch *b)
{
    const char *dot = strrchr(a->job, '.');
    size_t length = dot ? (size_t)(dot - a->job) + 1 : 0;
    return length > 0 && strncmp(a->job, b->job, length) == 0 && strchr("0123456789", a->job[0]);
}

static void stretch_add(struct stretch *stretches, size_t *count, const struct atoll_tables *t,
                        const struct atoll_row_device_time *row)
{
    size_t i = 0;
    while (i < *count && (stretches[i].campaign != row->campaign || stretches[i].attempt != row->attempt))
        i++;
    if (i == *count) {
        stretches[(*count)++] = (struct stretch){.campaign = row->campaign,
                                                 .attempt = row->attempt,
                                                 .job = atoll_tables_text(t, row->job),
                                                 .began = row->began_unix_ns,
                                                 .told = row->told_unix_ns};
    } else if (row->told_unix_ns > stretches[i].told) {
        stretches[i].told = row->told_unix_ns;
    }
}

double atoll_query_device_gaps_ns(const struct atoll_query *query, uint64_t device_row)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    const uint64_t *devices = atoll_tables_column_named(t, ATOLL_TABLE_DEVICE_TIME, "device");
    uint64_t row_count = atoll_tables_count(t, ATOLL_TABLE_DEVICE_TIME);
    struct atoll_row_device device;
    struct stretch *stretches = calloc(row_count + 1, sizeof(*stretches));
    size_t count = 0;
    double gaps_ns = 0;
    atoll_tables_get(t, ATOLL_TABLE_DEVICES, device_row, &device);
    for (uint64_t i = 0; i < row_count && stretches; i++) {
        struct atoll_row_device_time row;
        if (devices[i] != device.key)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_DEVICE_TIME, i, &row);
        stretch_add(stretches, &count, t, &row);
    }
    if (count > 1)
        qsort(stretches, count, sizeof(*stretches), compare_stretches);
    for (size_t i = 1; i < count; i++) {
        if (stretches[i].began > stretches[i - 1].told && are_of_one_job(&stretches[i - 1], &stretches[i]))
            gaps_ns += (double)(stretches[i].began - stretches[i - 1].told);
        if (stretches[i].told < stretches[i - 1].told) /* one within another */
            stretches[i].told = stretches[i - 1].told;
    }
    free(stretches);
    return gaps_ns;
}

uint64_t atoll_query_device_first(const struct atoll_query *query, uint64_t device_row)
{
    const uint64_t *keys = atoll_tables_column_named(atoll_query_tables(query), ATOLL_TABLE_DEVICES, "key");
    uint64_t first = 0;
    while (keys[first] != keys[device_row])
        first++;
    return first;
}
