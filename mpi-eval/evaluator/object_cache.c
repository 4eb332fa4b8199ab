/* object_cache.c - compiled objects by candidate.  A list in order of use, newest first; a bounded number of entries
 * makes a linear search cheap beside a compilation. */
#include "mpi-eval/evaluator/object_cache.h"

#include <stdlib.h>

#define ENTRY_LIMIT 512

struct atoll_object_cache {
    size_t limit_bytes, count;
    struct atoll_object *newest, *oldest;
};

struct atoll_object_cache *atoll_object_cache_create(size_t limit_bytes, struct atoll_err *err)
{
    struct atoll_object_cache *cache = calloc(1, sizeof(*cache));
    if (cache)
        cache->limit_bytes = limit_bytes;
    else
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the cache of compiled objects");
    return cache;
}

static void list_remove(struct atoll_object_cache *cache, struct atoll_object *object)
{
    *(object->newer ? &object->newer->older : &cache->newest) = object->older;
    *(object->older ? &object->older->newer : &cache->oldest) = object->newer;
    object->newer = object->older = NULL;
    cache->count--;
}

static void object_destroy(struct atoll_object *object)
{
    free(object->bytes);
    free(object->diagnostics);
    free(object->report);
    free(object);
}

static void object_drop(struct atoll_object_cache *cache, struct atoll_object *object)
{
    list_remove(cache, object);
    object_destroy(object);
}

void atoll_object_cache_destroy(struct atoll_object_cache *cache)
{
    if (!cache)
        return;
    for (struct atoll_object *object = cache->newest, *older; object; object = older) {
        older = object->older;
        object_destroy(object);
    }
    free(cache);
}

struct atoll_object *atoll_object_cache_take(struct atoll_object_cache *cache,
                                             const struct atoll_id *candidate, struct atoll_err *err)
{
    struct atoll_object *object = cache->newest;
    while (object && (object->state == ATOLL_OBJECT_FAILED || !atoll_id_equal(&object->candidate, candidate)))
        object = object->older;
    if (object) {
        list_remove(cache, object);
    } else {
        object = calloc(1, sizeof(*object));
        if (!object) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compiled object");
            return NULL;
        }
        object->candidate = *candidate;
    }
    object->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = object;
    cache->newest = object;
    cache->count++;
    object->references++;
    return object;
}

size_t atoll_object_cache_bytes(const struct atoll_object_cache *cache)
{
    size_t bytes = 0;
    for (const struct atoll_object *object = cache->newest; object; object = object->older)
        bytes += object->length;
    return bytes;
}

void atoll_object_cache_release(struct atoll_object_cache *cache, struct atoll_object *object)
{
    if (!object)
        return;
    object->references--;
    if (object->references == 0 &&
        (object->state == ATOLL_OBJECT_FAILED || object->state == ATOLL_OBJECT_NEW)) { /* nothing to keep */
        object_drop(cache, object);
    }
    size_t bytes = atoll_object_cache_bytes(cache);
    for (struct atoll_object *old = cache->oldest, *newer; old; old = newer) {
        newer = old->newer;
        if (bytes <= cache->limit_bytes && cache->count <= ENTRY_LIMIT)
            break;
        if (old->references > 0)
            continue;
        bytes -= old->length;
        object_drop(cache, old);
    }
}
