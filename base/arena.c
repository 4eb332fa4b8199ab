/* arena.c - a list of zeroed chunks; the newest serves small requests, large ones get a chunk of their own
 * size. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT         16u
#define FIRST_CHUNK_BYTES 4096u
#define LAST_CHUNK_BYTES  (256u << 10)

struct chunk {
    struct chunk *next;
    size_t capacity, used;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct atoll_arena {
    struct chunk *chunks;
    size_t limit_bytes, used_bytes, next_chunk_bytes;
};

struct atoll_arena *atoll_arena_create(size_t limit_bytes, struct atoll_err *err)
{
    struct atoll_arena *arena = calloc(1, sizeof(*arena));
    if (!arena) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an arena");
        return NULL;
    }
    arena->limit_bytes = limit_bytes;
    arena->next_chunk_bytes = FIRST_CHUNK_BYTES;
    return arena;
}

void atoll_arena_reset(struct atoll_arena *arena)
{
    while (arena->chunks) {
        struct chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        free(chunk);
    }
    arena->used_bytes = 0;
    arena->next_chunk_bytes = FIRST_CHUNK_BYTES;
}

void atoll_arena_destroy(struct atoll_arena *arena)
{
    if (arena) {
        atoll_arena_reset(arena);
        free(arena);
    }
}

/* A chunk with room for bytes, at the head of the list; a large one goes behind the head, which keeps
 * serving. */
static struct chunk *add_chunk(struct atoll_arena *arena, size_t bytes)
{
    int is_large = bytes > arena->next_chunk_bytes / 4 && arena->chunks;
    size_t capacity = bytes > arena->next_chunk_bytes || is_large ? bytes : arena->next_chunk_bytes;
    struct chunk *chunk = calloc(1, sizeof(*chunk) + capacity);
    if (!chunk)
        return NULL;
    chunk->capacity = capacity;
    if (is_large) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
        return chunk;
    }
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    if (arena->next_chunk_bytes < LAST_CHUNK_BYTES)
        arena->next_chunk_bytes *= 2;
    return chunk;
}

void *atoll_arena_alloc(struct atoll_arena *arena, size_t bytes, struct atoll_err *err)
{
    size_t left = arena->limit_bytes - arena->used_bytes;
    if (bytes > left || bytes > SIZE_MAX / 2) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%zu bytes more would pass the limit of %zu bytes", bytes,
                      arena->limit_bytes);
        return NULL;
    }
    size_t rounded = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    struct chunk *chunk = arena->chunks;
    if (!chunk || chunk->capacity - chunk->used < rounded)
        chunk = add_chunk(arena, rounded);
    if (!chunk) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    void *start = chunk->bytes + chunk->used;
    chunk->used += rounded;
    arena->used_bytes += rounded < left ? rounded : left;
    return start;
}

void *atoll_arena_alloc_array(struct atoll_arena *arena, size_t count, size_t element_bytes,
                              struct atoll_err *err)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, element_bytes, &bytes)) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%zu elements of %zu bytes pass the limit of %zu bytes", count,
                      element_bytes, arena->limit_bytes);
        return NULL;
    }
    return atoll_arena_alloc(arena, bytes, err);
}

char *atoll_arena_text(struct atoll_arena *arena, const char *text, size_t length, struct atoll_err *err)
{
    if (length == SIZE_MAX) {
        atoll_err_set(err, ATOLL_E_LIMIT, "a text of %zu bytes", length);
        return NULL;
    }
    char *copy = atoll_arena_alloc(arena, length + 1, err);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
