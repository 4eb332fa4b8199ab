/* atoll-plan {
  "version": 1,
  "params": {"CHUNK": [65536, 16384, 32768, 262144], "BLOCK": [512, 256, 1024], "COPIES": [2, 1, 4]},
  "require": ["COPIES * BINS * 4 <= 98304"],
  "launch": [{"kernel": "clear", "grid": ["cdiv(R * BINS, 256)"], "block": ["256"], "args": ["count", "i64:R * BINS"]},
             {"kernel": "histogram", "grid": ["R * cdiv(N, CHUNK)"], "block": ["BLOCK"], "shared_bytes": "4 * COPIES * BINS",
              "args": ["x", "count", "i64:N", "i32:BINS"]}]
} */
/* A block counts a chunk of one row in COPIES tables in shared memory, a warp in one of them, and adds what it counted to
 * the result. */
extern "C" __global__ void clear(int *count, long long all)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < all)
        count[i] = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    histogram(const real *__restrict__ x, int *__restrict__ count, long long n, int bins)
{
    extern __shared__ int tables[];
    const long long chunks = (n + CHUNK - 1) / CHUNK, row = blockIdx.x / chunks,
                    first = blockIdx.x % chunks * CHUNK;
    const long long last = first + CHUNK < n ? first + CHUNK : n;
    int *own = tables + threadIdx.x / 32 % COPIES * bins;
    for (int b = threadIdx.x; b < COPIES * bins; b += BLOCK)
        tables[b] = 0;
    __syncthreads();
    long long i = first + threadIdx.x;
    for (; i + 3 * BLOCK < last; i += 4 * BLOCK) {
        real v[4];
#pragma unroll
        for (int u = 0; u < 4; u++)
            v[u] = __ldcs(x + row * n + i + u * BLOCK);
#pragma unroll
        for (int u = 0; u < 4; u++)
            atomicAdd(own + min((int)(v[u] * (real)bins), bins - 1), 1);
    }
    for (; i < last; i += BLOCK)
        atomicAdd(own + min((int)(x[row * n + i] * (real)bins), bins - 1), 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += BLOCK) {
        int sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++)
            sum += tables[c * bins + b];
        if (sum)
            atomicAdd(count + row * bins + b, sum);
    }
}
