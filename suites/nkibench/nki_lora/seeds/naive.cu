/* atoll-plan {
  "version": 1,
  "scratch": {"low": "4 * M * R"},
  "launch": [{"kernel": "project", "grid": ["cdiv(R, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "a", "low", "i32:M", "i32:R", "i32:K"]},
             {"kernel": "lora", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "w", "low", "b", "y", "i32:M", "i32:N", "i32:K", "i32:R"]}]
} */
/* x A first, then one thread per element of x W + (x A) B. */
extern "C" __global__ void project(const float *x, const float *a, float *low, int m, int n, int depth)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += x[(long long)row * depth + k] * a[(long long)k * n + column];
    low[(long long)row * n + column] = sum;
}

extern "C" __global__ void lora(const float *x, const float *w, const float *low, const float *b, float *y,
                                int m, int n, int depth, int rank)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < depth; k++)
        sum += x[(long long)row * depth + k] * w[(long long)k * n + column];
    for (int k = 0; k < rank; k++)
        sum += low[(long long)row * rank + k] * b[(long long)k * n + column];
    y[(long long)row * n + column] = sum;
}
