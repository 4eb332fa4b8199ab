#include "evolution/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolution/array.h"

void atoll_records_fini(struct atoll_records *records)
{
    atoll_index_fini(&records->index);
    free(records->items);
    memset(records, 0, sizeof *records);
}

struct query {
    const struct atoll_records *records;
    uint32_t task;
    const struct atoll_id *id;
};

static int equal(const void *context, uint32_t position)
{
    const struct query *q = context;
    const struct atoll_record *r = &q->records->items[position];
    return r->task == q->task && atoll_id_equal(&r->id, q->id);
}

uint32_t atoll_records_find(const struct atoll_records *records, uint32_t task, const struct atoll_id *id)
{
    struct query q = {records, task, id};
    return atoll_index_find(&records->index, atoll_id_u64(id), equal, &q);
}

int atoll_records_add(struct atoll_records *records, const struct atoll_record *record, struct atoll_err *err)
{
    if (atoll_array_reserve(&records->items, &records->capacity, records->count + 1, sizeof *records->items,
                            err) ||
        atoll_index_add(&records->index, atoll_id_u64(&record->id), records->count, err))
        return -1;
    records->items[records->count++] = *record;
    return 0;
}

static void record_codec(struct atoll_record *r, struct atoll_codec *c)
{
    atoll_codec_id(c, &r->id);
    atoll_codec_choice(c, &r->choice);
    atoll_codec_u32(c, &r->task);
    atoll_codec_u32(c, &r->source);
    atoll_codec_u32(c, &r->parent);
    atoll_codec_u32(c, &r->island);
    atoll_codec_u32(c, &r->generation);
    atoll_codec_u8(c, &r->op);
    atoll_codec_u8(c, &r->state);
    atoll_codec_u8(c, &r->cell);
    atoll_codec_f64(c, &r->time_ns);
    atoll_codec_f64(c, &r->fitness);
}

static int plausible(const struct atoll_record *r, uint32_t source_count, uint32_t record_count)
{
    return r->source < source_count && (r->parent == ATOLL_NONE || r->parent < record_count) &&
           r->op < ATOLL_OPERATOR_COUNT && r->state < ATOLL_RECORD_STATE_COUNT &&
           r->cell < ATOLL_BEHAVIOUR_CELLS && isfinite(r->time_ns) && isfinite(r->fitness);
}

int atoll_records_codec(struct atoll_records *records, uint32_t source_count, struct atoll_codec *codec,
                        struct atoll_err *err)
{
    uint32_t count = records->count;
    atoll_codec_count(codec, &count, 72);
    for (uint32_t i = 0; i < count && !atoll_codec_failed(codec); i++) {
        struct atoll_record loaded;
        memset(&loaded, 0, sizeof loaded);
        record_codec(codec->out ? &records->items[i] : &loaded, codec);
        if (codec->out || codec->in->failed)
            continue;
        if (!plausible(&loaded, source_count, i))
            codec->in->failed = 1;
        else if (atoll_records_add(records, &loaded, err))
            return -1;
    }
    return 0;
}
