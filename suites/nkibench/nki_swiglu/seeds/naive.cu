/* atoll-plan {
  "version": 1,
  "scratch": {"hidden": "4 * M * N"},
  "launch": [{"kernel": "gate", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "up", "gate", "hidden", "i32:M", "i32:N", "i32:K"]},
             {"kernel": "gemm", "grid": ["cdiv(K, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["hidden", "down", "y", "i32:M", "i32:K", "i32:N"]}]
} */
/* One thread per element of the hidden rows, then one per element of the result. */
extern "C" __global__ void gate(const float *x, const float *up, const float *gates, float *hidden, int m,
                                int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float p = 0.0f, q = 0.0f;
    for (int k = 0; k < depth; k++) {
        float v = x[(long long)row * depth + k];
        p += v * gates[(long long)k * n + column];
        q += v * up[(long long)k * n + column];
    }
    hidden[(long long)row * n + column] = p / (1.0f + expf(-p)) * q;
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += a[(long long)row * depth + k] * b[(long long)k * n + column];
    c[(long long)row * n + column] = sum;
}
