/* bench_ablation.c - what hints, the optimization memory and trajectories are worth to an author whose skill depends on what it is
 * told: campaigns in virtual time (tests/simulator) with each and without, paired by their seeds.
 * Usage: bench_ablation [SEEDS [EVALUATIONS [HEEDS]]].
 *
 * The libraries are the product's own (evolution/experience), fed as the coordinator feeds them; the author is made up: it follows one
 * of the moves that it was told with the probability HEEDS, 0.5.  A hint says a move (a coordinate of the landscape, up or down) for one
 * class of diagnosis; right ones say the direction that pays on average over the landscape, wrong ones any other move.  A diagnosis
 * names the coordinate whose best step pays most at the parent, and any other in two cases of ten.
 *
 * So this says whether the mechanisms carry what is known to where it is of use, and whether wrong hints are found out; not how much
 * a model heeds, nor whether the hints of knowledge/hints.yaml are right. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "evolution/experience/experience.h"
#include "evolution/experience/rewrites.h"
#include "tests/simulator/simulator.h"

#define SEED_LIMIT  400
#define JOBS        4
#define COORDINATES ATOLL_AUTHOR_COORDINATES
#define PER_CLASS   4 /* hints of a class */
#define SEEN        0.8
#define POINTS      400 /* that a direction is judged by */

static const enum atoll_landscape_kind kinds[] = {
    ATOLL_LANDSCAPE_SMOOTH, ATOLL_LANDSCAPE_PLATEAU,  ATOLL_LANDSCAPE_DECEPTIVE, ATOLL_LANDSCAPE_RIDGE,
    ATOLL_LANDSCAPE_BASINS, ATOLL_LANDSCAPE_TRANSFER, ATOLL_LANDSCAPE_PATH,      ATOLL_LANDSCAPE_TRAP};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* A class of diagnosis for every coordinate. */
static const enum atoll_limiter classes[COORDINATES] = {ATOLL_LIMITER_DRAM,
                                                        ATOLL_LIMITER_L2,
                                                        ATOLL_LIMITER_L1,
                                                        ATOLL_LIMITER_SHARED,
                                                        ATOLL_LIMITER_BANK_CONFLICTS,
                                                        ATOLL_LIMITER_TENSOR,
                                                        ATOLL_LIMITER_FMA,
                                                        ATOLL_LIMITER_ALU,
                                                        ATOLL_LIMITER_FP64};

struct arm {
    const char *name;
    int hints, is_credited, is_diagnosed, memory, trajectory;
    double right; /* share of hints */
};

static const struct arm arms[] = {
    {"nothing", 0, 0, 0, 0, 0, 0},
    {"hints, all right", 1, 1, 1, 0, 0, 1},
    {"hints, half right", 1, 1, 1, 0, 0, 0.5},
    {"the same, not credited", 1, 0, 1, 0, 0, 0.5},
    {"the same, at random instead of by diagnosis", 1, 1, 0, 0, 0, 0.5},
    {"hints, none right", 1, 1, 1, 0, 0, 0},
    {"the same, not credited", 1, 0, 1, 0, 0, 0},
    {"memory", 0, 0, 0, 1, 0, 0},
    {"trajectory", 0, 0, 0, 0, 1, 0},
    {"memory, trajectory and hints, half right", 1, 1, 1, 1, 1, 0.5},
};
#define ARMS (sizeof(arms) / sizeof(*arms))

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_ablation: %s: %s\n", what, why);
    exit(1);
}

/* ---- what is told ---- */

struct briefer {
    const struct arm *arm;
    const struct atoll_landscape *landscape;
    uint64_t seed;
    struct atoll_experience *experience;
    struct atoll_rewrites *rewrites;
    struct atoll_random random;
    /* moves that were told, and those that would have paid at the parent, in both halves of the campaign */
    uint64_t asks, told[2], paid[2], expected_asks;
};

static uint8_t *coordinate_of(struct atoll_landscape_point *p, unsigned c)
{
    return c < 3 ? &p->levels[c] : &p->traits[c - 3];
}

/* ln of the time over that behind the move; 0 where there is none. */
static double gain_of(const struct atoll_landscape *l, const struct atoll_landscape_point *p, unsigned c,
                      int sign)
{
    struct atoll_landscape_point next = *p;
    uint8_t *at = coordinate_of(&next, c);
    int value = *at + sign, limit = c < 3 ? ATOLL_BEHAVIOUR_LEVELS : ATOLL_LANDSCAPE_VALUES;
    if (value < 0 || value >= limit)
        return 0;
    *at = (uint8_t)value;
    return log(atoll_landscape_time_ns(l, p) / atoll_landscape_time_ns(l, &next));
}

