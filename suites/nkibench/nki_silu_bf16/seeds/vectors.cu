/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [2, 1, 4, 8], "STREAM": [1, 0]},
  "launch": [{"kernel": "silu", "grid": ["cdiv(M * N, 8 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["x", "y", "i64:M * N"]}]
} */
/* PER vectors of eight per thread, all loads in flight before the first exponential. */
static __device__ float from_bf16(unsigned bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ unsigned to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

static __device__ float silu1(float x)
{
    return __fdividef(x, 1.0f + __expf(-x)); /* e^-x beyond 2^126 makes 0, as it should */
}

static __device__ unsigned silu2(unsigned pair)
{
    return to_bf16(silu1(from_bf16(pair & 0xffffu))) | to_bf16(silu1(from_bf16(pair >> 16))) << 16;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    silu(const unsigned short *x, unsigned short *y, long long count)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 8, last = first + BLOCK * PER * 8;
    if (last > count || ((size_t)x | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < count; i += BLOCK)
            y[i] = (unsigned short)to_bf16(silu1(from_bf16(x[i])));
        return;
    }
    const uint4 *from = (const uint4 *)(x + first) + threadIdx.x;
    uint4 *to = (uint4 *)(y + first) + threadIdx.x, v[PER];
#pragma unroll
    for (int p = 0; p < PER; p++)
        v[p] = STREAM ? __ldcs(from + p * BLOCK) : from[p * BLOCK];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        v[p] = make_uint4(silu2(v[p].x), silu2(v[p].y), silu2(v[p].z), silu2(v[p].w));
        if (STREAM)
            __stcs(to + p * BLOCK, v[p]);
        else
            to[p * BLOCK] = v[p];
    }
}
