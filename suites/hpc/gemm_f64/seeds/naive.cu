/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "matmul", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* One thread per element. */
extern "C" __global__ void matmul(const double *a, const double *b, double *c, long long m, long long n,
                                  long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (long long k = 0; k < depth; k++)
        sum += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = sum;
}
