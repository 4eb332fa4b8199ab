/* advice.h - from the gradients of a cell to directions, and from a direction to a sentence that a kernel's author can
 * act on (papers/000 3.3, gradient-to-prompt translation; ALGORITHMS.md 3).
 * Layer: evolution, pure. */
#ifndef ATOLL_EVOLUTION_POPULATION_ADVICE_H
#define ATOLL_EVOLUTION_POPULATION_ADVICE_H

#include <stddef.h>

#include "core/ask.h"
#include "evolution/population/gradient.h"

/* A combined gradient that is weaker says nothing: it is what a mean gain in fitness of 0.01 is worth, and a step that
 * gains or loses less counts as neutral (engine.c). */
#define ATOLL_ADVICE_LEAST (ATOLL_GRADIENT_FITNESS_SHARE * 0.01)

/* The directions in which the combined gradient of a cell points, the strongest first, of equal ones the lower
 * dimension first; never beyond the levels.  At most limit, never more than there are dimensions; returns how many. */
size_t atoll_advice_of(const struct atoll_gradient *g, unsigned cell, size_t limit,
                       struct atoll_advice *ret_advice);

/* One sentence in terms of a language ("c", "cuda", "triton", "opencl"); NULL for another language, or where the direction leads
 * beyond the levels.  Immutable. */
const char *atoll_advice_text(const char *language, const struct atoll_advice *advice);

#endif
