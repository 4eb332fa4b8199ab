/* A block is two fresh input sets per bench variant in the order A(d1) B(d1) B(d2) A(d2), A the elite: drift that
 * is linear in time cancels, and neither side can tell that it is compared.  Every output is checked.  What was
 * disturbed is played again on the same input sets, whose answers are paid for: so no input set is ever left out. */
#include "mpi-eval/referee/duel.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/path_check.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/referee/trial.h"

#define HIDDEN_DRAWS   2
#define CLOCK_APART    0.02 /* clocks of a device are known exactly, */
#define PACE_APART     0.15 /* what a core is worth by some microseconds of work */
#define FAULT_ROUNDS   8    /* before "more than half" is said */
#define FAULT_LEAST    4    /* rounds of each kind before they are held against each other */
#define REPLACED_TIMES 3    /* the planned pairs */
#define CHOSEN_RATIO   1.25
#define CHOSEN_ERRORS  3.0

int atoll_duel_challenger_first(size_t pair)
{
    return (int)(pair & 1);
}

double atoll_duel_log_ratio(const double *weights, const double *elite_ns, const double *challenger_ns,
                            size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i] * log(fmax(elite_ns[i], 1) / fmax(challenger_ns[i], 1));
    return sum;
}

void atoll_duel_score_init(struct atoll_duel_score *score, double margin, double alpha, unsigned pair_limit)
{
    static const unsigned plan[] = {6, 10, 16};
    unsigned looks = 0;
    if (!pair_limit)
        pair_limit = 16;
    pair_limit = pair_limit < 4 ? 4 : pair_limit > ATOLL_DUEL_PAIR_LIMIT ? ATOLL_DUEL_PAIR_LIMIT : pair_limit;
    memset(score, 0, sizeof(*score));
    for (size_t i = 0; i < sizeof(plan) / sizeof(*plan); i++)
        if (plan[i] < pair_limit)
            score->look_pairs[looks++] = plan[i];
    score->look_pairs[looks++] = pair_limit;
    score->pair_limit = pair_limit;
    score->p_value = 1;
    score->ratio = 1;
    score->test =
        (struct atoll_paired_test){.margin = margin, .alpha = alpha, .looks = looks, .pairs = pair_limit};
}

enum atoll_comparison atoll_duel_score_add(struct atoll_duel_score *score, double log_ratio)
{
    double lo, hi;
    if (score->pair_count >= ATOLL_DUEL_PAIR_LIMIT)
        return score->state;
    score->log_ratios[score->pair_count++] = log_ratio;
    if (score->state != ATOLL_COMPARE_MORE) {
        score->ratio = atoll_paired_interval(score->log_ratios, score->pair_count, &lo, &hi);
        return score->state;
    }
    for (unsigned i = 0; i < score->test.looks; i++)
        if (score->look_pairs[i] == score->pair_count)
            score->state = atoll_paired_look(&score->test, score->log_ratios, score->pair_count,
                                             &score->p_value, &score->ratio);
    if (score->state == ATOLL_COMPARE_MORE && score->pair_count == score->pair_limit)
        score->state = ATOLL_COMPARE_NOT_BETTER;
    return score->state;
}

int atoll_duel_score_is_wide(const struct atoll_duel_score *score)
{
    double lo, hi, ratio = atoll_paired_interval(score->log_ratios, score->pair_count, &lo, &hi);
    return score->state == ATOLL_COMPARE_BETTER && score->pair_count < ATOLL_DUEL_PAIR_LIMIT &&
           score->pair_count < 2 * (size_t)score->pair_limit &&
           (hi - lo) / 2 > ATOLL_DUEL_TOLD_WITHIN * ratio;
}

int atoll_duel_balance_add(struct atoll_duel_balance *balance, unsigned samples, unsigned disturbed,
                           double own_log_ratio)
{
    struct atoll_duel_own *own = disturbed ? &balance->by_others : &balance->kept;
    balance->samples += samples;
    balance->disturbed += disturbed;
    balance->rounds++;
    balance->replaced += disturbed > 0;
    if (isfinite(own_log_ratio)) {
        own->count++;
        own->sum += own_log_ratio;
        own->squares += own_log_ratio * own_log_ratio;
    }
    return disturbed == 0;
}

/* Square of the standard error of the mean. */
static double own_error2(const struct atoll_duel_own *own)
{
    double mean = own->sum / own->count;
    return fmax(own->squares / own->count - mean * mean, 0) / (own->count - 1);
}

