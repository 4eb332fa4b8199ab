/* atoll-plan {
  "version": 1,
  "params": {"TILE_M": [64, 32, 128], "TILE_N": [64, 32, 128], "THREADS": [256, 128, 512]},
  "require": ["TILE_M * TILE_N % (4 * THREADS) == 0", "TILE_M * TILE_N <= 8192"],
  "launch": [{"kernel": "transpose", "grid": ["cdiv(N, TILE_N) * cdiv(M, TILE_M)"], "block": ["THREADS"],
              "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* Tiles through shared memory with vectors of four on both sides; all loads of a thread are in flight at once. */
#define PER (TILE_M * TILE_N / (4 * THREADS))

static __device__ float4 load4(const float *x, long long row, long long column, long long m, long long n,
                               int vector)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *from = x + row * n + column;
    if (row >= m || column >= n)
        return v;
    if (vector)
        return __ldcs((const float4 *)from);
    v.x = from[0];
    if (column + 1 < n)
        v.y = from[1];
    if (column + 2 < n)
        v.z = from[2];
    if (column + 3 < n)
        v.w = from[3];
    return v;
}

static __device__ void store4(float *y, long long row, long long column, long long m, long long n, int vector,
                              float4 v)
{
    float *to = y + row * n + column;
    if (row >= m || column >= n)
        return;
    if (vector) {
        __stcs((float4 *)to, v);
        return;
    }
    to[0] = v.x;
    if (column + 1 < n)
        to[1] = v.y;
    if (column + 2 < n)
        to[2] = v.z;
    if (column + 3 < n)
        to[3] = v.w;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose(const float *x, float *y, long long m, long long n)
{
    __shared__ float tile[TILE_M][TILE_N + 1];
    long long across = (n + TILE_N - 1) / TILE_N;
    long long row = blockIdx.x / across * TILE_M, column = blockIdx.x % across * TILE_N;
    int reads = n % 4 == 0 && (size_t)x % 16 == 0, writes = m % 4 == 0 && (size_t)y % 16 == 0;
    float4 v[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (TILE_N / 4), j = at % (TILE_N / 4) * 4;
        v[p] = load4(x, row + i, column + j, m, n, reads);
    }
#pragma unroll
    for (int p = 0; p < PER; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (TILE_N / 4), j = at % (TILE_N / 4) * 4;
        tile[i][j] = v[p].x;
        tile[i][j + 1] = v[p].y;
        tile[i][j + 2] = v[p].z;
        tile[i][j + 3] = v[p].w;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < PER; p++) {
        int at = threadIdx.x + p * THREADS, j = at / (TILE_M / 4), i = at % (TILE_M / 4) * 4;
        store4(y, column + j, row + i, n, m, writes,
               make_float4(tile[i][j], tile[i + 1][j], tile[i + 2][j], tile[i + 3][j]));
    }
}
