/* atoll-plan {
  "version": 1,
  "launch": [{"function": "relax_all", "units": "Z * Y", "args": ["f", "out", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Cell by cell. */
static long wrap(long i, long n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

static void cell(const real *f, real *out, long i, long j, long k, long depth, long height, long width)
{
    const long cells = depth * height * width, at = (i * height + j) * width + k;
    real g[19], rho = 0, uz = 0, uy = 0, ux = 0;
    int d = 0;
    for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++) {
                if (z && y && x)
                    continue;
                g[d] = f[d * cells + (wrap(i - z, depth) * height + wrap(j - y, height)) * width +
                         wrap(k - x, width)];
                rho += g[d];
                uz += (real)z * g[d];
                uy += (real)y * g[d];
                ux += (real)x * g[d];
                d++;
            }
        }
    }
    uz /= rho;
    uy /= rho;
    ux /= rho;
    const real still = 1 - (real)1.5 * (uz * uz + uy * uy + ux * ux);
    d = 0;
    for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++) {
                const int moving = (z != 0) + (y != 0) + (x != 0);
                if (moving == 3)
                    continue;
                const real weight = (real)1 / (real)(moving == 0 ? 3 : moving == 1 ? 18 : 36);
                const real along = (real)z * uz + (real)y * uy + (real)x * ux;
                const real rest = weight * rho * (still + 3 * along + (real)4.5 * along * along);
                out[d * cells + at] = g[d] + (real)1.25 * (rest - g[d]);
                d++;
            }
        }
    }
}

void relax_all(long begin, long end, const real *f, real *out, long depth, long height, long width)
{
    for (long row = begin; row < end; row++)
        for (long k = 0; k < width; k++)
            cell(f, out, row / height, row % height, k, depth, height, width);
}
