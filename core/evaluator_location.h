/* evaluator_location.h - where an evaluator sits: its node, the cores and NUMA nodes it may use, and whether it has a device at all.
 * Layer: core.  Plain value; travels as PLACE (docs/spec/wire.md) and is never journaled. */
#ifndef ATOLL_CORE_EVALUATOR_LOCATION_H
#define ATOLL_CORE_EVALUATOR_LOCATION_H

#include "base/buffer.h"

/* What an evaluator without a device waits for. */
enum atoll_surplus {
    ATOLL_SURPLUS_NONE, /* it has a device */
    ATOLL_SURPLUS_IDLE, /* its node has none for it */
    ATOLL_SURPLUS_BUSY  /* its device is another's, and could become free */
};

struct atoll_evaluator_location {
    enum atoll_surplus surplus;
    uint32_t core_count, slots; /* of cores; compile children */
    char node[64];
    char cores[256]; /* "0-7,16-23", as the kernel writes it; ends with "..." when it does not fit */
    char numa[64];   /* NUMA nodes of these cores, "0-1"; "" not known */
    char note[512];  /* why surplus, or why the cores are not near the device; "" */
};

void atoll_evaluator_location_encode(const struct atoll_evaluator_location *p, struct atoll_buffer *out);
int atoll_evaluator_location_decode(const void *bytes, size_t length,
                                    struct atoll_evaluator_location *ret_location, struct atoll_err *err);

#endif
