/* stream.c - Philox-4x32-7 in vectors: a word is the low half of a lane of 64 bits, for that is what the product of two
 * words is taken from; what stands above it does not matter until the last round. */
#include "core/task/stream.h"

#include "base/random.h"
#include "base/wide.h"
#include "core/task/init_value.h"

static void plain_words(uint64_t key, uint64_t begin, size_t count, uint32_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        struct atoll_words w = atoll_philox(key, begin + i, 0);
        ret[4 * i] = w.a;
        ret[4 * i + 1] = w.b;
        ret[4 * i + 2] = w.c;
        ret[4 * i + 3] = w.d;
    }
}

static void plain_bells(uint64_t key, uint64_t begin, size_t count, int32_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        struct atoll_words w = atoll_philox(key, begin + i, 0);
        ret[2 * i] = atoll_value_bell8(w.a, w.b);
        ret[2 * i + 1] = atoll_value_bell8(w.c, w.d);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The same text for both widths; `bits` wide, `blocks` at a time.  low, high: pairs of words a, b and c, d of each block. */
#define VECTOR_TEXT(bits, features, blocks, integer, steps)                                                  \
    struct pairs##bits {                                                                                     \
        integer low, high;                                                                                   \
    };                                                                                                       \
    ATOLL_WIDE_TARGET(features)                                                                              \
    static inline struct pairs##bits pairs##bits##_at(uint64_t key, uint64_t begin)                          \
    {                                                                                                        \
        const integer first = _mm##bits##_set1_epi64x((long long)0xd2511f53u),                               \
                      second = _mm##bits##_set1_epi64x((long long)0xcd9e8d57u);                              \
        integer counter = _mm##bits##_add_epi64(_mm##bits##_set1_epi64x((long long)begin), steps);           \
        integer a = counter, b = _mm##bits##_srli_epi64(counter, 32), c = _mm##bits##_setzero_si##bits(),    \
                d = c;                                                                                       \
        unsigned left = (unsigned)key, right = (unsigned)(key >> 32);                                        \
        for (int round = 0; round < 7; round++) {                                                            \
            integer p = _mm##bits##_mul_epu32(a, first), q = _mm##bits##_mul_epu32(c, second);               \
            integer x = _mm##bits##_xor_si##bits(b, _mm##bits##_set1_epi64x((long long)left));               \
            integer y = _mm##bits##_xor_si##bits(d, _mm##bits##_set1_epi64x((long long)right));              \
            a = _mm##bits##_xor_si##bits(_mm##bits##_srli_epi64(q, 32), x);                                  \
            b = q;                                                                                           \
            c = _mm##bits##_xor_si##bits(_mm##bits##_srli_epi64(p, 32), y);                                  \
            d = p;                                                                                           \
            left += 0x9e3779b9u;                                                                             \
            right += 0xbb67ae85u;                                                                            \
        }                                                                                                    \
        const integer mask = _mm##bits##_set1_epi64x(0xffffffffll);                                          \
        struct pairs##bits r = {                                                                             \
            _mm##bits##_or_si##bits(_mm##bits##_and_si##bits(a, mask), _mm##bits##_slli_epi64(b, 32)),       \
            _mm##bits##_or_si##bits(_mm##bits##_and_si##bits(c, mask), _mm##bits##_slli_epi64(d, 32))};      \
        return r;                                                                                            \
    }                                                                                                        \
    /* Of the bytes of both words of each pair; in the low half of its lane. */                              \
    ATOLL_WIDE_TARGET(features) static inline integer sums##bits(integer pairs)                              \
    {                                                                                                        \
        const integer bytes = _mm##bits##_set1_epi16(0xff), even = _mm##bits##_set1_epi64x(EVEN_WEIGHTS),    \
                      odd = _mm##bits##_set1_epi64x(ODD_WEIGHTS);                                            \
        integer s =                                                                                          \
            _mm##bits##_add_epi32(_mm##bits##_madd_epi16(_mm##bits##_and_si##bits(pairs, bytes), even),      \
                                  _mm##bits##_madd_epi16(_mm##bits##_srli_epi16(pairs, 8), odd));            \
        return _mm##bits##_sub_epi32(_mm##bits##_add_epi32(s, _mm##bits##_srli_epi64(s, 32)),                \
                                     _mm##bits##_set1_epi32(ATOLL_BELL8_MEAN));                              \
    }                                                                                                        \
    ATOLL_WIDE_TARGET(features)                                                                              \
    static void words##bits(uint64_t key, uint64_t begin, size_t count, uint32_t *ret)                       \
    {                                                                                                        \
        for (size_t i = 0; i < count; i += (blocks)) {                                                       \
            struct pairs##bits r = pairs##bits##_at(key, begin + i);                                         \
            put##bits(ret + 4 * i, r.low, r.high);                                                           \
        }                                                                                                    \
    }                                                                                                        \
    ATOLL_WIDE_TARGET(features)                                                                              \
    static void bells##bits(uint64_t key, uint64_t begin, size_t count, int32_t *ret)                        \
    {                                                                                                        \
        const integer mask = _mm##bits##_set1_epi64x(0xffffffffll);                                          \
        for (size_t i = 0; i < count; i += (blocks)) {                                                       \
            struct pairs##bits r = pairs##bits##_at(key, begin + i);                                         \
            _mm##bits##_storeu_si##bits(                                                                     \
                (void *)(ret + 2 * i),                                                                       \
                _mm##bits##_or_si##bits(_mm##bits##_and_si##bits(sums##bits(r.low), mask),                   \
                                        _mm##bits##_slli_epi64(sums##bits(r.high), 32)));                    \
        }                                                                                                    \
    }