static unsigned below(struct briefer *b, unsigned bound)
{
    return (unsigned)atoll_random_below(atoll_random_next(&b->random), bound);
}

/* The direction that pays on average. */
static int right_sign(struct briefer *b, unsigned c)
{
    double sum = 0;
    for (unsigned i = 0; i < POINTS; i++) {
        struct atoll_landscape_point p = {{0}, {0}, 0};
        for (unsigned k = 0; k < COORDINATES; k++)
            *coordinate_of(&p, k) = (uint8_t)below(b, k < 3 ? (unsigned)ATOLL_BEHAVIOUR_LEVELS
                                                            : (unsigned)ATOLL_LANDSCAPE_VALUES);
        sum += gain_of(b->landscape, &p, c, 1) - gain_of(b->landscape, &p, c, -1);
    }
    return sum >= 0 ? 1 : -1;
}

static void add_hints(struct briefer *b)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (unsigned c = 0; c < COORDINATES; c++) {
        int sign = right_sign(b, c);
        for (unsigned i = 0; i < PER_CLASS; i++) {
            int is_right = i < b->arm->right * PER_CLASS;
            unsigned other = below(b, 2 * COORDINATES - 1); /* any move but the right one */
            other += other >= 2 * c + (sign > 0);
            unsigned move = is_right ? 2 * c + (sign > 0) : other;
            char name[16];
            snprintf(name, sizeof(name), "%u%c-%u-%u", move / 2, move % 2 ? 'p' : 'm', c, i);
            struct atoll_experience_hint h = {.name = name,
                                              .language = "",
                                              .device = "",
                                              .category = "",
                                              .role = ATOLL_ISLAND_ROLE_COUNT,
                                              .context = "",
                                              .advice = name,
                                              .source = "",
                                              .trigger = {ATOLL_TRIGGER_LIMITER, (uint32_t)classes[c]}};
            if (atoll_experience_add_hint(b->experience, &h, NULL, &err) != 0)
                die(name, err.text);
        }
    }
}

static int point_of(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                    struct atoll_landscape_point *ret_point)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    return atoll_id_is_zero(candidate) ||
                   atoll_engine_candidate(engine, task, candidate, &source, &choice) != 0 ||
                   atoll_engine_source(engine, &source, &language, &text) != 0
               ? -1
               : atoll_landscape_parse(text, &choice, ret_point);
}

/* The class of the coordinate whose best step pays most. */
static struct atoll_diagnosis diagnose(struct briefer *b, const struct atoll_landscape_point *p)
{
    struct atoll_diagnosis d = {.limiter = ATOLL_LIMITER_UNKNOWN};
    double most = 1e-9;
    for (unsigned c = 0; c < COORDINATES; c++) {
        double gain = fmax(gain_of(b->landscape, p, c, 1), gain_of(b->landscape, p, c, -1));
        if (gain > most) {
            most = gain;
            d.limiter = classes[c];
        }
    }
    if (!b->arm->is_diagnosed || atoll_random_unit(atoll_random_next(&b->random)) >= SEEN)
        d.limiter = classes[below(b, COORDINATES)];
    return d;
}

static void tell_hints(struct briefer *b, const struct atoll_ask *ask,
                       const struct atoll_landscape_point *parent, struct atoll_author_told *told)
{
    struct atoll_diagnosis d = diagnose(b, parent);
    struct atoll_briefing briefing = {.ask = ask->number};
    const struct atoll_experience_query query = {&d, "c", "cpu", "", ATOLL_ISLAND_ROLE_COUNT, ask->number};
    size_t half = 2 * b->asks >= b->expected_asks;
    briefing.count = (uint32_t)atoll_experience_retrieve(b->experience, &query, 3, briefing.briefs);
    for (uint32_t i = 0; i < briefing.count; i++) {
        unsigned c = (unsigned)(briefing.briefs[i].title[0] - '0');
        int sign = briefing.briefs[i].title[1] == 'p' ? 1 : -1;
        atoll_author_told_move(told, c, sign);
        b->told[half]++;
        b->paid[half] += gain_of(b->landscape, parent, c, sign) > 0;
    }
    b->asks++;
    if (b->arm->is_credited && atoll_experience_used(b->experience, &d, &briefing, NULL) != 0)
        die("hints", "no memory");
}

