/* memory.h - the buffers of one sample: memfds that the referee maps and a runner's child maps again.
 * Layer: mpi-eval, backend/cpu.  Lifetime: create/destroy of the pool; blocks are opened and closed within a
 * sample.
 *
 * Layout of a file: guard, shifted start (a secret multiple of the cache line), contents, guard.  Everything
 * outside the contents holds a keyed pattern, so a write out of bounds is seen wherever it lands in the file.  The
 * pattern is another one each time it is written, and who reads a part of it cannot tell the rest.
 * Large files lie on huge pages where the system has them, so that a child maps and leaves them at no cost; what
 * is mapped and guarded ends at the page after the contents.
 * Files are sealed against growing and shrinking and reused in rotation, so that consecutive samples have
 * other pages under them. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_MEMORY_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_MEASURE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "mpi-eval/referee/team.h"

#define ATOLL_MEMORY_GUARD_BYTES 4096u /* least guard on each side */
#define ATOLL_MEMORY_LINE_BYTES  64u
#define ATOLL_MEMORY_SHIFT_LINES 64u
#define ATOLL_MEMORY_AHEAD_BYTES                                                                             \
    2048 /* prefetched ahead of what is read once; nothing is cached after a sample */

struct atoll_memory;

/* limit_bytes: of all files together.  cache_bytes: last-level cache, for machines without a flush
 * instruction. */
struct atoll_memory *atoll_memory_create(size_t limit_bytes, size_t cache_bytes, struct atoll_err *err);
void atoll_memory_destroy(struct atoll_memory *memory);

/* One tensor or scratch of one sample. */
struct atoll_block {
    int fd;              /* borrowed from the pool */
    unsigned char *base; /* mapping of the whole file */
    size_t file_bytes, offset, bytes;
    uint64_t guard_key[2], guard_turn;
    size_t region; /* of the pool */
};

/* Of the pool's limit, what a block of so many bytes takes, with guards. */
size_t atoll_memory_taken_bytes(size_t bytes);
/* The pool's limit. */
size_t atoll_memory_has_bytes(const struct atoll_memory *memory);

/* Takes a file for `bytes` of contents, chooses the shift from key and writes the guards.  Contents are what
 * they were. Errors: ATOLL_E_LIMIT, or the system's. */
int atoll_block_open(struct atoll_memory *memory, size_t bytes, uint64_t key, struct atoll_block *ret_block,
                     struct atoll_err *err);
void atoll_block_close(struct atoll_memory *memory, struct atoll_block *block);
/* Another pattern into the guards: before each run of a candidate over the same block. */
void atoll_block_guard(struct atoll_memory *memory, struct atoll_block *block);
void *atoll_block_data(const struct atoll_block *block);
/* 1 when the guards hold; else 0 and where: bytes before the contents (negative) or from their start. */
int atoll_block_guards_intact(const struct atoll_block *block, int64_t *ret_where);
/* Puts all lines of the blocks out of every cache, clean. */
void atoll_memory_flush(struct atoll_memory *memory, const struct atoll_block *blocks, size_t count);
/* Whether flushing is by instruction (line by line) or by sweeping; for the record. */
const char *atoll_memory_flush_name(void);

/* An array of the referee's own, on huge pages where it is large; uninitialised, freed by free. */
void *atoll_memory_array(size_t bytes);

/* Arrays that are not used any more, for those that will be: the kernel clears every page that it gives, which costs more than
 * the copy that goes there.  All zero but the limit at first; the newest are kept. */
#define ATOLL_ARRAYS_LIMIT 32

struct atoll_arrays {
    size_t limit_bytes; /* set by the caller */
    struct {
        void *array;
        size_t bytes;
    } items[ATOLL_ARRAYS_LIMIT]; /* oldest first */
    size_t count, bytes;
};

/* One of so many bytes, for give() or free(); NULL without memory.  Its contents are whatever they were.
 * arrays NULL: a new one. */
void *atoll_arrays_take(struct atoll_arrays *arrays, size_t bytes);
/* array: of atoll_memory_array with so many bytes; NULL is fine. */
void atoll_arrays_give(struct atoll_arrays *arrays, void *array, size_t bytes);
void atoll_arrays_fini(struct atoll_arrays *arrays);

/* Keyed hash at memory speed, for "was it changed": no defence against someone who knows the key.  The same whoever makes
 * it; team: borrowed, may be NULL. */
uint64_t atoll_memory_hash(struct atoll_team *team, uint64_t key, const void *bytes, size_t length);

#endif
