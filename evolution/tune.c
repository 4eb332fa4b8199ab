/* A combination is a row of digits, one per parameter: the position of its value.  Enumerated spaces also
 * number the combinations (mixed radix, last parameter fastest) and keep the untried ones in a list from
 * which any can be removed in constant time; the order of that list is a function of the order of the trials.
 */
#include "evolution/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/array.h"
#include "evolution/index.h"
#include "evolution/legal.h"

#define START_TRIALS    6    /* random ones before the local search */
#define SAMPLE_ATTEMPTS 64   /* random rows before a search under the constraints */
#define SEARCH_NODES    4096 /* of the search where sampling finds none */
#define AROUND_ONE_IN   4    /* proposals near the parent */

enum trial_state { TRIAL_PENDING, TRIAL_CORRECT, TRIAL_FAILED };

struct trial {
    struct atoll_point row;
    uint8_t state;
    uint32_t centre; /* trial it is a neighbour of; ATOLL_NONE: a random one */
    double time_ns;
};

struct atoll_tune {
    const struct atoll_space *space;
    struct atoll_space own; /* of a plan, where no space was given */
    struct atoll_space_of_plan of;
    struct trial *trials;
    uint32_t trial_count, trial_capacity;
    uint32_t best, climb; /* trials around which it searches */
    uint8_t sampled_out;
    struct atoll_index index; /* row -> trial */
    int enumerated;
    uint32_t legal_count, untried_count;
    uint16_t *untried;  /* numbers of combinations */
    uint16_t *position; /* of a number in untried; UINT16_MAX: illegal or tried */
    uint16_t first;     /* the first legal one */
};

static uint32_t number_of(const struct atoll_tune *t, const struct atoll_point *row)
{
    uint32_t n = 0;
    for (size_t i = 0; i < t->space->count; i++)
        n = n * (uint32_t)t->space->params[i].value_count + row->digits[i];
    return n;
}

static struct atoll_point row_of_number(const struct atoll_tune *t, uint32_t number)
{
    struct atoll_point row;
    memset(&row, 0, sizeof row);
    for (size_t i = t->space->count; i-- > 0;) {
        uint32_t radix = (uint32_t)t->space->params[i].value_count;
        row.digits[i] = (uint8_t)(number % radix);
        number /= radix;
    }
    return row;
}

static uint64_t row_key(const struct atoll_point *row)
{
    uint64_t halves[2];
    memcpy(halves, row->digits, sizeof halves);
    return atoll_mix64(halves[0]) + halves[1];
}

struct row_query {
    const struct atoll_tune *tune;
    const struct atoll_point *row;
};

static int row_equal(const void *context, uint32_t position)
{
    const struct row_query *q = context;
    return memcmp(&q->tune->trials[position].row, q->row, sizeof *q->row) == 0;
}

static uint32_t find(const struct atoll_tune *t, const struct atoll_point *row)
{
    struct row_query q = {t, row};
    return atoll_index_find(&t->index, row_key(row), row_equal, &q);
}

static int legal(const struct atoll_tune *t, const struct atoll_point *row)
{
    return t->space->legal(t->space->context, row);
}

static int available(const struct atoll_tune *t, const struct atoll_point *row)
{
    if (t->enumerated)
        return t->position[number_of(t, row)] != UINT16_MAX;
    return find(t, row) == ATOLL_NONE && legal(t, row);
}

static void remove_untried(struct atoll_tune *t, uint32_t number)
{
    uint16_t at = t->position[number];
    if (at == UINT16_MAX)
        return;
    uint16_t last = t->untried[--t->untried_count];
    t->untried[at] = last;
    t->position[last] = at;
    t->position[number] = UINT16_MAX;
}

static int enumerate(struct atoll_tune *t, uint32_t combinations, struct atoll_err *err)
{
    t->untried = calloc(2 * (size_t)combinations, sizeof *t->untried);
    if (!t->untried)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the combinations of a template");
    t->position = t->untried + combinations;
    for (uint32_t n = 0; n < combinations; n++) {
        struct atoll_point row = row_of_number(t, n);
        t->position[n] = UINT16_MAX;
        if (!legal(t, &row))
            continue;
        if (!t->untried_count)
            t->first = (uint16_t)n;
        t->position[n] = (uint16_t)t->untried_count;
        t->untried[t->untried_count++] = (uint16_t)n;
    }
    t->legal_count = t->untried_count;
    return 0;
}

