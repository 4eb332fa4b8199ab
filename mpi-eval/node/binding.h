/* binding.h - which cores an evaluator should work on, given what it may use and what is near its device; going there, and
 * describing the place.
 * Layer: mpi-eval.  Linux only; a failure leaves the process as it was. */
#ifndef ATOLL_MPI_EVAL_NODE_BINDING_H
#define ATOLL_MPI_EVAL_NODE_BINDING_H

#include <hwloc.h>

#include "core/evaluator_location.h"
#include "mpi-eval/node/slice.h"

#define ATOLL_PCI_FOLDER     "/sys/bus/pci/devices"
#define ATOLL_SLICE_VARIABLE "ATOLL_SLICE" /* in an evaluator's environment: "index/count" of its slice */

/* ---- which cores: pure ---- */

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

/* ---- the device's seat ---- */

/* Where and with whom a device sits among those of its kind on this node. */
struct atoll_pci_seat {
    char local[512];       /* cores near it, a list as the kernel writes it; "" not known */
    unsigned index, count; /* of the GPUs with the same cores, by address */
    unsigned total;        /* GPUs of the node */
};

/* address: "0000:65:00.0", as drivers write it, in either case.  0, or -1 when the folder does not know it. */
int atoll_pci_seat(const char *folder, const char *address, struct atoll_pci_seat *ret_seat);

/* The part of the near cores that belongs to a device: by its seat where every GPU of the node has an evaluator of
 * its own, else by the evaluator's slice. */
struct atoll_slice atoll_binding_part(const struct atoll_pci_seat *seat, const struct atoll_slice *slice,
                                      int is_whole_gpu);

/* Binds the threads of this process and all processes below it to the cores near the device at address; "" (or one that
 * the node does not know) leaves them where they are.  Then fills the cores and NUMA nodes of ret_place, and its note
 * where the cores are not near; nothing else of it.  Call it where nothing is pinned to a core of its own. */
void atoll_binding_make(const char *address, struct atoll_evaluator_location *ret_place);

#endif
