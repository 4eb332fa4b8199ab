/* Blocks of samples in alternation, of the rival in its process and of the candidate in a worker, both over the same input
 * sets.  A round is one pair of blocks per bench variant; who comes first changes from round to round. */
#include "mpi-eval/referee/rival.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/path_check.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/rival_blocks.h"
#include "mpi-eval/referee/rival_session.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/trial.h"

#define BLOCK_SAMPLES 3
#define HIDDEN_DRAWS  2

enum { RIVAL, BEST, SIDES };

struct bench {
    uint32_t variant;
    double weight; /* share of all weights */
    uint64_t handle;
    double ns[SIDES][ATOLL_DUEL_PAIR_LIMIT]; /* medians of the blocks that count */
};

struct comparison {
    struct atoll_rival_session session;
    struct atoll_loaded_candidate candidate;
    struct atoll_duel *duel;
    double deadline_ns;
    uint64_t placement_key;
    size_t bench_count;
    struct bench bench[ATOLL_TASK_VARIANT_LIMIT];
    struct atoll_rival_score score;
    struct atoll_sample_block clocks[SIDES]; /* of the last pairs, for the record */
    int varies;
    char watched[ATOLL_DETAIL_BYTES];
};

static int comparison_end(struct comparison *c, enum atoll_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int comparison_end(struct comparison *c, enum atoll_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->duel->detail, sizeof(c->duel->detail), format, args);
    va_end(args);
    c->session.verdict = verdict;
    return -1;
}

static int try_candidate(struct comparison *c, const struct atoll_input_set *set,
                         enum atoll_comparing comparing, int hash_outputs, struct atoll_trial *ret_trial)
{
    struct atoll_referee *r = c->session.referee;
    struct atoll_trial_order order = {set, comparing, c->deadline_ns,
                                      atoll_placement_at(c->placement_key, c->session.input_sets),
                                      hash_outputs};
    ret_trial->verdict = ATOLL_V_INFRASTRUCTURE;
    if (atomic_load(&r->cancelled))
        return comparison_end(c, ATOLL_V_INFRASTRUCTURE, "cancelled");
    if (hash_outputs)
        order.placement = atoll_referee_placement(r);
    atoll_referee_trial(r, c->session.known, &c->candidate, &order, ret_trial);
    return ret_trial->verdict == ATOLL_V_CORRECT
               ? 0
               : comparison_end(c, ret_trial->verdict, "%s", ret_trial->detail);
}

static struct atoll_input_set fresh(struct comparison *c, uint32_t variant)
{
    struct atoll_rival_session *s = &c->session;
    return atoll_case_fresh_input_set(s->referee, s->known, variant, s->order->evaluation, s->input_sets++);
}

/* ---- the candidate alone: it may have had no other final ---- */

static int verify_kind(struct comparison *c, enum atoll_variant_kind kind, int input_sets)
{
    const struct atoll_task *task = c->session.known->task;
    struct atoll_trial trial;
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind != kind ||
            !atoll_variant_is_here(c->session.referee->backend, &task->variants[i]))
            continue;
        for (int k = 0; k < input_sets; k++) {
            struct atoll_input_set set = fresh(c, (uint32_t)i);
            set.distribution = atoll_input_set_nth_distribution(task, (unsigned)c->session.input_sets);
            if (try_candidate(c, &set, ATOLL_COMPARING_FULL, 0, &trial) != 0)
                return -1;
        }
    }
    return 0;
}

static int verify_made(void *context, const struct atoll_input_set *input_set)
{
    struct comparison *c = context;
    struct atoll_trial trial;
    c->session.input_sets++;
    return try_candidate(c, input_set, ATOLL_COMPARING_FULL, 0, &trial);
}

static int verify_paths(struct comparison *c, enum atoll_variant_kind kind, unsigned input_sets)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int rc = atoll_path_check(c->session.referee, c->session.known, c->candidate.prepared, kind,
                              c->session.order->evaluation, input_sets, verify_made, c, &err);
    return rc != 0 && err.code != ATOLL_OK ? comparison_end(c, ATOLL_V_INFRASTRUCTURE, "%s", err.text) : rc;
}

/* The same inputs twice, at other addresses and over other fills. */
static int verify_repeat(struct comparison *c)
{
    struct atoll_input_set set = fresh(c, c->bench[0].variant);
    struct atoll_trial trials[2] = {0};
    for (int i = 0; i < 2; i++)
        if (try_candidate(c, &set, ATOLL_COMPARING_FULL, 1, &trials[i]) != 0)
            return -1;
    c->varies = trials[0].output_hash != trials[1].output_hash;
    return 0;
}

