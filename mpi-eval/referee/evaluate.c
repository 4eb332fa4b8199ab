/* The cascade from level 4 on: load, check variants, bench variants sampled with every output checked,
 * floors. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/fitness.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/path_check.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/referee/trial.h"

#define LATE_STOP_NS     1e6 /* after the end of a sample: usual is a tenth of it */
#define CHECK_INPUT_SETS 2
#define AUDIT_INPUT_SETS 4
#define GROWTH_SHARE     0.25
#define GROWTH_WIDTH     2.0 /* times the target */
#define CLOCK_LIMIT      1024
#define REMEASURE_LIMIT  3 /* a busy machine may have looked slower than it is; of one evaluation */

/* What a candidate's time is spent on, in order. */
enum session_phase {
    PHASE_COMPILING,
    PHASE_LOADING,
    PHASE_CHECKING,
    PHASE_PATHS,
    PHASE_SAMPLING,
    PHASE_AUDIT
};

/* One evaluation while it is under way. */
struct session {
    struct atoll_referee *referee;
    struct atoll_case *known;
    const struct atoll_order *order;
    struct atoll_loaded_candidate candidate;
    struct atoll_evaluation *e;
    double deadline_ns;              /* of one run */
    double whole_ns;                 /* from the start of the compiler to the verdict */
    enum session_phase phase, spent; /* what comes, and what took the time so far, at which variant */
    uint32_t spent_variant;
    double end_ns; /* when that is over; it moves on while something of ours takes the time */
    unsigned bench_count;
    int remeasured; /* times the device was calibrated again on this candidate's account */
    size_t clock_count;
    double clocks_hz[CLOCK_LIMIT]; /* of timed samples, as far as the device tells */
};

static int session_end(struct session *s, enum atoll_verdict verdict, unsigned level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int session_end(struct session *s, enum atoll_verdict verdict, unsigned level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->e->detail, sizeof(s->e->detail), format, args);
    va_end(args);
    s->e->verdict = verdict;
    s->e->level = level;
    return -1;
}

