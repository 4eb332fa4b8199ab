/* individual.c - candidates by task and identity. */
#include "evolution/engine/individual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void atoll_individuals_fini(struct atoll_individuals *individuals)
{
    atoll_index_fini(&individuals->index);
    free(individuals->items);
    memset(individuals, 0, sizeof(*individuals));
}

struct query {
    const struct atoll_individuals *individuals;
    uint32_t task;
    const struct atoll_id *id;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    const struct atoll_individual *r = &q->individuals->items[position];
    return r->task == q->task && atoll_id_equal(&r->id, q->id);
}

uint32_t atoll_individuals_find(const struct atoll_individuals *individuals, uint32_t task,
                                const struct atoll_id *id)
{
    struct query q = {individuals, task, id};
    return atoll_index_find(&individuals->index, atoll_id_u64(id), equal, &q);
}

int atoll_individuals_add(struct atoll_individuals *individuals, const struct atoll_individual *individual,
                          struct atoll_err *err)
{
    if (atoll_array_reserve(&individuals->items, &individuals->capacity, individuals->count + 1,
                            sizeof(*individuals->items), err) ||
        atoll_index_add(&individuals->index, atoll_id_u64(&individual->id), individuals->count, err)) {
        return -1;
    }
    individuals->items[individuals->count++] = *individual;
    return 0;
}

static void individual_codec(struct atoll_individual *r, struct atoll_codec *c)
{
    atoll_codec_id(c, &r->id);
    atoll_codec_choice(c, &r->choice);
    atoll_codec_u32(c, &r->task);
    atoll_codec_u32(c, &r->source);
    atoll_codec_u32(c, &r->parent);
    atoll_codec_u64(c, &r->ask);
    atoll_codec_u32(c, &r->prompt);
    atoll_codec_u32(c, &r->island);
    atoll_codec_u32(c, &r->generation);
    atoll_codec_u8(c, &r->op);
    atoll_codec_u8(c, &r->state);
    atoll_codec_u8(c, &r->cell);
    atoll_codec_u8(c, &r->finalist);
    atoll_codec_f64(c, &r->time_ns);
    atoll_codec_f64(c, &r->lo_ns);
    atoll_codec_f64(c, &r->hi_ns);
    atoll_codec_f64(c, &r->fitness);
    atoll_codec_u64(c, &r->issues);
}

int atoll_individuals_codec(struct atoll_individuals *individuals, uint32_t source_count,
                            struct atoll_codec *codec, struct atoll_err *err)
{
    uint32_t count = individuals->count;
    atoll_codec_count(codec, &count, 92);
    for (uint32_t i = 0; i < count && !atoll_codec_failed(codec); i++) {
        struct atoll_individual loaded;
        memset(&loaded, 0, sizeof(loaded));
        individual_codec(codec->out ? &individuals->items[i] : &loaded, codec);
        if (codec->out || codec->in->failed)
            continue;
        if (loaded.source >= source_count || (loaded.parent != ATOLL_NONE && loaded.parent >= i) ||
            loaded.op >= ATOLL_OPERATOR_COUNT || loaded.state >= ATOLL_INDIVIDUAL_STATE_COUNT ||
            loaded.cell >= ATOLL_BEHAVIOUR_CELLS || loaded.finalist > 1 || !isfinite(loaded.time_ns) ||
            !isfinite(loaded.lo_ns) || !isfinite(loaded.hi_ns) || !isfinite(loaded.fitness)) {
            codec->in->failed = 1;
        } else if (atoll_individuals_add(individuals, &loaded, err)) {
            return -1;
        }
    }
    return 0;
}
