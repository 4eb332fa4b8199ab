/* atoll-plan {
  "version": 1,
  "params": {"LANES": [512, 32, 64, 128, 256, 1024], "PER": [4, 1, 2, 8, 16], "ROWS": [1, 2, 4]},
  "require": ["ROWS == 1 || LANES == 32", "LANES * PER <= 4096"],
  "launch": [{"kernel": "softmax", "grid": ["cdiv(B, ROWS)"], "block": ["LANES", "ROWS"],
              "args": ["x", "y", "i64:B", "i64:N"]}]
} */
/* A row lives in the registers of LANES threads, PER vectors of four in each: it is read once and written once.
 * Rows beyond 4 * LANES * PER columns are read three times. */
static __device__ float group_reduce(float v, int is_max)
{
    __shared__ float partial[2][32];
    for (int d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = is_max ? fmaxf(v, other) : v + other;
    }
    if (LANES == 32)
        return v;
    if (threadIdx.x % 32 == 0)
        partial[is_max][threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < LANES / 32 ? partial[is_max][threadIdx.x % 32] : is_max ? -1e38f : 0.0f;
    for (int d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = is_max ? fmaxf(v, other) : v + other;
    }
    return v;
}

/* Columns 4 j to 4 j + 3; what lies beyond the row does not count in a maximum. */
static __device__ float4 load4(const float *from, long long j, long long n, int vector)
{
    const float none = -1e38f;
    if (vector)
        return 4 * j < n ? __ldcs((const float4 *)from + j) : make_float4(none, none, none, none);
    float4 v;
    v.x = 4 * j < n ? from[4 * j] : none;
    v.y = 4 * j + 1 < n ? from[4 * j + 1] : none;
    v.z = 4 * j + 2 < n ? from[4 * j + 2] : none;
    v.w = 4 * j + 3 < n ? from[4 * j + 3] : none;
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

static __device__ float max4(float4 v)
{
    return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

static __device__ float4 exp4(float4 v, float top)
{
    return make_float4(__expf(v.x - top), __expf(v.y - top), __expf(v.z - top), __expf(v.w - top));
}

static __device__ void row_cached(const float *from, float *to, long long n, int vector)
{
    float4 v[PER];
    float top = -1e38f, sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PER; p++)
        v[p] = load4(from, threadIdx.x + p * LANES, n, vector);
#pragma unroll
    for (int p = 0; p < PER; p++)
        top = fmaxf(top, max4(v[p]));
    top = group_reduce(top, 1);
#pragma unroll
    for (int p = 0; p < PER; p++) {
        v[p] = exp4(v[p], top);
        sum += (v[p].x + v[p].y) + (v[p].z + v[p].w);
    }
    float factor = 1.0f / group_reduce(sum, 0);
#pragma unroll
    for (int p = 0; p < PER; p++) {
        v[p] = make_float4(v[p].x * factor, v[p].y * factor, v[p].z * factor, v[p].w * factor);
        store4(to, threadIdx.x + p * LANES, n, vector, v[p]);
    }
}

static __device__ void row_passes(const float *from, float *to, long long n)
{
    float top = -1e38f, sum = 0.0f;
    for (long long j = threadIdx.x; j < n; j += LANES)
        top = fmaxf(top, from[j]);
    top = group_reduce(top, 1);
    for (long long j = threadIdx.x; j < n; j += LANES)
        sum += __expf(from[j] - top);
    float factor = 1.0f / group_reduce(sum, 0);
    for (long long j = threadIdx.x; j < n; j += LANES)
        to[j] = __expf(from[j] - top) * factor;
}

extern "C" __global__ void __launch_bounds__(LANES *ROWS)
    softmax(const float *x, float *y, long long rows, long long n)
{
    long long row = (long long)blockIdx.x * ROWS + threadIdx.y;
    int vector = n % 4 == 0 && (size_t)x % 16 == 0 && (size_t)y % 16 == 0;
    if (row >= rows)
        return;
    if (n <= 4 * LANES * PER)
        row_cached(x + row * n, y + row * n, n, vector);
    else
        row_passes(x + row * n, y + row * n, n);
}
