/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [2, 1, 4]},
  "launch": [{"kernel": "adamw", "grid": ["cdiv(M * N, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["p", "g", "m", "v", "y", "i64:M * N"]}]
} */
/* PER vectors of four parameters per thread, all loads in flight before the first root. */
static __device__ float step(float p, float g, float m, float v)
{
    float root = sqrtf(1000.0f * (0.999f * v + 0.001f * g * g)) + 1e-8f;
    return p - 1e-5f * p - 0.01f * (0.9f * m + 0.1f * g) / root;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    adamw(const float *p, const float *g, const float *m, const float *v, float *y, long long count)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last > count || ((size_t)p | (size_t)g | (size_t)m | (size_t)v | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < count; i += BLOCK)
            y[i] = step(p[i], g[i], m[i], v[i]);
        return;
    }
    long long at = first / 4 + threadIdx.x;
    float4 a[PER], b[PER], c[PER], d[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        a[i] = __ldcs((const float4 *)p + at + i * BLOCK);
        b[i] = __ldcs((const float4 *)g + at + i * BLOCK);
        c[i] = __ldcs((const float4 *)m + at + i * BLOCK);
        d[i] = __ldcs((const float4 *)v + at + i * BLOCK);
    }
#pragma unroll
    for (int i = 0; i < PER; i++)
        __stcs((float4 *)y + at + i * BLOCK,
               make_float4(step(a[i].x, b[i].x, c[i].x, d[i].x), step(a[i].y, b[i].y, c[i].y, d[i].y),
                           step(a[i].z, b[i].z, c[i].z, d[i].z), step(a[i].w, b[i].w, c[i].w, d[i].w)));
}