enum atoll_duel_fault atoll_duel_balance_fault(const struct atoll_duel_balance *b, unsigned pair_limit)
{
    if ((b->rounds >= FAULT_ROUNDS && 2 * b->disturbed > b->samples) ||
        b->replaced >= REPLACED_TIMES * pair_limit)
        return ATOLL_DUEL_BUSY;
    if (b->kept.count < FAULT_LEAST || b->by_others.count < FAULT_LEAST)
        return ATOLL_DUEL_FINE;
    double apart = fabs(b->kept.sum / b->kept.count - b->by_others.sum / b->by_others.count);
    double error = sqrt(own_error2(&b->kept) + own_error2(&b->by_others));
    return apart > fmax(log(CHOSEN_RATIO), CHOSEN_ERRORS * error) ? ATOLL_DUEL_CHOSEN : ATOLL_DUEL_FINE;
}

int atoll_duel_differ(double one, double other, double share)
{
    if (!(one > 0) || !(other > 0))
        return 0;
    return fabs(one - other) > share * fmax(one, other);
}

enum side { ELITE, CHALLENGER };

/* What one pair sees; held: what is expected of it, NULL when there is none. */
struct pair {
    struct atoll_input_set input_set;
    void *held;
};

/* Times of one bench variant, both sides. */
struct bench_times {
    uint32_t variant;
    double weight;    /* share of all weights */
    struct pair pair; /* of the round under way, and of those that take its place */
    double ns[2][ATOLL_DUEL_PAIR_LIMIT];
};

struct match {
    struct atoll_referee *referee;
    struct atoll_case *known;
    const struct atoll_order *order;
    struct atoll_loaded_candidate sides[2];
    struct atoll_duel *duel;
    double deadline_ns;
    size_t bench_count;
    struct bench_times bench[ATOLL_TASK_VARIANT_LIMIT];
    struct atoll_duel_score score;
    uint64_t input_sets;    /* fresh input sets used so far */
    uint64_t placements;    /* pairs played so far, each at a place of its own */
    uint64_t placement_key; /* of all pairs */
    struct atoll_duel_balance balance;
    enum atoll_duel_fault fault;
    unsigned samples,
        disturbed;    /* of the round under way: others took cores, or the device changed its clocks */
    double own_ns[2]; /* processor time in the pair under way; 0 unknown */
    double clock_hz[2], pace[2]; /* of the device during the pair under way; 0 unknown */
    int varies;                  /* FINAL: two runs of the challenger on the same inputs differ in some bit */
    char watched[ATOLL_DETAIL_BYTES]; /* FINAL: what a tool that watches its accesses says; "" nothing */
};

static int match_end(struct match *m, enum atoll_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int match_end(struct match *m, enum atoll_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->duel->detail, sizeof(m->duel->detail), format, args);
    va_end(args);
    m->duel->verdict = verdict;
    return -1;
}

static int match_run(struct match *m, enum side side, const struct atoll_input_set *input_set,
                     uint64_t placement, double *ret_ns)
{
    struct atoll_trial_order order = {input_set, ATOLL_COMPARING_HELD, m->deadline_ns, placement, 0};
    struct atoll_trial trial;
    if (atomic_load(&m->referee->cancelled))
        return match_end(m, ATOLL_V_INFRASTRUCTURE, "cancelled");
    atoll_referee_trial(m->referee, m->known, &m->sides[side], &order, &trial);
    *ret_ns = trial.ns;
    m->clock_hz[side] = trial.clock_hz;
    struct atoll_sampling_sample sample = {trial.ns, trial.lost_ns, trial.own_ns, trial.disturbed};
    m->own_ns[side] = fmax(trial.own_ns, 0);
    m->samples++;
    m->disturbed += atoll_sampling_disturbed(&sample) ? 1 : 0;
    m->pace[side] = trial.pace;
    if (trial.verdict == ATOLL_V_CORRECT)
        return 0;
    if (side == CHALLENGER)
        return match_end(m, trial.verdict, "%s", trial.detail);
    if (trial.verdict == ATOLL_V_INFRASTRUCTURE || trial.verdict == ATOLL_V_UNSTABLE) /* nothing it did */
        return match_end(m, ATOLL_V_INFRASTRUCTURE, "%s", trial.detail);
    /* An elite that fails on a fresh input set has no place to defend: the challenger, being right, takes it. */
    match_end(m, ATOLL_V_CORRECT, "the defender failed: %s, %.1900s", atoll_verdict_name(trial.verdict),
              trial.detail);
    m->duel->better = 1;
    return -1;
}

/* One that neither side has seen. */
static struct atoll_input_set match_input_set(struct match *m, uint32_t variant)
{
    return atoll_case_fresh_input_set(m->referee, m->known, variant, m->order->evaluation, m->input_sets++);
}

