/* arena.h - memory by lifetime: everything allocated from an arena goes at once.
 * Layer: base.  Lifetime: create/destroy.  Not thread-safe: one owner. */
#ifndef ATOLL_BASE_ARENA_H
#define ATOLL_BASE_ARENA_H

#include <stddef.h>

#include "base/err.h"

struct atoll_arena;

/* limit_bytes: the most that may ever be allocated from it; beyond that allocation fails with
 * ATOLL_E_LIMIT. */
struct atoll_arena *atoll_arena_create(size_t limit_bytes, struct atoll_err *err);
void atoll_arena_destroy(struct atoll_arena *arena); /* NULL is fine */
void atoll_arena_reset(struct atoll_arena *arena);   /* frees all, keeps the limit */

/* Zeroed, aligned to 16 bytes; NULL and err on failure.  bytes may be 0 (returns a valid, unusable
 * pointer). */
void *atoll_arena_alloc(struct atoll_arena *arena, size_t bytes, struct atoll_err *err);
void *atoll_arena_alloc_array(struct atoll_arena *arena, size_t count, size_t element_bytes,
                              struct atoll_err *err);
/* Copies length bytes of text and terminates them with NUL. */
char *atoll_arena_text(struct atoll_arena *arena, const char *text, size_t length, struct atoll_err *err);

#endif
