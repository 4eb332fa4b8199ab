#include "base/hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/array.h"

void atoll_index_fini(struct atoll_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof(*index));
}

static void place(struct atoll_index *index, uint64_t key, uint32_t position)
{
    uint32_t mask = index->capacity - 1;
    uint32_t i = (uint32_t)atoll_mix64(key) & mask;
    while (index->slots[i].position != ATOLL_NONE)
        i = (i + 1) & mask;
    index->slots[i].key = key;
    index->slots[i].position = position;
}

static int grow(struct atoll_index *index, struct atoll_err *err)
{
    uint32_t capacity = index->capacity ? index->capacity * 2 : 16;
    if (capacity > 2 * ATOLL_ARRAY_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "an index would hold more than %u entries",
                             2 * ATOLL_ARRAY_LIMIT);
    }
    struct atoll_index_slot *slots = calloc(capacity, sizeof(*slots));
    if (!slots)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of %u entries", capacity);
    for (uint32_t i = 0; i < capacity; i++)
        slots[i].position = ATOLL_NONE;
    struct atoll_index old = *index;
    index->slots = slots;
    index->capacity = capacity;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.slots[i].position != ATOLL_NONE)
            place(index, old.slots[i].key, old.slots[i].position);
    free(old.slots);
    return 0;
}

int atoll_index_add(struct atoll_index *index, uint64_t key, uint32_t position, struct atoll_err *err)
{
    if (index->count * 4 >= index->capacity * 3 && grow(index, err))
        return -1;
    place(index, key, position);
    index->count++;
    return 0;
}

uint32_t atoll_index_find(const struct atoll_index *index, uint64_t key, atoll_index_equal *equal,
                          const void *context)
{
    if (!index->capacity)
        return ATOLL_NONE;
    uint32_t mask = index->capacity - 1;
    for (uint32_t i = (uint32_t)atoll_mix64(key) & mask; index->slots[i].position != ATOLL_NONE;
         i = (i + 1) & mask) {
        if (index->slots[i].key == key && equal(context, index->slots[i].position))
            return index->slots[i].position;
    }
    return ATOLL_NONE;
}
