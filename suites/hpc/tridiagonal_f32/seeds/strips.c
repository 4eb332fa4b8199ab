/* atoll-plan {
  "version": 1,
  "params": {"STRIP": [64, 16, 32, 128, 256], "LANES": [8, 4, 16]},
  "scratch": {"c": "8 * B * N"},
  "launch": [{"function": "solve", "units": "cdiv(B, STRIP)",
              "args": ["lower", "diag", "upper", "rhs", "x", "c", "i64:B", "i64:N"]}]
} */
/* STRIP systems side by side: each row of the elimination is a loop over vectors; the strip's factors stand together. */
static inline void down(const real *restrict lower, const real *restrict diag, const real *restrict upper,
                        const real *restrict rhs, const real *restrict c0, const real *restrict x0,
                        real *restrict c1, real *restrict x1, long count)
{
#pragma omp simd simdlen(LANES)
    for (long s = 0; s < count; s++) {
        const real inverse = 1 / (diag[s] - lower[s] * c0[s]);
        c1[s] = upper[s] * inverse;
        x1[s] = (rhs[s] - lower[s] * x0[s]) * inverse;
    }
}

static inline void up(const real *restrict c, const real *restrict next, real *restrict x, long count)
{
#pragma omp simd simdlen(LANES)
    for (long s = 0; s < count; s++)
        x[s] -= c[s] * next[s];
}

void solve(long begin, long end, const real *lower, const real *diag, const real *upper, const real *rhs,
           real *x, real *scratch, long systems, long n)
{
    static const real zero[STRIP];
    for (long u = begin; u < end; u++) {
        const long first = u * STRIP, count = systems - first < STRIP ? systems - first : STRIP;
        real *c = scratch + first * n;
        for (long i = 0; i < n; i++) {
            const long at = i * systems + first;
            down(lower + at, diag + at, upper + at, rhs + at, i > 0 ? c + (i - 1) * count : zero,
                 i > 0 ? x + at - systems : zero, c + i * count, x + at, count);
        }
        for (long i = n - 2; i >= 0; i--)
            up(c + i * count, x + (i + 1) * systems + first, x + i * systems + first, count);
    }
}
