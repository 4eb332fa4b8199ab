/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "norms", "grid": ["cdiv(B, 128)"], "block": ["128"], "args": ["x", "w", "y", "i64:B", "i64:N"]}]
} */
extern "C" __global__ void norms(const float *x, const float *w, float *y, long long rows, long long n)
{
    long long b = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= rows)
        return;
    double sum = 0.0;
    for (long long j = 0; j < n; j++)
        sum += (double)w[j] * x[b * n + j] * x[b * n + j];
    y[b] = (float)sqrt(sum);
}
