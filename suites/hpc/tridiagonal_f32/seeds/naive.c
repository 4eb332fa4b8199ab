/* atoll-plan {
  "version": 1,
  "scratch": {"c": "8 * B * N"},
  "launch": [{"function": "solve", "units": "B", "args": ["lower", "diag", "upper", "rhs", "x", "c", "i64:B", "i64:N"]}]
} */
/* Thomas' elimination, system by system. */
void solve(long begin, long end, const real *lower, const real *diag, const real *upper, const real *rhs,
           real *x, real *c, long systems, long n)
{
    for (long u = begin; u < end; u++) {
        c[u] = upper[u] / diag[u];
        x[u] = rhs[u] / diag[u];
        for (long i = 1; i < n; i++) {
            const long at = i * systems + u;
            const real inverse = 1 / (diag[at] - lower[at] * c[at - systems]);
            c[at] = upper[at] * inverse;
            x[at] = (rhs[at] - lower[at] * x[at - systems]) * inverse;
        }
        for (long at = (n - 2) * systems + u; at >= 0; at -= systems)
            x[at] -= c[at] * x[at + systems];
    }
}
