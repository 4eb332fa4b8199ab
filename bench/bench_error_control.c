/* bench_error_control.c - how many promotions a run makes, how many of them are false, and what gains it misses, under
 * each rule of core/error_control.h.  Simulated duels (the referee's own scoring), the same pairs for every rule; no
 * device, no clock, the same numbers everywhere.
 * bench_error_control [--streams N] [--length N] [--only streams|noops|nulls]   (200 streams of 1,000 challenges) */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error_control.h"
#include "base/random.h"
#include "mpi-eval/referee/duel.h"

#define ALPHA         0.05
#define MARGIN        0.01
#define PAIR_LIMIT    16
#define IN_FLIGHT_MAX 16

static const double gains[] = {0.02, 0.03, 0.05, 0.1, 0.2, 0.3};
#define GAIN_COUNT (sizeof(gains) / sizeof(*gains))

/* What comes to challenge. */
enum nulls { NULLS_TYPICAL, NULLS_AT_MARGIN, NULLS_NOOP };
struct world {
    double sigma, share; /* deviation of a pair's log ratio; of the challenges that are true improvements */
    enum nulls nulls;
    int heavy; /* one pair in ten has four times the deviation */
    unsigned in_flight;
    size_t length;
};

static double unit(struct atoll_random *r)
{
    return atoll_random_unit(atoll_random_next(r));
}

static double normal(struct atoll_random *r)
{
    double u = unit(r), v = unit(r);
    return sqrt(-2 * log1p(-u)) * cos(2 * M_PI * v);
}

/* Gain of a challenger that is none better than promised: slower by up to 4 % to faster by up to the margin. */
static double null_gain(const struct world *w, struct atoll_random *r)
{
    double typical = MARGIN - 0.05 * unit(r);
    return w->nulls == NULLS_TYPICAL ? typical : w->nulls == NULLS_AT_MARGIN ? MARGIN : 0;
}

struct challenge {
    struct atoll_random random; /* of its pairs */
    double gain, level;
    size_t gain_class; /* GAIN_COUNT: none */
};

static struct challenge challenge_make(const struct world *w, uint64_t stream, uint64_t number)
{
    struct challenge c = {.random = {atoll_random_at(stream, number), 0}, .gain_class = GAIN_COUNT};
    if (unit(&c.random) < w->share)
        c.gain_class = (size_t)atoll_random_below(atoll_random_next(&c.random), GAIN_COUNT);
    c.gain = c.gain_class < GAIN_COUNT ? gains[c.gain_class] : null_gain(w, &c.random);
    return c;
}

static int duel(const struct world *w, const struct challenge *c, struct atoll_duel_score *score)
{
    struct atoll_random random = c->random;
    atoll_duel_score_init(score, log1p(MARGIN), c->level, PAIR_LIMIT);
    while (score->state == ATOLL_COMPARE_MORE) {
        double scale = w->heavy && unit(&random) < 0.1 ? 4 : 1;
        atoll_duel_score_add(score, log1p(c->gain) + scale * w->sigma * normal(&random));
    }
    return score->state == ATOLL_COMPARE_BETTER;
}

struct tally {
    double promotions, false_promotions, any_false, false_share; /* sums over streams */
    double slower;                                               /* false ones with a gain below 0 */
    double met[GAIN_COUNT + 1], won[GAIN_COUNT + 1];
    double last_level;
};

static int settle(const struct world *w, struct atoll_error_control *e, const struct challenge *c,
                  struct tally *t)
{
    struct atoll_duel_score score;
    int won = duel(w, c, &score), is_false = won && c->gain_class == GAIN_COUNT;
    atoll_error_close(e, score.p_value, won);
    t->met[c->gain_class]++;
    t->won[c->gain_class] += won;
    t->promotions += won;
    t->false_promotions += is_false;
    t->slower += is_false && c->gain < 0;
    return is_false;
}

/* As many as in_flight are under way; whichever ends first is a matter of chance. */
static void stream_run(const struct world *w, enum atoll_error_rule rule, uint64_t stream, struct tally *t)
{
    struct atoll_error_control e;
    struct challenge open[IN_FLIGHT_MAX];
    struct atoll_random order = {stream, 1};
    double promotions = t->promotions, failures = 0;
    size_t count = 0;
    atoll_error_init(&e, rule, ALPHA);
    for (size_t made = 0; made < w->length || count;) {
        while (count < w->in_flight && made < w->length) {
            open[count] = challenge_make(w, stream, made++);
            open[count++].level = atoll_error_open(&e);
        }
        size_t ends = (size_t)atoll_random_below(atoll_random_next(&order), count);
        failures += settle(w, &e, &open[ends], t);
        open[ends] = open[--count];
    }
    t->any_false += failures > 0;
    t->false_share += failures / fmax(1, t->promotions - promotions);
    t->last_level += atoll_error_level(&e);
}

static struct tally streams_run(const struct world *w, enum atoll_error_rule rule, unsigned streams)
{
    struct tally t = {0};
    for (unsigned i = 0; i < streams; i++)
        stream_run(w, rule, atoll_random_at(2026, i), &t);
    return t;
}