/* What was tried from the parent, and the step that made the parent faster than its own. */
static void tell_trajectory(const struct atoll_engine *engine, const struct atoll_ask *ask,
                            struct atoll_author_told *told)
{
    struct atoll_candidate_view view, parent, grandparent;
    struct atoll_landscape_point slow, fast;
    char title[ATOLL_AUTHOR_REWRITE];
    uint32_t cursor = 0;
    while (told->tried_count < ATOLL_AUTHOR_TRIED &&
           atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        if (view.is_settled && atoll_id_equal(&view.parent, &ask->parent) &&
            point_of(engine, ask->task, &view.id, &told->tried[told->tried_count]) == 0) {
            told->tried_count++;
        }
    }
    if (atoll_engine_view(engine, ask->task, ask->model, &ask->parent, &parent) == 0 &&
        atoll_engine_view(engine, ask->task, ask->model, &parent.parent, &grandparent) == 0 &&
        parent.time_ns > 0 && parent.time_ns < grandparent.time_ns &&
        point_of(engine, ask->task, &parent.id, &fast) == 0 &&
        point_of(engine, ask->task, &grandparent.id, &slow) == 0) {
        atoll_author_told_rewrite(told, atoll_author_rewrite(&slow, &fast, title));
    }
}

static void tell(void *context, const struct atoll_engine *engine, const struct atoll_ask *ask,
                 struct atoll_author_told *told)
{
    struct briefer *b = context;
    struct atoll_landscape_point parent;
    if (ask->kind != ATOLL_ASK_WRITE || point_of(engine, ask->task, &ask->parent, &parent) != 0)
        return;
    if (b->arm->hints)
        tell_hints(b, ask, &parent, told);
    if (b->arm->memory) {
        struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
        size_t count = atoll_rewrites_list(b->rewrites, ask->task, ask->model, 16, briefs);
        for (size_t i = 0; i < count; i++)
            atoll_author_told_rewrite(told, briefs[i].title);
    }
    if (b->arm->trajectory)
        tell_trajectory(engine, ask, told);
}

static void see(void *context, const struct atoll_engine *engine, const struct atoll_event *event)
{
    struct briefer *b = context;
    struct atoll_candidate_view child, parent;
    if (event->type == ATOLL_EVENT_REPLY && atoll_rewrites_add(b->rewrites, 0, 0, &event->reply, NULL) != 0)
        die("memory", "no memory");
    if (event->type != ATOLL_EVENT_EVALUATED ||
        atoll_engine_view(engine, 0, 0, &event->evaluation.candidate, &child) != 0 || !child.ask) {
        return;
    }
    int has_parent = atoll_engine_view(engine, 0, 0, &child.parent, &parent) == 0 && parent.is_correct;
    atoll_experience_credit(b->experience, child.ask, has_parent ? parent.time_ns : 0,
                            event->evaluation.verdict, child.time_ns);
}

/* ---- campaigns ---- */

struct result {
    double cost; /* ln of time over optimum */
    uint64_t replies, told[2], paid[2], dropped_wrong, dropped_right;
};

static void count_dropped(const struct briefer *b, struct result *r)
{
    for (size_t i = 0; i < atoll_experience_count(b->experience); i++) {
        struct atoll_experience_standing s;
        atoll_experience_standing(b->experience, i, &s);
        int is_right = i % PER_CLASS < b->arm->right * PER_CLASS;
        r->dropped_right += s.is_dropped && is_right;
        r->dropped_wrong += s.is_dropped && !is_right;
    }
}

static struct result run(const struct arm *arm, enum atoll_landscape_kind kind, uint64_t seed,
                         uint64_t evaluations, double heeds)
{
    struct atoll_simulator_settings *s = malloc(sizeof(*s));
    struct atoll_simulator_outcome *outcome = malloc(sizeof(*outcome));
    struct atoll_err err = ATOLL_ERR_INIT;
    struct briefer b = {
        .arm = arm, .seed = seed, .random = {atoll_random_at(seed, 77), 0}, .expected_asks = evaluations};
    if (!s || !outcome)
        die(arm->name, "no memory");
    atoll_simulator_defaults(s);
    s->seed = s->search.seed = seed;
    s->search.evaluation_budget = evaluations;
    s->search.memory = (uint32_t)arm->memory;
    s->search.distil = s->search.template_rounds = 0;
    s->rank_count = 2;
    s->landscapes[0] = (struct atoll_landscape){kind, seed, 1};
    s->author.heeds = heeds;
    s->briefer = (struct atoll_simulator_briefer){.tell = tell, .see = see, .context = &b};
    b.landscape = &s->landscapes[0];
    b.experience = atoll_experience_create(&err);
    b.rewrites = b.experience ? atoll_rewrites_create(s->search.memory_size, &err) : NULL;
    if (!b.rewrites)
        die(arm->name, err.text);
    add_hints(&b);
    struct atoll_simulator *simulator = atoll_simulator_create(s, &err);
    if (!simulator || atoll_simulator_run(simulator, 0, &err) < 0)
        die(arm->name, err.text);
    atoll_simulator_outcome(simulator, outcome);
    struct result r = {.cost = log(outcome->tasks[0].best_ns / atoll_landscape_optimum_ns(&s->landscapes[0])),
                       .replies = outcome->replies,
                       .told = {b.told[0], b.told[1]},
                       .paid = {b.paid[0], b.paid[1]}};
    if (arm->hints && arm->is_credited)
        count_dropped(&b, &r);
    atoll_simulator_destroy(simulator);
    atoll_experience_destroy(b.experience);
    atoll_rewrites_destroy(b.rewrites);
    free(outcome);
    free(s);
    return r;
}

