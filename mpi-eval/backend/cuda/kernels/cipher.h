/* cipher.h - keyed words of the device: the keystream of sealed expected values and position-keyed hash terms.
 * Layer: mpi-eval, backend/cuda.  Header-only in the common subset of C11 and CUDA C++.
 * The keystream is base/random.h's.  Hash terms: the NH family (Black et al., UMAC, CRYPTO 1999) under
 * a key that a mix makes from the position, so a sum of terms does not depend on their order. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_CIPHER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_CIPHER_H

#include "base/random.h"

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
