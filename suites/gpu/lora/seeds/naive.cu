/* atoll-plan {
  "version": 1,
  "scratch": {"low": "4 * M * R"},
  "launch": [{"kernel": "project", "grid": ["cdiv(R, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "a", "low", "i64:M", "i64:R", "i64:K"]},
             {"kernel": "multiply", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "w", "low", "b", "y", "i64:M", "i64:N", "i64:K", "i64:R"]}]
} */
/* x A first, then both products together, one thread per element. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void project(const unsigned short *x, const unsigned short *a, float *low, long long m,
                                   long long rank, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= rank)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(x[row * depth + k]) * from_bf16(a[k * rank + column]);
    low[row * rank + column] = sum;
}

extern "C" __global__ void multiply(const unsigned short *x, const unsigned short *w, const float *low,
                                    const unsigned short *b, unsigned short *y, long long m, long long n,
                                    long long depth, long long rank)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(x[row * depth + k]) * from_bf16(w[k * n + column]);
    for (long long k = 0; k < rank; k++)
        sum += low[row * rank + k] * from_bf16(b[k * n + column]);
    y[row * n + column] = to_bf16(sum);
}
