/* Create, propose, tell.  What a proposal is made of: tune_strategy.h; what was tried: tune_trials.c. */
#include "evolution/tuner/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_model.h"
#include "evolution/tuner/tune_start.h"
#include "evolution/tuner/tune_strategy.h"

/* A space is listed at creation where that takes no time, and else before the first proposal, where it is about as
 * dear as one evaluation; both in values tried. */
#define LIST_NODES       (2u * ATOLL_TUNE_LISTED_AT_ONCE)
#define LIST_NODES_LATE  (1u << 16)
#define LIST_POINTS_LATE (1u << 16)
#define AROUND_ONE_IN    8 /* proposals near the parent */

/* start: chosen on recorded and synthetic spaces; racing: there the search is as good with bounds of 1.5 to 5 times
 * the best as with the times themselves. */
struct atoll_tune_settings atoll_tune_settings_default(void)
{
    return (struct atoll_tune_settings){
        .strategies = (1u << ATOLL_TUNE_STRATEGIES) - 1, .racing = 2, .start = 6};
}

static struct atoll_tune *prepare(struct atoll_tune *t, struct atoll_err *err)
{
    t->best = t->climb = ATOLL_NONE;
    t->settings = atoll_tune_settings_default();
    t->points.space = t->space;
    if (atoll_tune_points_enumerate(&t->points, LIST_NODES, ATOLL_TUNE_LISTED_AT_ONCE, err)) {
        atoll_tune_destroy(t);
        return NULL;
    }
    t->listed = t->points.enumerated != 0;
    t->exhausted = t->listed && !t->points.untried_count;
    return t;
}

static struct atoll_tune *allocate(struct atoll_err *err)
{
    struct atoll_tune *t = calloc(1, sizeof *t);
    if (!t)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a tuner");
    return t;
}

struct atoll_tune *atoll_tune_create_space(const struct atoll_space *space, struct atoll_err *err)
{
    struct atoll_tune *t = allocate(err);
    if (!t)
        return NULL;
    t->space = space;
    return prepare(t, err);
}

struct atoll_tune *atoll_tune_create(const struct atoll_task *task, const struct atoll_plan *plan,
                                     struct atoll_err *err)
{
    struct atoll_tune *t = allocate(err);
    if (!t)
        return NULL;
    t->of = (struct atoll_space_of_plan){.task = task, .plan = plan};
    atoll_space_init_plan(&t->own, &t->of);
    t->space = &t->own;
    return prepare(t, err);
}

void atoll_tune_set(struct atoll_tune *tune, const struct atoll_tune_settings *settings)
{
    tune->settings = *settings;
}

void atoll_tune_destroy(struct atoll_tune *tune)
{
    if (!tune)
        return;
    atoll_surrogate_destroy(tune->surrogate);
    atoll_tune_points_fini(&tune->points);
    atoll_index_fini(&tune->index);
    free(tune->trials);
    free(tune->hints);
    free(tune);
}

uint64_t atoll_tune_legal_count(const struct atoll_tune *tune)
{
    return tune->points.enumerated ? tune->points.legal_count : UINT64_MAX;
}

int atoll_tune_first(struct atoll_tune *tune, struct atoll_choice *ret_choice)
{
    struct atoll_point point;
    if (!atoll_tune_points_first(&tune->points, &point))
        return 0;
    *ret_choice = atoll_space_choice(tune->space, &point);
    return 1;
}

static int list_late(struct atoll_tune *t, struct atoll_err *err)
{
    if (t->listed)
        return 0;
    if (atoll_tune_points_enumerate(&t->points, LIST_NODES_LATE, LIST_POINTS_LATE, err))
        return -1;
    t->listed = 1;
    if (!t->points.enumerated)
        return 0;
    for (uint32_t i = 0; i < t->trial_count; i++)
        atoll_tune_points_remove(&t->points, &t->trials[i].point);
    t->exhausted = !t->points.untried_count;
    return 0;
}

/* A neighbour of the parent, now and then. */
static int pick_around(struct atoll_tune *t, struct atoll_random *random, const struct atoll_choice *around,
                       struct atoll_trial *ret)
{
    struct atoll_point parent;
    if (!around || !atoll_space_point(t->space, around, &parent) ||
        atoll_random_below(atoll_random_next(random), AROUND_ONE_IN) != 0)
        return 0;
    ret->centre = atoll_tune_find(t, &parent);
    if (ret->centre != ATOLL_NONE && atoll_tune_pick_neighbour(t, random, &parent, 0, &ret->point))
        return 1;
    ret->centre = ATOLL_NONE;
    return 0;
}

static int pick(struct atoll_tune *t, struct atoll_random *random, const struct atoll_choice *around,
                struct atoll_trial *ret, struct atoll_err *err)
{
    uint8_t order[ATOLL_TUNE_STRATEGIES];
    int picked = atoll_tune_start(t, random, &ret->point) || pick_around(t, random, around, ret);
    size_t count = picked ? 0 : atoll_tune_bandit(t, order);
    for (size_t i = 0; i < count && !picked; i++) {
        ret->strategy = order[i];
        picked = atoll_tune_strategies[order[i]].propose(t, random, ret, err);
    }
    if (picked)
        return picked;
    ret->strategy = ATOLL_TUNE_RANDOM;
    return atoll_tune_pick_random(t, random, &ret->point);
}

