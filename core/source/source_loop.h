/* source_loop.h - the loops and assignments of a tokenised C source, as far as patterns can tell: no types,
 * no semantics, never wrong about where a token is.  Layer: core, pure.  Hostile input: odd nesting ends a
 * loop early, nothing else. */
#ifndef ATOLL_CORE_SOURCE_SOURCE_LOOP_H
#define ATOLL_CORE_SOURCE_SOURCE_LOOP_H

#include "core/source/source_token.h"

#define ATOLL_LOOP_LIMIT       256
#define ATOLL_ASSIGNMENT_LIMIT 1024

/* Token index ranges are [begin, end). */
struct atoll_loop {
    size_t header_begin, header_end, body_begin, body_end;
    int parent; /* index of the loop around it, -1 none */
    int is_innermost;
    const struct atoll_token *variable; /* NULL when there is none */
    int unit_step;                      /* 1: the variable goes up or down by one */
    const struct atoll_token *step;     /* first token of another step, NULL = none */
};

struct atoll_assignment {
    size_t begin, op, end;          /* left side [begin, op), right side (op, end) */
    int loop;                       /* innermost loop around it, -1 none */
    const struct atoll_token *base; /* variable or array written */
    int is_element;                 /* base is indexed or pointed through */
};

struct atoll_loop_list {
    const struct atoll_token *tokens; /* borrowed */
    size_t token_count;
    size_t loop_count, assignment_count;
    struct atoll_loop loops[ATOLL_LOOP_LIMIT]; /* in the order of their keywords */
    struct atoll_assignment assignments[ATOLL_ASSIGNMENT_LIMIT];
};

void atoll_loop_list_find(struct atoll_loop_list *list, const struct atoll_token *tokens, size_t count);
int atoll_token_same(const struct atoll_token *a, const struct atoll_token *b);
/* Whether a name stands in a token range. */
int atoll_loop_mentions(const struct atoll_loop_list *list, size_t begin, size_t end,
                        const struct atoll_token *name);

#endif
