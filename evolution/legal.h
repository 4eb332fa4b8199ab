/* legal.h - random legal combinations where they are rare: a depth-first search from random values on, which
 * drops a partial combination as soon as a requirement over its parameters fails; the product is never built.
 * Layer: evolution, pure but for the random stream. */
#ifndef ATOLL_EVOLUTION_LEGAL_H
#define ATOLL_EVOLUTION_LEGAL_H

#include "core/plan.h"
#include "core/random.h"

typedef int atoll_legal_accept(const void *context, const uint8_t *digits);

/* digits: one position of a value per parameter.  1: ret_digits is one that accept took (accept decides
 * finally, legality included); 0: there is none, or none was found within node_limit values tried. */
int atoll_legal_search(const struct atoll_task *task, const struct atoll_plan *plan,
                       struct atoll_random *random, unsigned node_limit, atoll_legal_accept *accept,
                       const void *context, uint8_t ret_digits[ATOLL_PLAN_PARAM_LIMIT]);

#endif
