/* project_device_time.c - a row per attempt, device and task; what was said last of them stands. */
#include "archive-h5/table/project_state.h"

#include "base/random.h"

struct time_key {
    const struct atoll_tables *tables;
    uint32_t attempt, task;
    uint64_t device;
};

static int time_matches(const void *context, uint32_t row)
{
    const struct time_key *key = context;
    const uint32_t *attempts = atoll_tables_column_named(key->tables, ATOLL_TABLE_DEVICE_TIME, "attempt"),
                   *tasks = atoll_tables_column_named(key->tables, ATOLL_TABLE_DEVICE_TIME, "task");
    const uint64_t *devices = atoll_tables_column_named(key->tables, ATOLL_TABLE_DEVICE_TIME, "device");
    return attempts[row] == key->attempt && tasks[row] == key->task && devices[row] == key->device;
}

static int put_time(struct atoll_projection *p, uint64_t device, int64_t unix_ns,
                    const struct atoll_task_time *time, struct atoll_err *err)
{
    struct time_key key = {p->tables, p->attempt, time->task, device};
    struct atoll_row_device_time row = {.attempt = p->attempt,
                                        .device = device,
                                        .task = time->task,
                                        .job = p->job,
                                        .began_unix_ns = p->began_unix_ns,
                                        .told_unix_ns = unix_ns,
                                        .time = time->time};
    uint64_t hash = atoll_mix64(device ^ atoll_mix64((uint64_t)p->attempt << 32 | time->task));
    uint32_t known = atoll_index_find(&p->device_time_index, hash, time_matches, &key);
    if (known != ATOLL_NONE) {
        atoll_tables_set(p->tables, ATOLL_TABLE_DEVICE_TIME, known, &row);
        return 0;
    }
    if (atoll_tables_append(p->tables, ATOLL_TABLE_DEVICE_TIME, &row, err) != 0)
        return -1;
    return atoll_index_add(&p->device_time_index, hash,
                           (uint32_t)atoll_tables_count(p->tables, ATOLL_TABLE_DEVICE_TIME) - 1, err);
}

int atoll_projection_put_device_times(struct atoll_projection *p, int64_t unix_ns,
                                      const struct atoll_device_times *times, struct atoll_err *err)
{
    for (size_t i = 0; i < times->count; i++)
        if (put_time(p, times->device, unix_ns, &times->times[i], err) != 0)
            return -1;
    return 0;
}
