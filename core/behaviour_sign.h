/* behaviour_sign.h - what in a source speaks for a level of behaviour.  Each construct belongs to one sign,
 * which counts once however often it stands there.
 * Layer: core, private to behaviour*.c. */
#ifndef ATOLL_CORE_BEHAVIOUR_SIGN_H
#define ATOLL_CORE_BEHAVIOUR_SIGN_H

#include "core/source_loop.h"

/* Which level each speaks for stands in behaviour.c. */
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

/* Names and constants; functions that call themselves. */
void atoll_sign_see_names(const struct atoll_loop_list *l, struct atoll_sign_board *b);
/* Tiles, tails, contiguous access, running rescaling. */
void atoll_sign_see_loops(const struct atoll_loop_list *l, struct atoll_sign_board *b);
/* Sums, stores, blocks of results, windows that slide, running means. */
void atoll_sign_see_sums(const struct atoll_loop_list *l, struct atoll_sign_board *b);

#endif