struct series {
    const struct arm *arm;
    uint64_t seeds, evaluations;
    double heeds;
    atomic_uint_fast64_t next;
    struct result results[KINDS * SEED_LIMIT];
};

static void *work(void *context)
{
    struct series *s = context;
    for (uint64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->seeds * KINDS;)
        s->results[i] = run(s->arm, kinds[i % KINDS], i / KINDS + 1, s->evaluations, s->heeds);
    return NULL;
}

static void run_all(struct series *s)
{
    pthread_t threads[JOBS];
    atomic_store(&s->next, 0);
    for (unsigned i = 0; i < JOBS; i++)
        if (pthread_create(&threads[i], NULL, work, s) != 0)
            die(s->arm->name, "no thread");
    for (unsigned i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- comparison ---- */

static double sign_test(unsigned wins, unsigned losses)
{
    unsigned n = wins + losses, least = wins < losses ? wins : losses;
    double p = 0;
    for (unsigned k = 0; k <= least; k++)
        p += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    return fmin(1, 2 * p);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Of all landscapes (KINDS), or of one. */
static double mean_cost(const struct series *s, size_t kind)
{
    double sum = 0;
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->seeds * KINDS; i++)
        if (kind == KINDS || i % KINDS == kind) {
            sum += s->results[i].cost;
            count++;
        }
    return sum / (double)count;
}

static void compare(const struct series *s, const struct series *none)
{
    unsigned wins = 0, losses = 0;
    struct result sum = {0};
    uint64_t replies = 0;
    for (uint64_t i = 0; i < s->seeds * KINDS; i++) {
        const struct result *r = &s->results[i];
        wins += r->cost < none->results[i].cost - 1e-9;
        losses += r->cost > none->results[i].cost + 1e-9;
        sum.replies += r->replies;
        replies += none->results[i].replies;
        sum.dropped_right += r->dropped_right;
        sum.dropped_wrong += r->dropped_wrong;
        for (int h = 0; h < 2; h++) {
            sum.told[h] += r->told[h];
            sum.paid[h] += r->paid[h];
        }
    }
    double campaigns = (double)(s->seeds * KINDS);
    printf("| %s | %.3f | %.3f | %u | %u | %.2g | %.2f | %.0f %% | %.0f %% | %.1f | %.1f |", s->arm->name,
           exp(mean_cost(s, KINDS)), exp(mean_cost(none, KINDS) - mean_cost(s, KINDS)), wins, losses,
           sign_test(wins, losses), (double)sum.replies / (double)replies, percent(sum.paid[0], sum.told[0]),
           percent(sum.paid[1], sum.told[1]), (double)sum.dropped_wrong / campaigns,
           (double)sum.dropped_right / campaigns);
    for (size_t k = 0; k < KINDS; k++)
        printf(" %.2f |", exp(mean_cost(none, k) - mean_cost(s, k)));
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
    uint64_t evaluations = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
    double heeds = argc > 3 ? strtod(argv[3], NULL) : 0.5;
    struct series *all = calloc(ARMS, sizeof(*all));
    if (!seeds || seeds > SEED_LIMIT || !evaluations || !(heeds >= 0 && heeds <= 1))
        die("arguments", "SEEDS 1..400, EVALUATIONS above 0, HEEDS 0..1");
    if (!all)
        die("results", "no memory");
    printf("%llu seeds on %zu landscapes, %llu evaluations a campaign, a move that is told is followed with "
           "probability %g\n\n",
           (unsigned long long)seeds, KINDS, (unsigned long long)evaluations, heeds);
    printf("| told | time over optimum | times faster than without | wins | losses | p | replies | moves "
           "that pay, first "
           "half | second half | wrong hints dropped | right ones |");
    for (size_t k = 0; k < KINDS; k++)
        printf(" %s |", atoll_landscape_kind_name(kinds[k]));
    printf("\n|---|---|---|---|---|---|---|---|---|---|---|");
    for (size_t k = 0; k < KINDS; k++)
        printf("---|");
    putchar('\n');
    for (size_t a = 0; a < ARMS; a++) {
        all[a] = (struct series){.arm = &arms[a], .seeds = seeds, .evaluations = evaluations, .heeds = heeds};
        run_all(&all[a]);
        compare(&all[a], &all[0]);
    }
    free(all);
    return 0;
}
