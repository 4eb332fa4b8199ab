/* row_index.h - finds rows by a 64-bit hash of their key: open addressing, grows, never removes.
 * Layer: archive-h5, pure.  Lifetime: init/fini. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_ROW_INDEX_H
#define ATOLL_ARCHIVE_H5_TABLE_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct atoll_row_index {
    struct atoll_row_slot *slots; /* owned */
    size_t capacity, count;       /* capacity: 0 or a power of two */
};

/* 1 when `row` really has the key that is looked for (hashes collide). */
typedef int atoll_row_match(const void *context, uint64_t row);

void atoll_row_index_init(struct atoll_row_index *index);
void atoll_row_index_fini(struct atoll_row_index *index);
/* 1 and ret_row, or 0. */
int atoll_row_index_find(const struct atoll_row_index *index, uint64_t hash, atoll_row_match *match,
                         const void *context, uint64_t *ret_row);
int atoll_row_index_add(struct atoll_row_index *index, uint64_t hash, uint64_t row, struct atoll_err *err);

#endif
