/* A block counts 512 bins of a row in shared memory. */
#define ROOM 512

static __device__ long reference_blocks(const struct atoll_reference_args *a, int phase)
{
    return phase == 0 ? dim_R(a) * ((dim_BINS(a) + ROOM - 1) / ROOM) : 0;
}

static __device__ void reference_block(const struct atoll_reference_args *a, int, long block)
{
    __shared__ unsigned count[ROOM];
    const long n = dim_N(a), bins = dim_BINS(a), shares = (bins + ROOM - 1) / ROOM;
    const long row = block / shares, first = block % shares * ROOM;
    for (long b = atoll_thread(); b < ROOM; b += ATOLL_TILE_THREADS)
        count[b] = 0;
    __syncthreads();
    for (long i = atoll_thread(); i < n; i += ATOLL_TILE_THREADS) {
        long b = (long)(get_x(a, row * n + i) * (double)bins);
        b = (b < bins ? b : bins - 1) - first;
        if (b >= 0 && b < ROOM)
            atomicAdd(&count[b], 1u);
    }
    __syncthreads();
    for (long b = atoll_thread(); b < ROOM && first + b < bins; b += ATOLL_TILE_THREADS)
        put_count(a, row * bins + first + b, (double)count[b]);
    __syncthreads(); /* the next block begins with zeros */
}
