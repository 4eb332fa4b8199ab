#include <string.h>

#include "base/array.h"
#include "evolution/tuner/tune_model.h"

#define NUMBERS_BYTES 30 /* of a trial, besides its digits */

static int load_trial(struct atoll_tune *t, struct atoll_codec *codec, struct atoll_err *err)
{
    struct atoll_trial trial;
    memset(&trial, 0, sizeof trial);
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
    memset(&hint, 0, sizeof hint);
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

static int model_codec(struct atoll_tune *t, struct atoll_codec *codec, struct atoll_err *err)
{
    uint8_t has_model = t->surrogate != NULL;
    atoll_codec_u8(codec, &has_model);
    if (codec->in && has_model && !codec->in->failed) {
        t->surrogate = atoll_surrogate_create(t->space, err);
        if (!t->surrogate)
            return -1;
    }
    if (t->surrogate)
        atoll_surrogate_codec(t, t->surrogate, codec);
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
        list_codec(tune, tune->hints, tune->hint_count, load_hint, codec, err))
        return -1;
    atoll_codec_u32(codec, &tune->best);
    atoll_codec_u32(codec, &tune->climb);
    atoll_codec_u8(codec, &tune->exhausted);
    check_trial(tune, tune->best, codec);
    check_trial(tune, tune->climb, codec);
    return model_codec(tune, codec, err);
}
