/* known_answer.h - what a thread of the known-answer kernel computes, the same on hosts and devices: integer mixes,
 * and fused products of float and double that are exact by IEEE 754.
 * Layer: mpi-eval, backend/cuda.  Header-only in the common subset of C11 and CUDA C++. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_KNOWN_ANSWER_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_KNOWN_ANSWER_H

#include "core/task/dtype_value.h"

#define ATOLL_KNOWN_ANSWER_THREADS 256 /* of a block; one block per multiprocessor */
#define ATOLL_ANSWER_ROUNDS        24

#ifdef __CUDACC__
#define ATOLL_FMA(x, y, z)  __fma_rn(x, y, z)
#define ATOLL_FMAF(x, y, z) __fmaf_rn(x, y, z)
#else
#define ATOLL_FMA(x, y, z)  __builtin_fma(x, y, z)
#define ATOLL_FMAF(x, y, z) __builtin_fmaf(x, y, z)
#endif

ATOLL_INLINE atoll_u64 atoll_known_answer_value(atoll_u64 key, atoll_u64 thread)
{
    atoll_u64 x = atoll_random_at(key, thread);
    float f = (float)(int)(x & 0xffff) * (1.0f / 65536.0f);
    double d = atoll_random_unit(x);
    for (int i = 0; i < ATOLL_ANSWER_ROUNDS; i++) {
        x = atoll_mix64(x + (atoll_u64)i);
        f = ATOLL_FMAF(f, 0.7182818f, (float)(int)(x & 0xff) * (1.0f / 1024.0f));
        d = ATOLL_FMA(d, 0.57721566490153286, (double)(int)(x & 0xff) * (1.0 / 1024.0));
    }
    return x ^ atoll_bits_of(d) ^ (atoll_u64)atoll_float_bits(f) << 16;
}

/* Two values meet: through shared memory, then through device memory. */
ATOLL_INLINE atoll_u64 atoll_known_answer_meet(atoll_u64 own, atoll_u64 other)
{
    return atoll_mix64(own + (other << 1));
}

ATOLL_INLINE unsigned atoll_known_answer_partner(unsigned thread, unsigned turn)
{
    return (thread * 7 + 3 + turn) % ATOLL_KNOWN_ANSWER_THREADS;
}

#endif
