/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512], "FLIGHT": [8, 2, 4, 16]},
  "launch": [{"kernel": "multiply", "grid": ["cdiv(M, BLOCK)"], "block": ["BLOCK"],
              "args": ["col", "val", "x", "y", "i64:M", "i32:K"]}]
} */
/* FLIGHT entries of a row are loaded before the first is used; they are read once, past the cache that keeps x. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply(const int *__restrict__ col, const real *__restrict__ val, const real *__restrict__ x,
             real *__restrict__ y, long long rows, int width)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= rows)
        return;
    real sum = 0;
    int k = 0;
    for (; k + FLIGHT <= width; k += FLIGHT) {
        int at[FLIGHT];
        real v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            at[f] = __ldcs(col + (k + f) * rows + i);
            v[f] = __ldcs(val + (k + f) * rows + i);
        }
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
            sum += v[f] * __ldg(x + at[f]);
    }
    for (; k < width; k++)
        sum += val[k * rows + i] * x[col[k * rows + i]];
    y[i] = sum;
}
