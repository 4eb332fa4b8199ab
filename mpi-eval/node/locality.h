/* locality.h - which cores an evaluator should work on, given what it may use and what is near its device.
 * Layer: mpi-eval.  Pure: no call of it binds anything (binding.h does). */
#ifndef ATOLL_MPI_EVAL_NODE_LOCALITY_H
#define ATOLL_MPI_EVAL_NODE_LOCALITY_H

#include <hwloc.h>

enum atoll_locality {
    ATOLL_LOCALITY_NEAR,    /* cores near the device */
    ATOLL_LOCALITY_UNKNOWN, /* nobody says what is near: the mask as it is */
    ATOLL_LOCALITY_FAR      /* nothing of what it may use is near: the mask as it is */
};

/* Sets are borrowed. */
struct atoll_locality_request {
    hwloc_const_cpuset_t mask; /* what this process may use now; never empty */
    hwloc_const_cpuset_t
        pool; /* what the evaluators of its node share; equal to mask: it shares with nobody */
    hwloc_const_cpuset_t local; /* near the device; NULL or empty: not known */
    unsigned index, count;      /* its part of the near cores where they are shared; count 0 is 1 */
};

/* The whole cores (all hardware threads of each) numbered index of count of a set, so that parts are disjoint;
 * with fewer cores than parts some get the same.  A set that the topology does not know comes back as it is. */
void atoll_locality_part(hwloc_topology_t topology, hwloc_const_cpuset_t set, unsigned index, unsigned count,
                         hwloc_cpuset_t ret_cores);

/* ret_cores: made by the caller.  Never more than pool, never empty. */
enum atoll_locality atoll_locality_choose(hwloc_topology_t topology,
                                          const struct atoll_locality_request *request,
                                          hwloc_cpuset_t ret_cores);

#endif
