/* allocation.c - which variables each scheduler sets: Slurm's sbatch(1) "OUTPUT ENVIRONMENT VARIABLES" (SLURM_JOB_END_TIME
 * since 22.05), PBS's qsub, the local launcher's own. */
#include "scheduler/site/allocation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static unsigned long number(const char *name, unsigned long fallback)
{
    const char *text = variable(name);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;

    return text && *end == '\0' ? value : fallback;
}

/* A line for each rank that was asked for, those of a node together. */
static void nodes_of_file(struct atoll_allocation *a, const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char name[256], last[256] = "";
    size_t length = 0;

    for (a->node_count = 0; file && fscanf(file, "%255s", name) == 1;) {
        if (strcmp(name, last) == 0 || length + strlen(name) + 2 > sizeof(a->nodes))
            continue;
        length +=
            (size_t)snprintf(a->nodes + length, sizeof(a->nodes) - length, "%s%s", length ? "," : "", name);
        snprintf(last, sizeof(last), "%s", name);
        a->node_count++;
    }
    if (file)
        fclose(file);
    a->node_count = a->node_count ? a->node_count : 1;
}

void atoll_allocation_find(struct atoll_launcher *launcher, struct atoll_allocation *ret_allocation)
{
    const char *array = variable("SLURM_ARRAY_JOB_ID"), *task = variable("SLURM_ARRAY_TASK_ID");
    const char *nodes = variable("SLURM_JOB_NODELIST");
    unsigned long end_unix_s = number("SLURM_JOB_END_TIME", number("ATOLL_JOB_END_TIME", 0));
    struct atoll_allocation a = {.job = "local", .node_count = 1, .is_job = 1};
    struct atoll_err err = ATOLL_ERR_INIT;
    double left_s = HUGE_VAL;

    if (variable("SLURM_JOB_ID")) {
        if (array && task) /* an element of an array is known by the array's id and its number */
            snprintf(a.job, sizeof(a.job), "%.40s_%.20s", array, task);
        else
            snprintf(a.job, sizeof(a.job), "%.60s", variable("SLURM_JOB_ID"));
        a.restarts = (uint32_t)number("SLURM_RESTART_COUNT", 0);
        snprintf(a.nodes, sizeof(a.nodes), "%s", nodes ? nodes : "");
        a.node_count = (unsigned)number("SLURM_JOB_NUM_NODES", 1);
        a.node_count = a.node_count ? a.node_count : 1;
    } else if (variable("ATOLL_JOB_ID")) {
        snprintf(a.job, sizeof(a.job), "%.60s", variable("ATOLL_JOB_ID"));
        a.restarts = (uint32_t)number("ATOLL_RESTART_COUNT", 0);
    } else if (variable("PBS_JOBID")) {
        snprintf(a.job, sizeof(a.job), "%.60s", variable("PBS_JOBID"));
        nodes_of_file(&a, variable("PBS_NODEFILE"));
    } else {
        a.is_job = 0;
    }
    if (end_unix_s > 0)
        left_s = (double)end_unix_s - (double)time(NULL);
    else if (a.is_job && launcher)
        atoll_launcher_remaining(launcher, a.job, &left_s, &err);
    a.end_mono_ns = atoll_clock_mono_ns() + left_s * 1e9;
    *ret_allocation = a;
}

double atoll_allocation_remaining_s(const struct atoll_allocation *allocation)
{
    return (allocation->end_mono_ns - atoll_clock_mono_ns()) / 1e9;
}