/* After what was said of earlier variants; nothing twice. */
static void session_say(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void session_say(struct session *s, const char *format, ...)
{
    char text[512], *detail = s->e->detail;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t used = strlen(detail);
    if (text[0] && !strstr(detail, text))
        snprintf(detail + used, sizeof(s->e->detail) - used, "%s%s", used ? "; " : "", text);
}

/* "while it was sampled at variant bench". */
static const char *session_phase_text(const struct session *s, char *text, size_t bytes)
{
    static const char *const did[] = {
        [PHASE_COMPILING] = "compiled",
        [PHASE_LOADING] = "loaded",
        [PHASE_CHECKING] = "checked",
        [PHASE_PATHS] = "checked on a path of its plan that no variant of the task takes",
        [PHASE_SAMPLING] = "sampled",
        [PHASE_AUDIT] = "checked once more, being faster than its work seems to allow,",
    };
    if (s->spent < PHASE_CHECKING || s->spent == PHASE_PATHS)
        snprintf(text, bytes, "while it was %s", did[s->spent]);
    else
        snprintf(text, bytes, "while it was %s at variant %s", did[s->spent],
                 s->known->task->variants[s->spent_variant].name);
    return text;
}

/* -1: the candidate's time is over. */
static int session_in_time(struct session *s, double *ret_left_ns)
{
    char phase[160];
    *ret_left_ns = s->end_ns - atoll_referee_now_ns();
    if (*ret_left_ns > 0)
        return 0;
    return session_end(
        s, ATOLL_V_TIMEOUT, s->bench_count ? 6 : 4,
        "no verdict after %.3g s from the start of the compiler, %.3g s of it compiling; that was over %s; "
        "of %u runs each was in time",
        s->whole_ns / 1e9, s->candidate.prepared->compile_ns / 1e9,
        session_phase_text(s, phase, sizeof(phase)), s->e->draw_count);
}

/* One trial; -1 when it ended the evaluation. */
static int session_try(struct session *s, const struct atoll_input_set *input_set,
                       enum atoll_comparing comparing, uint64_t placement, struct atoll_trial *trial)
{
    struct atoll_trial_order order = {input_set, comparing, s->deadline_ns, placement, 0};
    double left_ns;
    if (atomic_load(&s->referee->cancelled)) {
        session_end(s, ATOLL_V_INFRASTRUCTURE, 0, "cancelled");
        return -1;
    }
    if (session_in_time(s, &left_ns) != 0)
        return -1;
    order.deadline_ns = fmin(order.deadline_ns, left_ns);
    s->spent = s->phase;
    s->spent_variant = input_set->variant;
    atoll_referee_trial(s->referee, s->known, &s->candidate, &order, trial);
    s->end_ns += trial->reference_ns; /* our own time */
    s->e->draw_count++;
    s->e->fully_compared_count += trial->compared_fully ? 1 : 0;
    s->e->worst_error = fmax(s->e->worst_error, trial->worst_error);
    if (trial->verdict == ATOLL_V_CORRECT)
        return 0;
    if (trial->verdict == ATOLL_V_TIMEOUT && order.deadline_ns < s->deadline_ns) {
        char phase[160];
        return session_end(s, trial->verdict, trial->level,
                           "%.1000s, which was all that was left of %.3g s from the start of the compiler, "
                           "%.3g s of it compiling; that was over %s",
                           trial->detail, s->whole_ns / 1e9, s->candidate.prepared->compile_ns / 1e9,
                           session_phase_text(s, phase, sizeof(phase)));
    }
    return session_end(s, trial->verdict, trial->level, "%s", trial->detail);
}

/* Input sets of different distributions where the task has them. */
static int session_check(struct session *s, uint32_t variant)
{
    struct atoll_trial trial;
    unsigned first = (unsigned)(atoll_referee_placement(s->referee) % ATOLL_INPUT_SET_CHECK_POOL),
             other = first;
    for (unsigned k = 1; k < ATOLL_INPUT_SET_CHECK_POOL && other == first; k++)
        if (atoll_input_set_nth_distribution(s->known->task, (first + k) % ATOLL_INPUT_SET_CHECK_POOL) !=
            atoll_input_set_nth_distribution(s->known->task, first))
            other = (first + k) % ATOLL_INPUT_SET_CHECK_POOL;
    if (other == first)
        other = (first + 1) % ATOLL_INPUT_SET_CHECK_POOL;
    unsigned numbers[CHECK_INPUT_SETS] = {first, other};
    uint64_t key = atoll_referee_placement(s->referee);
    for (int i = 0; i < CHECK_INPUT_SETS; i++) {
        struct atoll_input_set input_set = atoll_case_input_set(s->referee, s->known, variant, numbers[i]);
        if (session_try(s, &input_set, ATOLL_COMPARING_FULL, atoll_placement_at(key, (uint64_t)i), &trial) !=
            0)
            return -1;
    }
    return 0;
}

static int session_check_made(void *context, const struct atoll_input_set *input_set)
{
    struct session *s = context;
    struct atoll_trial trial;
    if (session_try(s, input_set, ATOLL_COMPARING_FULL, atoll_referee_placement(s->referee), &trial) == 0)
        return 0;
    if (s->e->verdict != ATOLL_V_INFRASTRUCTURE)
        atoll_path_check_say(s->known, s->e->detail, sizeof(s->e->detail));
    return -1;
}

/* The paths of its plan that no check variant of the task takes. */
static int session_check_paths(struct session *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    s->phase = PHASE_PATHS;
    int rc = atoll_path_check(s->referee, s->known, s->candidate.prepared, ATOLL_VARIANT_CHECK,
                              s->order->evaluation, CHECK_INPUT_SETS, session_check_made, s, &err);
    if (rc != 0 && err.code != ATOLL_OK)
        session_end(s, ATOLL_V_INFRASTRUCTURE, 0, "%s", err.text);
    return rc;
}

/* A variant while it is sampled. */
struct series {
    uint32_t variant;
    struct atoll_sampling sampling;
    struct atoll_input_set_order order;
    uint64_t placement_key; /* of all its samples */
    double wall_ns;   /* of its own samples, but for expected values of the first input sets, which no later
                         candidate pays */
    double growth_ns; /* expected values of input sets that made the pool grow */
    double stop_ns;   /* least kill latency: the most that a forged end could gain */
    unsigned full;
    char note[128]; /* of the backend on its last sample, "" none */
    enum atoll_sampling_state state;
};

/* A new input set costs many samples' time: the pool grows for intervals that are still wide, and for at most this share
 * of a candidate's wall limit. */
static int may_grow(const struct series *r)
{
    const struct atoll_sampling_rules *rules = &r->sampling.rules;
    return r->sampling.count < rules->sample_min ||
           (atoll_sampling_half_width(&r->sampling) > GROWTH_WIDTH * rules->interval_target &&
            r->growth_ns < GROWTH_SHARE * rules->wall_limit_ns);
}

static int series_step(struct session *s, struct series *r)
{
    struct atoll_trial trial;
    double begin = atoll_referee_now_ns();
    if (r->sampling.discarded > r->sampling.count && begin > s->end_ns) {
        r->state = ATOLL_SAMPLING_UNSTABLE; /* it was others who took its time */
        return 0;
    }
    long number = atoll_input_set_order_next(&r->order);
    if (number < 0 || ((size_t)number >= s->known->pool_size[r->variant] && !may_grow(r))) {
        r->state = ATOLL_SAMPLING_LIMIT;
        return 0;
    }
    struct atoll_input_set input_set =
        atoll_case_input_set(s->referee, s->known, r->variant, (uint64_t)number);
    size_t full = s->referee->setup.full_compares;
    enum atoll_comparing comparing = ATOLL_COMPARING_PRINT;
    if (r->full < full)
        comparing = r->sampling.count + (full - r->full) >= s->referee->setup.sample_min
                        ? ATOLL_COMPARING_FULL
                        : ATOLL_COMPARING_HELD;
    if (session_try(s, &input_set, comparing,
                    atoll_placement_at(r->placement_key, r->sampling.count + r->sampling.discarded),
                    &trial) != 0)
        return -1;
    if ((size_t)number >= s->known->pool_size[r->variant])
        s->known->pool_size[r->variant] = (size_t)number + 1;
    if ((size_t)number >= s->known->open_count[r->variant])
        s->known->open_count[r->variant] = (size_t)number + 1;
    if (number < ATOLL_INPUT_SET_POOL_MIN)
        r->wall_ns -= trial.reference_ns;
    else
        r->growth_ns += trial.reference_ns;
    r->full += trial.compared_fully ? 1 : 0;
    snprintf(r->note, sizeof(r->note), "%.127s", trial.detail);
    r->stop_ns = r->stop_ns > 0 ? fmin(r->stop_ns, trial.stop_ns) : trial.stop_ns;
    s->e->profile.throttle_reasons |= trial.throttle_reasons;
    if (trial.clock_hz > 0 && s->clock_count < CLOCK_LIMIT)
        s->clocks_hz[s->clock_count++] = trial.clock_hz;
    struct atoll_sampling_sample sample = {trial.ns, trial.lost_ns, trial.own_ns,
                                           trial.disturbed || trial.pace > ATOLL_SAMPLING_PACE};
    r->wall_ns += atoll_referee_now_ns() - begin;
    r->state = atoll_sampling_take(&r->sampling, &sample, r->wall_ns);
    return 0;
}

static int series_begin(struct session *s, struct series *r, struct atoll_err *err)
{
    const struct atoll_setup *setup = &s->referee->setup;
    uint16_t kept[256];
    size_t kept_count = s->referee->backend->kept(s->referee, s->known, r->variant, kept, 256);
    struct atoll_sampling_rules rules = {.interval_target = setup->interval_target,
                                         .device_limit_ns = setup->sample_device_ns / s->bench_count,
                                         .wall_limit_ns = setup->sample_wall_ns / s->bench_count,
                                         .sample_min = setup->sample_min,
                                         .resolution_ns =
                                             s->referee->info.clock_resolution_ns + s->referee->jitter_ns};
    atoll_input_set_order_init(&r->order, setup->secret, s->order->evaluation, r->variant,
                               s->known->open_count[r->variant], kept, kept_count, setup->full_compares,
                               setup->sample_min);
    r->placement_key = atoll_referee_placement(s->referee);
    return atoll_sampling_init(&r->sampling, &rules, err);
}

static int timing_store(struct session *s, struct series *r, const struct atoll_floor *floor,
                        struct atoll_err *err)
{
    struct atoll_timing *t = &s->e->timings[s->e->timing_count];
    if (atoll_sampling_timing(&r->sampling, r->variant, r->state, t, err) != 0)
        return -1;
    t->flags |= r->sampling.summary.median < floor->audit_ns ? ATOLL_TIMING_AUDIT : 0u;
    if (s->referee->backend->is_tiled && s->referee->backend->is_tiled(s->known, t->variant))
        t->flags |= ATOLL_TIMING_TILED;
    s->e->timing_count++;
    atoll_floor_put(floor, !s->known->floor_is_wrong[t->variant], t);
    return 0;
}

static int floor_get(const struct session *s, uint32_t variant, struct atoll_floor *ret_floor,
                     struct atoll_err *err)
{
    struct atoll_work work;
    if (atoll_task_work(s->known->task, &s->known->task->variants[variant], &work, err) != 0)
        return -1;
    *ret_floor =
        atoll_floor_of(&work, s->known->task->precisions, &s->referee->info, s->referee->setup.is_warm != 0);
    return 0;
}

/* The device is calibrated again on this candidate's account, in time that is not its own. */
static int remeasure(struct session *s, uint32_t variant, struct atoll_floor *floor, struct atoll_err *err)
{
    double begin = atoll_referee_now_ns();
    enum atoll_time_part before = atoll_time_account_enter(s->referee->account, ATOLL_TIME_START);
    int rc = s->referee->backend->measure(s->referee, err);
    atoll_time_account_enter(s->referee->account, before);
    s->remeasured++;
    s->end_ns += atoll_referee_now_ns() - begin;
    return rc != 0 ? -1 : floor_get(s, variant, floor, err);
}

static int is_impossible(const struct series *r, const struct atoll_floor *floor)
{
    return r->sampling.summary.median < ATOLL_FLOOR_IMPOSSIBLE_RATIO * floor->hard_ns;
}

/* Faster than useful arithmetic allows: nothing is refused, but more input sets of every distribution are compared
 * in full. */
static int audit(struct session *s, uint32_t variant)
{
    struct atoll_trial trial;
    uint64_t key = atoll_referee_placement(s->referee);
    s->phase = PHASE_AUDIT;
    for (unsigned i = 0; i < AUDIT_INPUT_SETS; i++) {
        struct atoll_input_set d =
            atoll_case_fresh_input_set(s->referee, s->known, variant, s->order->evaluation, i);
        d.distribution = atoll_input_set_nth_distribution(s->known->task, i);
        if (session_try(s, &d, ATOLL_COMPARING_FULL, atoll_placement_at(key, i), &trial) != 0)
            return -1;
    }
    return 0;
}

/* A correct kernel that is faster than the floor, interval and all, says that the device was calibrated too low: it is
 * done again.  Where that does not help, the task's work is less than it says, and the floor is unknown from now on. */
static int floor_doubt(struct session *s, const struct series *r, struct atoll_floor *floor,
                       struct atoll_err *err)
{
    struct atoll_timing *t = &s->e->timings[s->e->timing_count - 1];
    double time_ns = r->sampling.summary.hi95;
    const char *name = s->known->task->variants[r->variant].name;
    if (s->known->floor_is_wrong[r->variant] || r->state == ATOLL_SAMPLING_DROPPED)
        return 0;
    while (time_ns < floor->reporting_ns && s->remeasured < REMEASURE_LIMIT)
        if (remeasure(s, r->variant, floor, err) != 0)
            return -1;
    if (floor->reporting_ns > 0 && atoll_floor_trusted_ns(floor->reporting_ns, time_ns) == 0) {
        s->known->floor_is_wrong[r->variant] = 1;
        atoll_log(ATOLL_LOG_WARNING, "eval.floor.beaten",
                  "task %s, variant %s: a correct kernel takes %.0f ns, the floor after a new calibration is "
                  "%.0f ns: it counts as unknown",
                  s->known->task->name, name, time_ns, floor->reporting_ns);
    }
    atoll_floor_put(floor, !s->known->floor_is_wrong[r->variant], t);
    return 0;
}

static int series_unstable(struct session *s, const struct series *r)
{
    static const char *const causes[] = {
        [ATOLL_SAMPLING_FINE] = "no sample could be kept",
        [ATOLL_SAMPLING_BUSY] = "other programs took the device's cores",
        [ATOLL_SAMPLING_SLOWED] =
            "the device was slower than usual (heat, power, a neighbour on the same hardware)",
        [ATOLL_SAMPLING_CHOSEN] =
            "which samples are disturbed depends on the inputs, the disturbed ones worked longer; it was so",
    };
    return session_end(s, ATOLL_V_UNSTABLE, 6, "variant %s: %s during %zu of %zu samples",
                       s->known->task->variants[r->variant].name,
                       causes[atoll_sampling_fault_of(&r->sampling)], r->sampling.discarded,
                       r->sampling.discarded + r->sampling.count);
}

static int series_judge(struct session *s, struct series *r, struct atoll_err *err)
{
    struct atoll_floor floor;
    if (floor_get(s, r->variant, &floor, err) != 0)
        return -1;
    if (r->state == ATOLL_SAMPLING_UNSTABLE)
        return r->sampling.count && timing_store(s, r, &floor, err) != 0 ? -1 : series_unstable(s, r);
    while (is_impossible(r, &floor) && s->remeasured < REMEASURE_LIMIT)
        if (remeasure(s, r->variant, &floor, err) != 0)
            return -1;
    if (timing_store(s, r, &floor, err) != 0)
        return -1;
    if (is_impossible(r, &floor))
        return session_end(s, ATOLL_V_IMPOSSIBLE, 6,
                           "variant %s: the median of %.0f ns is below 0.9 of the hard floor of %.0f ns",
                           s->known->task->variants[r->variant].name, r->sampling.summary.median,
                           floor.hard_ns);
    if (r->stop_ns > LATE_STOP_NS)
        session_say(
            s,
            "the machine was busy: samples could be stopped no sooner than %.1f ms after they said that they "
            "were done; what one writes in that time is seen only where the outputs were looked at before",
            r->stop_ns / 1e6);
    if (r->state != ATOLL_SAMPLING_DROPPED)
        session_say(s, "%s", r->note);
    if (r->sampling.summary.median < floor.audit_ns && audit(s, r->variant) != 0)
        return -1;
    return floor_doubt(s, r, &floor, err);
}

static int each_variant(struct session *s, enum atoll_variant_kind kind,
                        int (*step)(struct session *, uint32_t))
{
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->variant_count; i++)
        if (task->variants[i].kind == kind &&
            atoll_variant_is_here(s->referee->backend, &task->variants[i]) && step(s, (uint32_t)i) != 0)
            return -1;
    return 0;
}

