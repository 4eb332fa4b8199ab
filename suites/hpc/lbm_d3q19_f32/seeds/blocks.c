/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [16, 4, 8, 32, 64], "LANES": [8, 4, 16]},
  "launch": [{"function": "relax_all", "units": "Z * Y", "args": ["f", "out", "i64:Z", "i64:Y", "i64:X"]}]
} */
/* Some rows at a time and direction by direction, twice: first density and momenta are summed, then each direction is relaxed.
 * So memory sees one long stream instead of nineteen short ones, and the second look finds its values in a cache. */
#define CELLS 4096 /* of a block at most, as a row may be long */

struct block {
    real rho[CELLS], u[3][CELLS], still[CELLS];
};

static inline long wrap(long i, long n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

static inline void add_one(struct block *restrict b, long c, real g, real z, real y, real x)
{
    b->rho[c] += g;
    b->u[0][c] += z * g;
    b->u[1][c] += y * g;
    b->u[2][c] += x * g;
}

/* Cells at to count on; g: their values. */
static inline void add(struct block *restrict b, long at, const real *restrict g, long count, real z, real y,
                       real x)
{
#pragma omp simd simdlen(LANES)
    for (long c = 0; c < count; c++)
        add_one(b, at + c, g[c], z, y, x);
}

static inline real relaxed(const struct block *restrict b, long c, real g, real z, real y, real x,
                           real weight)
{
    const real along = z * b->u[0][c] + y * b->u[1][c] + x * b->u[2][c];
    const real rest = weight * b->rho[c] * (b->still[c] + along * (3 + (real)4.5 * along));
    return g + (real)1.25 * (rest - g);
}

static inline void relax(const struct block *restrict b, long at, const real *restrict g, real *restrict out,
                         long count, real z, real y, real x, real weight)
{
#pragma omp simd simdlen(LANES)
    for (long c = 0; c < count; c++)
        out[c] = relaxed(b, at + c, g[c], z, y, x, weight);
}

static inline void settle(struct block *restrict b, long count)
{
#pragma omp simd simdlen(LANES)
    for (long c = 0; c < count; c++) {
        const real inverse = 1 / b->rho[c];
        b->u[0][c] *= inverse;
        b->u[1][c] *= inverse;
        b->u[2][c] *= inverse;
        b->still[c] =
            1 - (real)1.5 * (b->u[0][c] * b->u[0][c] + b->u[1][c] * b->u[1][c] + b->u[2][c] * b->u[2][c]);
    }
}

/* Columns first to last of rows begin to end. */
static void relax_block(const real *restrict f, real *restrict out, long begin, long end, long first,
                        long last, long depth, long height, long width)
{
    const long cells = depth * height * width, columns = last - first;
    struct block b;
    for (long c = 0; c < (end - begin) * columns; c++)
        b.rho[c] = b.u[0][c] = b.u[1][c] = b.u[2][c] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int n = 0, d = 0; n < 27; n++) {
            const int z = n / 9 - 1, y = n / 3 % 3 - 1, x = n % 3 - 1,
                      moving = (z != 0) + (y != 0) + (x != 0);
            if (moving == 3)
                continue;
            const real weight = (real)1 / (real)(moving == 0 ? 3 : moving == 1 ? 18 : 36);
            for (long row = begin; row < end; row++) {
                const long i = row / height, j = row % height, at = (row - begin) * columns - first;
                const real *from =
                    f + d * cells + (wrap(i - z, depth) * height + wrap(j - y, height)) * width;
                real *to = out + d * cells + row * width;
                /* The one column whose neighbour is at the row's other end. */
                const long edge = x > 0 ? 0 : width - 1, low = first + (x > 0 && first == 0),
                           high = last - (x < 0 && last == width);
                const int has_edge = x && edge >= first && edge < last;
                const real g = from[wrap(edge - x, width)];
                if (pass == 0) {
                    if (has_edge)
                        add_one(&b, at + edge, g, (real)z, (real)y, (real)x);
                    if (high > low)
                        add(&b, at + low, from + low - x, high - low, (real)z, (real)y, (real)x);
                } else {
                    if (has_edge)
                        to[edge] = relaxed(&b, at + edge, g, (real)z, (real)y, (real)x, weight);
                    if (high > low)
                        relax(&b, at + low, from + low - x, to + low, high - low, (real)z, (real)y, (real)x,
                              weight);
                }
            }
            d++;
        }
        if (pass == 0)
            settle(&b, (end - begin) * columns);
    }
}

void relax_all(long begin, long end, const real *f, real *out, long depth, long height, long width)
{
    const long columns = width < CELLS ? width : CELLS, most = CELLS / columns,
               rows = ROWS < most ? ROWS : most;
    for (long row = begin; row < end; row += rows)
        for (long k = 0; k < width; k += columns)
            relax_block(f, out, row, row + rows < end ? row + rows : end, k,
                        k + columns < width ? k + columns : width, depth, height, width);
}
