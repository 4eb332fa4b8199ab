/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [2, 1, 4, 8], "STREAM": [1, 0]},
  "launch": [{"kernel": "relu", "grid": ["cdiv(M * N, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["x", "y", "i64:M * N"]}]
} */
/* PER vectors of four per thread, all loads in flight before the first store. */
static __device__ float relu1(float x)
{
    return x > 0.0f ? x : 0.0f;
}

static __device__ float4 relu4(float4 v)
{
    return make_float4(relu1(v.x), relu1(v.y), relu1(v.z), relu1(v.w));
}

extern "C" __global__ void __launch_bounds__(BLOCK) relu(const float *x, float *y, long long count)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last > count || ((size_t)x | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < count; i += BLOCK)
            y[i] = relu1(x[i]);
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
            __stcs(to + p * BLOCK, relu4(v[p]));
        else
            to[p * BLOCK] = relu4(v[p]);
    }
}
