#include <stddef.h>
#include <string.h>

#include "mpi-eval/referee/backend.h"

static const struct atoll_backend *const backends[] = {&atoll_backend_cpu, &atoll_backend_cuda};

const struct atoll_backend *atoll_backend_find(const char *name)
{
    if (name[0] == '\0')
        return &atoll_backend_cpu;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