static int count_step(struct session *s, uint32_t variant)
{
    (void)variant;
    s->bench_count++;
    return 0;
}

/* What a candidate may take from the start of its compiler to its verdict. */
static double whole_deadline_ns(const struct session *s, const struct atoll_prepared *prepared)
{
    const struct atoll_task *task = s->known->task;
    const struct atoll_setup *setup = &s->referee->setup;
    unsigned runs = CHECK_INPUT_SETS * atoll_path_check_count(prepared, ATOLL_VARIANT_CHECK);
    for (size_t i = 0; i < task->variant_count; i++)
        if (atoll_variant_is_here(s->referee->backend, &task->variants[i]))
            runs += task->variants[i].kind == ATOLL_VARIANT_CHECK   ? CHECK_INPUT_SETS
                    : task->variants[i].kind == ATOLL_VARIANT_BENCH ? setup->sample_min
                                                                    : 0;
    return atoll_referee_whole_deadline_ns(setup, runs, s->order->baseline_ns);
}

/* The bench variants of a candidate, which are sampled in turn: a round is a sample of each that needs more
 * (docs/adr/0046). */
struct race {
    double bar_ns; /* of all of them, 0: there is none */
    size_t count;
    struct series series[ATOLL_TASK_VARIANT_LIMIT];
    const struct atoll_sampling *samplings[ATOLL_TASK_VARIANT_LIMIT];
    double weights[ATOLL_TASK_VARIANT_LIMIT];
};

