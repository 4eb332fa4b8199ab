#include "mpi-eval/backend/cpu/measure/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/random.h"
#include "base/units.h"
#include "mpi-eval/backend/cpu/process/flush.h"

#define REGION_LIMIT 256
#define ARRAY_LEAST  ((size_t)64 << 10) /* smaller ones come from a heap that has them */
#define RING         2                  /* files of one size before one is used again */
#define PAGE_BYTES   ((size_t)4096)
#define HUGE_BYTES   ((size_t)2 << 20)
#define HUGE_LEAST   ((size_t)1 << 20) /* smaller files stay on small pages */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

struct region {
    int fd;
    unsigned char *base;
    size_t bytes;
    uint64_t stamp; /* of the last use */
    int used;       /* open in a block */
};

struct atoll_memory {
    size_t limit_bytes, held_bytes, cache_bytes;
    uint64_t clock;
    uint64_t guard_key[2], guard_writes; /* no two patterns of this pool are alike */
    size_t region_count;
    struct region regions[REGION_LIMIT];
    enum atoll_flush flush;
    unsigned char *sweep; /* only where no instruction flushes */
};

struct atoll_memory *atoll_memory_create(size_t limit_bytes, size_t cache_bytes, struct atoll_err *err)
{
    struct atoll_memory *m = calloc(1, sizeof(*m));
    if (!m) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the buffer pool");
        return NULL;
    }
    if (getrandom(m->guard_key, sizeof(m->guard_key), 0) != (ssize_t)sizeof(m->guard_key)) {
        atoll_err_errno(err, errno, "no random numbers for the guards of buffers");
        free(m);
        return NULL;
    }
    m->flush = atoll_flush_known();
    m->limit_bytes = limit_bytes;
    m->cache_bytes = cache_bytes ? cache_bytes : (size_t)32 << 20;
    return m;
}

static void region_drop(struct atoll_memory *m, size_t index)
{
    struct region *r = &m->regions[index];
    munmap(r->base, r->bytes);
    close(r->fd);
    m->held_bytes -= r->bytes;
    *r = (struct region){.fd = -1};
}

void atoll_memory_destroy(struct atoll_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < memory->region_count; i++)
        if (memory->regions[i].base)
            region_drop(memory, i);
    free(memory->sweep);
    free(memory);
}

/* Reserved and replaced, so that the mapping starts where a huge page may. */
static void *map_aligned(int fd, size_t bytes)
{
    size_t all = bytes + HUGE_BYTES;
    char *reserved = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return MAP_FAILED;
    size_t head = (HUGE_BYTES - (uintptr_t)reserved % HUGE_BYTES) % HUGE_BYTES, tail = all - head - bytes;
    void *at = mmap(reserved + head, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (at == MAP_FAILED) {
        munmap(reserved, all);
        return MAP_FAILED;
    }
    if (head)
        munmap(reserved, head);
    if (tail)
        munmap(reserved + head + bytes, tail);
    return at;
}

static int region_map(struct region *r, size_t bytes, struct atoll_err *err)
{
    int fd = memfd_create("atoll-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot create a memory file");
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        atoll_err_errno(err, errno, "cannot size a memory file to %zu bytes", bytes);
        close(fd);
        return -1;
    }
    void *base = map_aligned(fd, bytes);
    if (base == MAP_FAILED) {
        atoll_err_errno(err, errno, "cannot map %zu bytes", bytes);
        close(fd);
        return -1;
    }
    /* Mapping and unmapping small pages would cost more than some samples.  A system without huge pages for memory
     * files keeps small ones. */
    for (size_t at = 0; bytes % HUGE_BYTES == 0 && at < bytes; at += HUGE_BYTES)
        *((volatile unsigned char *)base + at) = 0;
    if (bytes % HUGE_BYTES == 0)
        madvise(base, bytes, MADV_COLLAPSE);
    *r = (struct region){.fd = fd, .base = base, .bytes = bytes};
    return 0;
}

/* The least recently used free region that (exact: has this size | else: any); -1 none. */
static long region_oldest(const struct atoll_memory *m, size_t bytes, int exact)
{
    long best = -1;
    for (size_t i = 0; i < m->region_count; i++) {
        const struct region *r = &m->regions[i];
        if (!r->base || r->used || (exact && r->bytes != bytes))
            continue;
        if (best < 0 || r->stamp < m->regions[best].stamp)
            best = (long)i;
    }
    return best;
}

static long region_new(struct atoll_memory *m, size_t bytes, struct atoll_err *err)
{
    size_t slot = 0;
    for (;;) {
        for (slot = 0; slot < m->region_count && m->regions[slot].base;)
            slot++;
        if (m->held_bytes + bytes <= m->limit_bytes && slot < REGION_LIMIT)
            break;
        long old = region_oldest(m, 0, 0);
        if (old < 0) {
            atoll_err_set(err, ATOLL_E_LIMIT, "buffers of one sample need more than %zu bytes of memory",
                          m->limit_bytes);
            return -1;
        }
        region_drop(m, (size_t)old);
    }
    if (region_map(&m->regions[slot], bytes, err) != 0)
        return -1;
    if (slot == m->region_count)
        m->region_count++;
    m->held_bytes += bytes;
    return (long)slot;
}

