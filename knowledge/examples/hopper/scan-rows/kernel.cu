/* atoll-plan {
  "version": 1,
  "params": {"LANES": [256, 32, 64, 128, 512, 1024], "PER": [4, 1, 2, 8], "ROWS": [1, 2, 4, 8]},
  "require": ["ROWS == 1 || LANES == 32", "PER * LANES <= 1024"],
  "launch": [{"kernel": "prefix_sum", "grid": ["cdiv(B, ROWS)"], "block": ["LANES", "ROWS"],
              "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* Each step takes PER stretches of LANES vectors of four: a running sum within each vector, a shuffled scan over the
 * warp, a scan of the warps' sums by the first warp, and what earlier steps left over. */
#define WARPS (LANES / 32)
#define ALL   0xffffffffu

static __device__ float4 load4(const float *from, long long j, long long n, int vector)
{
    if (vector)
        return 4 * j < n ? __ldcs((const float4 *)from + j) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 v;
    v.x = 4 * j < n ? from[4 * j] : 0.0f;
    v.y = 4 * j + 1 < n ? from[4 * j + 1] : 0.0f;
    v.z = 4 * j + 2 < n ? from[4 * j + 2] : 0.0f;
    v.w = 4 * j + 3 < n ? from[4 * j + 3] : 0.0f;
    return v;
}

static __device__ void store4(float *to, long long j, long long n, int vector, float4 v)
{
    if (vector) {
        if (4 * j < n)
            __stcs((float4 *)to + j, v);
        return;
    }
    if (4 * j < n)
        to[4 * j] = v.x;
    if (4 * j + 1 < n)
        to[4 * j + 1] = v.y;
    if (4 * j + 2 < n)
        to[4 * j + 2] = v.z;
    if (4 * j + 3 < n)
        to[4 * j + 3] = v.w;
}

static __device__ float warp_scan(float v)
{
    int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d <<= 1) {
        float before = __shfl_up_sync(ALL, v, d);
        v += lane >= d ? before : 0.0f;
    }
    return v;
}

/* sums: total of each warp in each stretch on entry, sum of all before it on return; returns the sum of all. */
static __device__ float block_scan(float *sums)
{
    __shared__ float whole;
    __syncthreads();
    if (threadIdx.x < 32) {
        float own = threadIdx.x < PER * WARPS ? sums[threadIdx.x] : 0.0f, v = warp_scan(own);
        float before = __shfl_up_sync(ALL, v, 1);
        if (threadIdx.x < PER * WARPS)
            sums[threadIdx.x] = threadIdx.x ? before : 0.0f;
        if (threadIdx.x == 31)
            whole = v;
    }
    __syncthreads();
    return whole;
}

extern "C" __global__ void __launch_bounds__(LANES *ROWS)
    prefix_sum(const float *x, float *y, long long rows, long long n)
{
    __shared__ float sums[PER * WARPS];
    long long row = (long long)blockIdx.x * ROWS + threadIdx.y;
    int vector = n % 4 == 0 && ((size_t)x | (size_t)y) % 16 == 0;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0.0f;
    if (row >= rows)
        return;
    for (long long base = 0; 4 * base < n; base += PER * LANES) {
        float4 v[PER];
        float before[PER], whole[PER];
#pragma unroll
        for (int p = 0; p < PER; p++)
            v[p] = load4(x + row * n, base + p * LANES + threadIdx.x, n, vector);
#pragma unroll
        for (int p = 0; p < PER; p++) {
            v[p].y += v[p].x;
            v[p].z += v[p].y;
            v[p].w += v[p].z;
            whole[p] = warp_scan(v[p].w);
            before[p] = __shfl_up_sync(ALL, whole[p], 1);
            before[p] = lane ? before[p] : 0.0f;
            if (WARPS > 1 && lane == 31)
                sums[p * WARPS + warp] = whole[p];
        }
        float all = WARPS > 1 ? block_scan(sums) : 0.0f, start = carry;
#pragma unroll
        for (int p = 0; p < PER; p++) {
            float shift = before[p] + (WARPS > 1 ? carry + sums[p * WARPS + warp] : start);
            store4(y + row * n, base + p * LANES + threadIdx.x, n, vector,
                   make_float4(v[p].x + shift, v[p].y + shift, v[p].z + shift, v[p].w + shift));
            start += __shfl_sync(ALL, whole[p], 31);
        }
        carry = WARPS > 1 ? carry + all : start;
        if (WARPS > 1)
            __syncthreads();
    }
}
