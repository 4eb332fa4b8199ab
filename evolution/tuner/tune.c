/* tune.c - create, propose, record outcomes, save.  The first trials are the best hints, then points far from what was
 * tried: greedy maximin distance over random legal points (Johnson, Moore, Ylvisaker, J. Statistical Planning and Inference
 * 26, 1990), for with few trials in many parameters no formula for a low-discrepancy sequence survives the constraints.
 * What is proposed then: tune_trials.h; what was tried: tune_trials.c. */
#include "evolution/tuner/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_trials.h"

#define HINTS_FIRST  3     /* trials that the best hints get */
#define EFFORT       32768 /* in questions whether a point is legal: fewer candidates where legal ones are rare */
#define CANDIDATES   30 /* random points of which the farthest is taken ... */
#define RANDOM_FIRST 2  /* ... but for the first trials: far points are extreme ones, and seldom fast */
/* A space is listed at creation where that takes no time, and else before the first proposal, where it is about as
 * dear as one evaluation; both in values tried. */
#define LIST_NODES       (2u * ATOLL_TUNE_LISTED_AT_ONCE)
#define LIST_NODES_LATE  (1u << 16)
#define LIST_POINTS_LATE (1u << 16)
#define AROUND_ONE_IN    8  /* proposals near the parent */
#define NUMBERS_BYTES    30 /* of a trial, besides its digits */

/* The square of the distance to the nearest trial. */
static double nearest2(const struct atoll_tune *tune, const struct atoll_point *point)
{
    double nearest = HUGE_VAL;
    for (uint32_t t = 0; t < tune->trial_count; t++) {
        double sum = 0;
        for (size_t i = 0; i < tune->space->count; i++) {
            double steps = (double)tune->space->params[i].value_count - 1;
            double d = steps > 0 ? (point->digits[i] - tune->trials[t].point.digits[i]) / steps : 0;
            sum += d * d;
        }
        nearest = fmin(nearest, sum);
    }
    return nearest;
}

static int pick_hint(const struct atoll_tune *tune, struct atoll_point *ret_point)
{
    const struct atoll_trial *best = NULL;
    for (uint32_t i = 0; i < tune->hint_count; i++) {
        const struct atoll_trial *hint = &tune->hints[i];
        if (hint->state == TRIAL_CORRECT && (!best || hint->time_ns < best->time_ns) &&
            atoll_tune_available(tune, &hint->point)) {
            best = hint;
        }
    }
    if (best)
        *ret_point = best->point;
    return best != NULL;
}

static int pick_suggestion(const struct atoll_tune *tune, struct atoll_point *ret_point)
{
    for (uint32_t i = 0; i < tune->suggestion_count; i++) {
        if (atoll_tune_available(tune, &tune->suggestions[i])) {
            *ret_point = tune->suggestions[i];
            return 1;
        }
    }
    return 0;
}

static int pick_start(const struct atoll_tune *tune, struct atoll_random *random,
                      struct atoll_point *ret_point)
{
    if (tune->trial_count < HINTS_FIRST && pick_hint(tune, ret_point))
        return 1;
    if (pick_suggestion(tune, ret_point))
        return 1;
    if (tune->trial_count >= tune->settings.start)
        return 0;
    uint32_t effort = EFFORT;
    double farthest = -1;
    for (unsigned k = 0; k < (tune->trial_count < RANDOM_FIRST ? 1 : CANDIDATES); k++) {
        struct atoll_point point;
        if (!atoll_tune_draw(tune, random, &effort, &point))
            break;
        double distance = nearest2(tune, &point);
        if (distance > farthest) {
            farthest = distance;
            *ret_point = point;
        }
    }
    return farthest >= 0;
}

/* start: chosen on recorded and synthetic spaces; racing: there the search is as good with bounds of 1.5 to 5 times
 * the best as with the times themselves. */
struct atoll_tune_settings atoll_tune_settings_default(void)
{
    return (struct atoll_tune_settings){
        .strategies = (1u << ATOLL_TUNE_STRATEGIES) - 1, .racing = 2, .start = 6};
}

