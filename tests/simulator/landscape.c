#include "tests/simulator/landscape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define HEAD                                                                                                 \
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", "                   \
    "\"args\": [\"x\", \"y\"]}]} */\n"
#define MARK "/* point "

#define TEMPLATE_SUM 11 /* tasks/template: "A + B <= 11" */

enum { SALT_DIMENSION = 100, SALT_TRAIT = 200, SALT_FAMILY = 300, SALT_PATH = 400, SALT_CELL = 500 };

/* A number of the seed, 0..bound-1. */
static unsigned drawn(const struct atoll_landscape *l, unsigned salt, unsigned bound)
{
    return (unsigned)atoll_random_below(atoll_random_at(l->seed, salt), bound);
}

static int distance(unsigned a, unsigned b)
{
    return abs((int)a - (int)b);
}

/* Mean distance of traits to what is best, 0..1. */
static double trait_distance(const struct atoll_landscape *l, const struct atoll_landscape_point *p,
                             unsigned first, unsigned salt)
{
    int sum = 0;
    for (unsigned k = first; k < ATOLL_LANDSCAPE_TRAITS; k++)
        sum += distance(p->traits[k], drawn(l, salt + k, ATOLL_LANDSCAPE_VALUES));
    return sum / ((ATOLL_LANDSCAPE_VALUES - 1.0) * (ATOLL_LANDSCAPE_TRAITS - first));
}

static unsigned special(const struct atoll_landscape *l)
{
    return drawn(l, SALT_DIMENSION, 3);
}

static unsigned level_sum(const struct atoll_landscape_point *p)
{
    return (unsigned)p->levels[0] + p->levels[1] + p->levels[2];
}

static double smooth(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return 0.2 * (9 - level_sum(p)) + trait_distance(l, p, 0, SALT_TRAIT);
}

/* Pairs of traits count when both are right, levels when all are high. */
static double plateau(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    double cost = 0;
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k += 2) {
        int far = 0;
        for (unsigned i = k; i < k + 2; i++)
            far |= distance(p->traits[i], drawn(l, SALT_TRAIT + i, ATOLL_LANDSCAPE_VALUES)) > 1;
        cost += far ? 0.4 : 0;
    }
    unsigned lowest = p->levels[0];
    for (unsigned d = 1; d < 3; d++)
        lowest = p->levels[d] < lowest ? p->levels[d] : lowest;
    return cost + (lowest < 1 ? 0.8 : lowest < 2 ? 0.4 : 0);
}

static double deceptive(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    static const double ladder[] = {0.9, 1.1, 1.3, 0};
    unsigned d = special(l);
    double others = 0.1 * (6 - (level_sum(p) - p->levels[d]));
    return ladder[p->levels[d]] + others + 0.6 * trait_distance(l, p, 0, SALT_TRAIT);
}

static double ridge(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    unsigned d = special(l), others = level_sum(p) - p->levels[d];
    return 0.6 * (3 - p->levels[d]) + 0.3 * others + 0.5 * trait_distance(l, p, 0, SALT_TRAIT);
}

static double ridge_correct(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return p->levels[special(l)] ? 0.1 : 0.8;
}

/* The first trait is the family; how good families are is a permutation. */
static double basins(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    unsigned family = p->traits[0];
    unsigned rank = (family * (2 * drawn(l, SALT_FAMILY, 4) + 1) + drawn(l, SALT_FAMILY + 1, 8)) % 8;
    double depth = rank ? 0.2 + 0.1 * rank : 0;
    return depth + 0.05 * (9 - level_sum(p)) + trait_distance(l, p, 1, SALT_TRAIT + 10 * family);
}

static double transfer(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    double cost = 0;
    for (unsigned d = 0; d < 3; d++)
        cost += 0.3 * distance(p->levels[d], drawn(l, SALT_CELL + d, 2));
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++)
        cost += 0.05 * distance(p->traits[k], 5 + drawn(l, SALT_TRAIT + k, 3));
    return cost;
}

/* A way of nine steps upwards, three in every dimension, in an order of the seed. */
static double path(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    unsigned at[3] = {0}, steps = 0;
    while (steps < level_sum(p)) {
        unsigned d = drawn(l, SALT_PATH + steps, 3);
        while (at[d] == 3)
            d = (d + 1) % 3;
        at[d]++;
        steps++;
    }
    int on = at[0] == p->levels[0] && at[1] == p->levels[1] && at[2] == p->levels[2];
    return (on ? 0.2 * (9 - steps) : 2.1) + 0.1 * trait_distance(l, p, 0, SALT_TRAIT);
}

static double trap(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    unsigned sum = level_sum(p);
    double structure = sum < 2 ? 1.2 + 0.1 * (1 - sum) : 0.1 * (9 - sum);
    return structure + trait_distance(l, p, 0, SALT_TRAIT);
}

static double trap_correct(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return level_sum(p) < 2 ? 0.8 : level_sum(p) == 2 ? 0.01 : 0.5;
}

/* A product of tile sizes with a sweet spot, and two parameters that only matter together. */
static double template(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    const uint8_t *t = p->traits;
    int area = t[0] + t[1] - (int)(4 + drawn(l, SALT_TRAIT, 6));
    int skew = t[0] - t[1] - (int)drawn(l, SALT_TRAIT + 1, 5) + 2;
    int depth = distance(t[2], drawn(l, SALT_TRAIT + 2, 8));
    int match = distance((t[3] + t[4]) % 8u, drawn(l, SALT_TRAIT + 3, 8));
    return 0.03 * area * area + 0.02 * skew * skew + 0.08 * depth + 0.1 * match +
           0.03 * distance(t[3], drawn(l, SALT_TRAIT + 4, 8)) + 0.2 * (9 - level_sum(p));
}

