#include "archive-h5/report/time_split.h"

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

int atoll_query_campaign_time(const struct atoll_query *query, uint32_t campaign,
                              struct atoll_device_time *ret_time)
{
    const struct filter filter = {.campaign = campaign};
    return sum(query, &filter, ret_time);
}
