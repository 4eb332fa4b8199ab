/* author.h - a scripted operator: answers asks as a model of middling skill would, by a step in the landscape.
 * Layer: tests.  Plain value; all chance is a function of (seed, ask, index), so an ask that is repeated is answered alike.
 *
 * A step changes the structure (one dimension by a level, now and then by two) or one trait; what is rewritten loses
 * details.  What an ask contains matters with the probabilities below, as data: advice says which dimension and direction,
 * a role which dimension, a stage which of both, an inspiration which values of traits, a plan the whole step.  Without
 * a parent it writes a draft: the task's origin and one to eight steps. */
#ifndef ATOLL_TESTS_SIMULATOR_AUTHOR_H
#define ATOLL_TESTS_SIMULATOR_AUTHOR_H

#include "core/ask.h"
#include "evolution/engine/engine.h"
#include "tests/simulator/landscape.h"

struct atoll_author_settings {
    double structure;                       /* share of steps that change the structure; 0.4 */
    double leap;                            /* of those by two levels; 0.05 */
    double loss;                            /* of traits, when the structure changes; 0.1 */
    double advised, cast, inspired;         /* follows advice, a role, an inspiration; 0.6, 0.5, 0.4 */
    double refused, failed, empty, garbled; /* shares of replies; 0 */
};

void atoll_author_defaults(struct atoll_author_settings *ret_settings);

/* Parents and inspirations are looked up in the engine.  Texts of the reply live in `texts`, which is cleared. */
void atoll_author_answer(const struct atoll_author_settings *author, uint64_t seed,
                         const struct atoll_landscape *landscape, const struct atoll_engine *engine,
                         const struct atoll_ask *ask, struct atoll_buffer *texts,
                         struct atoll_reply *ret_reply);

#endif
