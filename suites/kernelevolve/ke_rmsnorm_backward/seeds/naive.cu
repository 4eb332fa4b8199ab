/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "rows", "grid": ["M"], "block": ["128"], "args": ["dy", "x", "gain", "rstd", "dx", "i32:N"]},
             {"kernel": "columns", "grid": ["cdiv(N, 32)"], "block": ["32"], "args": ["dy", "x", "rstd", "dgain", "i32:M", "i32:N"]}]
} */
/* A block per row, then a thread per column. */
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

extern "C" __global__ void rows(const float *dy, const float *x, const float *gain, const float *rstd,
                                float *dx, int n)
{
    long long first = (long long)blockIdx.x * n;
    float r = rstd[blockIdx.x], sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        sum += dy[first + j] * gain[j] * x[first + j];
    sum = block_sum(sum) * r * r / (float)n;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        dx[first + j] = r * (dy[first + j] * gain[j] - x[first + j] * sum);
}

extern "C" __global__ void columns(const float *dy, const float *x, const float *rstd, float *dgain, int m,
                                   int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (j >= n)
        return;
    for (int i = 0; i < m; i++)
        sum += dy[(long long)i * n + j] * x[(long long)i * n + j] * rstd[i];
    dgain[j] = sum;
}
