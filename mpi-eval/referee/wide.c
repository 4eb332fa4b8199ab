#include "mpi-eval/referee/wide.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE_BYTES 64u /* of every cache */

#if defined(__x86_64__)

/* Past the caches: what is written is flushed anyway, and the lines need not be read first. */
void atoll_wide_copy(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    size_t head = (LINE_BYTES - (uintptr_t)t % LINE_BYTES) % LINE_BYTES;
    head = head < bytes ? head : bytes;
    memcpy(t, f, head);
    for (; head + LINE_BYTES <= bytes; head += LINE_BYTES) {
        __m128i line[4];
        memcpy(line, f + head, sizeof(line));
        for (int k = 0; k < 4; k++)
            _mm_stream_si128((__m128i *)(void *)(t + head) + k, line[k]);
    }
    memcpy(t + head, f + head, bytes - head);
    _mm_sfence();
}

#else

void atoll_wide_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#endif