static int pair_open(struct match *m, struct atoll_input_set input_set, struct pair *p)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    enum atoll_time_part before = atoll_time_account_enter(m->referee->account, ATOLL_TIME_ANSWERS);
    p->input_set = input_set;
    /* Finalists are compared in full on every input set, others as often as a candidate that is evaluated. */
    p->held = m->referee->backend->hold(
        m->referee, m->known, &p->input_set,
        (m->order->purpose == ATOLL_DUEL_FINAL || m->score.pair_count < m->referee->setup.full_compares),
        &err);
    atoll_time_account_enter(m->referee->account, before);
    return p->held ? 0 : match_end(m, ATOLL_V_INFRASTRUCTURE, "%s", err.text);
}

static void pair_close(struct match *m, struct pair *p)
{
    if (p->held)
        m->referee->backend->release(m->referee, p->held);
    p->held = NULL;
}

/* Both sides on one input set, the challenger first when `swapped`. */
static int pair_play(struct match *m, const struct pair *p, int swapped, double ret_ns[2])
{
    const struct atoll_input_set *input_set = &p->input_set;
    uint64_t placement = atoll_placement_at(m->placement_key, ++m->placements);
    enum side first = swapped ? CHALLENGER : ELITE, second = swapped ? ELITE : CHALLENGER;
    int failed = match_run(m, first, input_set, placement, &ret_ns[first]);
    if (!failed)
        failed = match_run(m, second, input_set, placement, &ret_ns[second]);
    if (!failed && !m->disturbed &&
        (atoll_duel_differ(m->clock_hz[ELITE], m->clock_hz[CHALLENGER], CLOCK_APART) ||
         atoll_duel_differ(m->pace[ELITE], m->pace[CHALLENGER], PACE_APART)))
        m->disturbed = 1;
    /* Both may be wrong on this input set: the challenger must not win by the elite's failure. */
    if (failed && m->duel->better && first == ELITE) {
        struct atoll_duel kept = *m->duel;
        if (match_run(m, CHALLENGER, input_set, placement, &ret_ns[CHALLENGER]) == 0)
            *m->duel = kept;
        else
            m->duel->better = 0;
    }
    return failed;
}

/* The k-th pair over all bench variants, unless something disturbed it: then its place is played again by both sides, on the
 * same input sets at other places. */
static int match_round(struct match *m, size_t k)
{
    int was_decided = m->score.state != ATOLL_COMPARE_MORE;
    double log_ratio = 0, own_log_ratio = 0;
    m->samples = m->disturbed = 0;
    for (size_t i = 0; i < m->bench_count; i++) {
        struct bench_times *l = &m->bench[i];
        double ns[2] = {0, 0};
        if ((!l->pair.held && pair_open(m, match_input_set(m, l->variant), &l->pair) != 0) ||
            pair_play(m, &l->pair, atoll_duel_challenger_first(k), ns) != 0)
            return -1;
        l->ns[ELITE][k] = ns[ELITE];
        l->ns[CHALLENGER][k] = ns[CHALLENGER];
        log_ratio += atoll_duel_log_ratio(&l->weight, &ns[ELITE], &ns[CHALLENGER], 1);
        if (!(m->own_ns[ELITE] > 0) || !(m->own_ns[CHALLENGER] > 0))
            own_log_ratio = NAN;
        own_log_ratio += atoll_duel_log_ratio(&l->weight, &m->own_ns[ELITE], &m->own_ns[CHALLENGER], 1);
    }
    if (atoll_duel_balance_add(&m->balance, m->samples, m->disturbed, own_log_ratio)) {
        atoll_duel_score_add(&m->score, log_ratio);
        for (size_t i = 0; i < m->bench_count; i++)
            pair_close(m, &m->bench[i].pair);
    }
    m->fault = atoll_duel_balance_fault(&m->balance, m->score.pair_limit);
    switch (m->fault) {
    case ATOLL_DUEL_FINE: break;
    case ATOLL_DUEL_BUSY:
        if (was_decided)
            break;
        return match_end(m, ATOLL_V_UNSTABLE, "%u of %u samples were disturbed by others: nothing is decided",
                         m->balance.disturbed, m->balance.samples);
    case ATOLL_DUEL_CHOSEN:
        return match_end(
            m, ATOLL_V_UNSTABLE,
            "the %u disturbed rounds, which do not count, have another ratio by the processor's own "
            "account than the %u that do: nothing is decided",
            m->balance.replaced, m->balance.rounds - m->balance.replaced);
    }
    return 0;
}

