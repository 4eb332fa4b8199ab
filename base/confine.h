/* confine.h - a child that reads what others made: after this it can read files and write to descriptors it has, and nothing else.
 * Layer: base.  Linux on x86-64 and AArch64; elsewhere the limits hold alone. */
#ifndef ATOLL_BASE_CONFINE_H
#define ATOLL_BASE_CONFINE_H

#include <stdint.h>

/* For the calling process, for good: no core, at most memory_bytes of address space and cpu_seconds of processor time; no
 * system call but those of memory, of reading files and of writing to open descriptors (seccomp; no file can be opened for
 * writing, no program started, no process made, no socket).  Another call fails with EPERM.  0, or -1 with errno: then the
 * caller must not go on. */
int atoll_confine_reader(uint64_t memory_bytes, unsigned cpu_seconds);

#endif
