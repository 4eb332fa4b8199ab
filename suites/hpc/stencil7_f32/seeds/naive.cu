/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "stencil", "grid": ["cdiv(Z * Y * X, 256)"], "block": ["256"],
              "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* One thread per point. */
extern "C" __global__ void stencil(const real *x, real *y, long long depth, long long height, long long width)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x, plane = height * width;
    if (at >= depth * plane)
        return;
    long long i = at / plane, j = at / width % height, k = at % width;
    real sum = 0;
    if (i > 0)
        sum += x[at - plane];
    if (i + 1 < depth)
        sum += x[at + plane];
    if (j > 0)
        sum += x[at - width];
    if (j + 1 < height)
        sum += x[at + width];
    if (k > 0)
        sum += x[at - 1];
    if (k + 1 < width)
        sum += x[at + 1];
    y[at] = (real)0.25 * x[at] + (real)0.125 * sum;
}
