#include "mpi-eval/referee/room.h"

#include <stdio.h>

#include "base/units.h"

/* Its number; *ret_bytes as it is stored. */
static size_t largest_tensor(const struct atoll_task *task, const struct atoll_variant *variant,
                             double *ret_bytes)
{
    size_t largest = 0, count;
    *ret_bytes = 0;
    for (size_t i = 0; i < task->tensor_count; i++) {
        if (atoll_task_element_count(task, i, variant, &count, NULL) != 0)
            continue;
        double bytes = (double)count * (double)atoll_dtype_bytes(task->tensors[i].dtype);
        if (bytes > *ret_bytes) {
            *ret_bytes = bytes;
            largest = i;
        }
    }
    return largest;
}

int atoll_room_check(const struct atoll_room *room, const struct atoll_task *task,
                     const struct atoll_variant *variant, double device_bytes, struct atoll_err *err)
{
    char need[32], has[32], device[32], tensor[32], all[64] = "";
    double bytes;
    if (room->has_bytes <= 0 || room->need_bytes <= room->has_bytes)
        return 0;
    size_t largest = largest_tensor(task, variant, &bytes);
    if (device_bytes > 0)
        snprintf(all, sizeof(all), " (the device has %s of memory)",
                 atoll_size_text(device_bytes, device, sizeof(device)));
    return atoll_err_set(
        err, ATOLL_E_LIMIT,
        "task '%s' cannot be run on this device: variant %s needs %s for %s, tensor %s alone is %s, "
        "and there are %s%s; make the dims of that variant smaller, or take a device with more memory",
        task->name, variant->name, atoll_size_text(room->need_bytes, need, sizeof(need)), room->what,
        task->tensors[largest].name, atoll_size_text(bytes, tensor, sizeof(tensor)),
        atoll_size_text(room->has_bytes, has, sizeof(has)), all);
}
