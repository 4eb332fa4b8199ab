/* atoll-plan {
  "version": 1,
  "params": {"THREADS": [256, 128, 512], "UNROLL": [4, 2, 8], "CHUNK": [16384, 8192, 32768]},
  "scratch": {"partial": "4 * B * cdiv(N, CHUNK)"},
  "launch": [{"kernel": "partial_sums", "grid": ["B * cdiv(N, CHUNK)"], "block": ["THREADS"],
              "args": ["x", "w", "partial", "i64:N", "i32:cdiv(N, CHUNK)"]},
             {"kernel": "combine", "grid": ["cdiv(B, 256)"], "block": ["256"],
              "args": ["partial", "y", "i64:B", "i32:cdiv(N, CHUNK)"]}]
} */
/* A block sums CHUNK columns of one row: neighbouring threads load neighbouring float4, warps reduce by shuffles, and one
 * barrier is left.  The second launch adds the sums of a row; where a row is one chunk it takes the root alone. */
static __device__ float warp_sum(float v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

static __device__ float thread_sum(const float *x, const float *w, long long count)
{
    float sum = 0.0f;
    long long vectors = count / 4;
    if ((size_t)x % 16 != 0 || (size_t)w % 16 != 0) /* rows of odd length are not aligned */
        vectors = 0;
    constexpr int unroll = UNROLL; /* a macro may stand unexpanded in a pragma */
#pragma unroll unroll
    for (long long j = threadIdx.x; j < vectors; j += THREADS) {
        const float4 v = ((const float4 *)x)[j], u = ((const float4 *)w)[j];
        sum += u.x * v.x * v.x + u.y * v.y * v.y + u.z * v.z * v.z + u.w * v.w * v.w;
    }
    for (long long j = 4 * vectors + threadIdx.x; j < count; j += THREADS)
        sum += w[j] * x[j] * x[j];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    partial_sums(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ partial, long long n,
                 int chunks)
{
    __shared__ float warps[THREADS / 32];
    const long long row = blockIdx.x / chunks, first = (long long)(blockIdx.x % chunks) * CHUNK;
    const long long count = n - first < CHUNK ? n - first : CHUNK;
    float sum = warp_sum(thread_sum(x + row * n + first, w + first, count));
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void combine(const float *__restrict__ partial, float *__restrict__ y, long long rows, int chunks)
{
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = 0; i < chunks; i++)
        sum += partial[row * chunks + i];
    y[row] = sqrtf(sum);
}
