/* atoll-plan {
  "version": 1,
  "params": {"TILE": [32, 64], "ROWS": [8, 4, 16, 32]},
  "require": ["TILE * ROWS <= 1024"],
  "launch": [{"kernel": "transpose", "grid": ["cdiv(N, TILE) * cdiv(M, TILE)"], "block": ["TILE", "ROWS"],
              "args": ["x", "y", "i64:M", "i64:N"]}]
} */
/* Square tiles through shared memory, element by element; the odd pitch keeps columns free of bank conflicts. */
extern "C" __global__ void __launch_bounds__(TILE *ROWS)
    transpose(const float *x, float *y, long long m, long long n)
{
    __shared__ float tile[TILE][TILE + 1];
    long long across = (n + TILE - 1) / TILE;
    long long row = blockIdx.x / across * TILE, column = blockIdx.x % across * TILE;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        long long from = row + threadIdx.y + i;
        if (from < m && column + threadIdx.x < n)
            tile[threadIdx.y + i][threadIdx.x] = __ldcs(x + from * n + column + threadIdx.x);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        long long to = column + threadIdx.y + i;
        if (to < n && row + threadIdx.x < m)
            __stcs(y + to * m + row + threadIdx.x, tile[threadIdx.x][threadIdx.y + i]);
    }
}