/* What their mean is held against: the least of what is known. */
static double race_bar_ns(const struct session *s, const struct race *race)
{
    double log_sum = 0, weights = 0, incumbent_ns = s->order->incumbent_ns;
    for (size_t i = 0; i < race->count; i++) {
        double own_ns = s->order->bars_ns[race->series[i].variant];
        if (!(own_ns > 0))
            return incumbent_ns;
        log_sum += race->weights[i] * log(own_ns);
        weights += race->weights[i];
    }
    double mean_ns = weights > 0 ? exp(log_sum / weights) : 0;
    return mean_ns > 0 && incumbent_ns > 0 ? fmin(mean_ns, incumbent_ns) : fmax(mean_ns, incumbent_ns);
}

static int race_begin(struct session *s, struct race *race, struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    for (uint32_t i = 0; i < task->variant_count; i++) {
        struct series *r = &race->series[race->count];
        if (task->variants[i].kind != ATOLL_VARIANT_BENCH ||
            !atoll_variant_is_here(s->referee->backend, &task->variants[i]))
            continue;
        r->variant = i;
        race->weights[race->count] = task->variants[i].weight;
        race->samplings[race->count++] = &r->sampling;
        if (series_begin(s, r, err) != 0)
            return -1;
    }
    race->bar_ns = race_bar_ns(s, race);
    return 0;
}

