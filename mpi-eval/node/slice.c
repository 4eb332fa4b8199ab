#include "mpi-eval/node/slice.h"

#include <stdlib.h>
#include <string.h>

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

int atoll_slice_tasks_of_node(const char *list, unsigned node, unsigned *ret_tasks)
{
    while (list && *list >= '0' && *list <= '9') {
        char *end;
        unsigned long tasks = strtoul(list, &end, 10), times = 1;

        if (strncmp(end, "(x", 2) == 0) {
            times = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (tasks == 0 || tasks > 1u << 20 || times == 0)
            return -1;
        if (node < times) {
            *ret_tasks = (unsigned)tasks;
            return 0;
        }
        node -= (unsigned)times;
        if (*end != ',')
            return -1;
        list = end + 1;
    }
    return -1;
}

struct atoll_slice atoll_slice_of_rank(void)
{
    unsigned rank = 0, local = 0, size = 0, node; /* local: number among the ranks of its node */
    int is_known = number("OMPI_COMM_WORLD_RANK", &rank) == 0 &&
                   number("OMPI_COMM_WORLD_LOCAL_RANK", &local) == 0 &&
                   number("OMPI_COMM_WORLD_LOCAL_SIZE", &size) == 0;
    if (!is_known) {
        is_known = number("SLURM_PROCID", &rank) == 0 && number("SLURM_LOCALID", &local) == 0 &&
                   number("SLURM_NODEID", &node) == 0 &&
                   atoll_slice_tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), node, &size) == 0;
    }
    if (!is_known || local >= size || rank == 0)
        return (struct atoll_slice){0, 1};
    if (rank == local) /* ranks are dealt node by node: rank 0 is here too */
        return (struct atoll_slice){local - 1, size - 1};
    return (struct atoll_slice){local, size};
}

void atoll_slice_cores(const struct atoll_slice *slice, const cpu_set_t *mask, int allowed_count,
                       cpu_set_t *ret_cores)
{
    int total = CPU_COUNT(mask), seen = 0, first, last;

    *ret_cores = *mask;
    if (slice->count < 2 || total < 1 ||
        (total < allowed_count && (long)total * (long)slice->count <= allowed_count)) {
        return;
    }
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

/* The kernel cuts a mask of everything down to what the job's cgroup allows: a job of 8 cores on a node of 128 whose
 * launcher bound nobody has to be shared out, too. */
void atoll_slice_bind(const struct atoll_slice *slice, int is_shared)
{
    cpu_set_t mask, all, own;

    if (slice->count < 2 || sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return;
    memset(&all, 0xff, sizeof(all));
    if (is_shared || sched_setaffinity(0, sizeof(all), &all) != 0 ||
        sched_getaffinity(0, sizeof(all), &all) != 0) {
        all = mask;
    }
    atoll_slice_cores(slice, &mask, CPU_COUNT(&all), &own);
    sched_setaffinity(0, sizeof(own), &own);
}