static double mostly(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return 0.7;
}

static double template_correct(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return 0.9;
}

struct row {
    const char *name;
    double (*cost)(const struct atoll_landscape *l, const struct atoll_landscape_point *p);
    double (*correct)(const struct atoll_landscape *l, const struct atoll_landscape_point *p);
};

static const struct row rows[ATOLL_LANDSCAPE_KIND_COUNT] = {
    [ATOLL_LANDSCAPE_SMOOTH] = {"smooth", smooth, mostly},
    [ATOLL_LANDSCAPE_PLATEAU] = {"plateau", plateau, mostly},
    [ATOLL_LANDSCAPE_DECEPTIVE] = {"deceptive", deceptive, mostly},
    [ATOLL_LANDSCAPE_RIDGE] = {"ridge", ridge, ridge_correct},
    [ATOLL_LANDSCAPE_BASINS] = {"basins", basins, mostly},
    [ATOLL_LANDSCAPE_TRANSFER] = {"transfer", transfer, mostly},
    [ATOLL_LANDSCAPE_PATH] = {"path", path, mostly},
    [ATOLL_LANDSCAPE_TRAP] = {"trap", trap, trap_correct},
    [ATOLL_LANDSCAPE_TEMPLATE] = {"template", template, template_correct},
};

const char *atoll_landscape_kind_name(enum atoll_landscape_kind kind)
{
    return (unsigned)kind < ATOLL_LANDSCAPE_KIND_COUNT ? rows[kind].name : "unknown";
}

double atoll_landscape_time_ns(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    return ATOLL_LANDSCAPE_OPTIMUM_NS * exp(l->hardness * rows[l->kind].cost(l, p));
}

/* Parameters of the template may not all be chosen freely, and no point may be the best in everything. */
double atoll_landscape_optimum_ns(const struct atoll_landscape *l)
{
    double best = HUGE_VAL;
    if (l->kind != ATOLL_LANDSCAPE_TEMPLATE)
        return ATOLL_LANDSCAPE_OPTIMUM_NS;
    for (unsigned n = 0; n < 1u << 15; n++) {
        struct atoll_landscape_point p = {{3, 3, 3}, {0}, 0};
        for (unsigned k = 0; k < 5; k++)
            p.traits[k] = (uint8_t)(n >> 3 * k & 7);
        if (p.traits[0] + p.traits[1] <= TEMPLATE_SUM)
            best = fmin(best, atoll_landscape_time_ns(l, &p));
    }
    return best;
}

/* The origin is what a task comes with: it is right. */
int atoll_landscape_is_correct(const struct atoll_landscape *l, const struct atoll_landscape_point *p)
{
    uint64_t key = p->attempt;
    for (unsigned d = 0; d < 3; d++)
        key = atoll_mix64(key * 31 + p->levels[d]);
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++)
        key = atoll_mix64(key * 31 + p->traits[k]);
    return !p->attempt || atoll_random_unit(atoll_random_at(l->seed, key)) < rows[l->kind].correct(l, p);
}

struct atoll_behaviour atoll_landscape_cell(const struct atoll_landscape_point *p)
{
    return (struct atoll_behaviour){p->levels[0], p->levels[1], p->levels[2]};
}

unsigned atoll_landscape_ideas(const struct atoll_landscape *l, const struct atoll_landscape_point *p,
                               unsigned trait)
{
    return l->kind == ATOLL_LANDSCAPE_TRANSFER ? 2 + 2u * p->levels[trait % 3] : ATOLL_LANDSCAPE_VALUES;
}

void atoll_landscape_print(const struct atoll_landscape_point *p, struct atoll_buffer *out)
{
    char line[64];
    size_t at = 0;
    memcpy(line, MARK, sizeof(MARK) - 1);
    at += sizeof(MARK) - 1;
    for (unsigned d = 0; d < 3; d++) {
        line[at++] = (char)('0' + p->levels[d]);
        line[at++] = ' ';
    }
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++) {
        line[at++] = (char)('0' + p->traits[k]);
        line[at++] = ' ';
    }
    atoll_buffer_put_bytes(out, HEAD, sizeof(HEAD) - 1);
    atoll_buffer_put_bytes(out, line, at);
    atoll_buffer_printf(out, "%llu */\n", (unsigned long long)p->attempt);
}

static int parse_digit(const char **at, unsigned limit, uint8_t *ret)
{
    while (**at == ' ')
        ++*at;
    if (**at < '0' || **at >= (char)('0' + limit))
        return -1;
    *ret = (uint8_t)(*(*at)++ - '0');
    return 0;
}

int atoll_landscape_parse(const char *text, const struct atoll_choice *choice,
                          struct atoll_landscape_point *ret_point)
{
    struct atoll_landscape_point p = {0};
    const char *at = strstr(text, MARK);
    if (!at)
        return -1;
    at += sizeof(MARK) - 1;
    for (unsigned d = 0; d < 3; d++)
        if (parse_digit(&at, ATOLL_BEHAVIOUR_LEVELS, &p.levels[d]))
            return -1;
    for (unsigned k = 0; k < ATOLL_LANDSCAPE_TRAITS; k++)
        if (parse_digit(&at, ATOLL_LANDSCAPE_VALUES, &p.traits[k]))
            return -1;
    p.attempt = strtoull(at, NULL, 10);
    for (size_t i = 0; i < choice->count && i < ATOLL_LANDSCAPE_TRAITS; i++)
        p.traits[i] = (uint8_t)(choice->values[i] & (ATOLL_LANDSCAPE_VALUES - 1));
    *ret_point = p;
    return 0;
}
