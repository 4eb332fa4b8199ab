#include "tests/simulator/referee.h"

#include <math.h>
#include <string.h>

#include "core/stats.h"

#define HOUR_NS        3.6e12
#define RACED_RATIO    1.5
#define RACED_SHARE    0.1
#define PAIR_LIMIT     4096
#define PAIR_SAMPLES   8   /* of both sides, per pair */
#define FLOOR_SHARE    0.8 /* of the optimum */
#define SUMMARY_COUNT  21
#define MEDIAN_ERROR95 0.55 /* half of a median's 95 % interval of so many samples, in sigmas */

void atoll_simulated_defaults(struct atoll_simulated_settings *ret_settings)
{
    *ret_settings = (struct atoll_simulated_settings){
        .noise = 0.01, .pair_noise = 0.01, .check_ns = 2e8, .samples = 50, .racing = 1};
}

/* Box and Muller. */
static double normal(struct atoll_random *random)
{
    double u = 1 - atoll_random_unit(atoll_random_next(random));
    double v = atoll_random_unit(atoll_random_next(random));
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

double atoll_rank_speed(const struct atoll_simulated_settings *s, struct atoll_rank *rank, int64_t now_ns,
                        struct atoll_random *random)
{
    if (s->drift > 0 && now_ns > rank->drifted_ns) {
        rank->speed *= exp(s->drift * sqrt((double)(now_ns - rank->drifted_ns) / HOUR_NS) * normal(random));
        rank->drifted_ns = now_ns;
    }
    return rank->speed;
}

static void fill_timing(const struct atoll_simulated_settings *s, double time_ns, struct atoll_timing *t)
{
    double half = MEDIAN_ERROR95 * s->noise, lo = time_ns * (1 - half), hi = time_ns * (1 + half);
    memset(t, 0, sizeof(*t));
    t->variant = 1; /* bench */
    t->floor_ns = FLOOR_SHARE * ATOLL_LANDSCAPE_OPTIMUM_NS;
    t->summary = (struct atoll_summary){.count = SUMMARY_COUNT,
                                        .min = lo,
                                        .p10 = lo,
                                        .median = time_ns,
                                        .p90 = hi,
                                        .max = hi,
                                        .lo95 = lo,
                                        .hi95 = hi,
                                        .relative_half_width = half};
}

static enum atoll_verdict verdict_of(const struct atoll_simulated_settings *s,
                                     const struct atoll_landscape *l,
                                     const struct atoll_landscape_point *point, struct atoll_random *random)
{
    double at = atoll_random_unit(atoll_random_next(random));
    if (at < s->infrastructure)
        return ATOLL_V_INFRASTRUCTURE;
    if (!point)
        return ATOLL_V_BAD_PLAN;
    if (!point->attempt) /* what a task comes with */
        return s->wrong_origin ? ATOLL_V_WRONG : ATOLL_V_CORRECT;
    if (at < s->infrastructure + s->crash)
        return ATOLL_V_CRASH;
    return atoll_landscape_is_correct(l, point) ? ATOLL_V_CORRECT : ATOLL_V_WRONG;
}

void atoll_simulated_evaluate(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                              const struct atoll_decision *order, const struct atoll_landscape_point *point,
                              double speed, struct atoll_random *random,
                              struct atoll_evaluation *ret_evaluation)
{
    struct atoll_evaluation *e = ret_evaluation;
    e->evaluation = order->evaluation;
    e->candidate = order->candidate;
    e->verdict = verdict_of(s, l, point, random);
    e->level = e->verdict == ATOLL_V_INFRASTRUCTURE ? 0 : e->verdict == ATOLL_V_CORRECT ? 6 : 5;
    e->occupied_ns = s->check_ns * speed;
    if (point)
        e->behaviour = atoll_landscape_cell(point);
    if (e->verdict != ATOLL_V_CORRECT)
        return;
    double time_ns = atoll_landscape_time_ns(l, point) * speed * exp(s->noise * normal(random));
    int is_raced = s->racing && order->incumbent_ns > 0 && time_ns > RACED_RATIO * order->incumbent_ns;
    e->candidate_ns = s->samples * (is_raced ? RACED_SHARE : 1) * time_ns;
    e->occupied_ns += e->candidate_ns;
    e->timing_count = 1;
    fill_timing(s, time_ns, e->timings);
    e->timings[0].flags = is_raced ? ATOLL_TIMING_DROPPED_EARLY : 0;
}

/* The looks are the referee's: 6, 10, 16 pairs, and the limit. */
static int run_pairs(const struct atoll_simulated_settings *s, const struct atoll_decision *order,
                     double mean, struct atoll_random *random, struct atoll_duel *duel)
{
    static const unsigned plan[] = {6, 10, 16};
    static _Thread_local double pairs[PAIR_LIMIT];
    unsigned limit = order->pair_limit < 4            ? 4
                     : order->pair_limit > PAIR_LIMIT ? PAIR_LIMIT
                                                      : order->pair_limit;
    unsigned looks[4], look_count = 0;
    for (unsigned i = 0; i < 3; i++)
        if (plan[i] < limit)
            looks[look_count++] = plan[i];
    looks[look_count++] = limit;
    struct atoll_paired_test test = {
        .margin = log1p(order->margin), .alpha = order->alpha, .looks = look_count, .pairs = limit};
    enum atoll_comparison state = ATOLL_COMPARE_MORE;
    for (unsigned look = 0; look < look_count && state == ATOLL_COMPARE_MORE; look++) {
        while (duel->pair_count < looks[look])
            pairs[duel->pair_count++] = mean + s->pair_noise * normal(random);
        state = atoll_paired_look(&test, pairs, duel->pair_count, &duel->p_value, &duel->ratio);
    }
    return state == ATOLL_COMPARE_BETTER;
}

static double rival_time_ns(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                            uint32_t number)
{
    const struct atoll_landscape_point origin = {{0}, {0}, 0};
    double fastest_ns = s->rivals == ATOLL_RIVALS_SLOW ? 3 * atoll_landscape_time_ns(l, &origin)
                                                       : 1.1 * ATOLL_LANDSCAPE_OPTIMUM_NS;
    return fastest_ns * (1.4 - 0.2 * number);
}

void atoll_simulated_rival(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                           const struct atoll_decision *order, double speed, struct atoll_random *random,
                           struct atoll_rival *ret_rival)
{
    struct atoll_rival *r = ret_rival;
    int is_wrong = s->rivals == ATOLL_RIVALS_WRONG && order->rival == 0;
    r->evaluation = order->evaluation;
    r->task = order->task;
    r->number = order->rival;
    r->occupied_ns = 10 * s->check_ns * speed;
    r->verdict = atoll_random_unit(atoll_random_next(random)) < s->infrastructure ? ATOLL_V_INFRASTRUCTURE
                 : s->rivals == ATOLL_RIVALS_FAILING                              ? ATOLL_V_COMPILE_ERROR
                 : is_wrong                                                       ? ATOLL_V_WRONG
                                                                                  : ATOLL_V_CORRECT;
    if (r->verdict != ATOLL_V_CORRECT)
        return;
    r->timing_count = 1;
    fill_timing(s, rival_time_ns(s, l, order->rival) * speed * exp(s->noise * normal(random)), r->timings);
}

void atoll_simulated_duel(const struct atoll_simulated_settings *s, const struct atoll_landscape *l,
                          const struct atoll_decision *order, const struct atoll_landscape_point *challenger,
                          const struct atoll_landscape_point *elite, double speed,
                          struct atoll_random *random, struct atoll_duel *ret_duel)
{
    double at = atoll_random_unit(atoll_random_next(random));
    double elite_ns =
        (elite ? atoll_landscape_time_ns(l, elite) : rival_time_ns(s, l, order->rivals[1])) * speed;
    double challenger_ns = atoll_landscape_time_ns(l, challenger) * speed;
    struct atoll_duel *duel = ret_duel;
    *duel = (struct atoll_duel){.evaluation = order->evaluation,
                                .purpose = order->purpose,
                                .verdict = ATOLL_V_CORRECT,
                                .ratio = 1,
                                .p_value = 1,
                                .occupied_ns = s->check_ns * speed};
    if (at < s->infrastructure) {
        duel->verdict = ATOLL_V_INFRASTRUCTURE;
    } else if (at < s->infrastructure + s->unstable) {
        duel->verdict = ATOLL_V_UNSTABLE;
    } else if (at < s->infrastructure + s->unstable + s->wrong_duel &&
               order->purpose != ATOLL_DUEL_NULL_CONTROL) {
        duel->verdict = ATOLL_V_WRONG;
    }
    if (duel->verdict != ATOLL_V_CORRECT)
        return;
    duel->better = run_pairs(s, order, log(elite_ns / challenger_ns), random, duel);
    duel->elite_ns = elite_ns;
    duel->challenger_ns = elite_ns / duel->ratio;
    duel->candidate_ns = duel->pair_count * PAIR_SAMPLES * (elite_ns + challenger_ns);
    duel->occupied_ns += duel->candidate_ns;
}
