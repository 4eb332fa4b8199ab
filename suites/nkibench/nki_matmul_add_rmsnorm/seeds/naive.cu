/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "gemm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "b", "r", "y", "i32:M", "i32:N", "i32:K"]},
             {"kernel": "normalise", "grid": ["M"], "block": ["256"], "args": ["y", "gain", "i32:N"]}]
} */
/* One thread per element, then a block per row. */
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

extern "C" __global__ void gemm(const float *x, const float *b, const float *r, float *y, int m, int n,
                                int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += x[(long long)row * depth + k] * b[(long long)k * n + column];
    y[(long long)row * n + column] = sum + r[(long long)row * n + column];
}

/* Rows of y divided by their root mean square, times the gain, in place; a block per row. */
extern "C" __global__ void normalise(float *y, const float *gain, int n)
{
    float sum = 0.0f;
    y += (long long)blockIdx.x * n;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        sum += y[j] * y[j];
    float factor = rsqrtf(block_sum(sum) / (float)n + 1e-5f);
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[j] *= factor * gain[j];
}
