/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [32, 8, 16, 64, 128], "BLOCK": [256, 128, 512]},
  "scratch": {"part": "4 * N * cdiv(M, ROWS)"},
  "launch": [{"kernel": "stripe", "grid": ["cdiv(M, ROWS)"], "block": ["BLOCK"], "shared_bytes": "4 * N",
              "args": ["dy", "x", "gain", "rstd", "dx", "part", "i32:M", "i32:N"]},
             {"kernel": "gather", "grid": ["cdiv(N, 32)"], "block": ["32", "16"], "args": ["part", "dgain", "i32:cdiv(M, ROWS)", "i32:N"]}]
} */
/* A block has a stripe of ROWS rows; what they add to dgain stays in shared memory, a thread's own columns, and leaves it once a
 * stripe.  The second read of a row comes out of the cache. */
static __device__ float block_sum(float v)
{
    __shared__ float part[32];
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.0f;
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    __syncthreads();
    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    stripe(const float *dy, const float *x, const float *gain, const float *rstd, float *dx, float *part,
           int m, int n)
{
    extern __shared__ float sums[];
    int first = blockIdx.x * ROWS, last = min(first + ROWS, m);
    for (int j = threadIdx.x; j < n; j += BLOCK)
        sums[j] = 0.0f;
    for (int i = first; i < last; i++) {
        const float *d = dy + (long long)i * n, *v = x + (long long)i * n;
        float *to = dx + (long long)i * n, r = rstd[i], sum = 0.0f;
        for (int j = threadIdx.x; j < n; j += BLOCK)
            sum += d[j] * gain[j] * v[j];
        sum = block_sum(sum) * r * r / (float)n;
        for (int j = threadIdx.x; j < n; j += BLOCK) {
            float own = d[j];
            __stcs(to + j, r * (own * gain[j] - v[j] * sum));
            sums[j] += own * v[j] * r;
        }
    }
    for (int j = threadIdx.x; j < n; j += BLOCK)
        part[(long long)blockIdx.x * n + j] = sums[j];
}

extern "C" __global__ void gather(const float *part, float *dgain, int stripes, int n)
{
    __shared__ float shared[16][33];
    int j = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int s = threadIdx.y; s < stripes; s += 16)
        sum += j < n ? part[(long long)s * n + j] : 0.0f;
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && j < n) {
        for (int s = 1; s < 16; s++)
            sum += shared[s][threadIdx.x];
        dgain[j] = sum;
    }
}
