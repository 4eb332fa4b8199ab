/* gradient.c - three gradients of a cell: what steps gained, how often they improved, where the island is empty. */
#include "evolution/population/gradient.h"

#include <math.h>
#include <string.h>

#include "base/array.h"

#define HALF_LIFE       64.0 /* evaluations after which a transition weighs half */
#define RATE_SHARE      0.4  /* papers/000 3.3, equation 4 */
#define EXPLORE_SHARE   0.2
#define CORRECT_FITNESS 0.5 /* the least of a correct candidate */

void atoll_transitions_add(struct atoll_transitions *t, const struct atoll_transition *transition)
{
    t->items[t->next] = *transition;
    t->next = (t->next + 1) % ATOLL_TRANSITION_LIMIT;
    if (t->count < ATOLL_TRANSITION_LIMIT)
        t->count++;
}

void atoll_transitions_improved(struct atoll_transitions *t, uint32_t child)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->items[i].child == child && t->items[i].gain > ATOLL_NEUTRAL_FITNESS)
            t->items[i].outcome = ATOLL_OUTCOME_IMPROVEMENT;
}

void atoll_transitions_codec(struct atoll_transitions *t, struct atoll_codec *codec)
{
    atoll_codec_count(codec, &t->count, 23);
    atoll_codec_u32(codec, &t->next);
    if (codec->in && (t->count > ATOLL_TRANSITION_LIMIT || t->next >= ATOLL_TRANSITION_LIMIT)) {
        t->count = t->next = 0;
        codec->in->failed = 1;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        struct atoll_transition *x = &t->items[i];
        atoll_codec_u8(codec, &x->from);
        atoll_codec_u8(codec, &x->to);
        atoll_codec_u8(codec, &x->outcome);
        atoll_codec_f64(codec, &x->gain);
        atoll_codec_u64(codec, &x->when);
        atoll_codec_u32(codec, &x->child);
        if (codec->in && (x->from >= ATOLL_BEHAVIOUR_CELLS || x->to >= ATOLL_BEHAVIOUR_CELLS ||
                          x->outcome >= ATOLL_OUTCOME_COUNT || !isfinite(x->gain))) {
            codec->in->failed = 1;
        }
    }
}

static void levels_of(unsigned cell, int ret_levels[ATOLL_DIMENSIONS])
{
    struct atoll_behaviour b = atoll_cell_behaviour(cell);
    ret_levels[0] = b.memory;
    ret_levels[1] = b.algorithm;
    ret_levels[2] = b.coordination;
}

/* Steps from one cell. */
struct tally {
    unsigned count, up[ATOLL_DIMENSIONS], up_improved[ATOLL_DIMENSIONS], down[ATOLL_DIMENSIONS],
        down_improved[ATOLL_DIMENSIONS];
};

static double share(unsigned part, unsigned whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void take_step(const struct atoll_transition *t, uint64_t now, struct tally *tally,
                      struct atoll_gradient *g)
{
    int from[ATOLL_DIMENSIONS], to[ATOLL_DIMENSIONS];
    double weight = exp2(-(double)(now - t->when) / HALF_LIFE);
    unsigned improved = t->outcome == ATOLL_OUTCOME_IMPROVEMENT;
    levels_of(t->from, from);
    levels_of(t->to, to);
    tally->count++;
    for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++) {
        int step = (to[d] > from[d]) - (to[d] < from[d]);
        g->fitness[d] += t->gain * step * weight;
        tally->up[d] += step > 0;
        tally->up_improved[d] += step > 0 ? improved : 0;
        tally->down[d] += step < 0;
        tally->down_improved[d] += step < 0 ? improved : 0;
    }
}

/* Both gradients that look back. */
static void look_back(const struct atoll_transitions *transitions, uint64_t now, uint64_t occupied,
                      struct atoll_gradient *gradients)
{
    struct tally tallies[ATOLL_BEHAVIOUR_CELLS];
    memset(tallies, 0, sizeof(tallies));
    for (uint32_t i = 0; i < transitions->count; i++) {
        const struct atoll_transition *t = &transitions->items[i];
        if (occupied >> t->from & 1)
            take_step(t, now, &tallies[t->from], &gradients[t->from]);
    }
    for (unsigned cell = 0; cell < ATOLL_BEHAVIOUR_CELLS; cell++) {
        const struct tally *tally = &tallies[cell];
        for (unsigned d = 0; d < ATOLL_DIMENSIONS && tally->count; d++) {
            gradients[cell].fitness[d] /= tally->count;
            gradients[cell].rate[d] =
                share(tally->up_improved[d], tally->up[d]) - share(tally->down_improved[d], tally->down[d]);
        }
    }
}

