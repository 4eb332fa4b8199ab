/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "conv2d", "grid": ["cdiv(B * F * P * Q, 256)"], "block": ["256"],
              "args": ["x", "w", "bias", "y", "i64:B", "i64:C", "i64:F", "i64:P", "i64:Q"]}]
} */
/* One thread per element. */
#include <cuda_fp16.h>

extern "C" __global__ void conv2d(const __half *x, const __half *w, const __half *bias, __half *y,
                                  long long batches, long long channels, long long filters, long long height,
                                  long long width)
{
    long long unit = (long long)blockIdx.x * blockDim.x + threadIdx.x, plane = height * width;
    long long column = unit % width, row = unit / width % height, filter = unit / plane % filters;
    long long batch = unit / (plane * filters);
    if (batch >= batches)
        return;
    float sum = __half2float(bias[filter]);
    for (long long c = 0; c < channels; c++) {
        const __half *image = x + (batch * channels + c) * plane, *tap = w + (filter * channels + c) * 9;
        for (int t = 0; t < 9; t++) {
            long long i = row + t / 3 - 1, j = column + t % 3 - 1;
            if (i >= 0 && i < height && j >= 0 && j < width)
                sum += __half2float(image[i * width + j]) * __half2float(tap[t]);
        }
    }
    y[unit] = __float2half(sum);
}