/* Weights of bytes 0 and 2, 1 and 3 of both words, as 16-bit factors. */
#define WEIGHT(weights, byte, place) ((long long)((weights) >> 8 * (byte)&0xff) << (place))
#define EVEN_WEIGHTS                                                                                         \
    (WEIGHT(ATOLL_BELL_FIRST, 0, 0) | WEIGHT(ATOLL_BELL_FIRST, 2, 16) | WEIGHT(ATOLL_BELL_SECOND, 0, 32) |   \
     WEIGHT(ATOLL_BELL_SECOND, 2, 48))
#define ODD_WEIGHTS                                                                                          \
    (WEIGHT(ATOLL_BELL_FIRST, 1, 0) | WEIGHT(ATOLL_BELL_FIRST, 3, 16) | WEIGHT(ATOLL_BELL_SECOND, 1, 32) |   \
     WEIGHT(ATOLL_BELL_SECOND, 3, 48))

#define FEATURES_512 "avx512f,avx512bw,avx512dq,avx512vl"

ATOLL_WIDE_TARGET("avx2") static inline void put256(uint32_t *ret, __m256i low, __m256i high)
{
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((void *)ret, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((void *)(ret + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

ATOLL_WIDE_TARGET(FEATURES_512) static inline void put512(uint32_t *ret, __m512i low, __m512i high)
{
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                  second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512((void *)ret, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512((void *)(ret + 16), _mm512_permutex2var_epi64(low, second, high));
}

#define _mm512_set1_epi64x _mm512_set1_epi64

VECTOR_TEXT(256, "avx2", 4, __m256i, _mm256_setr_epi64x(0, 1, 2, 3))
VECTOR_TEXT(512, FEATURES_512, 8, __m512i, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

static int level(void)
{
    int wide = atoll_wide_level();
    return wide == 2 && !__builtin_cpu_supports("avx512bw") ? 1 : wide;
}

void atoll_stream_words(uint64_t key, uint64_t begin, size_t count, uint32_t *ret_words)
{
    int wide = level();
    (wide == 2 ? words512 : wide == 1 ? words256 : plain_words)(key, begin, count, ret_words);
}

void atoll_stream_bells(uint64_t key, uint64_t begin, size_t count, int32_t *ret_sums)
{
    int wide = level();
    (wide == 2 ? bells512 : wide == 1 ? bells256 : plain_bells)(key, begin, count, ret_sums);
}

#else

void atoll_stream_words(uint64_t key, uint64_t begin, size_t count, uint32_t *ret_words)
{
    plain_words(key, begin, count, ret_words);
}

void atoll_stream_bells(uint64_t key, uint64_t begin, size_t count, int32_t *ret_sums)
{
    plain_bells(key, begin, count, ret_sums);
}

#endif
