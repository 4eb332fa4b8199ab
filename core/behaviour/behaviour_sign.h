/* behaviour_sign.h - what in a source speaks for a level of behaviour.  Each construct belongs to one sign,
 * which counts once however often it stands there.
 * Layer: core, private to behaviour*.c. */
#ifndef ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_SIGN_H
#define ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_SIGN_H

#include "core/source/source_loop.h"

/* Which level each speaks for, by language, stands in behaviour.c. */
enum atoll_sign {
    ATOLL_SIGN_VECTOR_TYPES,
    ATOLL_SIGN_SIMD_HINT,
    ATOLL_SIGN_CONTIGUOUS,
    ATOLL_SIGN_ALIGNED,
    ATOLL_SIGN_TILE_LOOP,
    ATOLL_SIGN_CHUNK_LOOP,
    ATOLL_SIGN_NAMED_TAIL,
    ATOLL_SIGN_REGISTER_BLOCK,
    ATOLL_SIGN_PACKING,
    ATOLL_SIGN_PREFETCH,
    ATOLL_SIGN_SEVERAL_RESULTS,
    ATOLL_SIGN_STORE_AND_SUM,
    ATOLL_SIGN_RUNNING_RESCALE,
    ATOLL_SIGN_RUNNING_MEAN,
    ATOLL_SIGN_SLIDING,
    ATOLL_SIGN_APPROXIMATE,
    ATOLL_SIGN_RECURSION,
    ATOLL_SIGN_NAMED_METHOD,
    ATOLL_SIGN_SPLIT_SUM,
    ATOLL_SIGN_REDUCE_CLAUSE,
    ATOLL_SIGN_HORIZONTAL,
    ATOLL_SIGN_PHASES,
    ATOLL_SIGN_ATOMIC,
    /* of device languages */
    ATOLL_SIGN_COALESCED,   /* neighbouring threads touch neighbouring elements */
    ATOLL_SIGN_CACHE_LOAD,  /* loads through a chosen cache */
    ATOLL_SIGN_SHARED_TILE, /* shared memory filled from arrays */
    ATOLL_SIGN_FRAGMENT,    /* operands of tensor instructions */
    ATOLL_SIGN_ASYNC_COPY,  /* copies that run beside the arithmetic */
    ATOLL_SIGN_STAGES,      /* several buffers in turn */
    ATOLL_SIGN_ROW_CACHE,   /* loaded once into registers, used again */
    ATOLL_SIGN_BARRIER,
    ATOLL_SIGN_SHUFFLE,
    ATOLL_SIGN_GRID_SYNC,
    ATOLL_SIGN_CLUSTER,
    ATOLL_SIGN_PERSISTENT,     /* blocks loop over work by gridDim */
    ATOLL_SIGN_REGISTER_ROLES, /* registers moved between roles of warps */
    ATOLL_SIGN_PRODUCER,
    ATOLL_SIGN_CONSUMER,
    ATOLL_SIGN_COUNT
};

struct atoll_sign_board {
    unsigned char seen[ATOLL_SIGN_COUNT];
};

static inline void atoll_sign_mark(struct atoll_sign_board *b, enum atoll_sign sign)
{
    b->seen[sign] = 1;
}

/* Whether the token at a position, which may be beyond the end, has this text. */
static inline int atoll_sign_is(const struct atoll_loop_list *l, size_t at, const char *text)
{
    return at < l->token_count && atoll_token_is(&l->tokens[at], text);
}

/* Names and constants of a language; functions that call themselves. */
void atoll_sign_see_names(const struct atoll_loop_list *l, int is_device, struct atoll_sign_board *b);
/* Tiles, tails, contiguous access, running rescaling. */
void atoll_sign_see_loops(const struct atoll_loop_list *l, struct atoll_sign_board *b);
/* Sums, stores, blocks of results, windows that slide, running means. */
void atoll_sign_see_sums(const struct atoll_loop_list *l, struct atoll_sign_board *b);

#define ATOLL_SIGN_NAME_LIMIT 128
struct atoll_sign_names {
    const struct atoll_token *items[ATOLL_SIGN_NAME_LIMIT]; /* different, in the order of the text */
    size_t count;
};
int atoll_sign_has_name(const struct atoll_sign_names *names, const struct atoll_token *name);
/* Arrays declared __shared__, and pointers whose first value is made from one; none in "c". */
void atoll_sign_find_shared(const struct atoll_loop_list *l, struct atoll_sign_names *ret_names);
/* Device languages: shared memory, neighbouring threads, persistent blocks. */
void atoll_sign_see_device(const struct atoll_loop_list *l, struct atoll_sign_board *b);

#endif
