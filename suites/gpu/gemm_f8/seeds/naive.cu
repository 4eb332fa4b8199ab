/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "gemm", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* One thread per element. */
/* Sign, 4 bits of exponent, 3 of mantissa; the inputs hold no NaN. */
static __device__ float from_f8(unsigned char bits)
{
    unsigned exponent = bits >> 3 & 15u, mantissa = bits & 7u;
    float v =
        exponent ? __uint_as_float((exponent + 120u) << 23 | mantissa << 20) : (float)mantissa * 0.001953125f;
    return bits & 128u ? -v : v;
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void gemm(const unsigned char *a, const unsigned char *b, unsigned short *c,
                                long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_f8(a[row * depth + k]) * from_f8(b[column * depth + k]);
    c[row * n + column] = to_bf16(sum);
}
