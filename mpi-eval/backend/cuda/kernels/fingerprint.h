/* fingerprint.h - what a fingerprint of expected values is, the same on hosts and devices (docs/adr/0024): for every block of
 * elements their sum under secret weights and the most that it may be off, and for sampled elements the value and the most that
 * it may be off; each a pair of doubles, sealed with its own word of the keystream.
 * Layer: mpi-eval, backend/cuda.  Header-only in the common subset of C11 and CUDA C++.
 *
 * Weights have random signs and sizes, so that errors cannot be arranged to cancel without the key; a group of elements has
 * another sign in each block, so that errors which repeat from block to block are seen in some of them.  Nothing that is made
 * from a weight is ever in the clear outside of registers. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_FINGERPRINT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_FINGERPRINT_H

#include "base/random.h"

#define ATOLL_PRINT_BLOCK   128   /* elements */
#define ATOLL_PRINT_GROUP   4     /* elements that share a sign */
#define ATOLL_PRINT_CHUNK   8     /* blocks that share a word of signs */
#define ATOLL_PRINT_SAMPLES 1024  /* elements that are looked at by themselves, at most */
#define ATOLL_PRINT_SLACK   1e-13 /* of the sum of magnitudes: what rounding may take from a sum */

#define ATOLL_PRINT_GROUPS (ATOLL_PRINT_BLOCK / ATOLL_PRINT_GROUP)

enum atoll_print_stream { ATOLL_PRINT_PAIRS, ATOLL_PRINT_PLACES, ATOLL_PRINT_WEIGHTS, ATOLL_PRINT_STREAMS };

/* Word `index` of a stream; salt: of the tensor. */
ATOLL_INLINE struct atoll_pair atoll_print_word(const atoll_u64 key[2], atoll_u64 salt, int stream,
                                                atoll_u64 index)
{
    return atoll_threefry(key[0], key[1], index, salt * ATOLL_PRINT_STREAMS + (atoll_u64)stream);
}

ATOLL_INLINE atoll_u64 atoll_print_blocks(atoll_u64 count)
{
    return (count + ATOLL_PRINT_BLOCK - 1) / ATOLL_PRINT_BLOCK;
}

ATOLL_INLINE atoll_u64 atoll_print_samples(atoll_u64 count)
{
    return count < ATOLL_PRINT_SAMPLES ? count : ATOLL_PRINT_SAMPLES;
}

/* Of the half word of ATOLL_PRINT_WEIGHTS that has the element's index in its block; 0.5 to 1.5, both signs. */
ATOLL_INLINE double atoll_print_weight(atoll_u64 bits)
{
    double size = 0.5 + atoll_random_unit(bits);
    return bits & 1 ? size : -size;
}

/* Of all signs: the word after the weights. */
ATOLL_INLINE atoll_u64 atoll_print_sign_key(const atoll_u64 key[2], atoll_u64 salt)
{
    return atoll_print_word(key, salt, ATOLL_PRINT_WEIGHTS, ATOLL_PRINT_BLOCK / 2).x;
}

/* Bit j is set where group `group` of block j of a chunk counts with the other sign. */
ATOLL_INLINE unsigned atoll_print_signs(atoll_u64 sign_key, atoll_u64 chunk, unsigned group)
{
    return (unsigned)(atoll_mix64(sign_key + (chunk * ATOLL_PRINT_GROUPS + group) * 0x9e3779b97f4a7c15ull) >>
                      56);
}

/* The index-th sampled element of `count`. */
ATOLL_INLINE atoll_u64 atoll_print_place(const atoll_u64 key[2], atoll_u64 salt, atoll_u64 index,
                                         atoll_u64 count)
{
    if (count <= ATOLL_PRINT_SAMPLES)
        return index;
    return atoll_random_below(atoll_print_word(key, salt, ATOLL_PRINT_PLACES, index).x, count);
}

#endif
