#include "core/prompt_archive.h"

#include <math.h>
#include <string.h>

#define LEAST_PRESSURE 1e-2 /* as among cells (select.c) */
#define MEMORY         16.0 /* answers over which a level is averaged */
#define SPREAD_PRIOR   0.25 /* of the noise, until there is enough of it */
#define SLOPE_PRIOR    1.0  /* sum of squares at which half of a slope is believed */

double atoll_prompt_credit(int is_correct, double gain)
{
    if (!is_correct)
        return 0;
    return ATOLL_PROMPT_CORRECT + (isfinite(gain) ? fmin(fmax(gain, 0), ATOLL_PROMPT_GAIN_MAX) : 0);
}

static uint32_t position_of(const struct atoll_prompt_archive *a, uint32_t version)
{
    uint32_t i = 0;
    while (i < a->count && a->versions[i].version != version)
        i++;
    return i;
}

const struct atoll_prompt_version *atoll_prompt_archive_find(const struct atoll_prompt_archive *a,
                                                             uint32_t version)
{
    uint32_t at = position_of(a, version);
    return at < a->count ? &a->versions[at] : NULL;
}

static uint32_t fittest(const struct atoll_prompt_archive *a)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < a->count; i++)
        if (a->versions[i].fitness > a->versions[best].fitness)
            best = i;
    return best;
}

/* ---- drawing ---- */

static size_t pick(const double *weights, size_t count, struct atoll_random *random)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    double at = atoll_random_unit(atoll_random_next(random)) * sum;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(weights[i] > 0))
            continue;
        last = i;
        if (at < weights[i])
            return i;
        at -= weights[i];
    }
    return last;
}

static void weigh(const struct atoll_prompt_archive *a, size_t rule, double *ret_weights)
{
    uint32_t best = fittest(a), fewest = UINT32_MAX;
    double worst = a->versions[0].fitness;
    for (uint32_t i = 0; i < a->count; i++) {
        worst = fmin(worst, a->versions[i].fitness);
        fewest = a->versions[i].uses < fewest ? a->versions[i].uses : fewest;
    }
    double range = a->versions[best].fitness - worst;
    for (uint32_t i = 0; i < a->count; i++) {
        double above = range > 0 ? (a->versions[i].fitness - worst) / range : 1;
        ret_weights[i] = rule == ATOLL_SELECT_FITNESS     ? LEAST_PRESSURE + above * above
                         : rule == ATOLL_SELECT_CURIOSITY ? a->versions[i].uses == fewest
                         : rule == ATOLL_SELECT_ISLAND    ? i == best
                                                          : 1;
    }
}

uint32_t atoll_prompt_archive_draw(const struct atoll_prompt_archive *a, const struct atoll_search *search,
                                   struct atoll_random *random)
{
    double weights[ATOLL_PROMPT_ARCHIVE_LIMIT];
    if (a->count < 2)
        return a->count ? a->versions[0].version : 0;
    weigh(a, pick(search->selection_share, ATOLL_SELECTION_COUNT, random), weights);
    return a->versions[pick(weights, a->count, random)].version;
}

/* ---- crediting ---- */

static void begin(struct atoll_prompt_archive *a)
{
    if (!a->count)
        a->versions[a->count++] = (struct atoll_prompt_version){0};
}

void atoll_prompt_archive_use(struct atoll_prompt_archive *a, uint32_t version)
{
    begin(a);
    uint32_t at = position_of(a, version);
    if (at < a->count)
        a->versions[at].uses++;
}

static void drop(struct atoll_prompt_archive *a, uint32_t at)
{
    memmove(&a->versions[at], &a->versions[at + 1], (a->count - at - 1) * sizeof(*a->versions));
    a->count--;
}

/* How sure a version's fitness is: one standard error. */
static double error_of(const struct atoll_prompt_archive *a, const struct atoll_prompt_version *v)
{
    double spread = (SPREAD_PRIOR + a->spread) / (1 + (double)a->answers);
    return sqrt(spread / (ATOLL_PROMPT_PRIOR + (double)v->answers));
}