/* Empty cells, and occupied ones in the lower half of what correct candidates reach here. */
struct gaps {
    unsigned cells[ATOLL_BEHAVIOUR_CELLS], count;
    double depth[ATOLL_BEHAVIOUR_CELLS]; /* below the best */
};

static void find_gaps(const struct atoll_individuals *individuals, const struct atoll_island *island,
                      struct gaps *gaps)
{
    double fitness[ATOLL_BEHAVIOUR_CELLS] = {0}, best = 0;
    for (uint64_t left = island->occupied; left; left &= left - 1) {
        unsigned cell = (unsigned)__builtin_ctzll(left);
        fitness[cell] = individuals->items[island->cells[cell].elite].fitness;
        best = fmax(best, fitness[cell]);
    }
    gaps->count = 0;
    for (unsigned cell = 0; cell < ATOLL_BEHAVIOUR_CELLS; cell++) {
        if (fitness[cell] < (CORRECT_FITNESS + best) / 2) {
            gaps->depth[gaps->count] = best - fitness[cell];
            gaps->cells[gaps->count++] = cell;
        }
    }
}

static void look_around(const struct gaps *gaps, unsigned cell, struct atoll_gradient *g)
{
    unsigned count = 0;
    int here[ATOLL_DIMENSIONS], there[ATOLL_DIMENSIONS];
    levels_of(cell, here);
    for (unsigned i = 0; i < gaps->count; i++) {
        if (gaps->cells[i] == cell)
            continue;
        levels_of(gaps->cells[i], there);
        int distance = 0;
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
            distance += there[d] > here[d] ? there[d] - here[d] : here[d] - there[d];
        double pull = gaps->depth[i] / (distance * distance);
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
            g->explore[d] += pull * (there[d] - here[d]);
        count++;
    }
    for (unsigned d = 0; d < ATOLL_DIMENSIONS && count; d++)
        g->explore[d] /= count;
}

/* cells: a bit per cell that is wanted. */
static void gradients_of(const struct atoll_transitions *transitions, uint64_t now,
                         const struct atoll_individuals *individuals, const struct atoll_island *island,
                         uint64_t cells, struct atoll_gradient ret_gradients[ATOLL_BEHAVIOUR_CELLS])
{
    struct gaps gaps;
    memset(ret_gradients, 0, ATOLL_BEHAVIOUR_CELLS * sizeof(*ret_gradients));
    find_gaps(individuals, island, &gaps);
    look_back(transitions, now, cells, ret_gradients);
    for (uint64_t left = cells; left; left &= left - 1) {
        unsigned cell = (unsigned)__builtin_ctzll(left);
        struct atoll_gradient *g = &ret_gradients[cell];
        look_around(&gaps, cell, g);
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++) {
            g->combined[d] = ATOLL_GRADIENT_FITNESS_SHARE * g->fitness[d] + RATE_SHARE * g->rate[d] +
                             EXPLORE_SHARE * g->explore[d];
        }
    }
}

void atoll_gradients_of(const struct atoll_transitions *transitions, uint64_t now,
                        const struct atoll_individuals *individuals, const struct atoll_island *island,
                        struct atoll_gradient ret_gradients[ATOLL_BEHAVIOUR_CELLS])
{
    gradients_of(transitions, now, individuals, island, island->occupied, ret_gradients);
}

void atoll_gradient_of(const struct atoll_transitions *transitions, uint64_t now,
                       const struct atoll_individuals *individuals, const struct atoll_island *island,
                       unsigned cell, struct atoll_gradient *ret_gradient)
{
    struct atoll_gradient gradients[ATOLL_BEHAVIOUR_CELLS];
    gradients_of(transitions, now, individuals, island, island->occupied & UINT64_C(1) << cell, gradients);
    *ret_gradient = gradients[cell];
}

double atoll_gradient_magnitude(const struct atoll_gradient *g)
{
    double sum = 0;
    for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++)
        sum += g->combined[d] * g->combined[d];
    return sqrt(sum);
}