int atoll_tune_propose(struct atoll_tune *tune, struct atoll_random *random,
                       const struct atoll_choice *around, struct atoll_choice *ret_choice,
                       struct atoll_err *err)
{
    struct atoll_trial trial;
    memset(&trial, 0, sizeof trial);
    trial.strategy = ATOLL_TUNE_STRATEGIES;
    trial.centre = ATOLL_NONE;
    if (list_late(tune, err))
        return -1;
    if (tune->exhausted)
        return 0;
    int picked = pick(tune, random, around, &trial, err);
    if (picked < 0)
        return -1;
    tune->exhausted = !picked;
    if (!picked)
        return 0;
    if (atoll_tune_append(tune, &trial, err))
        return -1;
    *ret_choice = atoll_space_choice(tune->space, &trial.point);
    return 1;
}

int atoll_tune_add(struct atoll_tune *tune, const struct atoll_choice *choice, struct atoll_err *err)
{
    struct atoll_trial trial;
    memset(&trial, 0, sizeof trial);
    trial.strategy = ATOLL_TUNE_STRATEGIES;
    trial.centre = ATOLL_NONE;
    if (!atoll_space_point(tune->space, choice, &trial.point) ||
        atoll_tune_find(tune, &trial.point) != ATOLL_NONE)
        return 0;
    return atoll_tune_append(tune, &trial, err);
}

static const uint8_t state_of_kind[] = {[ATOLL_TUNE_CORRECT] = TRIAL_CORRECT,
                                        [ATOLL_TUNE_FAILED] = TRIAL_FAILED,
                                        [ATOLL_TUNE_CENSORED] = TRIAL_CENSORED};

static void set_outcome(struct atoll_trial *trial, const struct atoll_tune_outcome *outcome)
{
    int has_time = outcome->kind != ATOLL_TUNE_FAILED && outcome->time_ns > 0 && isfinite(outcome->time_ns);
    int has_interval =
        has_time && outcome->lo_ns > 0 && outcome->hi_ns >= outcome->lo_ns && isfinite(outcome->hi_ns);
    trial->state = has_time ? state_of_kind[outcome->kind] : TRIAL_FAILED;
    trial->time_ns = has_time ? outcome->time_ns : 0;
    trial->lo_ns = has_interval ? outcome->lo_ns : 0;
    trial->hi_ns = has_interval ? outcome->hi_ns : 0;
}

/* The climb starts at a random trial and follows its better neighbours. */
static void follow(struct atoll_tune *t, uint32_t at)
{
    const struct atoll_trial *trial = &t->trials[at];
    if (atoll_tune_fastest(t, 1, &t->best) == 0)
        t->best = ATOLL_NONE;
    if (trial->state != TRIAL_CORRECT) {
        t->climb = t->climb == at ? ATOLL_NONE : t->climb;
        return;
    }
    if (t->climb == ATOLL_NONE ? trial->centre == ATOLL_NONE
                               : trial->centre == t->climb && trial->time_ns < t->trials[t->climb].time_ns)
        t->climb = at;
}

void atoll_tune_tell(struct atoll_tune *tune, const struct atoll_choice *choice,
                     const struct atoll_tune_outcome *outcome)
{
    struct atoll_point point;
    uint32_t at = atoll_space_point(tune->space, choice, &point) ? atoll_tune_find(tune, &point) : ATOLL_NONE;
    if (at == ATOLL_NONE)
        return;
    set_outcome(&tune->trials[at], outcome);
    follow(tune, at);
}

void atoll_tune_result(struct atoll_tune *tune, const struct atoll_choice *choice, double time_ns)
{
    struct atoll_tune_outcome outcome = {.kind = time_ns > 0 ? ATOLL_TUNE_CORRECT : ATOLL_TUNE_FAILED,
                                         .time_ns = time_ns};
    atoll_tune_tell(tune, choice, &outcome);
}

int atoll_tune_hint(struct atoll_tune *tune, const struct atoll_choice *choice,
                    const struct atoll_tune_outcome *outcome, struct atoll_err *err)
{
    struct atoll_trial hint;
    memset(&hint, 0, sizeof hint);
    hint.strategy = ATOLL_TUNE_STRATEGIES;
    hint.centre = ATOLL_NONE;
    if (tune->hint_count == ATOLL_TUNE_HINT_LIMIT || !atoll_space_point(tune->space, choice, &hint.point))
        return 0;
    set_outcome(&hint, outcome);
    return atoll_tune_append_hint(tune, &hint, err);
}

double atoll_tune_bar_ns(const struct atoll_tune *tune)
{
    if (!(tune->settings.racing > 0) || tune->best == ATOLL_NONE)
        return HUGE_VAL;
    const struct atoll_trial *best = &tune->trials[tune->best];
    return fmax(best->time_ns, best->hi_ns) * tune->settings.racing;
}

int atoll_tune_exhausted(const struct atoll_tune *tune)
{
    return tune->exhausted;
}
