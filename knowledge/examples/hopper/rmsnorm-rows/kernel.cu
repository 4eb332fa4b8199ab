/* atoll-plan {
  "version": 1,
  "params": {"LANES": [256, 32, 64, 128, 512, 1024], "PER": [4, 1, 2, 8, 16, 32], "ROWS": [1, 2, 4]},
  "require": ["ROWS == 1 || LANES == 32", "LANES * PER <= 4096"],
  "launch": [{"kernel": "rmsnorm", "grid": ["cdiv(B, ROWS)"], "block": ["LANES", "ROWS"],
              "args": ["x", "gain", "y", "i64:B", "i64:N"]}]
} */
/* A row lives in the registers of LANES threads, PER vectors of four in each: it is read once.  Rows beyond
 * 4 * LANES * PER columns are read twice. */
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

/* Columns 4 j to 4 j + 3, zeros beyond the row. */
static __device__ float4 load4(const float *from, long long j, long long n, int vector)
{
    if (vector)
        return 4 * j < n ? *((const float4 *)from + j) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
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

static __device__ void row_cached(const float *from, const float *gain, float *to, long long n, int vector)
{
    float4 v[PER];
    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++)
        v[p] = load4(from, threadIdx.x + p * LANES, n, vector);
#pragma unroll
    for (int p = 0; p < PER; p++)
        squares += (v[p].x * v[p].x + v[p].y * v[p].y) + (v[p].z * v[p].z + v[p].w * v[p].w);
    float factor = rsqrtf(group_sum(squares) / (float)n + 1e-5f);
#pragma unroll
    for (int p = 0; p < PER; p++) {
        long long j = threadIdx.x + p * LANES;
        float4 g = load4(gain, j, n, vector);
        store4(to, j, n, vector,
               make_float4(v[p].x * factor * g.x, v[p].y * factor * g.y, v[p].z * factor * g.z,
                           v[p].w * factor * g.w));
    }
}

static __device__ void row_passes(const float *from, const float *gain, float *to, long long n)
{
    float squares = 0.0f;
    for (long long j = threadIdx.x; j < n; j += LANES)
        squares += from[j] * from[j];
    float factor = rsqrtf(group_sum(squares) / (float)n + 1e-5f);
    for (long long j = threadIdx.x; j < n; j += LANES)
        to[j] = from[j] * factor * gain[j];
}

static __device__ int is_aligned(const void *p)
{
    return (size_t)p % 16 == 0;
}

extern "C" __global__ void __launch_bounds__(LANES *ROWS)
    rmsnorm(const float *x, const float *gain, float *y, long long rows, long long n)
{
    long long row = (long long)blockIdx.x * ROWS + threadIdx.y;
    int vector = n % 4 == 0 && is_aligned(x) && is_aligned(gain) && is_aligned(y);
    if (row >= rows)
        return;
    if (n <= 4 * LANES * PER)
        row_cached(x + row * n, gain, y + row * n, n, vector);
    else
        row_passes(x + row * n, gain, y + row * n, n);
}
