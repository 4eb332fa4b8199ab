#include "mpi-eval/backend/cpu/measure/device.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "base/memory_limit.h"
#include "core/stats.h"
#include "mpi-eval/backend/cpu/compile/instructions.h"
#include "mpi-eval/backend/cpu/measure/memory.h"

#define PROBE_LEAST 8

void atoll_device_share(const int *cores, size_t count, uint32_t threads, struct atoll_device *ret_device)
{
    size_t first = count > 1 ? 1 : 0, left = count - first;
    ret_device->referee_core = cores[0];
    if (threads && threads < left)
        left = threads;
    if (threads && threads > left && threads <= count) {
        first = 0; /* asked for every core: the referee shares one and sleeps */
        left = threads;
    }
    ret_device->spin = first == 1;
    ret_device->core_count = left;
    for (size_t i = 0; i < left; i++)
        ret_device->cores[i] = cores[first + i];
}

int atoll_device_open(uint32_t threads, struct atoll_device *ret_device, struct atoll_err *err)
{
    int cores[ATOLL_DEVICE_CORE_LIMIT];
    size_t count = 0;
    struct atoll_device d;
    memset(&d, 0, sizeof(d));
    if (sched_getaffinity(0, sizeof(d.affinity), &d.affinity) != 0)
        return atoll_err_errno(err, errno, "cannot read the affinity mask");
    for (size_t i = 0; i < CPU_SETSIZE && count < ATOLL_DEVICE_CORE_LIMIT; i++)
        if (CPU_ISSET(i, &d.affinity))
            cores[count++] = (int)i;
    if (!count)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "the affinity mask is empty");
    atoll_device_share(cores, count, threads, &d);
    *ret_device = d;
    return 0;
}

void atoll_device_pin(const struct atoll_device *device)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)device->referee_core, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

void atoll_device_unpin(const struct atoll_device *device)
{
    sched_setaffinity(0, sizeof(device->affinity), &device->affinity);
}

static double cache_bytes(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
                                              HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE};
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i], 0);
        if (cache && cache->attr->cache.size)
            return (double)cache->attr->cache.size;
    }
    return 0;
}

static double clock_resolution(void)
{
    struct timespec a, b;
    double best = 1e9;
    for (int i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC_RAW, &a);
        do
            clock_gettime(CLOCK_MONOTONIC_RAW, &b);
        while (a.tv_nsec == b.tv_nsec);
        double d = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
        best = d < best ? d : best;
    }
    return best;
}

/* Ranges of cores, "1-3,5". */
static void cores_text(const struct atoll_device *d, char *text, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0, j; i < d->core_count && used < bytes; i = j) {
        for (j = i + 1; j < d->core_count && d->cores[j] == d->cores[j - 1] + 1;)
            j++;
        int n = j - i > 1 ? snprintf(text + used, bytes - used, "%s%d-%d", i ? "," : "", d->cores[i],
                                     d->cores[j - 1])
                          : snprintf(text + used, bytes - used, "%s%d", i ? "," : "", d->cores[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

void atoll_device_describe(const struct atoll_device *device, const char *toolchain,
                           struct atoll_device_info *ret_info)
{
    struct atoll_device_info info;
    char isolation[200];
    memset(&info, 0, sizeof(info));
    snprintf(info.backend, sizeof(info.backend), "cpu");
    if (gethostname(info.node, sizeof(info.node) - 1) != 0)
        snprintf(info.node, sizeof(info.node), "localhost");
    snprintf(info.uuid, sizeof(info.uuid), "cores ");
    cores_text(device, info.uuid + 6, sizeof(info.uuid) - 6);
    hwloc_topology_t topology;
    snprintf(info.model, sizeof(info.model), "unknown processor");
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
            const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
            if (model)
                snprintf(info.model, sizeof(info.model), "%s", model);
            info.last_level_cache_bytes = cache_bytes(topology);
        }
        hwloc_topology_destroy(topology);
    }
    snprintf(info.toolchain, sizeof(info.toolchain), "%s", toolchain);
    atoll_runner_isolation(isolation, sizeof(isolation));
    snprintf(info.isolation, sizeof(info.isolation), "%s; flush %s; clock probe none", isolation,
             atoll_memory_flush_name());
    snprintf(info.limits.target, sizeof(info.limits.target), "%s", atoll_instructions_level());
    info.limits.memory_bytes = (double)atoll_memory_limit_bytes();
    info.threads = (uint32_t)device->core_count;
    info.clock_resolution_ns = clock_resolution();
    struct {
        char node[64], uuid[64];
    } key;
    memcpy(key.node, info.node, sizeof(key.node));
    memcpy(key.uuid, info.uuid, sizeof(key.uuid));
    struct atoll_id id = atoll_id_of(&key, sizeof(key));
    info.key = atoll_id_u64(&id);
    *ret_info = info;
}

double atoll_probes_pace(struct atoll_probes *probes, double ns)
{
    double sorted[ATOLL_PROBE_KEPT], scratch[ATOLL_PROBE_KEPT];
    struct atoll_summary summary;
    size_t kept = probes->count < ATOLL_PROBE_KEPT ? probes->count : ATOLL_PROBE_KEPT, quarter = 0;
    memcpy(sorted, probes->ns, sizeof(sorted));
    probes->ns[probes->count++ % ATOLL_PROBE_KEPT] = ns;
    if (kept < PROBE_LEAST)
        return 1;
    atoll_summary_of(sorted, kept, scratch, &summary);
    for (size_t i = 0; i < kept; i++) /* of the faster half the median */
        if (sorted[i] <= summary.median)
            sorted[quarter++] = sorted[i];
    atoll_summary_of(sorted, quarter, scratch, &summary);
    return ns / summary.median;
}