/* Those that are, both errors apart, below the fittest. */
static void drop_losers(struct atoll_prompt_archive *a)
{
    struct atoll_prompt_version best = a->versions[fittest(a)];
    double bound = best.fitness - error_of(a, &best);
    if (best.answers < ATOLL_PROMPT_LEAST)
        return;
    for (uint32_t i = a->count; i-- > 0;) {
        const struct atoll_prompt_version *v = &a->versions[i];
        if (v->version != best.version && v->answers >= ATOLL_PROMPT_LEAST &&
            v->fitness + error_of(a, v) < bound)
            drop(a, i);
    }
}

double atoll_prompt_slope(const struct atoll_prompt_parents *parents)
{
    return fmin(fmax(parents->products / (SLOPE_PRIOR + parents->squares), 0), 1);
}

/* ln(from / to), 0 where one of them is not known. */
static double log_ratio(double from_ns, double to_ns)
{
    double ratio = from_ns > 0 && to_ns > 0 ? log(from_ns / to_ns) : 0;
    return isfinite(ratio) ? ratio : 0;
}

/* Means and sums of products with one pair more (Welford 1962). */
static void learn(struct atoll_prompt_parents *p, double behind, double gain)
{
    double share = 1 / (double)++p->answers;
    double farther = behind - p->behind, more = gain - p->gain;
    p->behind += share * farther;
    p->gain += share * more;
    p->squares += (1 - share) * farther * farther;
    p->products += (1 - share) * farther * more;
}

/* What the answer gained beyond what its parent gives; nobody's parent is unusual before there was another. */
static double own_gain(struct atoll_prompt_parents *p, const struct atoll_prompt_outcome *outcome)
{
    double gain = fmin(fmax(log_ratio(outcome->from_ns, outcome->time_ns), -ATOLL_PROMPT_GAIN_MAX),
                       ATOLL_PROMPT_GAIN_MAX);
    double behind = fmin(fmax(log_ratio(outcome->from_ns, outcome->best_ns), 0), ATOLL_PROMPT_GAIN_MAX);
    double own = gain - (p->answers ? atoll_prompt_slope(p) * (behind - p->behind) : 0);
    learn(p, behind, gain);
    return own;
}

void atoll_prompt_archive_credit(struct atoll_prompt_archive *a, struct atoll_prompt_level *level,
                                 uint32_t version, const struct atoll_prompt_outcome *outcome)
{
    begin(a);
    uint32_t at = position_of(a, version);
    struct atoll_prompt_version *v = at < a->count ? &a->versions[at] : NULL;
    double credit =
        atoll_prompt_credit(outcome->is_correct, outcome->is_correct ? own_gain(&a->parents, outcome) : 0);
    double rest = credit - (v ? v->fitness : 0) - level->level;
    level->answers++;
    level->level += rest / fmin((double)level->answers, MEMORY);
    if (!v)
        return;
    a->answers++;
    a->spread += rest * rest;
    v->answers++;
    v->fitness += rest / (ATOLL_PROMPT_PRIOR + (double)v->answers);
    if (outcome->is_correct)
        v->best = fmax(v->best, log_ratio(outcome->from_ns, outcome->time_ns));
    drop_losers(a);
}

void atoll_prompt_archive_add(struct atoll_prompt_archive *a, uint32_t version, uint32_t parent,
                              uint32_t limit)
{
    begin(a);
    const struct atoll_prompt_version *from = atoll_prompt_archive_find(a, parent);
    struct atoll_prompt_version made = {.version = version,
                                        .parent = parent,
                                        .fitness = from ? from->fitness : a->versions[fittest(a)].fitness};
    limit = limit > ATOLL_PROMPT_ARCHIVE_LIMIT ? ATOLL_PROMPT_ARCHIVE_LIMIT : limit < 2 ? 2 : limit;
    while (a->count >= limit) {
        uint32_t best = fittest(a), worst = best ? 0 : 1;
        for (uint32_t i = 0; i < a->count; i++)
            if (a->versions[i].fitness < a->versions[worst].fitness)
                worst = i;
        drop(a, worst);
    }
    a->versions[a->count++] = made;
}
