/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [2, 1, 4, 8], "STREAM": [1, 0]},
  "launch": [{"kernel": "silu", "grid": ["cdiv(M * N, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["x", "y", "i64:M * N"]}]
} */
/* PER vectors of four per thread, all loads in flight before the first exponential. */
static __device__ float silu1(float x)
{
    return __fdividef(x, 1.0f + __expf(-x)); /* e^-x beyond 2^126 makes 0, as it should */
}

static __device__ float4 silu4(float4 v)
{
    return make_float4(silu1(v.x), silu1(v.y), silu1(v.z), silu1(v.w));
}

extern "C" __global__ void __launch_bounds__(BLOCK) silu(const float *x, float *y, long long count)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last > count || ((size_t)x | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < count; i += BLOCK)
            y[i] = silu1(x[i]);
        return;
    }
    const float4 *from = (const float4 *)(x + first) + threadIdx.x;
    float4 *to = (float4 *)(y + first) + threadIdx.x, v[PER];
#pragma unroll
    for (int p = 0; p < PER; p++)
        v[p] = STREAM ? __ldcs(from + p * BLOCK) : from[p * BLOCK];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        if (STREAM)
            __stcs(to + p * BLOCK, silu4(v[p]));
        else
            to[p * BLOCK] = silu4(v[p]);
    }
}
