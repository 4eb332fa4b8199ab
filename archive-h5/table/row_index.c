/* row_index.c - linear probing at a load of at most one half. */
#include "archive-h5/table/row_index.h"

#include <stdlib.h>

struct atoll_row_slot {
    uint64_t hash;
    uint64_t row_plus_1; /* 0 = free */
};

void atoll_row_index_init(struct atoll_row_index *index)
{
    *index = (struct atoll_row_index){NULL, 0, 0};
}

void atoll_row_index_fini(struct atoll_row_index *index)
{
    free(index->slots);
    atoll_row_index_init(index);
}

int atoll_row_index_find(const struct atoll_row_index *index, uint64_t hash, atoll_row_match *match,
                         const void *context, uint64_t *ret_row)
{
    if (index->capacity == 0)
        return 0;
    size_t mask = index->capacity - 1;
    for (size_t i = (size_t)hash & mask; index->slots[i].row_plus_1; i = (i + 1) & mask) {
        if (index->slots[i].hash == hash && match(context, index->slots[i].row_plus_1 - 1)) {
            *ret_row = index->slots[i].row_plus_1 - 1;
            return 1;
        }
    }
    return 0;
}

static void place(struct atoll_row_index *index, uint64_t hash, uint64_t row_plus_1)
{
    size_t mask = index->capacity - 1, i = (size_t)hash & mask;
    while (index->slots[i].row_plus_1)
        i = (i + 1) & mask;
    index->slots[i] = (struct atoll_row_slot){hash, row_plus_1};
}

static int grow(struct atoll_row_index *index, struct atoll_err *err)
{
    struct atoll_row_index bigger = {NULL, index->capacity ? index->capacity * 2 : 64, index->count};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of %zu rows", index->count);
    for (size_t i = 0; i < index->capacity; i++)
        if (index->slots[i].row_plus_1)
            place(&bigger, index->slots[i].hash, index->slots[i].row_plus_1);
    free(index->slots);
    *index = bigger;
    return 0;
}

int atoll_row_index_add(struct atoll_row_index *index, uint64_t hash, uint64_t row, struct atoll_err *err)
{
    if (index->count * 2 >= index->capacity && grow(index, err) != 0)
        return -1;
    place(index, hash, row + 1);
    index->count++;
    return 0;
}