/* 1: there will be another one; -1: a verdict. */
static int race_round(struct session *s, struct race *race)
{
    int is_open = 0, is_unstable = 0;
    double wall_ns = 0;
    for (size_t i = 0; i < race->count; i++) {
        struct series *r = &race->series[i];
        if (r->state == ATOLL_SAMPLING_MORE && series_step(s, r) != 0)
            return -1;
        is_open |= r->state == ATOLL_SAMPLING_MORE;
        is_unstable |= r->state == ATOLL_SAMPLING_UNSTABLE;
        wall_ns += r->wall_ns;
    }
    size_t busiest = atoll_sampling_busiest(race->samplings, race->count, wall_ns);
    if (!atoll_sampling_is_behind(race->samplings, race->weights, race->count, race->bar_ns)) {
        if (busiest < race->count && is_open)
            race->series[busiest].state = ATOLL_SAMPLING_UNSTABLE;
        return is_open && !is_unstable && busiest == race->count;
    }
    for (size_t i = 0; i < race->count; i++)
        race->series[i].state = ATOLL_SAMPLING_DROPPED;
    return 0;
}

static int race_judge(struct session *s, struct race *race, struct atoll_err *err)
{
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < race->count; i++) {
        struct series *r = &race->series[i];
        fewest = r->sampling.count < fewest ? r->sampling.count : fewest;
        if (r->state == ATOLL_SAMPLING_MORE && r->sampling.count == 0)
            continue; /* another one is unstable */
        if (series_judge(s, r, err) != 0)
            return -1;
    }
    if (race->count && race->series[0].state == ATOLL_SAMPLING_DROPPED)
        session_say(
            s, "%zu samples%s were enough: about %.3g times the %.6g us that it is held against", fewest,
            race->count > 1 ? " of each variant" : "",
            atoll_timings_mean_ns(s->e->timings, s->e->timing_count, s->known->task, ATOLL_TIMING_MEDIAN) /
                race->bar_ns,
            race->bar_ns / 1e3);
    return 0;
}

