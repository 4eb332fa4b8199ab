/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "transpose", "grid": ["cdiv(M * N, 256)"], "block": ["256"],
              "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* One thread per element; neighbours write far apart. */
extern "C" __global__ void transpose(const float *x, float *y, long long m, long long n)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < m * n)
        y[at % n * m + at / n] = x[at];
}
