#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/site/site.h"

unsigned atoll_site_ranks_per_node(unsigned evaluators_per_node)
{
    return evaluators_per_node + 1;
}

static int check_limits(const struct atoll_site *site, const struct atoll_job_request *request,
                        struct atoll_err *err)
{
    if (site->limits.nodes_max && request->nodes > site->limits.nodes_max) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%u nodes, and site %s allows %u for a job; ask for fewer nodes and more jobs",
                             request->nodes, site->name, site->limits.nodes_max);
    }
    if (request->nodes < site->limits.nodes_min) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%u nodes, and site %s wants at least %u for a job; ask for more nodes",
                             request->nodes, site->name, site->limits.nodes_min);
    }
    if (request->time_min * 60.0 > site->limits.time_s) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%u minutes, and site %s allows %.0f for a job; ask for less, the campaign goes "
                             "on in the next job",
                             request->time_min, site->name, floor(site->limits.time_s / 60));
    }
    return 0;
}

static void take(const char **target, const char *value)
{
    if (!*target)
        *target = value;
}

static int take_gpus(const struct atoll_site *site, unsigned gpus, struct atoll_arena *arena,
                     struct atoll_job_request *request, struct atoll_err *err)
{
    size_t bytes = strlen(site->gpus.gres) + 16;
    char *text;

    if (gpus == 0 || request->gpus_by_gres || request->gpus_per_node ||
        site->gpus.ask == ATOLL_SITE_GPUS_NONE) {
        return 0;
    }
    if (site->gpus.ask == ATOLL_SITE_GPUS_PER_NODE) {
        request->gpus_per_node = gpus;
        return 0;
    }
    text = atoll_arena_alloc(arena, bytes, err);
    if (!text)
        return -1;
    snprintf(text, bytes, "%s:%u", site->gpus.gres, gpus);
    request->gpus_by_gres = text;
    return 0;
}

/* The user's words come last: where a directive is given twice the scheduler takes the later one. */
static int take_directives(const struct atoll_site *site, struct atoll_arena *arena,
                           struct atoll_job_request *request, struct atoll_err *err)
{
    size_t own = 0;
    const char **words;

    while (request->extra && request->extra[own])
        own++;
    words = atoll_arena_alloc_array(arena, site->job.directives.count + own + 1, sizeof(*words), err);
    if (!words)
        return -1;
    memcpy(words, site->job.directives.items, site->job.directives.count * sizeof(*words));
    for (size_t i = 0; i < own; i++)
        words[site->job.directives.count + i] = request->extra[i];
    request->extra = words;
    return 0;
}

static void take_plain(const struct atoll_site *site, unsigned evaluators, struct atoll_job_request *request)
{
    take(&request->partition, site->job.partition);
    take(&request->account, site->job.account);
    take(&request->qos, site->job.qos);
    take(&request->constraint, site->job.constraint);
    take(&request->reservation, site->job.reservation);
    if (!request->tasks_per_node)
        request->tasks_per_node = atoll_site_ranks_per_node(evaluators);
    if (!request->cpus_per_task)
        request->cpus_per_task = site->job.cpus_per_rank;
    if (!request->signal_name) {
        request->signal_name = site->end.signal;
        request->signal_before_s = (unsigned)fmin(site->end.before_s, 65535);
    }
    request->exclusive |= site->job.is_exclusive;
    request->no_kill |= site->job.has_no_kill;
    request->requeue |= site->end.go_on == ATOLL_SITE_REQUEUE;
}

int atoll_site_request(const struct atoll_site *site, unsigned evaluators_per_node, unsigned gpus_per_node,
                       struct atoll_arena *arena, struct atoll_job_request *request, struct atoll_err *err)
{
    unsigned gpus = gpus_per_node ? gpus_per_node : site->gpus.per_node;
    unsigned evaluators = evaluators_per_node ? evaluators_per_node : site->gpus.per_node;
    struct atoll_job_request filled = *request;

    if (!filled.nodes)
        filled.nodes = site->limits.nodes_min ? site->limits.nodes_min : 1;
    if (check_limits(site, &filled, err) != 0 || take_gpus(site, gpus, arena, &filled, err) != 0 ||
        take_directives(site, arena, &filled, err) != 0) {
        return -1;
    }
    take_plain(site, evaluators ? evaluators : 1, &filled);
    *request = filled;
    return 0;
}
