/* legal.h - the legal points of a space without its product: listed, the first one, random ones where they are rare.
 * Depth first over the digits; a partial point is dropped as soon as the space's prefix predicate refuses it.
 * Layer: evolution, pure but for the random stream. */
#ifndef ATOLL_EVOLUTION_TUNER_LEGAL_H
#define ATOLL_EVOLUTION_TUNER_LEGAL_H

#include "base/random.h"
#include "evolution/tuner/space.h"

/* 1: go on; 0: enough. */
typedef int atoll_legal_visit(void *context, const struct atoll_point *point);
/* Every legal point in the order of the digits.  1: all were visited; 0: visit stopped it, or node_limit values
 * were tried before the end. */
int atoll_legal_list(const struct atoll_space *space, uint64_t node_limit, atoll_legal_visit *visit,
                     void *context);

/* accept decides finally, legality included.  1: ret_point is one that it took; 0: there is none, or none was found
 * within node_limit values tried. */
typedef int atoll_legal_accept(const void *context, const struct atoll_point *point);
int atoll_legal_search(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point);

/* The same, nearly uniform over the accepted points: of a few searches one, in proportion to what it stands for, the
 * product of the choices it had (Knuth, Mathematics of Computation 29, 1975; importance resampling). */
int atoll_legal_sample(const struct atoll_space *space, struct atoll_random *random, unsigned node_limit,
                       atoll_legal_accept *accept, const void *context, struct atoll_point *ret_point);

#endif
