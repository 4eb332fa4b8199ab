/* backends.c - finds a backend by its name; the list itself is in backends.h. */
#include "mpi-eval/backend/backends.h"

#include <stddef.h>
#include <string.h>

#define ADDRESS(name) &atoll_backend_##name,
static const struct atoll_backend *const backends[] = {ATOLL_BACKENDS(ADDRESS)};

const struct atoll_backend *atoll_backend_find(const char *name)
{
    if (name[0] == '\0')
        return backends[0];
    for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
