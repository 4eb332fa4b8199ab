/* bench_mechanisms.c - what each mechanism of the search is worth: campaigns in virtual time (tests/simulator) with it and
 * without it, paired by their seeds, on every landscape.  Usage: bench_mechanisms [SEEDS [EVALUATIONS [MECHANISM]]].
 *
 * A pair is won by whose best is truly faster, where they are equal by who came within 5 % of the optimum first.  ratio:
 * median over the seeds of (true time of the best without) / (with): above 1 the mechanism helps.  p: exact two-sided sign
 * test over the pairs that are not ties. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/simulator.h"

#define SEED_LIMIT   1000
#define SERIES_LIMIT 512
#define JOBS         8 /* threads */
#define SIGNIFICANT  0.01

/* ---- worlds ---- */

struct world {
    const char *name;
    enum atoll_landscape_kind kind;
    void (*set)(struct atoll_simulator_settings *s); /* NULL: one task of the kind */
};

/* Nobody is asked: the tuner alone, with its one template. */
static void set_template(struct atoll_simulator_settings *s)
{
    s->search.ask_share = 0;
    s->search.evaluation_budget = s->search.evaluation_budget / 10 + 1;
}

/* Six tasks: most of them are soon as good as they get, two have a long way to go. */
static void set_mixed(struct atoll_simulator_settings *s)
{
    static const struct {
        enum atoll_landscape_kind kind;
        double hardness;
    } tasks[] = {{ATOLL_LANDSCAPE_SMOOTH, 0.05}, {ATOLL_LANDSCAPE_SMOOTH, 0.1},
                 {ATOLL_LANDSCAPE_PLATEAU, 0.1}, {ATOLL_LANDSCAPE_BASINS, 0.1},
                 {ATOLL_LANDSCAPE_SMOOTH, 1.5},  {ATOLL_LANDSCAPE_BASINS, 1.5}};
    s->task_count = sizeof(tasks) / sizeof(*tasks);
    s->search.evaluation_budget *= 2;
    for (uint32_t i = 0; i < s->task_count; i++)
        s->landscapes[i] = (struct atoll_landscape){tasks[i].kind, s->seed * 100 + i, tasks[i].hardness};
}

/* A loud machine: single times are off by a tenth and more. */
static void set_noisy(struct atoll_simulator_settings *s)
{
    s->referee.noise = 0.15;
    s->referee.pair_noise = 0.05;
    s->referee.spread = 0.1;
    s->referee.drift = 0.1;
}

/* The tuner again, and candidates that take long: what samples cost is what a campaign costs. */
static void set_slow(struct atoll_simulator_settings *s)
{
    s->referee.samples = 1000;
    s->search.ask_share = 0;
    s->search.device_budget_ns = (double)s->search.evaluation_budget * 4e8;
    s->search.evaluation_budget = 0;
}

static const struct world worlds[] = {
    {"smooth", ATOLL_LANDSCAPE_SMOOTH, NULL},
    {"plateau", ATOLL_LANDSCAPE_PLATEAU, NULL},
    {"deceptive", ATOLL_LANDSCAPE_DECEPTIVE, NULL},
    {"ridge", ATOLL_LANDSCAPE_RIDGE, NULL},
    {"basins", ATOLL_LANDSCAPE_BASINS, NULL},
    {"transfer", ATOLL_LANDSCAPE_TRANSFER, NULL},
    {"path", ATOLL_LANDSCAPE_PATH, NULL},
    {"trap", ATOLL_LANDSCAPE_TRAP, NULL},
    {"template", ATOLL_LANDSCAPE_TEMPLATE, set_template},
    {"noisy", ATOLL_LANDSCAPE_SMOOTH, set_noisy},
    {"slow", ATOLL_LANDSCAPE_TEMPLATE, set_slow},
    {"mixed", ATOLL_LANDSCAPE_SMOOTH, set_mixed},
};
#define WORLDS (sizeof(worlds) / sizeof(*worlds))

/* ---- mechanisms ---- */

/* Settings beside the defaults, "name=value name=value". */
struct mechanism {
    const char *name, *with, *without;
    const char *world; /* the only one it can matter in; NULL: all but the tuner's */
};