/* Fresh input sets at the variants of one kind: both sides must be right there, the times do not count. */
static int match_verify(struct match *m, enum atoll_variant_kind kind, int input_sets)
{
    const struct atoll_task *task = m->known->task;
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind != kind || !atoll_variant_is_here(m->referee->backend, &task->variants[i]))
            continue;
        for (int k = 0; k < input_sets; k++) {
            double ns[2] = {0, 0};
            struct pair pair;
            struct atoll_input_set d = match_input_set(m, (uint32_t)i);
            d.distribution = atoll_input_set_nth_distribution(task, (unsigned)m->input_sets);
            if (pair_open(m, d, &pair) != 0)
                return -1;
            int failed = pair_play(m, &pair, k & 1, ns);
            pair_close(m, &pair);
            if (failed)
                return -1;
        }
    }
    return 0;
}

/* The challenger alone: its plan asks for these shapes, and it is the one that has to prove something. */
static int match_verify_made(void *context, const struct atoll_input_set *input_set)
{
    struct match *m = context;
    double ns = 0;
    return match_run(m, CHALLENGER, input_set, atoll_placement_at(m->placement_key, ++m->placements), &ns);
}

static int match_verify_paths(struct match *m, enum atoll_variant_kind kind, unsigned input_sets)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int rc = atoll_path_check(m->referee, m->known, m->sides[CHALLENGER].prepared, kind, m->order->evaluation,
                              input_sets, match_verify_made, m, &err);
    return rc != 0 && err.code != ATOLL_OK ? match_end(m, ATOLL_V_INFRASTRUCTURE, "%s", err.text) : rc;
}

/* Finalists: the same inputs twice, at other addresses and over other fills. */
static int match_repeat(struct match *m)
{
    struct atoll_input_set d = match_input_set(m, m->bench[0].variant);
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        struct atoll_trial_order order = {&d, ATOLL_COMPARING_HELD, m->deadline_ns,
                                          atoll_referee_placement(m->referee), 1};
        struct atoll_trial trial;
        atoll_referee_trial(m->referee, m->known, &m->sides[CHALLENGER], &order, &trial);
        if (trial.verdict != ATOLL_V_CORRECT)
            return match_end(m, trial.verdict, "%s", trial.detail);
        hashes[i] = trial.output_hash;
    }
    m->varies = hashes[0] != hashes[1];
    return 0;
}

/* Median over pairs with the ends of its interval, weighted geometric means over variants. */
static double side_time(const struct match *m, enum side side, double *ret_lo, double *ret_hi)
{
    double log_time = 0, log_lo = 0, log_hi = 0, scratch[ATOLL_DUEL_PAIR_LIMIT];
    struct atoll_summary s;
    if (m->score.pair_count == 0)
        return 0;
    for (size_t i = 0; i < m->bench_count; i++) {
        atoll_summary_of(m->bench[i].ns[side], m->score.pair_count, scratch, &s);
        log_time += m->bench[i].weight * log(fmax(s.median, 1));
        log_lo += m->bench[i].weight * log(fmax(s.lo95, 1));
        log_hi += m->bench[i].weight * log(fmax(s.hi95, 1));
    }
    *ret_lo = exp(log_lo);
    *ret_hi = exp(log_hi);
    return exp(log_time);
}

