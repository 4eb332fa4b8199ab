/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "relax_all", "grid": ["cdiv(Z * Y * X, 128)"], "block": ["128"],
              "args": ["f", "out", "i32:Z", "i32:Y", "i32:X"]}]
} */
/* One thread per cell, all loops over directions unrolled. */
extern "C" __global__ void relax_all(const real *f, real *out, int depth, int height, int width)
{
    const long long cells = (long long)depth * height * width,
                    at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cells)
        return;
    const int i = at / ((long long)height * width), j = at / width % height, k = at % width;
    real g[19], rho = 0, uz = 0, uy = 0, ux = 0;
    int d = 0;
#pragma unroll
    for (int n = 0; n < 27; n++) {
        const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1;
        if (z && y && x)
            continue;
        const int p = (i - z + depth) % depth, q = (j - y + height) % height, r = (k - x + width) % width;
        g[d] = f[d * cells + ((long long)p * height + q) * width + r];
        rho += g[d];
        uz += (real)z * g[d];
        uy += (real)y * g[d];
        ux += (real)x * g[d];
        d++;
    }
    uz /= rho;
    uy /= rho;
    ux /= rho;
    const real still = 1 - (real)1.5 * (uz * uz + uy * uy + ux * ux);
    d = 0;
#pragma unroll
    for (int n = 0; n < 27; n++) {
        const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1, moving = (z != 0) + (y != 0) + (x != 0);
        if (moving == 3)
            continue;
        const real weight = moving == 0 ? (real)(1.0 / 3) : moving == 1 ? (real)(1.0 / 18) : (real)(1.0 / 36);
        const real along = (real)z * uz + (real)y * uy + (real)x * ux;
        const real rest = weight * rho * (still + 3 * along + (real)4.5 * along * along);
        out[d * cells + at] = g[d] + (real)1.25 * (rest - g[d]);
        d++;
    }
}