static int verify(struct comparison *c)
{
    struct atoll_referee *r = c->session.referee;
    if (verify_kind(c, ATOLL_VARIANT_CHECK, 1) != 0 ||
        verify_kind(c, ATOLL_VARIANT_HIDDEN, HIDDEN_DRAWS) != 0 ||
        verify_paths(c, ATOLL_VARIANT_CHECK, 1) != 0 ||
        verify_paths(c, ATOLL_VARIANT_HIDDEN, HIDDEN_DRAWS) != 0 || verify_repeat(c) != 0)
        return -1;
    if (!r->backend->sanitize)
        return 0;
    enum atoll_verdict v = atoll_referee_sanitize(r, c->session.known, &c->candidate, c->watched);
    return v == ATOLL_V_CORRECT ? 0 : comparison_end(c, v, "%s", c->watched);
}

/* ---- blocks ---- */

static int rival_block(struct comparison *c, const struct bench *b, const struct atoll_input_set *sets,
                       struct atoll_sample_block *block)
{
    struct atoll_torch_sample samples[BLOCK_SAMPLES];
    if (atoll_rival_session_sample(&c->session, b->handle, sets, BLOCK_SAMPLES, samples, NULL) != 0)
        return -1;
    int is_slowed =
        c->session.referee->backend->is_slowed && c->session.referee->backend->is_slowed(c->session.referee);
    for (size_t i = 0; i < BLOCK_SAMPLES; i++) {
        struct atoll_sampling_sample sample = {
            .ns = samples[i].ns, .lost_ns = samples[i].lost_ns, .is_slowed = is_slowed};
        atoll_sample_block_add(block, sample.ns, samples[i].clock_hz, atoll_sampling_disturbed(&sample));
    }
    return 0;
}

static int best_block(struct comparison *c, const struct atoll_input_set *sets,
                      struct atoll_sample_block *block)
{
    struct atoll_trial trial;
    for (size_t i = 0; i < BLOCK_SAMPLES; i++) {
        if (try_candidate(c, &sets[i], ATOLL_COMPARING_HELD, 0, &trial) != 0) {
            if (trial.verdict == ATOLL_V_LAUNCH_ERROR) /* it was launched before the rival was there */
                c->session.verdict = ATOLL_V_UNSTABLE;
            return -1;
        }
        struct atoll_sampling_sample sample = {.ns = trial.ns,
                                               .lost_ns = trial.lost_ns,
                                               .is_slowed =
                                                   trial.disturbed || trial.pace > ATOLL_SAMPLING_PACE};
        atoll_sample_block_add(block, sample.ns, trial.clock_hz, atoll_sampling_disturbed(&sample));
    }
    return 0;
}

static int pair_play(struct comparison *c, struct bench *b, int best_first,
                     struct atoll_sample_block blocks[SIDES])
{
    struct atoll_compiler *compiler = c->session.referee->compiler;
    struct atoll_input_set sets[BLOCK_SAMPLES];
    int failed = 0;
    memset(blocks, 0, SIDES * sizeof(*blocks));
    for (size_t i = 0; i < BLOCK_SAMPLES; i++)
        sets[i] = fresh(c, b->variant);
    for (int turn = 0; turn < SIDES && !failed; turn++) {
        if ((turn == 0) == (best_first != 0)) {
            failed = best_block(c, sets, &blocks[BEST]);
            continue;
        }
        if (compiler)
            atoll_compiler_pause(compiler);
        failed = rival_block(c, b, sets, &blocks[RIVAL]);
        if (compiler)
            atoll_compiler_resume(compiler);
    }
    return failed;
}

