/* landscape.h - made-up tasks: how fast every point of a small world is, and how often code for it is right.
 * Layer: tests, pure.  Plain values.
 *
 * A point has a level in each of the three behaviour dimensions, which make its cell, and six traits, which the grid
 * does not see.  Its time is the optimum times e^cost, cost >= 0.  What is best, and where, follows from the seed.  All
 * campaigns begin at the origin.  Whether an attempt at a point is right is chance: it depends on the point and on the
 * attempt, so a second attempt may be right where the first was wrong.
 *
 * kind        what makes it hard, and what ought to help
 * smooth      nothing: every step towards the optimum pays.  The control; greed ought to be enough
 * plateau     steps pay only when several things are right together.  The control where gradients say nothing
 * deceptive   one dimension gets slower for two levels before the third pays: cells that are kept though they are
 *             slower are stepping stones (grid against plain elitism)
 * ridge       one dimension pays and nine attempts of ten at it are wrong; the other two cost: whoever knows the
 *             direction saves five steps of six (gradients, roles)
 * basins      families of designs with details of their own; the family that is best is not the one that is found
 *             first, and a change of family begins from bad details (several islands)
 * transfer    details that authors think of only in complicated structures, but that are worth most in simple ones
 *             (inspirations from other cells)
 * path        one way of nine steps through the cells; every cell beside it is slower (curiosity: which cells steps
 *             led on from)
 * trap        four cells that one attempt in a hundred leaves: who is out can bring out the others (migration)
 * template    a template of five parameters that interact (the tuner's strategies) */
#ifndef ATOLL_TESTS_SIMULATOR_LANDSCAPE_H
#define ATOLL_TESTS_SIMULATOR_LANDSCAPE_H

#include <stdint.h>

#include "core/behaviour/behaviour.h"
#include "base/buffer.h"
#include "core/plan/plan.h"

#define ATOLL_LANDSCAPE_TRAITS 6
#define ATOLL_LANDSCAPE_VALUES 8 /* of a trait, 0..7 */

enum atoll_landscape_kind {
    ATOLL_LANDSCAPE_SMOOTH,
    ATOLL_LANDSCAPE_PLATEAU,
    ATOLL_LANDSCAPE_DECEPTIVE,
    ATOLL_LANDSCAPE_RIDGE,
    ATOLL_LANDSCAPE_BASINS,
    ATOLL_LANDSCAPE_TRANSFER,
    ATOLL_LANDSCAPE_PATH,
    ATOLL_LANDSCAPE_TRAP,
    ATOLL_LANDSCAPE_TEMPLATE,
    ATOLL_LANDSCAPE_KIND_COUNT
};
const char *atoll_landscape_kind_name(enum atoll_landscape_kind kind);

struct atoll_landscape {
    enum atoll_landscape_kind kind;
    uint64_t seed;
    double hardness; /* factor of all costs; 1 */
};

struct atoll_landscape_point {
    uint8_t levels[3]; /* memory, algorithm, coordination: 0..3 */
    uint8_t traits[ATOLL_LANDSCAPE_TRAITS];
    uint64_t attempt; /* of whoever wrote it; no part of the point */
};

#define ATOLL_LANDSCAPE_OPTIMUM_NS 1e6 /* time of cost 0 */

/* Of the best that can be reached; walks all points where that is not the constant (template: 32768). */
double atoll_landscape_optimum_ns(const struct atoll_landscape *l);
double atoll_landscape_time_ns(const struct atoll_landscape *l, const struct atoll_landscape_point *p);
int atoll_landscape_is_correct(const struct atoll_landscape *l, const struct atoll_landscape_point *p);
struct atoll_behaviour atoll_landscape_cell(const struct atoll_landscape_point *p);
/* Values 0..result-1 of a trait are what an author thinks of unaided who looks at this point. */
unsigned atoll_landscape_ideas(const struct atoll_landscape *l, const struct atoll_landscape_point *p,
                               unsigned trait);
/* Its source in the language "c"; appended, without a NUL. */
void atoll_landscape_print(const struct atoll_landscape_point *p, struct atoll_buffer *out);
/* From a source and the choice of its parameters, which stand for the first traits; -1 when it is no such source. */
int atoll_landscape_parse(const char *text, const struct atoll_choice *choice,
                          struct atoll_landscape_point *ret_point);

#endif
