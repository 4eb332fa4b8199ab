/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "stencil", "grid": ["cdiv(Z * Y * X, 256)"], "block": ["256"],
              "args": ["x", "y", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* One thread per point. */
extern "C" __global__ void stencil(const real *x, real *y, long long depth, long long height, long long width)
{
    const real weight[4] = {0.125f, 0.0625f, 0.03125f, 0.015625f};
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x, plane = height * width;
    if (at >= depth * plane)
        return;
    long long i = at / plane, j = at / width % height, k = at % width;
    real sum = 0;
#pragma unroll
    for (int p = -1; p <= 1; p++) {
#pragma unroll
        for (int q = -1; q <= 1; q++) {
#pragma unroll
            for (int r = -1; r <= 1; r++)
                if (i + p >= 0 && i + p < depth && j + q >= 0 && j + q < height && k + r >= 0 &&
                    k + r < width)
                    sum += weight[(p != 0) + (q != 0) + (r != 0)] * x[at + p * plane + q * width + r];
        }
    }
    y[at] = sum;
}
