/* Places of threads, loads and sums that several kernels share. */
#define ATOLL_KERNEL extern "C" __global__ void
#define ATOLL_BLOCK  256

typedef unsigned char atoll_byte;

ATOLL_INLINE atoll_u64 thread_index()
{
    return (atoll_u64)blockIdx.x * blockDim.x + threadIdx.x;
}

ATOLL_INLINE atoll_u64 thread_count()
{
    return (atoll_u64)gridDim.x * blockDim.x;
}

/* Sum over the block, at thread 0. */
template <typename T> static __device__ T block_sum(T value)
{
    __shared__ T parts[32];
    for (int command = 16; command; command >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, command);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < (blockDim.x + 31) / 32; i++)
            value += parts[i];
    return value;
}

ATOLL_INLINE unsigned element_bytes(int dtype)
{
    return dtype == ATOLL_F64 || dtype == ATOLL_I64                          ? 8
           : dtype == ATOLL_F32 || dtype == ATOLL_I32                        ? 4
           : dtype == ATOLL_F16 || dtype == ATOLL_BF16 || dtype == ATOLL_I16 ? 2
                                                                             : 1;
}

ATOLL_INLINE void element_put(atoll_u64 base, atoll_u64 index, unsigned bytes, atoll_u64 bits)
{
    if (bytes == 8)
        ((atoll_u64 *)base)[index] = bits;
    else if (bytes == 4)
        ((unsigned *)base)[index] = (unsigned)bits;
    else if (bytes == 2)
        ((unsigned short *)base)[index] = (unsigned short)bits;
    else
        ((atoll_byte *)base)[index] = (atoll_byte)bits;
}

ATOLL_INLINE atoll_u64 element_get(atoll_u64 base, atoll_u64 index, unsigned bytes)
{
    if (bytes == 8)
        return ((const atoll_u64 *)base)[index];
    if (bytes == 4)
        return ((const unsigned *)base)[index];
    if (bytes == 2)
        return ((const unsigned short *)base)[index];
    return ((const atoll_byte *)base)[index];
}

/* Word `index` of 8 bytes at any address: two aligned words, shifted together; the second one is not touched where the
 * first one has it all. */
ATOLL_INLINE atoll_u64 word_get(atoll_u64 base, atoll_u64 index)
{
    unsigned shift = (unsigned)(base & 7) * 8;
    const atoll_u64 *words = (const atoll_u64 *)(base & ~7ull) + index;
    if (!shift)
        return *words;
    return words[0] >> shift | words[1] << (64 - shift);
}

ATOLL_INLINE void word_put(atoll_u64 base, atoll_u64 index, atoll_u64 word)
{
    if ((base & 7) == 0) {
        ((atoll_u64 *)base)[index] = word;
        return;
    }
    for (unsigned i = 0; i < 8; i++)
        ((atoll_byte *)base)[index * 8 + i] = (atoll_byte)(word >> 8 * i);
}
