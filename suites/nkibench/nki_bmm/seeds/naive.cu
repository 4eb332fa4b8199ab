/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "bmm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)", "B"], "block": ["32", "8"],
              "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"]}]
} */
/* One thread per element. */
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
