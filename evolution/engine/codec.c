/* codec.c - a field to a buffer, or back. */
#include "evolution/engine/codec.h"

void atoll_codec_u8(struct atoll_codec *c, uint8_t *v)
{
    if (c->out)
        atoll_buffer_put_u8(c->out, *v);
    else
        *v = atoll_reader_u8(c->in);
}

void atoll_codec_u32(struct atoll_codec *c, uint32_t *v)
{
    if (c->out)
        atoll_buffer_put_u32(c->out, *v);
    else
        *v = atoll_reader_u32(c->in);
}

void atoll_codec_u64(struct atoll_codec *c, uint64_t *v)
{
    if (c->out)
        atoll_buffer_put_u64(c->out, *v);
    else
        *v = atoll_reader_u64(c->in);
}

void atoll_codec_i64(struct atoll_codec *c, int64_t *v)
{
    if (c->out)
        atoll_buffer_put_i64(c->out, *v);
    else
        *v = atoll_reader_i64(c->in);
}

void atoll_codec_f64(struct atoll_codec *c, double *v)
{
    if (c->out)
        atoll_buffer_put_f64(c->out, *v);
    else
        *v = atoll_reader_f64(c->in);
}

void atoll_codec_id(struct atoll_codec *c, struct atoll_id *id)
{
    if (c->out)
        atoll_buffer_put_bytes(c->out, id->bytes, sizeof(id->bytes));
    else
        atoll_reader_bytes(c->in, id->bytes, sizeof(id->bytes));
}

void atoll_codec_random(struct atoll_codec *c, struct atoll_random *random)
{
    uint64_t key = random->key, counter = random->counter;
    atoll_codec_u64(c, &key);
    atoll_codec_u64(c, &counter);
    if (c->in)
        *random = (struct atoll_random){key, counter};
}

void atoll_codec_choice(struct atoll_codec *c, struct atoll_choice *choice)
{
    uint8_t count = (uint8_t)choice->count;
    atoll_codec_u8(c, &count);
    if (c->in && count > ATOLL_PLAN_PARAM_LIMIT) {
        c->in->failed = 1;
        count = 0;
    }
    if (c->in)
        choice->count = count;
    for (size_t i = 0; i < count; i++)
        atoll_codec_i64(c, &choice->values[i]);
}

void atoll_codec_count(struct atoll_codec *c, uint32_t *count, size_t element_bytes)
{
    if (c->out)
        atoll_buffer_put_u32(c->out, *count);
    else
        *count = atoll_reader_count(c->in, element_bytes);
}

int atoll_codec_failed(const struct atoll_codec *c)
{
    return c->out ? c->out->failed != 0 : c->in->failed;
}