static void match_play(struct match *m)
{
    struct atoll_duel *d = m->duel;
    const struct atoll_task *task = m->known->task;
    double sum = 0;
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (v->kind != ATOLL_VARIANT_BENCH || !atoll_variant_is_here(m->referee->backend, v))
            continue;
        m->bench[m->bench_count].variant = (uint32_t)i;
        m->bench[m->bench_count++].weight = v->weight;
        sum += v->weight;
    }
    for (size_t i = 0; i < m->bench_count; i++)
        m->bench[i].weight /= sum;
    /* Short kernels must win by three times the resolution. */
    double time = m->order->incumbent_ns, margin = m->order->margin;
    if (time > 0 && time < ATOLL_SAMPLING_SHORT_NS)
        margin =
            fmax(margin, log1p(3 * (m->referee->info.clock_resolution_ns + m->referee->jitter_ns) / time));
    atoll_duel_score_init(&m->score, margin, m->order->alpha, m->order->pair_limit);
    int failed = match_verify(m, ATOLL_VARIANT_CHECK, 1); /* and warms both workers */
    if (!failed && m->order->purpose == ATOLL_DUEL_FINAL)
        failed = match_verify(m, ATOLL_VARIANT_HIDDEN, HIDDEN_DRAWS) != 0 ||
                 match_verify_paths(m, ATOLL_VARIANT_CHECK, 1) != 0 ||
                 match_verify_paths(m, ATOLL_VARIANT_HIDDEN, HIDDEN_DRAWS) != 0 ||
                 (m->bench_count && match_repeat(m) != 0);
    if (!failed && m->order->purpose == ATOLL_DUEL_FINAL && m->referee->backend->sanitize) {
        enum atoll_verdict v =
            atoll_referee_sanitize(m->referee, m->known, &m->sides[CHALLENGER], m->watched);
        failed = v == ATOLL_V_CORRECT ? 0 : match_end(m, v, "%s", m->watched);
    }
    while (!failed && m->score.state == ATOLL_COMPARE_MORE)
        failed = match_round(m, m->score.pair_count);
    while (!failed && m->order->purpose == ATOLL_DUEL_FINAL && m->fault == ATOLL_DUEL_FINE &&
           atoll_duel_score_is_wide(&m->score))
        failed = match_round(m, m->score.pair_count);
    for (size_t i = 0; i < m->bench_count; i++)
        pair_close(m, &m->bench[i].pair);
    d->pair_count = (uint32_t)m->score.pair_count;
    d->p_value = m->score.p_value;
    d->ratio = m->score.ratio;
    d->elite_ns = side_time(m, ELITE, &d->elite_lo_ns, &d->elite_hi_ns);
    d->challenger_ns = side_time(m, CHALLENGER, &d->challenger_lo_ns, &d->challenger_hi_ns);
    atoll_paired_interval(m->score.log_ratios, m->score.pair_count, &d->ratio_lo, &d->ratio_hi);
    if (failed)
        return;
    d->better = m->score.state == ATOLL_COMPARE_BETTER;
    snprintf(d->detail, sizeof(d->detail), "%u pairs, ratio %.4f, p %.3g", d->pair_count, d->ratio,
             d->p_value);
    if (m->balance.replaced)
        snprintf(d->detail + strlen(d->detail), sizeof(d->detail) - strlen(d->detail),
                 ", %u disturbed rounds were replaced", m->balance.replaced);
    if (m->order->purpose == ATOLL_DUEL_FINAL)
        snprintf(d->detail + strlen(d->detail), sizeof(d->detail) - strlen(d->detail),
                 ", right at the hidden variants, %s%s%s",
                 m->varies ? "two runs on the same inputs differ" : "deterministic",
                 m->watched[0] ? ", " : "", m->watched);
}

static int side_open(struct match *m, enum side side, const struct atoll_prepared *prepared,
                     const void *object, size_t length)
{
    char detail[ATOLL_DETAIL_BYTES];
    enum atoll_verdict v = atoll_referee_load(m->referee, prepared, object, length, &m->sides[side], detail);
    if (v == ATOLL_V_CORRECT)
        return 0;
    return match_end(m, side == ELITE ? ATOLL_V_INFRASTRUCTURE : v, "%s", detail);
}

void atoll_referee_duel(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                        const struct atoll_prepared *elite, const void *elite_object, size_t elite_length,
                        const struct atoll_prepared *challenger, const void *challenger_object,
                        size_t challenger_length, struct atoll_duel *ret_duel)
{
    double begin = atoll_referee_now_ns();
    struct match *m = calloc(1, sizeof(*m));
    memset(ret_duel, 0, sizeof(*ret_duel));
    ret_duel->evaluation = order->evaluation;
    ret_duel->purpose = order->purpose;
    ret_duel->device = referee->info.key;
    ret_duel->p_value = ret_duel->ratio = 1;
    if (referee->setup.backend_null) {
        free(m);
        return;
    }
    if (!m || !(m->known = atoll_referee_case(referee, task))) {
        ret_duel->verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(ret_duel->detail, sizeof(ret_duel->detail), "task number %u is not known here, or no memory",
                 task);
        free(m);
        return;
    }
    m->referee = referee;
    m->order = order;
    m->duel = ret_duel;
    m->deadline_ns = atoll_referee_deadline_ns(order->baseline_ns);
    m->placement_key = atoll_referee_placement(referee);
    if (side_open(m, CHALLENGER, challenger, challenger_object, challenger_length) == 0 &&
        side_open(m, ELITE, elite, elite_object, elite_length) == 0)
        match_play(m);
    ret_duel->candidate_ns = m->sides[ELITE].candidate_ns + m->sides[CHALLENGER].candidate_ns;
    for (int side = ELITE; side <= CHALLENGER; side++)
        if (m->sides[side].prepared)
            atoll_referee_unload(referee, &m->sides[side]);
    ret_duel->occupied_ns = atoll_referee_now_ns() - begin;
    referee->counting.device_ns += ret_duel->occupied_ns;
    free(m);
}