static const struct mechanism mechanisms[] = {
    {"grid", "", "grid=0", NULL},
    {"gradients as advice", "", "gradients=0", NULL},
    {"curiosity against uniform", "share_uniform=0 share_fitness=0 share_curiosity=1",
     "share_uniform=1 share_fitness=0", NULL},
    {"fitness against uniform", "share_uniform=0 share_fitness=1", "share_uniform=1 share_fitness=0", NULL},
    {"island rule against uniform", "islands=5 share_uniform=0 share_fitness=0 share_island=1",
     "islands=5 share_uniform=1 share_fitness=0", NULL},
    {"roles", "islands=5", "islands=5 roles=0", NULL},
    {"inspirations", "", "inspirations=0", NULL},
    {"islands: 4 against 1", "islands=4 roles=0", "islands=1 roles=0", NULL},
    {"ring", "islands=4 stagnation_migration=0", "islands=4 stagnation_migration=0 topology=none", NULL},
    {"random graph", "islands=4 stagnation_migration=0 topology=random",
     "islands=4 stagnation_migration=0 topology=none", NULL},
    {"migration to the stagnating", "islands=4 topology=none",
     "islands=4 topology=none stagnation_migration=0", NULL},
    {"tuner: all against random", "", "tuners=16", "template"},
    {"tuner: model against random", "tuners=1", "tuners=16", "template"},
    {"tuner: local against random", "tuners=2", "tuners=16", "template"},
    {"tuner: genetic against random", "tuners=4", "tuners=16", "template"},
    {"tuner: differential against random", "tuners=8", "tuners=16", "template"},
    {"tuner: all against local", "", "tuners=2", "template"},
    {"racing", "", "racing=0", "slow"},
    {"sharing by improvement", "", "sharing=equal", "mixed"},
    {"yielding when stagnant", "stagnation_limit=60", "stagnation_limit=0", "mixed"},
    {"islands against repeated", "", "strategy=repeated", NULL},
    {"beam against repeated", "strategy=beam", "strategy=repeated", NULL},
    {"tree against repeated", "strategy=tree", "strategy=repeated", NULL},
    {"staged against repeated", "strategy=staged", "strategy=repeated", NULL},
    {"beam against islands", "strategy=beam", "", NULL},
    {"tree against islands", "strategy=tree", "", NULL},
    {"staged against islands", "strategy=staged", "", NULL},
};
#define MECHANISMS (sizeof(mechanisms) / sizeof(*mechanisms))

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_mechanisms: %s: %s\n", what, why);
    exit(1);
}

static void set_all(struct atoll_search *search, const char *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char copy[256], *rest, *at = copy;
    snprintf(copy, sizeof(copy), "%s", settings);
    for (char *word; (word = strtok_r(at, " ", &rest)); at = NULL) {
        char *value = strchr(word, '=');
        if (!value)
            die(word, "no value");
        *value++ = 0;
        const struct atoll_search_field *field = atoll_search_field(word);
        if (!field || atoll_search_set(search, field, value, &err))
            die(word, err.text);
    }
}

/* ---- one campaign ---- */

struct result {
    double cost;    /* ln of time over optimum, mean over the tasks */
    double reached; /* evaluations, or device time; infinity: never */
};

static struct result run(const struct world *world, const char *changes, uint64_t seed, uint64_t evaluations)
{
    struct atoll_simulator_settings *s = malloc(sizeof(*s));
    struct atoll_simulator_outcome *outcome = malloc(sizeof(*outcome));
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!s || !outcome)
        die(world->name, "no memory");
    atoll_simulator_defaults(s);
    s->seed = s->search.seed = seed;
    s->search.evaluation_budget = evaluations;
    s->rank_count = 2;
    s->landscapes[0] = (struct atoll_landscape){world->kind, seed, 1};
    if (world->set)
        world->set(s);
    set_all(&s->search, changes);
    struct atoll_simulator *simulator = atoll_simulator_create(s, &err);
    if (!simulator || atoll_simulator_run(simulator, 0, &err) < 0)
        die(world->name, err.text);
    atoll_simulator_outcome(simulator, outcome);
    struct result r = {0, 0};
    for (uint32_t i = 0; i < s->task_count; i++) {
        const struct atoll_simulator_task *t = &outcome->tasks[i];
        r.cost += log(t->best_ns / atoll_landscape_optimum_ns(&s->landscapes[i])) / s->task_count;
        r.reached = fmax(r.reached, !t->reached                   ? HUGE_VAL
                                    : s->search.evaluation_budget ? (double)t->reached
                                                                  : t->reached_device_ns);
    }
    atoll_simulator_destroy(simulator);
    free(outcome);
    free(s);
    return r;
}

/* ---- many ---- */

struct series {
    const struct world *world;
    const char *changes;
    uint64_t seeds, evaluations;
    atomic_uint_fast64_t next;
    struct result results[SEED_LIMIT];
};

