/* codec.h - one description of a layout for both directions: the same function writes a field to a buffer or
 * reads it back, so what is saved and what is loaded cannot drift apart. Layer: evolution.  Failures are
 * sticky, in the buffer or the reader; check once at the end.  While saving, a codec reads its arguments
 * only. */
#ifndef ATOLL_EVOLUTION_ENGINE_CODEC_H
#define ATOLL_EVOLUTION_ENGINE_CODEC_H

#include "base/buffer.h"
#include "base/id.h"
#include "base/random.h"
#include "core/plan/plan.h"

struct atoll_codec {
    struct atoll_buffer *out; /* saving */
    struct atoll_reader *in;  /* loading; exactly one of the two is set */
};

void atoll_codec_u8(struct atoll_codec *c, uint8_t *v);
void atoll_codec_u32(struct atoll_codec *c, uint32_t *v);
void atoll_codec_u64(struct atoll_codec *c, uint64_t *v);
void atoll_codec_i64(struct atoll_codec *c, int64_t *v);
void atoll_codec_f64(struct atoll_codec *c, double *v);
void atoll_codec_id(struct atoll_codec *c, struct atoll_id *id);
void atoll_codec_random(struct atoll_codec *c, struct atoll_random *random);
void atoll_codec_choice(struct atoll_codec *c, struct atoll_choice *choice);
/* How many things of at least element_bytes follow. */
void atoll_codec_count(struct atoll_codec *c, uint32_t *count, size_t element_bytes);
int atoll_codec_failed(const struct atoll_codec *c);

#endif
