/* atoll-plan {
  "version": 1,
  "scratch": {"hidden": "2 * M * H"},
  "launch": [{"kernel": "hide", "grid": ["cdiv(H, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "u", "c", "hidden", "i64:M", "i64:H", "i64:K"]},
             {"kernel": "finish", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["hidden", "d", "e", "y", "i64:M", "i64:N", "i64:H"]}]
} */
/* Layer by layer, one thread per element; the hidden layer goes through memory in bf16. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ float multiply(const unsigned short *x, const unsigned short *w, long long row,
                                 long long column, long long n, long long depth)
{
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(x[row * depth + k]) * from_bf16(w[k * n + column]);
    return sum;
}

extern "C" __global__ void hide(const unsigned short *x, const unsigned short *u, const float *c,
                                unsigned short *hidden, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float v = multiply(x, u, row, column, n, depth) + c[column];
    hidden[row * n + column] = to_bf16(0.5f * v * (1.0f + erff(v * 0.70710678f)));
}

extern "C" __global__ void finish(const unsigned short *hidden, const unsigned short *d, const float *e,
                                  unsigned short *y, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n)
        y[row * n + column] = to_bf16(multiply(hidden, d, row, column, n, depth) + e[column]);
}
