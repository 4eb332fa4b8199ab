/* behaviour.h - the deterministic static classifier: a source's cell in the 4x4x4 grid (ALGORITHMS.md 1,
 * after papers/000 3.2).  Layer: core, pure.  Works on a token stream (comments and preprocessor noise
 * removed; strings count as inline assembly of device languages only), weighted patterns with categories, each construct credited once. */
#ifndef ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_H
#define ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_H

#include <stddef.h>

#include "core/plan/plan.h"

#define ATOLL_BEHAVIOUR_LEVELS 4
#define ATOLL_BEHAVIOUR_CELLS  64

struct atoll_behaviour {
    unsigned char memory, algorithm, coordination; /* each 0..3 */
};

static inline unsigned atoll_behaviour_cell(struct atoll_behaviour b)
{
    return (unsigned)b.memory * 16u + (unsigned)b.algorithm * 4u + (unsigned)b.coordination;
}

/* language "c", "cuda" or "triton", others as they come (unknown: 0,0,0).  plan may be NULL; choice values steer what -D
 * switches, so #if over params is evaluated where it is simple (PARAM, comparisons, &&, ||, !). */
struct atoll_behaviour atoll_behaviour_classify(const char *language, const char *body,
                                                const struct atoll_plan *plan,
                                                const struct atoll_choice *choice);
/* "memory", "algorithm", "coordination" */
const char *atoll_behaviour_dimension_name(unsigned dimension);
/* What the level means in a language, one phrase. */
const char *atoll_behaviour_level_text_of(const char *language, unsigned dimension, unsigned level);

#endif
