/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "conv1d", "grid": ["cdiv(B * F * L, 256)"], "block": ["256"],
              "args": ["x", "w", "bias", "y", "i64:B", "i64:C", "i64:F", "i64:L"]}]
} */
/* One thread per element. */
extern "C" __global__ void conv1d(const float *x, const float *w, const float *bias, float *y,
                                  long long batches, long long channels, long long filters, long long length)
{
    long long unit = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long at = unit % length, filter = unit / length % filters, batch = unit / (length * filters);
    if (batch >= batches)
        return;
    float sum = bias[filter];
    for (long long c = 0; c < channels; c++) {
        const float *row = x + (batch * channels + c) * length, *tap = w + (filter * channels + c) * 3;
        for (int t = 0; t < 3; t++)
            if (at + t >= 1 && at + t <= length)
                sum += row[at + t - 1] * tap[t];
    }
    y[unit] = sum;
}
