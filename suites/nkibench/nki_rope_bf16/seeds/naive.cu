/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "rope", "grid": ["cdiv(D * T, 256)"], "block": ["256"],
              "args": ["x", "c", "s", "y", "i64:D * T"]}]
} */
/* One thread per pair. */
static __device__ float from_bf16(unsigned bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ unsigned to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

extern "C" __global__ void rope(const unsigned short *x, const unsigned short *c, const unsigned short *s,
                                unsigned short *y, long long half)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half)
        return;
    float x0 = from_bf16(x[i]), x1 = from_bf16(x[half + i]), u = from_bf16(c[i]), v = from_bf16(s[i]);
    y[i] = (unsigned short)to_bf16(x0 * u - x1 * v);
    y[half + i] = (unsigned short)to_bf16(x0 * v + x1 * u);
}
