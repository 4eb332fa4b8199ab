/* store_index.h - where the exchanges of a store stand, and which is the newest answer to a key or a request.
 * Layer: llm-gateway, pure.  Lifetime: all zero to begin, fini.  32 bytes an exchange and three tables: texts stay in the
 * file, so a hash that is found must be compared there. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_STORE_INDEX_H
#define ATOLL_LLM_GATEWAY_BUDGET_STORE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct atoll_store_place {
    uint64_t offset, reservation, request_hash, key_hash; /* key_hash 0: no key; reservation 0: none */
};

struct atoll_store_index {
    struct atoll_store_place *places;
    uint32_t *by_request, *by_key, *by_reservation; /* index + 1, 0 free */
    size_t count, capacity, slot_count;
    uint8_t *is_answer; /* one bit a place: found by request and key */
};

void atoll_store_index_fini(struct atoll_store_index *index);
/* is_answer: it is found by request and key from now on, before older ones. */
int atoll_store_index_add(struct atoll_store_index *index, const struct atoll_store_place *place,
                          int is_answer, struct atoll_err *err);
/* Places, or -1. */
long atoll_store_index_by_request(const struct atoll_store_index *index, uint64_t request_hash);
long atoll_store_index_by_key(const struct atoll_store_index *index, uint64_t key_hash);
long atoll_store_index_by_reservation(const struct atoll_store_index *index, uint64_t reservation);

#endif
