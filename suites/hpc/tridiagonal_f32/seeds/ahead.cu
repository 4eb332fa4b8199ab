/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [64, 32, 128], "AHEAD": [8, 2, 4, 16]},
  "scratch": {"c": "8 * B * N"},
  "launch": [{"kernel": "solve", "grid": ["cdiv(B, BLOCK)"], "block": ["BLOCK"],
              "args": ["lower", "diag", "upper", "rhs", "x", "c", "i64:B", "i64:N"]}]
} */
/* One thread per system.  AHEAD rows are loaded before the first of them is used, in both directions, so that the chain of
 * eliminations does not wait for memory at every row. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    solve(const real *__restrict__ lower, const real *__restrict__ diag, const real *__restrict__ upper,
          const real *__restrict__ rhs, real *x, real *c, long long systems, long long n)
{
    const long long u = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (u >= systems)
        return;
    real above = 0, value = 0;
    long long i = 0;
    for (; i + AHEAD <= n; i += AHEAD) {
        real l[AHEAD], d[AHEAD], p[AHEAD], r[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const long long at = (i + k) * systems + u;
            l[k] = __ldcs(lower + at);
            d[k] = __ldcs(diag + at);
            p[k] = __ldcs(upper + at);
            r[k] = __ldcs(rhs + at);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const long long at = (i + k) * systems + u;
            const real inverse = 1 / (d[k] - l[k] * above);
            value = (r[k] - l[k] * value) * inverse;
            above = p[k] * inverse;
            c[at] = above;
            x[at] = value;
        }
    }
    for (; i < n; i++) {
        const long long at = i * systems + u;
        const real inverse = 1 / (diag[at] - lower[at] * above);
        value = (rhs[at] - lower[at] * value) * inverse;
        above = upper[at] * inverse;
        c[at] = above;
        x[at] = value;
    }
    i = n - 2;
    for (; i - AHEAD + 1 >= 0; i -= AHEAD) {
        real f[AHEAD], v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            f[k] = c[(i - k) * systems + u];
            v[k] = x[(i - k) * systems + u];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            value = v[k] - f[k] * value;
            x[(i - k) * systems + u] = value;
        }
    }
    for (; i >= 0; i--) {
        value = x[i * systems + u] - c[i * systems + u] * value;
        x[i * systems + u] = value;
    }
}
