/* atoll-plan {
  "version": 1,
  "params": {"BX": [64, 32, 128], "BY": [4, 2, 8], "RUN": [32, 8, 16, 64], "STREAM": [1, 0]},
  "launch": [{"kernel": "stencil", "grid": ["cdiv(X, BX)", "cdiv(Y, BY)", "cdiv(Z, RUN)"], "block": ["BX", "BY"],
              "args": ["x", "y", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* A block marches through RUN planes: the points above and below stay in registers, those beside in a shared tile with
 * a rim.  STREAM: results go past the caches. */
extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil(const real *__restrict__ x, real *__restrict__ y, int depth, int height, int width)
{
    __shared__ real tile[2][BY + 2][BX + 2];
    const int k = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y, first = blockIdx.z * RUN;
    const int column = threadIdx.x + 1, row = threadIdx.y + 1, inside = k < width && j < height;
    const long long plane = (long long)height * width;
    const real *from = x + first * plane + (long long)j * width + k;
    real up = inside && first > 0 ? from[-plane] : (real)0, here = inside ? from[0] : (real)0;
    for (int r = 0; r < RUN && first + r < depth; r++, from += plane) {
        real(*now)[BX + 2] = tile[r & 1];
        const real down = inside && first + r + 1 < depth ? from[plane] : (real)0;
        now[row][column] = here;
        if (threadIdx.x == 0)
            now[row][0] = inside && k > 0 ? from[-1] : (real)0;
        if (threadIdx.x == BX - 1)
            now[row][BX + 1] = k + 1 < width && j < height ? from[1] : (real)0;
        if (threadIdx.y == 0)
            now[0][column] = inside && j > 0 ? from[-width] : (real)0;
        if (threadIdx.y == BY - 1)
            now[BY + 1][column] = k < width && j + 1 < height ? from[width] : (real)0;
        __syncthreads();
        const real sides =
            (now[row][column - 1] + now[row][column + 1]) + (now[row - 1][column] + now[row + 1][column]);
        const real value = (real)0.25 * here + (real)0.125 * ((up + down) + sides);
        if (inside) {
            real *to = y + (first + r) * plane + (long long)j * width + k;
            if (STREAM)
                __stcs(to, value);
            else
                *to = value;
        }
        up = here;
        here = down;
    }
}