static struct atoll_tune *prepare(struct atoll_tune *t, struct atoll_err *err)
{
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a tuner");
        return NULL;
    }
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

struct atoll_tune *atoll_tune_create_space(const struct atoll_space *space, struct atoll_err *err)
{
    struct atoll_tune *t = calloc(1, sizeof(*t));
    if (t)
        t->space = space;
    return prepare(t, err);
}

struct atoll_tune *atoll_tune_create(const struct atoll_task *task, const struct atoll_plan *plan,
                                     struct atoll_err *err)
{
    struct atoll_tune *t = calloc(1, sizeof(*t));
    if (!t)
        return prepare(NULL, err);
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
    free(tune->points.legal);
    free(tune->points.untried);
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

int atoll_tune_propose(struct atoll_tune *tune, struct atoll_random *random,
                       const struct atoll_choice *around, struct atoll_choice *ret_choice,
                       struct atoll_err *err)
{
    struct atoll_trial trial;
    memset(&trial, 0, sizeof(trial));
    trial.strategy = ATOLL_TUNE_STRATEGIES;
    trial.centre = ATOLL_NONE;
    if (list_late(tune, err))
        return -1;
    if (tune->exhausted)
        return 0;
    struct atoll_point parent;
    int picked = pick_start(tune, random, &trial.point);
    if (!picked && around && atoll_space_point(tune->space, around, &parent) &&
        atoll_random_below(atoll_random_next(random), AROUND_ONE_IN) == 0) {
        trial.centre = atoll_tune_find(tune, &parent);
        picked =
            trial.centre != ATOLL_NONE && atoll_tune_pick_neighbour(tune, random, &parent, 0, &trial.point);
        trial.centre = picked ? trial.centre : ATOLL_NONE;
    }
    if (!picked) {
        uint8_t order[ATOLL_TUNE_STRATEGIES];
        size_t count = atoll_tune_bandit(tune, order);
        for (size_t i = 0; i < count && !picked; i++) {
            trial.strategy = order[i];
            picked = atoll_tune_strategies[order[i]].propose(tune, random, &trial, err);
        }
    }
    if (!picked) {
        trial.strategy = ATOLL_TUNE_RANDOM;
        picked = atoll_tune_pick_random(tune, random, &trial.point);
    }
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
    memset(&trial, 0, sizeof(trial));
    trial.strategy = ATOLL_TUNE_STRATEGIES;
    trial.centre = ATOLL_NONE;
    if (!atoll_space_point(tune->space, choice, &trial.point) ||
        atoll_tune_find(tune, &trial.point) != ATOLL_NONE) {
        return 0;
    }
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

void atoll_tune_record(struct atoll_tune *tune, const struct atoll_choice *choice,
                       const struct atoll_tune_outcome *outcome)
{
    struct atoll_point point;
    uint32_t at = atoll_space_point(tune->space, choice, &point) ? atoll_tune_find(tune, &point) : ATOLL_NONE;
    if (at == ATOLL_NONE)
        return;
    set_outcome(&tune->trials[at], outcome);
    if (atoll_tune_fastest(tune, 1, &tune->best) == 0)
        tune->best = ATOLL_NONE;
    /* The climb starts at a random trial and follows its better neighbours. */
    const struct atoll_trial *trial = &tune->trials[at];
    if (trial->state != TRIAL_CORRECT) {
        tune->climb = tune->climb == at ? ATOLL_NONE : tune->climb;
    } else if (tune->climb == ATOLL_NONE
                   ? trial->centre == ATOLL_NONE
                   : trial->centre == tune->climb && trial->time_ns < tune->trials[tune->climb].time_ns) {
        tune->climb = at;
    }
}

void atoll_tune_result(struct atoll_tune *tune, const struct atoll_choice *choice, double time_ns)
{
    struct atoll_tune_outcome outcome = {.kind = time_ns > 0 ? ATOLL_TUNE_CORRECT : ATOLL_TUNE_FAILED,
                                         .time_ns = time_ns};
    atoll_tune_record(tune, choice, &outcome);
}

int atoll_tune_hint(struct atoll_tune *tune, const struct atoll_choice *choice,
                    const struct atoll_tune_outcome *outcome, struct atoll_err *err)
{
    struct atoll_trial hint;
    memset(&hint, 0, sizeof(hint));
    hint.strategy = ATOLL_TUNE_STRATEGIES;
    hint.centre = ATOLL_NONE;
    if (tune->hint_count == ATOLL_TUNE_HINT_LIMIT || !atoll_space_point(tune->space, choice, &hint.point))
        return 0;
    set_outcome(&hint, outcome);
    return atoll_tune_append_hint(tune, &hint, err);
}

void atoll_tune_suggest(struct atoll_tune *tune, const struct atoll_choice *choices, size_t count)
{
    tune->has_suggestions = 1;
    tune->suggestion_count = 0;
    for (size_t i = 0; i < count && tune->suggestion_count < ATOLL_TUNE_SUGGESTION_LIMIT; i++) {
        struct atoll_point *to = &tune->suggestions[tune->suggestion_count];
        tune->suggestion_count += (uint32_t)atoll_space_point(tune->space, &choices[i], to);
    }
}

int atoll_tune_has_suggestions(const struct atoll_tune *tune)
{
    return tune->has_suggestions;
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

static int load_trial(struct atoll_tune *t, struct atoll_codec *codec, struct atoll_err *err)
{
    struct atoll_trial trial;
    memset(&trial, 0, sizeof(trial));
    atoll_trial_codec(t->space, &trial, codec);
    if (codec->in->failed)
        return 0;
    if ((trial.centre != ATOLL_NONE && trial.centre >= t->trial_count) ||
        atoll_tune_find(t, &trial.point) != ATOLL_NONE) {
        codec->in->failed = 1;
        return 0;
    }
    return atoll_tune_append(t, &trial, err);
}

static int load_hint(struct atoll_tune *t, struct atoll_codec *codec, struct atoll_err *err)
{
    struct atoll_trial hint;
    memset(&hint, 0, sizeof(hint));
    atoll_trial_codec(t->space, &hint, codec);
    if (codec->in->failed || t->hint_count == ATOLL_TUNE_HINT_LIMIT) {
        codec->in->failed = 1;
        return 0;
    }
    return atoll_tune_append_hint(t, &hint, err);
}

typedef int load(struct atoll_tune *tune, struct atoll_codec *codec, struct atoll_err *err);

static int list_codec(struct atoll_tune *t, struct atoll_trial *trials, uint32_t count, load *load_one,
                      struct atoll_codec *codec, struct atoll_err *err)
{
    atoll_codec_count(codec, &count, t->space->count + NUMBERS_BYTES);
    for (uint32_t i = 0; i < count; i++)
        if (codec->out)
            atoll_trial_codec(t->space, &trials[i], codec);
        else if (load_one(t, codec, err))
            return -1;
    return 0;
}

static void check_trial(const struct atoll_tune *t, uint32_t trial, struct atoll_codec *codec)
{
    if (codec->in && trial != ATOLL_NONE && trial >= t->trial_count)
        codec->in->failed = 1;
}

int atoll_tune_codec(struct atoll_tune *tune, struct atoll_codec *codec, struct atoll_err *err)
{
    if (list_codec(tune, tune->trials, tune->trial_count, load_trial, codec, err) ||
        list_codec(tune, tune->hints, tune->hint_count, load_hint, codec, err)) {
        return -1;
    }
    atoll_codec_u32(codec, &tune->best);
    atoll_codec_u32(codec, &tune->climb);
    atoll_codec_u8(codec, &tune->exhausted);
    check_trial(tune, tune->best, codec);
    check_trial(tune, tune->climb, codec);
    uint8_t has_model = tune->surrogate != NULL;
    atoll_codec_u8(codec, &has_model);
    if (codec->in && has_model && !codec->in->failed) {
        tune->surrogate = atoll_surrogate_create(tune->space, err);
        if (!tune->surrogate)
            return -1;
    }
    if (tune->surrogate)
        atoll_surrogate_codec(tune, tune->surrogate, codec);
    return 0;
}
