#include "base/memory_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE_BYTES 4096

/* Of one group; "max" is no number. */
static uint64_t group_limit(const char *root, const char *group)
{
    char path[2 * LINE_BYTES], line[64] = "", *end = line;
    snprintf(path, sizeof(path), "%s%s/memory.max", root, group);
    FILE *f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    errno = 0;
    unsigned long long bytes = fgets(line, sizeof(line), f) ? strtoull(line, &end, 10) : 0;
    fclose(f);
    return end == line || errno ? UINT64_MAX : bytes;
}

uint64_t atoll_memory_limit_group_bytes(const char *membership, const char *root)
{
    char line[LINE_BYTES], *group = NULL;
    uint64_t least = UINT64_MAX;
    FILE *f = fopen(membership, "re");
    while (f && !group && fgets(line, sizeof(line), f))
        if (strncmp(line, "0::/", 4) == 0) /* version 2 */
            group = line + 3;
    if (f)
        fclose(f);
    if (!group)
        return UINT64_MAX;
    group[strcspn(group, "\n")] = 0;
    for (char *end; (end = strrchr(group, '/'));
         *end = 0) { /* from the group itself to one below the root, which has none */
        uint64_t bytes = group_limit(root, group);
        least = bytes < least ? bytes : least;
    }
    return least;
}

uint64_t atoll_memory_limit_bytes(void)
{
    uint64_t least = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t group = atoll_memory_limit_group_bytes("/proc/self/cgroup", "/sys/fs/cgroup");
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && space.rlim_cur < least)
        least = space.rlim_cur;
    return group < least ? group : least;
}
