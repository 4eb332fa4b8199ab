/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "softmax", "grid": ["cdiv(B, 128)"], "block": ["128"], "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* One thread per row: maximum, powers and their sum, quotient. */
extern "C" __global__ void softmax(const float *x, float *y, long long rows, long long n)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + row * n;
    float *to = y + row * n;
    float top = from[0];
    for (long long j = 1; j < n; j++)
        top = fmaxf(top, from[j]);
    float sum = 0.0f;
    for (long long j = 0; j < n; j++) {
        to[j] = expf(from[j] - top);
        sum += to[j];
    }
    for (long long j = 0; j < n; j++)
        to[j] /= sum;
}
