/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "stencil", "grid": ["cdiv(H * W, 256)"], "block": ["256"],
              "args": ["x", "y", "i64:H", "i64:W"]}]
} */
/* One thread per point. */
extern "C" __global__ void stencil(const float *x, float *y, long long height, long long width)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= height * width)
        return;
    long long i = at / width, j = at % width;
    float sum = 4.0f * x[at];
    if (i > 0)
        sum += x[at - width];
    if (i + 1 < height)
        sum += x[at + width];
    if (j > 0)
        sum += x[at - 1];
    if (j + 1 < width)
        sum += x[at + 1];
    y[at] = sum / 8.0f;
}
