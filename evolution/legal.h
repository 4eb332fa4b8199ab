/* legal.h - random legal points where they are rare: a depth-first search from random values on, which drops a
 * partial point as soon as the space's prefix predicate refuses it; the product is never built.
 * Layer: evolution, pure but for the random stream. */
#ifndef ATOLL_EVOLUTION_LEGAL_H
#define ATOLL_EVOLUTION_LEGAL_H

#include "core/random.h"
#include "evolution/space.h"

typedef int atoll_legal_accept(const void *context, const struct atoll_point *point);

/* 1: ret_point is one that accept took (accept decides finally, legality included); 0: there is none, or none
 * was found within node_limit values tried. */
int atoll_legal_search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point);

#endif
