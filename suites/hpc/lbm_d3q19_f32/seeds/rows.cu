/* atoll-plan {
  "version": 1,
  "params": {"BX": [64, 32, 128, 256], "BY": [2, 1, 4], "MIN": [4, 2, 6, 1], "STREAM": [1, 0]},
  "require": ["BX * BY * MIN <= 2048"],
  "launch": [{"kernel": "relax_all", "grid": ["cdiv(X, BX)", "cdiv(Y, BY)", "Z"], "block": ["BX", "BY"],
              "args": ["f", "out", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* One thread per cell of a three-dimensional grid: three wrapped indices a direction instead of remainders, opposite
 * directions relaxed as pairs.  MIN: blocks that must fit a multiprocessor. */
static __device__ void put(real *to, real value)
{
    if (STREAM)
        __stcs(to, value);
    else
        *to = value;
}

extern "C" __global__ void __launch_bounds__(BX *BY, MIN)
    relax_all(const real *__restrict__ f, real *__restrict__ out, int depth, int height, int width)
{
    const int k = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y, i = blockIdx.z;
    if (k >= width || j >= height)
        return;
    const long long plane = (long long)height * width, cells = depth * plane;
    const long long pz[3] = {(i + 1 < depth ? i + 1 : 0) * plane, i * plane,
                             (i > 0 ? i - 1 : depth - 1) * plane};
    const int py[3] = {(j + 1 < height ? j + 1 : 0) * width, j * width, (j > 0 ? j - 1 : height - 1) * width};
    const int px[3] = {k + 1 < width ? k + 1 : 0, k, k > 0 ? k - 1 : width - 1};
    real g[19], rho = 0, uz = 0, uy = 0, ux = 0;
    int d = 0;
#pragma unroll
    for (int n = 0; n < 27; n++) {
        const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1;
        if (z && y && x)
            continue;
        g[d] = __ldcs(f + d * cells + pz[z + 1] + py[y + 1] + px[x + 1]);
        d++;
    }
    d = 0;
#pragma unroll
    for (int n = 0; n < 27; n++) {
        const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1;
        if (z && y && x)
            continue;
        rho += g[d];
        uz += (real)z * g[d];
        uy += (real)y * g[d];
        ux += (real)x * g[d];
        d++;
    }
    const real inverse = (real)1 / rho;
    uz *= inverse;
    uy *= inverse;
    ux *= inverse;
    const real still = 1 - (real)1.5 * (uz * uz + uy * uy + ux * ux), share = (real)1.25 * rho;
    real *to = out + pz[1] + py[1] + px[1];
    d = 0;
#pragma unroll
    for (int n = 0; n < 13; n++) {
        const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1, moving = (z != 0) + (y != 0) + (x != 0);
        if (moving == 3)
            continue;
        const real weight = (moving == 1 ? (real)(1.0 / 18) : (real)(1.0 / 36)) * share;
        const real along = (real)z * uz + (real)y * uy + (real)x * ux;
        const real even = still + (real)4.5 * along * along, odd = 3 * along;
        put(to + d * cells, weight * (even + odd) - (real)0.25 * g[d]);
        put(to + (18 - d) * cells, weight * (even - odd) - (real)0.25 * g[18 - d]);
        d++;
    }
    put(to + 9 * cells, (real)(1.0 / 3) * share * still - (real)0.25 * g[9]);
}
