/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "gemm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"]}]
} */
/* One thread per element. */
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += a[(long long)k * m + row] * b[(long long)k * n + column];
    c[(long long)row * n + column] = sum;
}