static struct atoll_tune *prepare(struct atoll_tune *t, struct atoll_err *err)
{
    t->best = t->climb = ATOLL_NONE;
    uint64_t combinations = atoll_space_size(t->space);
    t->enumerated = combinations <= ATOLL_TUNE_ENUMERATED;
    if (t->enumerated && enumerate(t, (uint32_t)combinations, err)) {
        atoll_tune_destroy(t);
        return NULL;
    }
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

void atoll_tune_destroy(struct atoll_tune *tune)
{
    if (!tune)
        return;
    atoll_index_fini(&tune->index);
    free(tune->untried);
    free(tune->trials);
    free(tune);
}

uint64_t atoll_tune_legal_count(const struct atoll_tune *tune)
{
    return tune->enumerated ? tune->legal_count : UINT64_MAX;
}

static int sample(const struct atoll_tune *t, struct atoll_random *random, struct atoll_point *ret_row)
{
    for (unsigned attempt = 0; attempt < SAMPLE_ATTEMPTS; attempt++) {
        memset(ret_row, 0, sizeof *ret_row);
        for (size_t i = 0; i < t->space->count; i++)
            ret_row->digits[i] =
                (uint8_t)atoll_random_below(atoll_random_next(random), t->space->params[i].value_count);
        if (available(t, ret_row))
            return 1;
    }
    return 0;
}

static int accept_row(const void *context, const struct atoll_point *row)
{
    return available(context, row);
}

static int pick_random(const struct atoll_tune *t, struct atoll_random *random, struct atoll_point *ret_row)
{
    if (!t->enumerated)
        return sample(t, random, ret_row) ||
               atoll_legal_search(t->space, random, SEARCH_NODES, accept_row, t, ret_row);
    if (!t->untried_count)
        return 0;
    *ret_row = row_of_number(t, t->untried[atoll_random_below(atoll_random_next(random), t->untried_count)]);
    return 1;
}

int atoll_tune_first(struct atoll_tune *tune, struct atoll_choice *ret_choice)
{
    struct atoll_point row;
    memset(&row, 0, sizeof row);
    if (tune->enumerated) {
        if (!tune->legal_count)
            return 0;
        row = row_of_number(tune, tune->first);
    } else if (!legal(tune, &row)) {
        struct atoll_random fixed = {0x61746f6c6cu, 0};
        if (!pick_random(tune, &fixed, &row))
            return 0;
    }
    *ret_choice = atoll_space_choice(tune->space, &row);
    return 1;
}

/* The nth neighbour that differs in one parameter by one step, or (any) by any other value; 0 beyond the
 * values. */
static int neighbour(const struct atoll_tune *t, const struct atoll_point *centre, size_t n, int any,
                     struct atoll_point *ret_row)
{
    *ret_row = *centre;
    if (!any) {
        size_t i = n / 2;
        int digit = centre->digits[i] + (n % 2 ? 1 : -1);
        if (digit < 0 || digit >= (int)t->space->params[i].value_count)
            return 0;
        ret_row->digits[i] = (uint8_t)digit;
        return 1;
    }
    size_t i = n / ATOLL_PLAN_VALUE_LIMIT, digit = n % ATOLL_PLAN_VALUE_LIMIT;
    if (digit >= t->space->params[i].value_count || digit == centre->digits[i])
        return 0;
    ret_row->digits[i] = (uint8_t)digit;
    return 1;
}

/* An available neighbour of centre, from a random place on. */
static int pick_neighbour(const struct atoll_tune *t, struct atoll_random *random,
                          const struct atoll_point *centre, int any, struct atoll_point *ret_row)
{
    size_t count = t->space->count * (any ? ATOLL_PLAN_VALUE_LIMIT : 2);
    size_t start = atoll_random_below(atoll_random_next(random), count);
    for (size_t k = 0; k < count; k++)
        if (neighbour(t, centre, (start + k) % count, any, ret_row) && available(t, ret_row))
            return 1;
    return 0;
}

static int pick_around(struct atoll_tune *t, struct atoll_random *random, uint32_t centre, int any,
                       struct atoll_point *ret_row, uint32_t *ret_centre)
{
    if (centre == ATOLL_NONE || !pick_neighbour(t, random, &t->trials[centre].row, any, ret_row))
        return 0;
    *ret_centre = centre;
    return 1;
}

static int pick(struct atoll_tune *t, struct atoll_random *random, const struct atoll_choice *around,
                struct atoll_point *ret_row, uint32_t *ret_centre)
{
    struct atoll_point parent;
    *ret_centre = ATOLL_NONE;
    if (t->trial_count < START_TRIALS)
        return pick_random(t, random, ret_row);
    if (around && atoll_space_point(t->space, around, &parent) &&
        atoll_random_below(atoll_random_next(random), AROUND_ONE_IN) == 0 &&
        pick_around(t, random, find(t, &parent), 0, ret_row, ret_centre))
        return 1;
    if (pick_around(t, random, t->best, 0, ret_row, ret_centre))
        return 1;
    if (pick_around(t, random, t->climb, 0, ret_row, ret_centre))
        return 1;
    t->climb = ATOLL_NONE;
    if (atoll_random_next(random) & 1 && pick_around(t, random, t->best, 1, ret_row, ret_centre))
        return 1;
    return pick_random(t, random, ret_row);
}

static int add(struct atoll_tune *t, const struct atoll_point *row, uint32_t centre, struct atoll_err *err)
{
    if (atoll_array_reserve(&t->trials, &t->trial_capacity, t->trial_count + 1, sizeof *t->trials, err) ||
        atoll_index_add(&t->index, row_key(row), t->trial_count, err))
        return -1;
    t->trials[t->trial_count++] = (struct trial){.row = *row, .state = TRIAL_PENDING, .centre = centre};
    if (t->enumerated)
        remove_untried(t, number_of(t, row));
    return 0;
}

int atoll_tune_propose(struct atoll_tune *tune, struct atoll_random *random,
                       const struct atoll_choice *around, struct atoll_choice *ret_choice,
                       struct atoll_err *err)
{
    struct atoll_point row;
    uint32_t centre;
    if (atoll_tune_exhausted(tune))
        return 0;
    if (!pick(tune, random, around, &row, &centre)) {
        tune->sampled_out = 1;
        return 0;
    }
    if (add(tune, &row, centre, err))
        return -1;
    *ret_choice = atoll_space_choice(tune->space, &row);
    return 1;
}

int atoll_tune_add(struct atoll_tune *tune, const struct atoll_choice *choice, struct atoll_err *err)
{
    struct atoll_point row;
    if (!atoll_space_point(tune->space, choice, &row) || find(tune, &row) != ATOLL_NONE)
        return 0;
    return add(tune, &row, ATOLL_NONE, err);
}

static void find_best(struct atoll_tune *t)
{
    t->best = ATOLL_NONE;
    for (uint32_t i = 0; i < t->trial_count; i++)
        if (t->trials[i].state == TRIAL_CORRECT &&
            (t->best == ATOLL_NONE || t->trials[i].time_ns < t->trials[t->best].time_ns))
            t->best = i;
}

static void withdraw(struct atoll_tune *t, uint32_t at)
{
    t->trials[at].state = TRIAL_FAILED;
    t->trials[at].time_ns = 0;
    if (t->best == at)
        find_best(t);
    if (t->climb == at)
        t->climb = ATOLL_NONE;
}

void atoll_tune_result(struct atoll_tune *tune, const struct atoll_choice *choice, double time_ns)
{
    struct atoll_point row;
    uint32_t at = atoll_space_point(tune->space, choice, &row) ? find(tune, &row) : ATOLL_NONE;
    if (at == ATOLL_NONE)
        return;
    if (!(time_ns > 0)) {
        withdraw(tune, at);
        return;
    }
    struct trial *trial = &tune->trials[at];
    trial->state = TRIAL_CORRECT;
    trial->time_ns = time_ns;
    if (tune->best == ATOLL_NONE || time_ns < tune->trials[tune->best].time_ns)
        tune->best = at;
    if (tune->climb == ATOLL_NONE
            ? trial->centre == ATOLL_NONE
            : trial->centre == tune->climb && time_ns < tune->trials[tune->climb].time_ns)
        tune->climb = at;
}

int atoll_tune_exhausted(const struct atoll_tune *tune)
{
    return tune->enumerated ? tune->untried_count == 0 : tune->sampled_out;
}

static void trial_codec(struct atoll_tune *t, struct trial *trial, struct atoll_codec *codec)
{
    for (size_t i = 0; i < t->space->count; i++) {
        atoll_codec_u8(codec, &trial->row.digits[i]);
        if (codec->in && trial->row.digits[i] >= t->space->params[i].value_count) {
            trial->row.digits[i] = 0;
            codec->in->failed = 1;
        }
    }
    atoll_codec_u8(codec, &trial->state);
    atoll_codec_u32(codec, &trial->centre);
    atoll_codec_f64(codec, &trial->time_ns);
}

static int load_trial(struct atoll_tune *t, struct atoll_codec *codec, struct atoll_err *err)
{
    struct trial trial;
    memset(&trial, 0, sizeof trial);
    trial_codec(t, &trial, codec);
    if (codec->in->failed)
        return 0;
    if (trial.state > TRIAL_FAILED || (trial.centre != ATOLL_NONE && trial.centre >= t->trial_count) ||
        !isfinite(trial.time_ns) || find(t, &trial.row) != ATOLL_NONE) {
        codec->in->failed = 1;
        return 0;
    }
    if (add(t, &trial.row, trial.centre, err))
        return -1;
    t->trials[t->trial_count - 1] = trial;
    return 0;
}

int atoll_tune_codec(struct atoll_tune *tune, struct atoll_codec *codec, struct atoll_err *err)
{
    uint32_t count = tune->trial_count;
    atoll_codec_count(codec, &count, tune->space->count + 13);
    for (uint32_t i = 0; i < count; i++)
        if (codec->out)
            trial_codec(tune, &tune->trials[i], codec);
        else if (load_trial(tune, codec, err))
            return -1;
    atoll_codec_u32(codec, &tune->best);
    atoll_codec_u32(codec, &tune->climb);
    atoll_codec_u8(codec, &tune->sampled_out);
    if (codec->in && ((tune->best != ATOLL_NONE && tune->best >= tune->trial_count) ||
                      (tune->climb != ATOLL_NONE && tune->climb >= tune->trial_count)))
        codec->in->failed = 1;
    return 0;
}
