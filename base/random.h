/* random.h - counter-based random numbers: value(key, counter), integer arithmetic only, the same bits on
 * host and device.  Layer: base.  Header-only in the common subset of C11, C++17 and CUDA, so that device
 * code includes it too. Generator: SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014; constants of
 * Stafford's variant 13) over key + counter * golden gamma, mixed twice with the key in between. */
#ifndef ATOLL_BASE_RANDOM_H
#define ATOLL_BASE_RANDOM_H

#ifndef ATOLL_INLINE
#define ATOLL_INLINE static inline
#endif

typedef unsigned long long atoll_u64; /* 64 bits on every platform the device compilers know */

ATOLL_INLINE atoll_u64 atoll_mix64(atoll_u64 x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

ATOLL_INLINE atoll_u64 atoll_random_at(atoll_u64 key, atoll_u64 counter)
{
    return atoll_mix64(atoll_mix64(key + counter * 0x9e3779b97f4a7c15ull) ^ key);
}

/* 0 <= result < bound, bound > 0; the bias is below bound / 2^32. */
ATOLL_INLINE atoll_u64 atoll_random_below(atoll_u64 bits, atoll_u64 bound)
{
    return bound <= 0xffffffffull ? ((bits >> 32) * bound) >> 32 : bits % bound;
}

/* [0, 1), 53 bits. */
ATOLL_INLINE double atoll_random_unit(atoll_u64 bits)
{
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Words that tell nothing of each other, nor of their key: atoll_random_at can be inverted by who sees one of its words,
 * these cannot.  Threefry-2x64 with 13 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011 (rotations of table 2, key schedule of Threefish; the fewest rounds that pass every statistical test there: they
 * keep a secret from a kernel that has milliseconds). */
struct atoll_pair {
    atoll_u64 x, y;
};

#define ATOLL_THREEFRY_ROUND(turn)                                                                           \
    p.x += p.y;                                                                                              \
    p.y = p.y << (turn) | p.y >> (64 - (turn));                                                              \
    p.y ^= p.x;
#define ATOLL_THREEFRY_FOUR(a, b, c, d, left, right, number)                                                 \
    ATOLL_THREEFRY_ROUND(a)                                                                                  \
    ATOLL_THREEFRY_ROUND(b)                                                                                  \
    ATOLL_THREEFRY_ROUND(c)                                                                                  \
    ATOLL_THREEFRY_ROUND(d)                                                                                  \
    p.x += (left);                                                                                           \
    p.y += (right) + (number);

ATOLL_INLINE struct atoll_pair atoll_threefry(atoll_u64 key0, atoll_u64 key1, atoll_u64 counter0,
                                              atoll_u64 counter1)
{
    atoll_u64 key2 = 0x1bd11bdaa9fc1a22ull ^ key0 ^ key1;
    struct atoll_pair p;
    p.x = counter0 + key0;
    p.y = counter1 + key1;
    ATOLL_THREEFRY_FOUR(16, 42, 12, 31, key1, key2, 1)
    ATOLL_THREEFRY_FOUR(16, 32, 24, 21, key2, key0, 2)
    ATOLL_THREEFRY_FOUR(16, 42, 12, 31, key0, key1, 3)
    ATOLL_THREEFRY_ROUND(16)
    return p;
}

/* Four words of 32 bits that cost a device little more than one of 64: Philox-4x32 with 7 rounds (Salmon et al., as above:
 * the fewest that pass every statistical test there). */
struct atoll_words {
    unsigned a, b, c, d;
};

/* By instruction, since compilers for devices add the zero above a factor to the product's upper half. */
ATOLL_INLINE atoll_u64 atoll_wide_product(unsigned x, unsigned y)
{
#ifdef __CUDACC__
    atoll_u64 product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(x), "r"(y));
    return product;
#else
    return (atoll_u64)x * y;
#endif
}

#define ATOLL_PHILOX_ROUND(number)                                                                           \
    product = atoll_wide_product(0xd2511f53u, w.a);                                                          \
    other = atoll_wide_product(0xcd9e8d57u, w.c);                                                            \
    w.a = (unsigned)(other >> 32) ^ w.b ^ (low + (number)*0x9e3779b9u);                                      \
    w.b = (unsigned)other;                                                                                   \
    w.c = (unsigned)(product >> 32) ^ w.d ^ (high + (number)*0xbb67ae85u);                                   \
    w.d = (unsigned)product;

ATOLL_INLINE struct atoll_words atoll_philox(atoll_u64 key, atoll_u64 counter0, atoll_u64 counter1)
{
    unsigned low = (unsigned)key, high = (unsigned)(key >> 32);
    struct atoll_words w = {(unsigned)counter0, (unsigned)(counter0 >> 32), (unsigned)counter1,
                            (unsigned)(counter1 >> 32)};
    atoll_u64 product, other;
    ATOLL_PHILOX_ROUND(0u)
    ATOLL_PHILOX_ROUND(1u)
    ATOLL_PHILOX_ROUND(2u)
    ATOLL_PHILOX_ROUND(3u)
    ATOLL_PHILOX_ROUND(4u)
    ATOLL_PHILOX_ROUND(5u)
    ATOLL_PHILOX_ROUND(6u)
    return w;
}

/* A stream for pure code: its whole state is (key, counter), saved with the state of whoever owns it. */
struct atoll_random {
    atoll_u64 key, counter;
};

ATOLL_INLINE atoll_u64 atoll_random_next(struct atoll_random *r)
{
    return atoll_random_at(r->key, r->counter++);
}

#endif
