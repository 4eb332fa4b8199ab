/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "swiglu", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "g", "u", "y", "i64:M", "i64:N", "i64:K"]}]
} */
/* One thread per element. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void swiglu(const unsigned short *x, const unsigned short *g, const unsigned short *u,
                                  unsigned short *y, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float p = 0.0f, q = 0.0f;
    for (long long k = 0; k < depth; k++) {
        float v = from_bf16(x[row * depth + k]);
        p += v * from_bf16(g[k * n + column]);
        q += v * from_bf16(u[k * n + column]);
    }
    y[row * n + column] = to_bf16(p / (1.0f + expf(-p)) * q);
}