static int round_play(struct comparison *c, unsigned number, enum atoll_rival_score_state *state)
{
    size_t k = c->score.pair_count;
    enum atoll_pair_fault fault = ATOLL_PAIR_FINE;
    double log_ratio = 0;
    for (size_t i = 0; i < c->bench_count; i++) {
        struct bench *b = &c->bench[i];
        struct atoll_sample_block blocks[SIDES];
        if (pair_play(c, b, atoll_duel_challenger_first(number), blocks) != 0)
            return -1;
        for (int side = 0; side < SIDES; side++) {
            b->ns[side][k] = atoll_sample_block_ns(&blocks[side]);
            atoll_sample_block_add(&c->clocks[side], 1, atoll_sample_block_hz(&blocks[side]), 0);
        }
        if (fault != ATOLL_PAIR_DISTURBED) {
            enum atoll_pair_fault here = atoll_pair_fault_of(&blocks[RIVAL], &blocks[BEST]);
            fault = here == ATOLL_PAIR_FINE ? fault : here;
        }
        log_ratio += b->weight * atoll_pair_log_ratio(&blocks[RIVAL], &blocks[BEST]);
    }
    *state = atoll_rival_score_add(&c->score, log_ratio, fault);
    return 0;
}

/* ---- the whole ---- */

/* Median over pairs with the ends of its interval, weighted geometric means over variants. */
static double side_time(const struct comparison *c, int side, double *ret_lo, double *ret_hi)
{
    double log_time = 0, log_lo = 0, log_hi = 0, scratch[ATOLL_DUEL_PAIR_LIMIT];
    struct atoll_summary s;
    if (c->score.pair_count == 0)
        return 0;
    for (size_t i = 0; i < c->bench_count; i++) {
        atoll_summary_of(c->bench[i].ns[side], c->score.pair_count, scratch, &s);
        log_time += c->bench[i].weight * log(fmax(s.median, 1));
        log_lo += c->bench[i].weight * log(fmax(s.lo95, 1));
        log_hi += c->bench[i].weight * log(fmax(s.hi95, 1));
    }
    *ret_lo = exp(log_lo);
    *ret_hi = exp(log_hi);
    return exp(log_time);
}

static void detail_write(struct comparison *c)
{
    struct atoll_duel *d = c->duel;
    size_t n =
        (size_t)snprintf(d->detail, sizeof(d->detail),
                         "blocks of %d samples in alternation, in two processes (no ABBA in one): %u pairs, "
                         "ratio %.4f, p %.3g",
                         BLOCK_SAMPLES, d->pair_count, d->ratio, d->p_value);
    double rival = atoll_sample_block_hz(&c->clocks[RIVAL]), best = atoll_sample_block_hz(&c->clocks[BEST]);
    if (rival > 0 && best > 0)
        n += (size_t)snprintf(d->detail + n, sizeof(d->detail) - n, "; clocks %.4g and %.4g GHz", rival / 1e9,
                              best / 1e9);
    unsigned repeated = atoll_rival_score_repeated(&c->score);
    if (c->score.clocks > repeated)
        n += (size_t)snprintf(d->detail + n, sizeof(d->detail) - n,
                              "; in %u pairs the clocks are more than %.0f %% apart, and the lower ratio "
                              "counts, by time or by cycles",
                              c->score.clocks - repeated, 100 * ATOLL_BLOCK_CLOCK_APART);
    if (repeated || c->score.disturbed)
        n += (size_t)snprintf(
            d->detail + n, sizeof(d->detail) - n,
            "; %u pairs with clocks more than %.0f %% apart and %u disturbed ones do not count", repeated,
            100 * ATOLL_BLOCK_CLOCK_APART, c->score.disturbed);
    snprintf(d->detail + n, sizeof(d->detail) - n,
             "; the kernel is right at the hidden variants, %s%s%.1000s",
             c->varies ? "two runs on the same inputs differ" : "deterministic", c->watched[0] ? ", " : "",
             c->watched);
}

/* One test at the end: the pairs were not looked at for a decision before. */
static void result_write(struct comparison *c)
{
    struct atoll_duel *d = c->duel;
    struct atoll_paired_test test = {
        .margin = c->session.order->margin, .alpha = c->session.order->alpha, .looks = 1};
    d->pair_count = (uint32_t)c->score.pair_count;
    d->elite_ns = side_time(c, RIVAL, &d->elite_lo_ns, &d->elite_hi_ns);
    d->challenger_ns = side_time(c, BEST, &d->challenger_lo_ns, &d->challenger_hi_ns);
    d->better = atoll_paired_look(&test, c->score.log_ratios, c->score.pair_count, &d->p_value, &d->ratio) ==
                ATOLL_COMPARE_BETTER;
    d->ratio_lo = c->score.ratio_lo;
    d->ratio_hi = c->score.ratio_hi;
}

