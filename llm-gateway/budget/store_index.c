/* store_index.c - three open-addressed tables over one array; what comes later takes the slot of its elder. */
#include "llm-gateway/budget/store_index.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_LIMIT ((size_t)1 << 30)
#define FIRST_COUNT ((size_t)1 << 14) /* 0.9 MiB that do not come bit by bit while a gateway runs */

typedef uint64_t field_of(const struct atoll_store_place *place);

static uint64_t request_of(const struct atoll_store_place *place)
{
    return place->request_hash;
}

static uint64_t key_of(const struct atoll_store_place *place)
{
    return place->key_hash;
}

static uint64_t reservation_of(const struct atoll_store_place *place)
{
    return place->reservation;
}

void atoll_store_index_fini(struct atoll_store_index *index)
{
    free(index->places);
    free(index->by_request);
    free(index->by_key);
    free(index->by_reservation);
    free(index->is_answer);
    memset(index, 0, sizeof *index);
}

/* Where a value is, or the free slot where it would be.  Reservations run in order: they are spread by a multiplication
 * (Knuth, The Art of Computer Programming 3, 6.4). */
static size_t slot_of(const struct atoll_store_index *index, const uint32_t *slots, field_of *field,
                      uint64_t value)
{
    size_t slot = (size_t)(value * 0x9E3779B97F4A7C15u >> 20) & (index->slot_count - 1);
    while (slots[slot] && field(&index->places[slots[slot] - 1]) != value)
        slot = (slot + 1) & (index->slot_count - 1);
    return slot;
}

static void enter(struct atoll_store_index *index, size_t at)
{
    const struct atoll_store_place *place = &index->places[at];
    uint32_t number = (uint32_t)at + 1;
    if (place->reservation)
        index->by_reservation[slot_of(index, index->by_reservation, reservation_of, place->reservation)] =
            number;
    if (!(index->is_answer[at / 8] >> at % 8 & 1))
        return;
    index->by_request[slot_of(index, index->by_request, request_of, place->request_hash)] = number;
    if (place->key_hash)
        index->by_key[slot_of(index, index->by_key, key_of, place->key_hash)] = number;
}

static int grow_tables(struct atoll_store_index *index, size_t slot_count)
{
    uint32_t *tables[3];
    for (int i = 0; i < 3; i++)
        tables[i] = calloc(slot_count, sizeof *tables[i]);
    if (!tables[0] || !tables[1] || !tables[2]) {
        for (int i = 0; i < 3; i++)
            free(tables[i]);
        return -1;
    }
    free(index->by_request);
    free(index->by_key);
    free(index->by_reservation);
    index->by_request = tables[0];
    index->by_key = tables[1];
    index->by_reservation = tables[2];
    index->slot_count = slot_count;
    for (size_t i = 0; i < index->count; i++)
        enter(index, i);
    return 0;
}

static int grow(struct atoll_store_index *index, struct atoll_err *err)
{
    size_t capacity = index->capacity ? index->capacity * 2 : FIRST_COUNT;
    if (capacity > COUNT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "a store holds at most %zu exchanges", COUNT_LIMIT);
    struct atoll_store_place *places = realloc(index->places, capacity * sizeof *places);
    if (places) {
        index->places = places;
        memset(places + index->capacity, 0, (capacity - index->capacity) * sizeof *places);
    }
    uint8_t *is_answer = places ? realloc(index->is_answer, capacity / 8) : NULL;
    if (is_answer) {
        memset(is_answer + index->capacity / 8, 0, (capacity - index->capacity) / 8);
        index->is_answer = is_answer;
    }
    if (!places || !is_answer)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of %zu exchanges", capacity);
    index->capacity = capacity;
    return 0;
}

int atoll_store_index_add(struct atoll_store_index *index, const struct atoll_store_place *place,
                          int is_answer, struct atoll_err *err)
{
    if (index->count == index->capacity && grow(index, err) != 0)
        return -1;
    if ((index->count + 1) * 4 > index->slot_count * 3 &&
        grow_tables(index, index->slot_count ? index->slot_count * 2 : 2 * FIRST_COUNT) != 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of %zu exchanges", index->count);
    size_t at = index->count++;
    index->places[at] = *place;
    index->is_answer[at / 8] = (uint8_t)(index->is_answer[at / 8] | (is_answer ? 1 << at % 8 : 0));
    enter(index, at);
    return 0;
}

static long find(const struct atoll_store_index *index, const uint32_t *slots, field_of *field,
                 uint64_t value)
{
    return index->slot_count ? (long)slots[slot_of(index, slots, field, value)] - 1 : -1;
}

long atoll_store_index_by_request(const struct atoll_store_index *index, uint64_t request_hash)
{
    return find(index, index->by_request, request_of, request_hash);
}

long atoll_store_index_by_key(const struct atoll_store_index *index, uint64_t key_hash)
{
    return find(index, index->by_key, key_of, key_hash);
}

long atoll_store_index_by_reservation(const struct atoll_store_index *index, uint64_t reservation)
{
    return find(index, index->by_reservation, reservation_of, reservation);
}
