/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "bmm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)", "B"], "block": ["32", "8"],
              "args": ["a", "b", "y", "i32:M", "i32:N", "i32:K"]},
             {"kernel": "soften", "grid": ["B * M"], "block": ["256"], "args": ["y", "i32:N"]}]
} */
/* One thread per score, then a block per row. */
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

static __device__ float block_max(float v)
{
    __shared__ float part[32];
    for (int d = 16; d; d >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : -1e30f;
    for (int d = 16; d; d >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    __syncthreads();
    return v;
}

extern "C" __global__ void bmm(const float *a, const float *b, float *c, int m, int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    a += ((long long)blockIdx.z * m + row) * depth;
    b += (long long)blockIdx.z * depth * n + column;
    for (int k = 0; k < depth; k++)
        sum += a[k] * b[(long long)k * n];
    c[((long long)blockIdx.z * m + row) * n + column] = sum;
}

/* Scores of a row to their softmax, in place; a block per row. */
extern "C" __global__ void soften(float *y, int n)
{
    y += (long long)blockIdx.x * n;
    float top = -1e30f, sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        top = fmaxf(top, y[j]);
    top = block_max(top);
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        sum += expf(y[j] - top);
    sum = 1.0f / block_sum(sum);
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[j] = expf(y[j] - top) * sum;
}
