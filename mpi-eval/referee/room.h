/* room.h - whether a variant of a task can find room on a device at all, and what is said where it cannot.
 * Layer: mpi-eval, referee.  Pure. */
#ifndef ATOLL_MPI_EVAL_REFEREE_ROOM_H
#define ATOLL_MPI_EVAL_REFEREE_ROOM_H

#include "core/task/task.h"

/* Bytes that something of a variant takes at least, and what there is for that. */
struct atoll_room {
    double need_bytes, has_bytes;
    const char *what; /* "the buffers of one candidate": what the bytes are for */
};

/* 0 where it fits, or has_bytes is not known (0); else ATOLL_E_LIMIT with task, variant, its largest tensor, both sizes, what the device
 * has in all (device_bytes, 0 unknown) and what to do. */
int atoll_room_check(const struct atoll_room *room, const struct atoll_task *task,
                     const struct atoll_variant *variant, double device_bytes, struct atoll_err *err);

#endif
