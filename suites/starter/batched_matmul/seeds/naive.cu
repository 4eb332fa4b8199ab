/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "multiply", "grid": ["cdiv(B * M * N, 256)"], "block": ["256"],
              "args": ["a", "b", "c", "i64:B", "i64:M", "i64:N", "i64:K"]}]
} */
/* One thread per element. */
extern "C" __global__ void multiply(const float *a, const float *b, float *c, long long batches, long long m,
                                    long long n, long long depth)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= batches * m * n)
        return;
    long long column = at % n, row = at / n, batch = row / m;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += a[row * depth + k] * b[(batch * depth + k) * n + column];
    c[at] = sum;
}
