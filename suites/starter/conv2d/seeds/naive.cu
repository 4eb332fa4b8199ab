/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "conv2d", "grid": ["cdiv(F * P * Q, 256)"], "block": ["256"],
              "args": ["x", "w", "y", "i64:C", "i64:F", "i64:P", "i64:Q", "i64:R", "i64:S"]}]
} */
/* One thread per element of the result. */
extern "C" __global__ void conv2d(const float *x, const float *w, float *y, long long channels,
                                  long long filters, long long p, long long q, long long r, long long s)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long column = at % q, row = at / q % p, f = at / (p * q);
    long long height = p + r - 1, width = q + s - 1;
    if (f >= filters)
        return;
    float sum = 0.0f;
    for (long long c = 0; c < channels; c++) {
        for (long long i = 0; i < r; i++) {
            for (long long j = 0; j < s; j++)
                sum +=
                    x[(c * height + row + i) * width + column + j] * w[((f * channels + c) * r + i) * s + j];
        }
    }
    y[at] = sum;
}
