/* binding.h - binds an evaluator to the cores near its device (locality.h says which), and describes its place.
 * Layer: mpi-eval.  Linux only; a failure leaves the process as it was. */
#ifndef ATOLL_MPI_EVAL_NODE_BINDING_H
#define ATOLL_MPI_EVAL_NODE_BINDING_H

#include "core/evaluator_location.h"
#include "mpi-eval/node/slice.h"

#define ATOLL_PCI_FOLDER     "/sys/bus/pci/devices"
#define ATOLL_SLICE_VARIABLE "ATOLL_SLICE" /* in an evaluator's environment: "index/count" of its slice */

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
