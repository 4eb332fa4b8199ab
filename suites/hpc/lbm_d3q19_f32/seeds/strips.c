/* atoll-plan {
  "version": 1,
  "params": {"COLUMNS": [64, 32, 128, 256, 512], "LANES": [8, 4, 16]},
  "launch": [{"function": "relax_all", "units": "Z * Y", "args": ["f", "out", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* A strip of cells in two passes over the directions: what streams in is copied to the nearest cache while density and
 * momentum are summed, then each direction is relaxed.  All loops over cells are vectors. */
struct strip {
    real g[19][COLUMNS], rho[COLUMNS], u[3][COLUMNS], still[COLUMNS];
};

static inline long wrap(long i, long n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* count cells from column k on of a row, each from x columns before. */
static inline void stream(real *restrict g, const real *restrict row, long k, long x, long count, long width)
{
    long c = 0;
    if (k - x < 0)
        g[c++] = row[width - 1];
    const long last = k + count - x > width ? count - 1 : count;
    for (; c < last; c++)
        g[c] = row[k + c - x];
    if (c < count)
        g[c] = row[0];
}

static inline void add(struct strip *restrict s, int d, real z, real y, real x)
{
#pragma omp simd simdlen(LANES)
    for (int c = 0; c < COLUMNS; c++) {
        s->rho[c] += s->g[d][c];
        s->u[0][c] += z * s->g[d][c];
        s->u[1][c] += y * s->g[d][c];
        s->u[2][c] += x * s->g[d][c];
    }
}

static inline void settle(struct strip *restrict s)
{
#pragma omp simd simdlen(LANES)
    for (int c = 0; c < COLUMNS; c++) {
        const real inverse = 1 / s->rho[c];
        s->u[0][c] *= inverse;
        s->u[1][c] *= inverse;
        s->u[2][c] *= inverse;
        s->still[c] =
            1 - (real)1.5 * (s->u[0][c] * s->u[0][c] + s->u[1][c] * s->u[1][c] + s->u[2][c] * s->u[2][c]);
    }
}

static inline void relax(const struct strip *restrict s, real *restrict out, int d, real z, real y, real x,
                         real weight, long count)
{
#pragma omp simd simdlen(LANES)
    for (long c = 0; c < count; c++) {
        const real along = z * s->u[0][c] + y * s->u[1][c] + x * s->u[2][c];
        const real rest = weight * s->rho[c] * (s->still[c] + along * (3 + (real)4.5 * along));
        out[c] = s->g[d][c] + (real)1.25 * (rest - s->g[d][c]);
    }
}

void relax_all(long begin, long end, const real *f, real *out, long depth, long height, long width)
{
    const long cells = depth * height * width;
    for (long row = begin; row < end; row++) {
        const long i = row / height, j = row % height;
        for (long k = 0; k < width; k += COLUMNS) {
            const long count = width - k < COLUMNS ? width - k : COLUMNS;
            struct strip s;
            for (int c = 0; c < COLUMNS; c++) {
                s.rho[c] = c < count ? 0 : 1;
                s.u[0][c] = s.u[1][c] = s.u[2][c] = 0;
            }
            for (int n = 0, d = 0; n < 27; n++) {
                const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1;
                if (z && y && x)
                    continue;
                const real *from =
                    f + d * cells + (wrap(i - z, depth) * height + wrap(j - y, height)) * width;
                stream(s.g[d], from, k, x, count, width);
                for (long c = count; c < COLUMNS; c++)
                    s.g[d][c] = 0;
                add(&s, d++, (real)z, (real)y, (real)x);
            }
            settle(&s);
            for (int n = 0, d = 0; n < 27; n++) {
                const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1,
                          moving = (z != 0) + (y != 0) + (x != 0);
                if (moving == 3)
                    continue;
                const real weight = (real)1 / (real)(moving == 0 ? 3 : moving == 1 ? 18 : 36);
                relax(&s, out + d * cells + row * width + k, d, (real)z, (real)y, (real)x, weight, count);
                d++;
            }
        }
    }
}
