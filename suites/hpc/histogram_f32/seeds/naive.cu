/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "clear", "grid": ["cdiv(R * BINS, 256)"], "block": ["256"], "args": ["count", "i64:R * BINS"]},
             {"kernel": "histogram", "grid": ["cdiv(R * N, 256)"], "block": ["256"],
              "args": ["x", "count", "i64:R * N", "i64:N", "i32:BINS"]}]
} */
/* One thread per value, counting in memory. */
extern "C" __global__ void clear(int *count, long long all)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < all)
        count[i] = 0;
}

extern "C" __global__ void histogram(const real *x, int *count, long long all, long long n, int bins)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < all)
        atomicAdd(count + i / n * bins + min((int)(x[i] * (real)bins), bins - 1), 1);
}
