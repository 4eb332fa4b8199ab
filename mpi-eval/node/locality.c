#include "mpi-eval/node/locality.h"

static unsigned cores_in(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
    unsigned count = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL)
        count += hwloc_bitmap_intersects(core->cpuset, set) ? 1 : 0;
    return count;
}

void atoll_locality_part(hwloc_topology_t topology, hwloc_const_cpuset_t set, unsigned index, unsigned count,
                         hwloc_cpuset_t ret_cores)
{
    unsigned total = cores_in(topology, set), seen = 0;
    hwloc_obj_t core = NULL;
    if (total == 0 || count < 2 || index >= count) {
        hwloc_bitmap_copy(ret_cores, set);
        return;
    }
    unsigned first = (unsigned)((unsigned long)total * index / count);
    unsigned last = (unsigned)((unsigned long)total * (index + 1) / count);
    last = last == first ? first + 1 : last;
    hwloc_bitmap_zero(ret_cores);
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL) {
        if (!hwloc_bitmap_intersects(core->cpuset, set))
            continue;
        if (seen >= first && seen < last)
            hwloc_bitmap_or(ret_cores, ret_cores, core->cpuset);
        seen++;
    }
    hwloc_bitmap_and(ret_cores, ret_cores, set);
}

enum atoll_locality atoll_locality_choose(hwloc_topology_t topology, const struct atoll_locality_request *r,
                                          hwloc_cpuset_t ret_cores)
{
    hwloc_bitmap_copy(ret_cores, r->mask);
    if (!r->local || hwloc_bitmap_iszero(r->local))
        return ATOLL_LOCALITY_UNKNOWN;
    if (!hwloc_bitmap_intersects(r->pool, r->local))
        return ATOLL_LOCALITY_FAR;
    hwloc_bitmap_and(ret_cores, r->pool, r->local);
    if (!hwloc_bitmap_isequal(r->pool, r->mask)) {
        hwloc_bitmap_t near = hwloc_bitmap_dup(ret_cores);
        if (near)
            atoll_locality_part(topology, near, r->index, r->count, ret_cores);
        hwloc_bitmap_free(near);
    }
    return ATOLL_LOCALITY_NEAR;
}
