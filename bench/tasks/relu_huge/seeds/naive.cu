/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "relu", "grid": ["cdiv(M * N, 256)"], "block": ["256"], "args": ["x", "y", "i64:M * N"]}]
} */
/* One thread per element. */
extern "C" __global__ void relu(const float *x, float *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
