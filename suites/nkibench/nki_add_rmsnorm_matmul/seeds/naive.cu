/* atoll-plan {
  "version": 1,
  "scratch": {"factor": "4 * M"},
  "launch": [{"kernel": "roots", "grid": ["M"], "block": ["128"], "args": ["x", "r", "factor", "i32:K"]},
             {"kernel": "gemm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "r", "gain", "b", "factor", "y", "i32:M", "i32:N", "i32:K"]}]
} */
/* Factors of the rows, then one thread per element. */
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

/* 1 / root mean square of each row of x + r; a block per row. */
extern "C" __global__ void roots(const float *x, const float *r, float *factor, int depth)
{
    float sum = 0.0f;
    for (int k = threadIdx.x; k < depth; k += blockDim.x) {
        float v = (x[(long long)blockIdx.x * depth + k] + r[(long long)blockIdx.x * depth + k]);
        sum += v * v;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        factor[blockIdx.x] = rsqrtf(sum / (float)depth + 1e-5f);
}

extern "C" __global__ void gemm(const float *x, const float *r, const float *gain, const float *b,
                                const float *factor, float *y, int m, int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += (x[(long long)row * depth + k] + r[(long long)row * depth + k]) * gain[k] *
               b[(long long)k * n + column];
    y[(long long)row * n + column] = sum * factor[row];
}