static void *work(void *context)
{
    struct series *s = context;
    for (uint64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->seeds;)
        s->results[i] = run(s->world, s->changes, i + 1, s->evaluations);
    return NULL;
}

/* The same settings appear in several comparisons. */
static const struct series *run_all(const struct world *world, const char *changes, uint64_t seeds,
                                    uint64_t evaluations)
{
    static struct series *known[SERIES_LIMIT];
    static size_t count;
    pthread_t threads[JOBS];
    for (size_t i = 0; i < count; i++)
        if (known[i]->world == world && strcmp(known[i]->changes, changes) == 0)
            return known[i];
    struct series *s = calloc(1, sizeof(*s));
    if (!s || count == SERIES_LIMIT)
        die(world->name, "no room for another series");
    known[count++] = s;
    s->world = world;
    s->changes = changes;
    s->seeds = seeds;
    s->evaluations = evaluations;
    atomic_store(&s->next, 0);
    for (unsigned i = 0; i < JOBS; i++)
        if (pthread_create(&threads[i], NULL, work, s))
            die(s->world->name, "no thread");
    for (unsigned i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    return s;
}

/* ---- comparison ---- */

/* 1 a is better, -1 b, 0 neither. */
static int better(const struct result *a, const struct result *b)
{
    if (fabs(a->cost - b->cost) > 1e-9)
        return a->cost < b->cost ? 1 : -1;
    return (a->reached < b->reached) - (b->reached < a->reached);
}

static double sign_test(unsigned wins, unsigned losses)
{
    unsigned n = wins + losses, least = wins < losses ? wins : losses;
    double p = 0;
    for (unsigned k = 0; k <= least; k++)
        p += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    return fmin(1, 2 * p);
}

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double median_time(const struct series *s)
{
    static double values[SEED_LIMIT];
    for (uint64_t i = 0; i < s->seeds; i++)
        values[i] = exp(s->results[i].cost);
    return median(values, s->seeds);
}

static unsigned reached(const struct series *s)
{
    unsigned count = 0;
    for (uint64_t i = 0; i < s->seeds; i++)
        count += s->results[i].reached < HUGE_VAL;
    return count;
}

/* 1 it helps, -1 it hurts, 0 nothing is shown. */
static int compare(const struct mechanism *m, const struct series *with, const struct series *without)
{
    static double ratios[SEED_LIMIT];
    unsigned wins = 0, losses = 0;
    for (uint64_t i = 0; i < with->seeds; i++) {
        int sign = better(&with->results[i], &without->results[i]);
        wins += sign > 0;
        losses += sign < 0;
        ratios[i] = exp(without->results[i].cost - with->results[i].cost);
    }
    double p = sign_test(wins, losses);
    int verdict = p >= SIGNIFICANT ? 0 : wins > losses ? 1 : -1;
    printf("| %s | %s | %.3f | %.3f | %u | %u | %u | %u | %.3f | %.2g | %s |\n", m->name, with->world->name,
           median_time(with), median_time(without), reached(with), reached(without), wins, losses,
           median(ratios, with->seeds), p,
           verdict > 0   ? "helps"
           : verdict < 0 ? "hurts"
                         : "");
    fflush(stdout);
    return verdict;
}

static void measure(const struct mechanism *m, uint64_t seeds, uint64_t evaluations)
{
    unsigned helps = 0, hurts = 0;
    for (size_t i = 0; i < WORLDS; i++) {
        if (m->world ? strcmp(m->world, worlds[i].name) != 0 : worlds[i].kind == ATOLL_LANDSCAPE_TEMPLATE)
            continue;
        int verdict = compare(m, run_all(&worlds[i], m->with, seeds, evaluations),
                              run_all(&worlds[i], m->without, seeds, evaluations));
        helps += verdict > 0;
        hurts += verdict < 0;
    }
    printf("| **%s** | %s | | | | | | | | | helps on %u, hurts on %u |\n", m->name, helps ? "" : "never wins",
           helps, hurts);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint64_t evaluations = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    const char *only = argc > 3 ? argv[3] : NULL;
    if (!seeds || seeds > SEED_LIMIT || !evaluations)
        die("arguments", "SEEDS 1..1000, EVALUATIONS above 0");
    printf("| mechanism | landscape | with | without | within 5 %% with | without | wins | losses | ratio | "
           "p | |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < MECHANISMS; i++)
        if (!only || strcmp(only, mechanisms[i].name) == 0)
            measure(&mechanisms[i], seeds, evaluations);
    return 0;
}
