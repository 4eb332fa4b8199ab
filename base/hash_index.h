/* hash_index.h - hash index from 64-bit keys to array positions; several positions may share a key.
 * Layer: base.  Lifetime: zero-initialised/fini.  Nothing is ever iterated, so results never depend on
 * its order. */
#ifndef ATOLL_BASE_HASH_INDEX_H
#define ATOLL_BASE_HASH_INDEX_H

#include <stdint.h>

#include "base/array.h"
#include "base/err.h"

struct atoll_index {
    struct atoll_index_slot {
        uint64_t key;
        uint32_t position; /* ATOLL_NONE = free */
    } *slots;
    uint32_t capacity, count; /* capacity is a power of two */
};

void atoll_index_fini(struct atoll_index *index);
int atoll_index_add(struct atoll_index *index, uint64_t key, uint32_t position, struct atoll_err *err);
/* The first position with this key for which equal says yes; ATOLL_NONE when there is none. */
typedef int atoll_index_equal(const void *context, uint32_t position);
uint32_t atoll_index_find(const struct atoll_index *index, uint64_t key, atoll_index_equal *equal,
                          const void *context);

#endif