/* A failure of ours fills err; a verdict fills the evaluation.  Either way -1. */
static int race_run(struct session *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct race *race = calloc(1, sizeof(*race));
    if (!race)
        return session_end(s, ATOLL_V_INFRASTRUCTURE, 0, "no memory for samples");
    s->phase = PHASE_SAMPLING;
    int rc = race_begin(s, race, &err), more = 1;
    while (rc == 0 && more > 0)
        more = race_round(s, race);
    if (rc == 0)
        rc = more < 0 ? -1 : race_judge(s, race, &err);
    for (size_t i = 0; i < race->count; i++) {
        const struct atoll_sampling *sampling = race->samplings[i];
        if (sampling->count + sampling->discarded)
            atoll_case_open_next(s->known, race->series[i].variant);
        atoll_sampling_fini(&race->series[i].sampling);
    }
    free(race);
    if (rc != 0 && err.code != ATOLL_OK)
        session_end(s, ATOLL_V_INFRASTRUCTURE, 0, "%s", err.text);
    return rc;
}

/* Levels 4 and 5; -1: that was all. */
static int load_and_check(struct session *s, const struct atoll_prepared *prepared, const void *object,
                          size_t object_length)
{
    char detail[ATOLL_DETAIL_BYTES];
    s->whole_ns = whole_deadline_ns(s, prepared);
    s->end_ns = atoll_referee_now_ns() + s->whole_ns - prepared->compile_ns;
    s->spent = prepared->compile_ns < s->whole_ns ? PHASE_LOADING : PHASE_COMPILING;
    s->phase = PHASE_CHECKING;
    enum atoll_verdict loaded =
        atoll_referee_load(s->referee, prepared, object, object_length, &s->candidate, detail);
    if (loaded != ATOLL_V_CORRECT)
        return session_end(s, loaded, loaded == ATOLL_V_INFRASTRUCTURE ? 0 : 4, "%s", detail);
    double begin = atoll_referee_now_ns();
    int failed =
        each_variant(s, ATOLL_VARIANT_CHECK, session_check) != 0 || session_check_paths(s) != 0 ? -1 : 0;
    s->e->check_ns = atoll_referee_now_ns() - begin;
    return failed;
}

