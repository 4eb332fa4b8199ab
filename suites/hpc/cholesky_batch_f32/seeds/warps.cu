/* atoll-plan {
  "version": 1,
  "params": {"LANES": [32, 8, 16], "MATRICES": [4, 2, 8, 16]},
  "require": ["LANES * MATRICES <= 1024", "MATRICES * N * (N + 1) * 8 <= 98304"],
  "launch": [{"kernel": "factor", "grid": ["cdiv(B, MATRICES)"], "block": ["LANES", "MATRICES"],
              "shared_bytes": "MATRICES * N * (N + 1) * 8", "args": ["a", "l", "i64:B", "i32:N"]}]
} */
/* LANES threads of one warp share a matrix in shared memory: column by column, each thread its rows; read and written side by
 * side.  A row has one element more than it needs, so that a column lies in different banks. */
extern "C" __global__ void __launch_bounds__(LANES *MATRICES)
    factor(const real *__restrict__ a, real *__restrict__ l, long long batch, int n)
{
    extern __shared__ double memory[];
    const int pitch = n + 1, lane = threadIdx.x;
    const long long u = (long long)blockIdx.x * MATRICES + threadIdx.y, base = u * n * n;
    real *t = (real *)memory + threadIdx.y * n * pitch;
    for (int e = lane; u < batch && e < n * n; e += LANES)
        t[e / n * pitch + e % n] = a[base + e] + (e / n == e % n ? (real)(n + 1) : (real)0);
    __syncwarp();
    for (int j = 0; j < n; j++) {
        real sum = t[j * pitch + j];
        for (int k = 0; k < j; k++)
            sum -= t[j * pitch + k] * t[j * pitch + k];
        const real root = sqrt(sum), inverse = (real)1 / root;
        __syncwarp();
        for (int i = j + lane; i < n && u < batch; i += LANES) {
            real own = t[i * pitch + j];
            for (int k = 0; k < j; k++)
                own -= t[i * pitch + k] * t[j * pitch + k];
            t[i * pitch + j] = i == j ? root : own * inverse;
        }
        __syncwarp();
    }
    for (int e = lane; u < batch && e < n * n; e += LANES)
        l[base + e] = e % n <= e / n ? t[e / n * pitch + e % n] : (real)0;
}
