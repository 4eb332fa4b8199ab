/* atoll-plan {
  "version": 1,
  "scratch": {"factor": "4 * M"},
  "launch": [{"kernel": "normalise", "grid": ["cdiv(M, 64)"], "block": ["64"], "args": ["x", "r", "factor", "i64:M", "i64:K"]},
             {"kernel": "multiply", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "r", "gain", "b", "factor", "y", "i64:M", "i64:N", "i64:K"]}]
} */
/* Root mean squares, one thread per row; the product, one thread per element. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void normalise(const unsigned short *x, const unsigned short *r, float *factor,
                                     long long m, long long depth)
{
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m)
        return;
    float squares = 0.0f;
    for (long long k = 0; k < depth; k++) {
        float v = from_bf16(x[row * depth + k]) + from_bf16(r[row * depth + k]);
        squares += v * v;
    }
    factor[row] = rsqrtf(squares / (float)depth + 1e-5f);
}

extern "C" __global__ void multiply(const unsigned short *x, const unsigned short *r,
                                    const unsigned short *gain, const unsigned short *b, const float *factor,
                                    unsigned short *y, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += (from_bf16(x[row * depth + k]) + from_bf16(r[row * depth + k])) * from_bf16(gain[k]) *
               from_bf16(b[k * n + column]);
    y[row * n + column] = to_bf16(sum * factor[row]);
}