static void streams_row(const struct world *w, enum atoll_error_rule rule, unsigned streams)
{
    struct tally t = streams_run(w, rule, streams);
    printf("| %.1f | %.0f | %s%s | %u | %s | %.1f | %.3f | %.3f | %.3f | %.4f |", 100 * w->sigma,
           100 * w->share, w->nulls == NULLS_TYPICAL ? "typical" : "at margin", w->heavy ? ", heavy" : "",
           w->in_flight, atoll_error_rule_names[rule], t.promotions / streams, t.false_promotions / streams,
           t.slower / streams, t.any_false / streams, t.false_share / streams);
    for (size_t i = 0; i < GAIN_COUNT; i++)
        printf(" %.0f |", 100 * t.won[i] / fmax(1, t.met[i]));
    printf(" %.1e |\n", t.last_level / streams);
}

static void streams_print(unsigned streams, size_t length)
{
    static const struct world worlds[] = {
        {0.003, 0.10, NULLS_TYPICAL, 0, 4, 0},  {0.01, 0.10, NULLS_TYPICAL, 0, 4, 0},
        {0.03, 0.10, NULLS_TYPICAL, 0, 4, 0},   {0.01, 0.01, NULLS_TYPICAL, 0, 4, 0},
        {0.01, 0.30, NULLS_TYPICAL, 0, 4, 0},   {0.03, 0.30, NULLS_TYPICAL, 0, 4, 0},
        {0.01, 0.10, NULLS_AT_MARGIN, 0, 4, 0}, {0.03, 0.10, NULLS_AT_MARGIN, 0, 4, 0},
        {0.03, 0.30, NULLS_AT_MARGIN, 0, 4, 0}, {0.01, 0.10, NULLS_TYPICAL, 1, 4, 0},
        {0.01, 0.10, NULLS_TYPICAL, 0, 1, 0},   {0.01, 0.10, NULLS_TYPICAL, 0, 16, 0},
    };
    printf("%u streams of %zu challenges, alpha %g, margin %g, %d pairs\n\n", streams, length, ALPHA, MARGIN,
           PAIR_LIMIT);
    printf("| sigma %% | true %% | nulls | under way | rule | promotions | false | slower | any false | "
           "false share |");
    for (size_t i = 0; i < GAIN_COUNT; i++)
        printf(" %.0f %% |", 100 * gains[i]);
    printf(" last level |\n|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < GAIN_COUNT; i++)
        printf("---|");
    printf("---|\n");
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        struct world w = worlds[i];
        w.length = length;
        for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++)
            streams_row(&w, (enum atoll_error_rule)rule, streams);
    }
}

static void noops_print(unsigned streams)
{
    static const double sigmas[] = {0.003, 0.01, 0.03};
    printf("\n300 no-ops and nothing else, %u times\n\n| sigma %% | rule | promoted | any promoted "
           "|\n|---|---|---|---|\n",
           streams);
    for (size_t i = 0; i < sizeof(sigmas) / sizeof(*sigmas); i++)
        for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
            struct world w = {sigmas[i], 0, NULLS_NOOP, 0, 4, 300};
            struct tally t = streams_run(&w, (enum atoll_error_rule)rule, streams);
            printf("| %.1f | %s | %.4f | %.4f |\n", 100 * w.sigma, atoll_error_rule_names[rule],
                   t.promotions / streams, t.any_false / streams);
        }
}

/* What the discarding rules need of every null: P(promoted at level a) <= a / (tau - lambda) * P(lambda < p <= tau). */
static void nulls_print(unsigned count)
{
    static const double below[] = {0, 0.1, 0.25, 0.5, 0.75, 1, 1.5}, levels[] = {0.01, 0.005, 0.0005};
    const double lambda = ATOLL_ERROR_LAMBDA, tau = ATOLL_ERROR_TAU;
    printf("\nA null's mean is so many deviations of a pair below the margin, %u duels\n\n", count);
    printf("| below | heavy | level | promoted | allowed | lambda < p <= tau |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < 2 * sizeof(below) / sizeof(*below); i++)
        for (size_t j = 0; j < sizeof(levels) / sizeof(*levels); j++) {
            struct world w = {.sigma = 0.01, .heavy = (int)(i & 1)};
            double promoted = 0, between = 0;
            for (unsigned k = 0; k < count; k++) {
                struct challenge c = {.random = {atoll_random_at(7, k), 0}, .level = levels[j]};
                struct atoll_duel_score score;
                c.gain = expm1(log1p(MARGIN) - below[i / 2] * w.sigma);
                promoted += duel(&w, &c, &score);
                between += score.p_value > lambda && score.p_value <= tau;
            }
            printf("| %.2f | %d | %g | %.2e | %.2e | %.2e |\n", below[i / 2], w.heavy, levels[j],
                   promoted / count, levels[j] / (tau - lambda) * between / count, between / count);
        }
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"streams", required_argument, NULL, 's'},
                                          {"length", required_argument, NULL, 'l'},
                                          {"only", required_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    unsigned streams = 200;
    size_t length = 1000;
    const char *only = "";
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 's')
            streams = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 'l')
            length = strtoul(optarg, NULL, 10);
        else if (key == 'o')
            only = optarg;
        else
            return 2;
    if (!*only || strcmp(only, "streams") == 0)
        streams_print(streams, length);
    if (!*only || strcmp(only, "noops") == 0)
        noops_print(streams * 10);
    if (!*only || strcmp(only, "nulls") == 0)
        nulls_print(streams * 5000);
    return 0;
}
