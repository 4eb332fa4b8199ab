/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "rmsnorm", "grid": ["cdiv(B, 128)"], "block": ["128"],
              "args": ["x", "gain", "y", "i64:B", "i64:N"]}]
} */
/* One thread per row. */
extern "C" __global__ void rmsnorm(const float *x, const float *gain, float *y, long long rows, long long n)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + row * n;
    float squares = 0.0f;
    for (long long j = 0; j < n; j++)
        squares += from[j] * from[j];
    float root = sqrtf(squares / (float)n + 1e-5f);
    for (long long j = 0; j < n; j++)
        y[row * n + j] = from[j] / root * gain[j];
}
