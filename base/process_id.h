/* process_id.h - what tells a process from a later one of the same number: its start, and the boot of its machine.
 * Layer: base.  Thread-safe: plain values, read from /proc. */
#ifndef ATOLL_BASE_PROCESS_ID_H
#define ATOLL_BASE_PROCESS_ID_H

#include <sys/types.h>

#define ATOLL_BOOT_BYTES 64

/* Which boot of which machine this is: 1 and the kernel's boot id.  Where it gives none, 0 and one drawn at random, never the
 * same twice, so that whoever compares takes the machine for another one. */
int atoll_boot_id(char ret_boot[ATOLL_BOOT_BYTES]);

/* From /proc/PID/stat: the start in clock ticks since boot, and the state's letter ('Z' and 'X': it has ended, and its parent
 * was not told yet).  1, or 0 when it cannot be read: no such process, or hidden from us. */
int atoll_process_stat(pid_t pid, unsigned long long *ret_start_ticks, char *ret_state);

#endif
