/* atoll-plan {
  "version": 1,
  "params": {"LANES": [8, 2, 4, 16, 32], "BLOCK": [256, 128, 512], "UNROLL": [2, 1, 4]},
  "launch": [{"kernel": "multiply", "grid": ["cdiv(M, BLOCK / LANES)"], "block": ["BLOCK"],
              "args": ["ptr", "col", "val", "x", "y", "i32:M"]}]
} */
/* LANES threads share a row: entries are read side by side and once, past the nearest cache's keeping; x stays there. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply(const int *__restrict__ ptr, const int *__restrict__ col, const real *__restrict__ val,
             const real *__restrict__ x, real *__restrict__ y, int rows)
{
    const int lane = threadIdx.x % LANES, i = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
    const int last = i < rows ? ptr[i + 1] : 0;
    int k = (i < rows ? ptr[i] : 0) + lane;
    real sum = 0;
    for (; k + (UNROLL - 1) * LANES < last; k += UNROLL * LANES) {
        int at[UNROLL];
        real v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            at[u] = __ldcs(col + k + u * LANES);
            v[u] = __ldcs(val + k + u * LANES);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sum += v[u] * __ldg(x + at[u]);
    }
    for (; k < last; k += LANES)
        sum += __ldcs(val + k) * __ldg(x + __ldcs(col + k));
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
    if (lane == 0 && i < rows)
        y[i] = sum;
}
