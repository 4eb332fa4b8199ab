/* atoll-plan {
  "version": 1,
  "params": {"LANES": [256, 32, 64, 128, 512, 1024], "ROWS": [1, 2, 4, 8, 16], "UNROLL": [4, 1, 2, 8]},
  "require": ["ROWS == 1 || LANES == 32", "LANES * ROWS >= 64"],
  "launch": [{"kernel": "row_reduce", "grid": ["cdiv(B, ROWS)"], "block": ["LANES", "ROWS"],
              "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* LANES threads per row, UNROLL vector loads of each in flight; a row within one warp needs no barrier, so a block
 * may hold several of them. */
static __device__ float group_sum(float v)
{
    __shared__ float partial[32];
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    if (LANES == 32)
        return v;
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < LANES / 32 ? partial[threadIdx.x % 32] : 0.0f;
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

static __device__ float sum4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

static __device__ float row_vectors(const float4 *from, long long quads)
{
    float sums[UNROLL] = {0.0f};
    long long j = threadIdx.x;
    for (; j + (UNROLL - 1) * LANES < quads; j += UNROLL * LANES) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            v[u] = __ldcs(from + j + u * LANES);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sums[u] += sum4(v[u]);
    }
    for (; j < quads; j += LANES)
        sums[0] += sum4(__ldcs(from + j));
#pragma unroll
    for (int u = 1; u < UNROLL; u++)
        sums[0] += sums[u];
    return sums[0];
}

extern "C" __global__ void __launch_bounds__(LANES *ROWS)
    row_reduce(const float *x, float *y, long long rows, long long n)
{
    long long row = (long long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows)
        return;
    const float *from = x + row * n;
    float sum = 0.0f;
    if (n % 4 == 0 && (size_t)x % 16 == 0)
        sum = row_vectors((const float4 *)from, n / 4);
    else
        for (long long j = threadIdx.x; j < n; j += LANES)
            sum += from[j];
    sum = group_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}
