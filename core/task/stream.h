/* stream.h - many words of the stream that values of draws are made of (init_value.h), and sums of their bytes, at once.
 * Layer: core.  Pure; any thread. */
#ifndef ATOLL_CORE_TASK_STREAM_H
#define ATOLL_CORE_TASK_STREAM_H

#include <stddef.h>
#include <stdint.h>

/* Blocks are made in so many at a time: what lies behind `count` of them is overwritten. */
#define ATOLL_STREAM_AHEAD 8

/* Words of blocks begin .. begin + count - 1; room for 4 * (count + ATOLL_STREAM_AHEAD) words. */
void atoll_stream_words(uint64_t key, uint64_t begin, size_t count, uint32_t *ret_words);
/* atoll_value_bell8 of both halves of each block; room for 2 * (count + ATOLL_STREAM_AHEAD) sums. */
void atoll_stream_bells(uint64_t key, uint64_t begin, size_t count, int32_t *ret_sums);

#endif
