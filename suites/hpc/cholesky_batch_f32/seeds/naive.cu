/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "factor", "grid": ["cdiv(B, 64)"], "block": ["64"], "args": ["a", "l", "i64:B", "i32:N"]}]
} */
/* One thread per matrix. */
extern "C" __global__ void factor(const real *a, real *l, long long batch, int n)
{
    long long u = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= batch)
        return;
    const real *from = a + u * n * n;
    real *to = l + u * n * n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            real sum = from[i * n + j] + (i == j ? (real)(n + 1) : (real)0);
            for (int k = 0; k < j; k++)
                sum -= to[i * n + k] * to[j * n + k];
            to[i * n + j] = i == j ? sqrt(sum) : sum / to[j * n + j];
        }
        for (int j = i + 1; j < n; j++)
            to[i * n + j] = 0;
    }
}
