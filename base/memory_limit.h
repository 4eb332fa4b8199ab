/* memory_limit.h - how much memory this process can ever have.
 * Layer: base.  Pure but for what it reads of the system; any thread. */
#ifndef ATOLL_BASE_MEMORY_LIMIT_H
#define ATOLL_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* Bytes of the machine's memory, or less where RLIMIT_AS or the control group (version 2) of this process, or one that it
 * is in, allows less. */
uint64_t atoll_memory_limit_bytes(void);

/* The least memory.max of a control group and of all that it is in.  membership: a file as /proc/self/cgroup; root: where
 * the groups are mounted, "/sys/fs/cgroup".  UINT64_MAX: none is set, or it cannot be read. */
uint64_t atoll_memory_limit_group_bytes(const char *membership, const char *root);

#endif
