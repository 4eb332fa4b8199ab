/* cipher.h - keyed words of the device: the keystream of sealed expected values and position-keyed hash terms.
 * Layer: mpi-eval, backend/cuda.  Header-only in the common subset of C11 and CUDA C++.
 * Threefry-2x64 with 13 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011
 * (rotations of table 2, key schedule of Threefish; the fewest rounds that pass every statistical test there: an answer
 * is sealed against a kernel that has milliseconds).  Hash terms: the NH family (Black et al., UMAC, CRYPTO 1999) under
 * a key that a mix makes from the position, so a sum of terms does not depend on their order. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_CIPHER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_CIPHER_H

#include "base/random.h"

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

/* Key of a position. */
ATOLL_INLINE atoll_u64 atoll_position_key(atoll_u64 key, atoll_u64 position)
{
    atoll_u64 x = (key + position * 0x9e3779b97f4a7c15ull);
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

ATOLL_INLINE atoll_u64 atoll_hash_term(atoll_u64 position_key, atoll_u64 word)
{
    unsigned low = (unsigned)(word & 0xffffffffull) + (unsigned)(position_key & 0xffffffffull);
    unsigned high = (unsigned)(word >> 32) + (unsigned)(position_key >> 32);
    return (atoll_u64)low * high;
}

#endif
