/* broker_index.c - calls by id and by key, waiters by number: chains in tables of a fixed size. */
#include "llm-gateway/broker/broker_state.h"

#include <stdlib.h>
#include <string.h>

#define ROW_LIMIT ((size_t)1 << 16)

int atoll_broker_index_init(struct atoll_broker_index *index, unsigned limit, struct atoll_err *err)
{
    index->row_count = 64;
    while (index->row_count < limit && index->row_count < ROW_LIMIT)
        index->row_count *= 2;
    index->by_number = calloc(index->row_count, sizeof *index->by_number);
    index->by_id = calloc(index->row_count, sizeof *index->by_id);
    index->by_key = calloc(index->row_count, sizeof *index->by_key);
    if (!index->by_number || !index->by_id || !index->by_key)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for an index of %u calls", limit);
    return 0;
}

void atoll_broker_index_fini(struct atoll_broker_index *index)
{
    free(index->by_number);
    free(index->by_id);
    free(index->by_key);
    *index = (struct atoll_broker_index){0};
}

/* ---- waiters ---- */

static struct atoll_waiter **row_of_number(const struct atoll_broker_index *index, uint64_t number)
{
    return &index->by_number[number & (index->row_count - 1)];
}

void atoll_broker_index_add_waiter(struct atoll_broker_index *index, struct atoll_waiter *waiter)
{
    struct atoll_waiter **row = row_of_number(index, waiter->number);
    waiter->next_in_row = *row;
    *row = waiter;
}

void atoll_broker_index_remove_waiter(struct atoll_broker_index *index, const struct atoll_waiter *waiter)
{
    struct atoll_waiter **link = row_of_number(index, waiter->number);
    while (*link && *link != waiter)
        link = &(*link)->next_in_row;
    if (*link)
        *link = waiter->next_in_row;
}

struct atoll_waiter *atoll_broker_index_waiter(const struct atoll_broker_index *index, uint64_t number)
{
    struct atoll_waiter *waiter = *row_of_number(index, number);
    while (waiter && waiter->number != number)
        waiter = waiter->next_in_row;
    return waiter;
}

/* ---- calls ---- */

static struct atoll_call **row_of_id(const struct atoll_broker_index *index, const struct atoll_id *id)
{
    return &index->by_id[atoll_id_u64(id) & (index->row_count - 1)];
}

static struct atoll_call **row_of_key(const struct atoll_broker_index *index, const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, then mixed: keys differ in their last bytes */
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return &index->by_key[atoll_mix64(hash) & (index->row_count - 1)];
}

void atoll_broker_index_add_call(struct atoll_broker_index *index, struct atoll_call *call)
{
    struct atoll_call **row = row_of_id(index, &call->id);
    call->next_of_id = *row;
    *row = call;
    if (*call->request.key) {
        row = row_of_key(index, call->request.key);
        call->next_of_key = *row;
        *row = call;
    }
    call->is_indexed = 1;
}

void atoll_broker_index_remove_call(struct atoll_broker_index *index, struct atoll_call *call)
{
    if (!call->is_indexed)
        return;
    struct atoll_call **link = row_of_id(index, &call->id);
    while (*link && *link != call)
        link = &(*link)->next_of_id;
    if (*link)
        *link = call->next_of_id;
    for (link = row_of_key(index, call->request.key); *call->request.key && *link;
         link = &(*link)->next_of_key) {
        if (*link == call) {
            *link = call->next_of_key;
            break;
        }
    }
    call->is_indexed = 0;
}

struct atoll_call *atoll_broker_index_call(const struct atoll_broker_index *index, const char *key,
                                           const struct atoll_id *id, int by_id)
{
    struct atoll_call *call = *key ? *row_of_key(index, key) : NULL;
    while (call && strcmp(call->request.key, key) != 0)
        call = call->next_of_key;
    if (call || !by_id)
        return call;
    call = *row_of_id(index, id);
    while (call && !atoll_id_equal(&call->id, id))
        call = call->next_of_id;
    return call;
}
