/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "bias_gelu", "grid": ["cdiv(B * N, 256)"], "block": ["256"],
              "args": ["x", "bias", "y", "i64:B", "i64:N"]}]
} */
/* One thread per element. */
extern "C" __global__ void bias_gelu(const float *x, const float *bias, float *y, long long rows, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * n)
        return;
    float v = x[i] + bias[i % n];
    y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
}
