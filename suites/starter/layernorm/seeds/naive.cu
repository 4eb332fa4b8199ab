/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "layernorm", "grid": ["cdiv(B, 128)"], "block": ["128"],
              "args": ["x", "gain", "bias", "y", "i64:B", "i64:N"]}]
} */
/* One thread per row: mean, variance, result. */
extern "C" __global__ void layernorm(const float *x, const float *gain, const float *bias, float *y,
                                     long long rows, long long n)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + row * n;
    float sum = 0.0f;
    for (long long j = 0; j < n; j++)
        sum += from[j];
    float mean = sum / (float)n;
    float squares = 0.0f;
    for (long long j = 0; j < n; j++) {
        float difference = from[j] - mean;
        squares += difference * difference;
    }
    float root = sqrtf(squares / (float)n + 1e-5f);
    for (long long j = 0; j < n; j++)
        y[row * n + j] = (from[j] - mean) / root * gain[j] + bias[j];
}
