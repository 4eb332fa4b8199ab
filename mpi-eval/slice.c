#include "mpi-eval/slice.h"

#include <stdlib.h>
#include <unistd.h>

static int number(const char *name, unsigned *ret_value)
{
    const char *text = getenv(name);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;

    if (!text || end == text || *end || value > 1u << 20)
        return -1;
    *ret_value = (unsigned)value;
    return 0;
}

struct atoll_slice atoll_slice_of_rank(void)
{
    struct atoll_slice all = {0, 1};
    unsigned rank, local, size;

    if (number("OMPI_COMM_WORLD_RANK", &rank) != 0 || number("OMPI_COMM_WORLD_LOCAL_RANK", &local) != 0 ||
        number("OMPI_COMM_WORLD_LOCAL_SIZE", &size) != 0 || local >= size || rank == 0)
        return all;
    if (rank == local) /* ranks are dealt node by node: rank 0 is here too */
        return (struct atoll_slice){local - 1, size - 1};
    return (struct atoll_slice){local, size};
}

void atoll_slice_cores(const struct atoll_slice *slice, const cpu_set_t *mask, int online_count,
                       cpu_set_t *ret_cores)
{
    int total = CPU_COUNT(mask), seen = 0, first, last;

    *ret_cores = *mask;
    if (slice->count < 2 || total < online_count || total < 1)
        return;
    first = (int)((long)total * (long)slice->index / (long)slice->count);
    last = (int)((long)total * (long)(slice->index + 1) / (long)slice->count);
    if (last == first)
        last = first + 1;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, mask))
            continue;
        if (seen < first || seen >= last)
            CPU_CLR(cpu, ret_cores);
        seen++;
    }
}

void atoll_slice_bind(const struct atoll_slice *slice)
{
    cpu_set_t mask, own;

    if (sched_getaffinity(0, sizeof mask, &mask) != 0)
        return;
    atoll_slice_cores(slice, &mask, (int)sysconf(_SC_NPROCESSORS_ONLN), &own);
    sched_setaffinity(0, sizeof own, &own);
}
