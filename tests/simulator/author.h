/* author.h - a scripted operator: answers asks as a model of middling skill would, by a step in the landscape.
 * Layer: tests.  Plain value; all chance is a function of (seed, ask, index), so an ask that is repeated is answered alike.
 *
 * A step changes the structure (one dimension by a level, now and then by two) or one trait; what is rewritten loses
 * details.  What an ask contains matters with the probabilities below, as data: advice says which dimension and direction,
 * a role which dimension, a stage which of both, an inspiration which values of traits, a plan the whole step.  Without
 * a parent it writes a draft: the task's origin and one to eight steps.
 *
 * What it is told beside the ask (hints, rewrites, a trajectory: struct atoll_author_told) is moves that may help, and points that
 * were tried: it follows one of the moves with the probability heeds, and turns away from a point that was tried with
 * recalls.  How much of that a model does is not known; it is a parameter.  What is wrong with a naive parent everybody sees: with
 * `obvious` the step is one from the task's best, and nothing that was told matters. */
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
    double heeds, recalls;                  /* of what it is told; 0.5, 0.7 */
    double
        obvious; /* a parent so many times slower than the best is brought to about there, whatever the author is told; 0 none */
};

/* Coordinates of a point: levels 0 to 2, traits from 3 on. */
#define ATOLL_AUTHOR_COORDINATES (3 + ATOLL_LANDSCAPE_TRAITS)
#define ATOLL_AUTHOR_MOVES       48
#define ATOLL_AUTHOR_TRIED       32
#define ATOLL_AUTHOR_REWRITE     32 /* bytes of a rewrite's title */

struct atoll_author_move {
    uint8_t coordinate;
    int8_t sign;
};

struct atoll_author_told {
    uint32_t move_count, tried_count;
    struct atoll_author_move moves[ATOLL_AUTHOR_MOVES];
    struct atoll_landscape_point tried[ATOLL_AUTHOR_TRIED];
};
void atoll_author_told_move(struct atoll_author_told *told, unsigned coordinate,
                            int sign); /* while there is room */
/* How two points differ, as the title of a rewrite: "0+4-"; and the moves of such a title. */
const char *atoll_author_rewrite(const struct atoll_landscape_point *slow,
                                 const struct atoll_landscape_point *fast,
                                 char ret_title[ATOLL_AUTHOR_REWRITE]);
void atoll_author_told_rewrite(struct atoll_author_told *told, const char *title);

void atoll_author_defaults(struct atoll_author_settings *ret_settings);

/* told: NULL nothing.  Parents and inspirations are looked up in the engine.  Texts of the reply live in `texts`, which is cleared. */
void atoll_author_answer(const struct atoll_author_settings *author, uint64_t seed,
                         const struct atoll_landscape *landscape, const struct atoll_engine *engine,
                         const struct atoll_ask *ask, const struct atoll_author_told *told,
                         struct atoll_buffer *texts, struct atoll_reply *ret_reply);

#endif
