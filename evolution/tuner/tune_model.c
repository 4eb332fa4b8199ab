/* Lifetime of the surrogate, its saved form, and one proposal. */
#include "evolution/tuner/tune_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_strategy.h"

#define RESULTS_MIN 3 /* correct ones, before anything can be modelled */

struct atoll_surrogate *atoll_surrogate_create(const struct atoll_space *space, struct atoll_err *err)
{
    struct atoll_surrogate *s = calloc(1, sizeof *s);
    if (!s) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a model of a template's times");
        return NULL;
    }
    s->kernel = atoll_gp_kernel_default();
    s->gp = atoll_gp_create(space, err);
    if (!s->gp) {
        free(s);
        return NULL;
    }
    return s;
}

void atoll_surrogate_destroy(struct atoll_surrogate *surrogate)
{
    if (!surrogate)
        return;
    atoll_gp_destroy(surrogate->gp);
    free(surrogate);
}

static void append(struct atoll_tune *tune, const struct atoll_surrogate_row *row)
{
    const struct atoll_trial *of = row->foreign ? &tune->hints[row->index] : &tune->trials[row->index];
    struct atoll_gp_row r = {of->point, row->noise, row->foreign};
    atoll_gp_append(tune->surrogate->gp, &r);
}

/* The trials since the refit follow its rows. */
static struct atoll_surrogate_row row_at(const struct atoll_surrogate *s, uint32_t at)
{
    if (at < s->row_count)
        return s->rows[at];
    return (struct atoll_surrogate_row){.index = s->known_trials + at - s->row_count};
}

static uint32_t rows_now(const struct atoll_tune *tune)
{
    const struct atoll_surrogate *s = tune->surrogate;
    return s->row_count + tune->trial_count - s->known_trials;
}

static int build(struct atoll_tune *tune, struct atoll_err *err)
{
    struct atoll_surrogate *s = tune->surrogate;
    if (!s->is_built) {
        atoll_surrogate_fill_pool(tune);
        if (atoll_gp_reset(s->gp, &s->kernel, s->pool, s->pool_count, err))
            return -1;
        s->is_built = 1;
    }
    for (uint32_t i = (uint32_t)atoll_gp_row_count(s->gp); i < rows_now(tune); i++) {
        struct atoll_surrogate_row row = row_at(s, i);
        append(tune, &row);
    }
    return 0;
}

static uint32_t count_correct(const struct atoll_tune *tune)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tune->trial_count; i++)
        count += tune->trials[i].state == TRIAL_CORRECT;
    return count;
}

/* A failure is 1, anything that ran is 0, what is pending is unknown; without failures nothing is asked. */
static void solve_failures(struct atoll_tune *tune, const struct atoll_surrogate_row *rows, uint32_t count)
{
    static const double none = 0;
    struct atoll_gp_target targets[ATOLL_GP_ROW_LIMIT] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        uint8_t state = rows[i].foreign ? TRIAL_PENDING : tune->trials[rows[i].index].state;
        targets[i].value = state == TRIAL_FAILED;
        targets[i].known = state == TRIAL_PENDING ? ATOLL_GP_UNKNOWN : ATOLL_GP_EXACT;
    }
    atoll_gp_solve(tune->surrogate->gp, targets, &none, &tune->surrogate->weights[1]);
}

static int propose(struct atoll_tune *tune, struct atoll_trial *ret)
{
    struct atoll_surrogate *s = tune->surrogate;
    struct atoll_surrogate_row rows[ATOLL_GP_ROW_LIMIT] = {{0}};
    uint32_t count = rows_now(tune);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = row_at(s, i);
    double incumbent = atoll_surrogate_targets(tune, rows, count, s->targets);
    atoll_gp_solve(s->gp, s->targets, NULL, &s->weights[0]);
    solve_failures(tune, rows, count);
    return atoll_surrogate_best(tune, incumbent, &ret->point);
}

int atoll_tune_model(struct atoll_tune *tune, struct atoll_random *random, struct atoll_trial *ret,
                     struct atoll_err *err)
{
    if (count_correct(tune) < (tune->hint_count ? 1 : RESULTS_MIN))
        return 0;
    if (!tune->surrogate) {
        tune->surrogate = atoll_surrogate_create(tune->space, err);
        if (!tune->surrogate)
            return -1;
    }
    if (atoll_surrogate_due(tune) && atoll_surrogate_refit(tune, random, err))
        return -1;
    return build(tune, err) ? -1 : propose(tune, ret);
}

static void row_codec(const struct atoll_tune *tune, struct atoll_surrogate_row *row,
                      struct atoll_codec *codec)
{
    atoll_codec_u32(codec, &row->index);
    atoll_codec_u8(codec, &row->foreign);
    atoll_codec_f64(codec, &row->noise);
    if (codec->in &&
        (row->foreign > 1 || row->index >= (row->foreign ? tune->hint_count : tune->trial_count) ||
         !(row->noise >= 0) || !isfinite(row->noise)))
        codec->in->failed = 1;
}

static void kernel_codec(struct atoll_gp_kernel *kernel, struct atoll_codec *codec)
{
    for (size_t i = 0; i < ATOLL_SPACE_BYTES; i++)
        atoll_codec_u8(codec, &kernel->scale[i]);
    atoll_codec_u8(codec, &kernel->noise);
    atoll_codec_u8(codec, &kernel->texture);
    atoll_codec_u8(codec, &kernel->transfer);
    if (codec->in && !atoll_gp_kernel_valid(kernel))
        codec->in->failed = 1;
}

static void centre_codec(const struct atoll_space *space, struct atoll_point *centre,
                         struct atoll_codec *codec)
{
    for (size_t i = 0; i < space->count; i++) {
        atoll_codec_u8(codec, &centre->digits[i]);
        if (codec->in && centre->digits[i] >= space->params[i].value_count)
            codec->in->failed = 1;
    }
}

void atoll_surrogate_codec(const struct atoll_tune *tune, struct atoll_surrogate *s,
                           struct atoll_codec *codec)
{
    kernel_codec(&s->kernel, codec);
    atoll_codec_u32(codec, &s->known_trials);
    atoll_codec_u32(codec, &s->known_results);
    atoll_codec_u32(codec, &s->known_hints);
    uint64_t key = s->draw.key, counter = s->draw.counter;
    atoll_codec_u64(codec, &key);
    atoll_codec_u64(codec, &counter);
    atoll_codec_u32(codec, &s->centre_count);
    atoll_codec_u32(codec, &s->row_count);
    if (codec->in) {
        s->draw = (struct atoll_random){key, counter};
        if (s->centre_count > ATOLL_SURROGATE_CENTRES || s->known_trials > tune->trial_count ||
            s->row_count > ATOLL_GP_ROW_LIMIT) {
            codec->in->failed = 1;
            return;
        }
    }
    for (uint32_t i = 0; i < s->centre_count; i++)
        centre_codec(tune->space, &s->centres[i], codec);
    for (uint32_t i = 0; i < s->row_count; i++)
        row_codec(tune, &s->rows[i], codec);
}
