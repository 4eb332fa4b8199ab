/* atoll-plan {
  "version": 1,
  "scratch": {"c": "8 * B * N"},
  "launch": [{"kernel": "solve", "grid": ["cdiv(B, 64)"], "block": ["64"],
              "args": ["lower", "diag", "upper", "rhs", "x", "c", "i64:B", "i64:N"]}]
} */
/* One thread per system: Thomas' elimination; neighbours read neighbouring words. */
extern "C" __global__ void solve(const real *lower, const real *diag, const real *upper, const real *rhs,
                                 real *x, real *c, long long systems, long long n)
{
    const long long u = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= systems)
        return;
    real above = upper[u] / diag[u], value = rhs[u] / diag[u];
    c[u] = above;
    x[u] = value;
    for (long long at = u + systems; at < n * systems; at += systems) {
        const real inverse = 1 / (diag[at] - lower[at] * above);
        above = upper[at] * inverse;
        value = (rhs[at] - lower[at] * value) * inverse;
        c[at] = above;
        x[at] = value;
    }
    for (long long at = (n - 2) * systems + u; at >= 0; at -= systems) {
        value = x[at] - c[at] * value;
        x[at] = value;
    }
}
