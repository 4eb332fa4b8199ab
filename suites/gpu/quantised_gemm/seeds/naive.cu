/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "multiply", "grid": ["cdiv(N, 32)", "cdiv(M, 8)"], "block": ["32", "8"],
              "args": ["x", "w", "s", "y", "i64:M", "i64:N", "i64:K", "i64:G"]}]
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

extern "C" __global__ void multiply(const unsigned short *x, const unsigned char *w, const unsigned short *s,
                                    unsigned short *y, long long m, long long n, long long pairs,
                                    long long group)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < 2 * pairs; k++) {
        int byte = w[k / 2 * n + column], level = k % 2 ? byte >> 4 : byte & 15;
        sum +=
            from_bf16(x[row * 2 * pairs + k]) * ((float)(level - 8) * from_bf16(s[k / group * n + column]));
    }
    y[row * n + column] = to_bf16(sum);
}