static void sample_and_count(struct session *s)
{
    struct atoll_evaluation *e = s->e;
    double begin = atoll_referee_now_ns();
    each_variant(s, ATOLL_VARIANT_BENCH, count_step);
    if (race_run(s) == 0)
        e->level = 6;
    e->sampling_ns = atoll_referee_now_ns() - begin;
    /* Level 7: after everything that is timed. */
    struct atoll_summary clocks;
    double *scratch = s->clock_count ? malloc(s->clock_count * sizeof(*scratch)) : NULL;
    if (scratch) {
        atoll_summary_of(s->clocks_hz, s->clock_count, scratch, &clocks);
        e->profile.clock_hz = clocks.median;
    }
    free(scratch);
    if (e->verdict == ATOLL_V_CORRECT && e->timing_count)
        atoll_counting_run(s->referee, s->known, &s->candidate, s->order, e);
}

static void judge(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                  const struct atoll_prepared *prepared, const void *object, size_t object_length,
                  int is_checked_only, struct atoll_evaluation *ret_evaluation)
{
    double begin = atoll_referee_now_ns();
    struct session s = {.referee = referee,
                        .known = atoll_referee_case(referee, task),
                        .order = order,
                        .e = ret_evaluation,
                        .deadline_ns = atoll_referee_deadline_ns(order->baseline_ns)};
    ret_evaluation->started_unix_ns = atoll_clock_unix_ns();
    ret_evaluation->behaviour = prepared->behaviour;
    ret_evaluation->device = referee->info.key;
    ret_evaluation->verdict = ATOLL_V_CORRECT;
    if (referee->setup.backend_null) {
        /* bench/ only: the shape of an evaluation without a measurement. */
        ret_evaluation->level = 6;
        return;
    }
    if (!s.known) {
        session_end(&s, ATOLL_V_INFRASTRUCTURE, 0, "task number %u is not known here", task);
        return;
    }
    if (load_and_check(&s, prepared, object, object_length) == 0 && !is_checked_only)
        sample_and_count(&s);
    if (s.candidate.prepared)
        atoll_referee_unload(referee, &s.candidate);
    ret_evaluation->candidate_ns = s.candidate.candidate_ns;
    ret_evaluation->occupied_ns = atoll_referee_now_ns() - begin;
}

void atoll_referee_evaluate(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                            const struct atoll_prepared *prepared, const void *object, size_t object_length,
                            struct atoll_evaluation *ret_evaluation)
{
    judge(referee, task, order, prepared, object, object_length, 0, ret_evaluation);
    referee->counting.device_ns += ret_evaluation->occupied_ns;
}

void atoll_referee_check(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                         const struct atoll_prepared *prepared, const void *object, size_t object_length,
                         struct atoll_evaluation *ret_evaluation)
{
    judge(referee, task, order, prepared, object, object_length, 1, ret_evaluation);
}
