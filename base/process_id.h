/* process_id.h - a process by number, start and boot, so that a later one of the same number is never taken for it.
 * Layer: base.  Thread-safe: plain values, read from /proc. */
#ifndef ATOLL_BASE_PROCESS_ID_H
#define ATOLL_BASE_PROCESS_ID_H

#include <sys/types.h>

/* A process that cannot be mistaken for a later one of the same number. */
struct atoll_process_id {
    pid_t pid;
    unsigned long long start_ticks; /* since the machine started */
    char boot_id[40];
};

struct atoll_process_id atoll_process_id_self(void);
struct atoll_process_id atoll_process_id_of(pid_t pid);
int atoll_process_id_is_alive(const struct atoll_process_id *process);

#endif