static int bench_open(struct comparison *c)
{
    const struct atoll_task *task = c->session.known->task;
    double sum = 0;
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];
        if (v->kind != ATOLL_VARIANT_BENCH || !atoll_variant_is_here(c->session.referee->backend, v))
            continue;
        if (c->session.order->rivals[i] >= task->rival_count)
            return comparison_end(c, ATOLL_V_INFRASTRUCTURE, "task '%s' has no rival %u", task->name,
                                  c->session.order->rivals[i]);
        c->bench[c->bench_count].variant = (uint32_t)i;
        c->bench[c->bench_count++].weight = v->weight;
        sum += v->weight;
    }
    for (size_t i = 0; i < c->bench_count; i++)
        c->bench[i].weight /= sum;
    return c->bench_count
               ? 0
               : comparison_end(c, ATOLL_V_INFRASTRUCTURE, "task '%s' has no bench variant here", task->name);
}

/* A rival that was measured once and is none now is no win of the candidate's. */
static int rivals_open(struct comparison *c)
{
    struct atoll_torch_built built;
    if (c->session.is_alone)
        return comparison_end(
            c, ATOLL_V_UNSTABLE,
            "the device bears one process at a time: rival and kernel cannot take turns on it");
    for (size_t i = 0; i < c->bench_count; i++) {
        if (atoll_rival_session_build(&c->session, c->session.order->rivals[c->bench[i].variant],
                                      c->bench[i].variant, &built) != 0) {
            c->session.verdict = ATOLL_V_UNSTABLE;
            return -1;
        }
        c->bench[i].handle = built.handle;
    }
    return 0;
}

static void compare(struct comparison *c)
{
    enum atoll_rival_score_state state = ATOLL_RIVAL_SCORE_MORE;
    unsigned rounds = 0;
    if (bench_open(c) != 0 || verify(c) != 0 || rivals_open(c) != 0)
        return;
    atoll_rival_score_init(&c->score, c->session.order->pair_limit,
                           c->session.referee->setup.interval_target);
    int failed = 0;
    while (!failed && state == ATOLL_RIVAL_SCORE_MORE)
        failed = round_play(c, rounds++, &state);
    if (failed)
        return;
    result_write(c);
    if (state == ATOLL_RIVAL_SCORE_UNSTABLE)
        comparison_end(
            c, ATOLL_V_UNSTABLE,
            "%u of %u pairs of blocks do not count (%u with clocks more than %.0f %% apart, %u disturbed): "
            "nothing is decided",
            atoll_rival_score_repeated(&c->score) + c->score.disturbed, rounds,
            atoll_rival_score_repeated(&c->score), 100 * ATOLL_BLOCK_CLOCK_APART, c->score.disturbed);
    else
        detail_write(c);
}

void atoll_referee_rival_duel(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                              const struct atoll_prepared *candidate, const void *object, size_t length,
                              struct atoll_duel *ret_duel)
{
    double begin = atoll_referee_now_ns();
    struct comparison *c = calloc(1, sizeof(*c));
    memset(ret_duel, 0, sizeof(*ret_duel));
    ret_duel->evaluation = order->evaluation;
    ret_duel->purpose = order->purpose;
    ret_duel->device = referee->info.key;
    ret_duel->p_value = ret_duel->ratio = 1;
    ret_duel->verdict = ATOLL_V_INFRASTRUCTURE;
    if (!c) {
        snprintf(ret_duel->detail, sizeof(ret_duel->detail), "no memory for a comparison");
        return;
    }
    c->duel = ret_duel;
    c->deadline_ns = atoll_referee_deadline_ns(order->baseline_ns);
    c->placement_key = atoll_referee_placement(referee);
    if (atoll_rival_session_open(&c->session, referee, atoll_referee_case(referee, task), order,
                                 ret_duel->detail) == 0) {
        char detail[ATOLL_DETAIL_BYTES];
        enum atoll_verdict v = atoll_referee_load(referee, candidate, object, length, &c->candidate, detail);
        if (v == ATOLL_V_CORRECT)
            compare(c);
        else
            comparison_end(c, v, "%s", detail);
    }
    ret_duel->verdict = c->session.verdict;
    ret_duel->candidate_ns = c->candidate.candidate_ns;
    if (c->candidate.prepared)
        atoll_referee_unload(referee, &c->candidate);
    atoll_rival_session_close(&c->session);
    free(c);
    ret_duel->occupied_ns = atoll_referee_now_ns() - begin;
    referee->counting.device_ns += ret_duel->occupied_ns;
}
