/* atoll-plan {
  "version": 1,
  "params": {"BX": [64, 32, 128], "BY": [4, 2, 8], "RUN": [32, 8, 16, 64], "STREAM": [1, 0]},
  "launch": [{"kernel": "stencil", "grid": ["cdiv(X, BX)", "cdiv(Y, BY)", "cdiv(Z, RUN)"], "block": ["BX", "BY"],
              "args": ["x", "y", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* The weights are products: each plane is summed once over its nine points in a shared tile with a rim, and a point is
 * the weighted sum of three such planes, two of which stay in registers. */
static __device__ real point(const real *x, int i, int j, int k, int depth, int height, int width)
{
    return i >= 0 && i < depth && j >= 0 && j < height && k >= 0 && k < width
               ? x[((long long)i * height + j) * width + k]
               : (real)0;
}

/* Nine points of plane i around the thread's. */
static __device__ real plane_sum(real (*tile)[BX + 2], const real *x, int i, int depth, int height, int width)
{
    const int left = blockIdx.x * BX - 1, top = blockIdx.y * BY - 1;
    __syncthreads();
    for (int t = threadIdx.y * BX + threadIdx.x; t < (BX + 2) * (BY + 2); t += BX * BY)
        tile[t / (BX + 2)][t % (BX + 2)] =
            point(x, i, top + t / (BX + 2), left + t % (BX + 2), depth, height, width);
    __syncthreads();
    real rows[3];
#pragma unroll
    for (int q = 0; q < 3; q++) {
        const real *row = &tile[threadIdx.y + q][threadIdx.x];
        rows[q] = row[1] + (real)0.5 * (row[0] + row[2]);
    }
    return (real)0.125 * (rows[1] + (real)0.5 * (rows[0] + rows[2]));
}

extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil(const real *__restrict__ x, real *__restrict__ y, int depth, int height, int width)
{
    __shared__ real tile[BY + 2][BX + 2];
    const int k = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y, first = blockIdx.z * RUN;
    real up = plane_sum(tile, x, first - 1, depth, height, width),
         here = plane_sum(tile, x, first, depth, height, width);
    for (int i = first; i < first + RUN && i < depth; i++) {
        const real down = plane_sum(tile, x, i + 1, depth, height, width),
                   value = here + (real)0.5 * (up + down);
        if (j < height && k < width) {
            real *to = y + ((long long)i * height + j) * width + k;
            if (STREAM)
                __stcs(to, value);
            else
                *to = value;
        }
        up = here;
        here = down;
    }
}
