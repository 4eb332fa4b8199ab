/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "silu", "grid": ["cdiv(M * N, 256)"], "block": ["256"], "args": ["x", "y", "i64:M * N"]}]
} */
/* One thread per element. */
extern "C" __global__ void silu(const float *x, float *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = x[i] / (1.0f + expf(-x[i]));
}