static long region_take(struct atoll_memory *m, size_t bytes, struct atoll_err *err)
{
    size_t ring = bytes > m->limit_bytes / 16 ? 1 : RING;
    long i = -1;
    size_t free_count = 0;
    for (size_t k = 0; k < m->region_count; k++)
        free_count += m->regions[k].base && !m->regions[k].used && m->regions[k].bytes == bytes;
    if (free_count >= ring)
        i = region_oldest(m, bytes, 1);
    if (i < 0)
        i = region_new(m, bytes, err);
    if (i >= 0) {
        m->regions[i].used = 1;
        m->regions[i].stamp = ++m->clock;
    }
    return i;
}

/* Writes (check 0) or checks the pattern over [begin, end) of the file; returns the first wrong offset or
 * end. */
static size_t guard_range(const struct atoll_block *b, size_t begin, size_t end, int check)
{
    for (size_t p = begin; p < end;) {
        struct atoll_pair words =
            atoll_threefry(b->guard_key[0], b->guard_key[1], p / sizeof(words), b->guard_turn);
        size_t from = p % sizeof(words), n = sizeof(words) - from < end - p ? sizeof(words) - from : end - p;
        unsigned char bytes[sizeof(words)];
        memcpy(bytes, &words, sizeof(bytes));
        const unsigned char *pattern = bytes + from;
        if (!check)
            memcpy(b->base + p, pattern, n);
        else if (memcmp(b->base + p, pattern, n) != 0) {
            size_t at = 0;
            while (at < n && b->base[p + at] == pattern[at])
                at++;
            return p + at;
        }
        p += n;
    }
    return end;
}

