#include "mpi-eval/node/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many nvidia<number> a folder has. */
static unsigned count_devices(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        const char *name = entry->d_name;
        count += strncmp(name, "nvidia", 6) == 0 && name[6] != '\0' &&
                 name[6 + strspn(name + 6, "0123456789")] == '\0';
    }
    closedir(dir);
    return count < ATOLL_GPU_LIMIT ? count : ATOLL_GPU_LIMIT;
}

/* One word of the list; 0 when it names no device of this node. */
static int add_name(struct atoll_gpus *gpus, const char *word, size_t length, unsigned nodes)
{
    char *end, name[ATOLL_GPU_NAME_BYTES];
    if (length == 0 || length >= sizeof(name) || gpus->count == ATOLL_GPU_LIMIT)
        return 0;
    memcpy(name, word, length);
    name[length] = '\0';
    unsigned long ordinal = strtoul(name, &end, 10);
    int is_ordinal = *end == '\0' && name[0] >= '0' && name[0] <= '9';
    if (is_ordinal ? ordinal >= nodes : strncmp(name, "GPU-", 4) != 0 && strncmp(name, "MIG-", 4) != 0)
        return 0;
    memcpy(gpus->names[gpus->count++], name, length + 1);
    return 1;
}

static void add_names(struct atoll_gpus *gpus, const char *visible, unsigned nodes)
{
    for (const char *at = visible; nodes > 0;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        if (!add_name(gpus, at, length, nodes))
            return;
        at += length;
        at += strspn(at, " ");
        if (*at++ != ',')
            return;
    }
}

void atoll_gpus_list(const char *visible, const char *folder, struct atoll_gpus *ret_gpus)
{
    unsigned nodes = count_devices(folder);
    memset(ret_gpus, 0, sizeof(*ret_gpus));
    if (!visible) {
        for (unsigned i = 0; i < nodes; i++)
            snprintf(ret_gpus->names[ret_gpus->count++], ATOLL_GPU_NAME_BYTES, "%u", i);
        return;
    }
    ret_gpus->is_told = 1;
    add_names(ret_gpus, visible, nodes);
    ret_gpus->are_hidden = nodes > 0 && ret_gpus->count == 0;
}

const char *atoll_gpus_of(const struct atoll_gpus *gpus, const struct atoll_slice *slice)
{
    if (gpus->count == 0)
        return gpus->are_hidden ? ATOLL_GPU_SURPLUS : NULL;
    if (gpus->count == 1 && gpus->is_told)
        return gpus->names[0];
    return slice->index < gpus->count ? gpus->names[slice->index] : ATOLL_GPU_SURPLUS;
}
