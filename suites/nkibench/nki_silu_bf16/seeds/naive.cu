/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "silu", "grid": ["cdiv(M * N, 256)"], "block": ["256"], "args": ["x", "y", "i64:M * N"]}]
} */
/* One thread per element. */
static __device__ float from_bf16(unsigned bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ unsigned to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

extern "C" __global__ void silu(const unsigned short *x, unsigned short *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float v = from_bf16(x[i]);
    y[i] = (unsigned short)to_bf16(v / (1.0f + expf(-v)));
}