/* Guards, the shift and what it holds, in whole pages. */
static size_t block_file_bytes(size_t bytes)
{
    size_t slack = ATOLL_MEMORY_SHIFT_LINES * ATOLL_MEMORY_LINE_BYTES;
    return (2 * ATOLL_MEMORY_GUARD_BYTES + slack + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

size_t atoll_memory_taken_bytes(size_t bytes)
{
    size_t file_bytes = block_file_bytes(bytes), unit = file_bytes >= HUGE_LEAST ? HUGE_BYTES : PAGE_BYTES;
    return (file_bytes + unit - 1) / unit * unit;
}

size_t atoll_memory_has_bytes(const struct atoll_memory *memory)
{
    return memory->limit_bytes;
}

int atoll_block_open(struct atoll_memory *memory, size_t bytes, uint64_t key, struct atoll_block *ret_block,
                     struct atoll_err *err)
{
    if (bytes > memory->limit_bytes) {
        char wanted[32], limit[32];
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "a buffer of %s is more than the %s that this device has for one candidate; make the "
            "variant's shapes or the plan's scratch smaller",
            atoll_size_text((double)bytes, wanted, sizeof(wanted)),
            atoll_size_text((double)memory->limit_bytes, limit, sizeof(limit)));
    }
    long i = region_take(memory, atoll_memory_taken_bytes(bytes), err);
    if (i < 0)
        return -1;
    struct atoll_block b = {.fd = memory->regions[i].fd,
                            .base = memory->regions[i].base,
                            .file_bytes = block_file_bytes(bytes),
                            .bytes = bytes,
                            .guard_key = {memory->guard_key[0], memory->guard_key[1]},
                            .region = (size_t)i};
    size_t lines = (size_t)atoll_random_below(atoll_mix64(key), ATOLL_MEMORY_SHIFT_LINES);
    b.offset = ATOLL_MEMORY_GUARD_BYTES + lines * ATOLL_MEMORY_LINE_BYTES;
    atoll_block_guard(memory, &b);
    *ret_block = b;
    return 0;
}

void atoll_block_guard(struct atoll_memory *memory, struct atoll_block *block)
{
    block->guard_turn = ++memory->guard_writes;
    guard_range(block, 0, block->offset, 0);
    guard_range(block, block->offset + block->bytes, block->file_bytes, 0);
}

void atoll_block_close(struct atoll_memory *memory, struct atoll_block *block)
{
    if (!block->base)
        return;
    memory->regions[block->region].used = 0;
    *block = (struct atoll_block){.fd = -1};
}

void *atoll_block_data(const struct atoll_block *block)
{
    return block->base + block->offset;
}

int atoll_block_guards_intact(const struct atoll_block *block, int64_t *ret_where)
{
    size_t end = block->offset + block->bytes;
    size_t at = guard_range(block, 0, block->offset, 1);
    if (at == block->offset) {
        at = guard_range(block, end, block->file_bytes, 1);
        if (at == block->file_bytes)
            return 1;
    }
    *ret_where = (int64_t)at - (int64_t)block->offset;
    return 0;
}

/* Where no instruction does it, writes push our dirty lines out, and the reads after them leave clean ones. */
static void sweep(struct atoll_memory *memory)
{
    size_t bytes = 2 * memory->cache_bytes;
    if (!memory->sweep)
        memory->sweep = malloc(2 * bytes);
    if (!memory->sweep)
        return;
    memset(memory->sweep, (int)(memory->clock & 0x7f), bytes);
    volatile unsigned char sink = 0;
    for (size_t i = bytes; i < 2 * bytes; i += ATOLL_MEMORY_LINE_BYTES)
        sink = (unsigned char)(sink + memory->sweep[i]);
}

void atoll_memory_flush(struct atoll_memory *memory, const struct atoll_block *blocks, size_t count)
{
    if (memory->flush == ATOLL_FLUSH_NONE)
        sweep(memory);
    for (size_t i = 0; i < count; i++)
        atoll_flush_lines(memory->flush, blocks[i].base, blocks[i].file_bytes);
}

const char *atoll_memory_flush_name(void)
{
    static const char *const names[] = {"sweep", "clflush", "clflushopt"};
    return names[atoll_flush_known()];
}

void *atoll_memory_array(size_t bytes)
{
    void *array = NULL;
    if (bytes < HUGE_LEAST)
        return malloc(bytes + 1);
    /* To its end: a rest on small pages costs more to clear, page by page, than all before it. */
    size_t whole = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    if (posix_memalign(&array, HUGE_BYTES, whole) != 0)
        return NULL;
    madvise(array, whole, MADV_HUGEPAGE);
    return array;
}

static void *arrays_remove(struct atoll_arrays *a, size_t index)
{
    void *array = a->items[index].array;
    a->bytes -= a->items[index].bytes;
    a->count--;
    memmove(a->items + index, a->items + index + 1, (a->count - index) * sizeof(a->items[0]));
    return array;
}

void *atoll_arrays_take(struct atoll_arrays *arrays, size_t bytes)
{
    for (size_t i = arrays ? arrays->count : 0; i > 0; i--)
        if (arrays->items[i - 1].bytes == bytes)
            return arrays_remove(arrays, i - 1);
    return atoll_memory_array(bytes);
}

void atoll_arrays_give(struct atoll_arrays *arrays, void *array, size_t bytes)
{
    if (!array || bytes < ARRAY_LEAST || bytes > arrays->limit_bytes) {
        free(array);
        return;
    }
    while (arrays->count == ATOLL_ARRAYS_LIMIT || arrays->bytes + bytes > arrays->limit_bytes)
        free(arrays_remove(arrays, 0));
    arrays->items[arrays->count].array = array;
    arrays->items[arrays->count++].bytes = bytes;
    arrays->bytes += bytes;
}

void atoll_arrays_fini(struct atoll_arrays *arrays)
{
    while (arrays->count > 0)
        free(arrays_remove(arrays, 0));
}

#define HASH_LANES ((size_t)8)

/* Each lane is a bijection of each of its words: no single change can hide. */
static uint64_t part_hash(uint64_t key, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t a = key, b = key ^ 0x9e3779b97f4a7c15ull, c = ~key, d = key + 0xbf58476d1ce4e5b9ull;
    uint64_t lane[HASH_LANES] = {a, b, c, d, ~b, ~d, a + 0x9e3779b97f4a7c15ull, c ^ 0xbf58476d1ce4e5b9ull};
    size_t i = 0;
    for (; i + sizeof(lane) <= length; i += sizeof(lane)) {
        uint64_t w[HASH_LANES];
        __builtin_prefetch(p + i + ATOLL_MEMORY_AHEAD_BYTES);
        memcpy(w, p + i, sizeof(w));
#pragma GCC unroll 8
        for (size_t k = 0; k < HASH_LANES; k++) {
            lane[k] = (lane[k] ^ w[k]) * 0x94d049bb133111ebull;
            lane[k] ^= lane[k] >> 29;
        }
    }
    uint64_t h = length;
    for (size_t k = 0; k < HASH_LANES; k++)
        h = atoll_mix64(h ^ lane[k]);
    for (; i < length; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return atoll_mix64(h ^ key);
}

struct hashing {
    uint64_t key;
    const unsigned char *bytes;
    _Atomic uint64_t sum;
};

/* The sum does not tell the order of parts, their keys do. */
static void hash_parts(void *context, size_t begin, size_t end)
{
    struct hashing *h = context;
    uint64_t key = h->key + begin * 0x9e3779b97f4a7c15ull;
    atomic_fetch_add_explicit(&h->sum, atoll_mix64(part_hash(key, h->bytes + begin, end - begin)),
                              memory_order_relaxed);
}

uint64_t atoll_memory_hash(struct atoll_team *team, uint64_t key, const void *bytes, size_t length)
{
    struct hashing h = {.key = key, .bytes = bytes};
    atoll_team_run(team, length, ATOLL_TEAM_PIECE_BYTES, hash_parts, &h);
    return atoll_mix64(atomic_load_explicit(&h.sum, memory_order_relaxed) ^ key ^ length);
}
