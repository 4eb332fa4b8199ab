/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [2, 1, 4]},
  "launch": [{"kernel": "rope", "grid": ["cdiv(D * T, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["x", "c", "s", "y", "i64:D * T"]}]
} */
/* PER vectors of four pairs per thread, all loads in flight before the first store. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    rope(const float *x, const float *c, const float *s, float *y, long long half)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last > half || half % 4 != 0 || ((size_t)x | (size_t)c | (size_t)s | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < half; i += BLOCK) {
            y[i] = x[i] * c[i] - x[half + i] * s[i];
            y[half + i] = x[i] * s[i] + x[half + i] * c[i];
        }
        return;
    }
    const float4 *low = (const float4 *)(x + first) + threadIdx.x,
                 *high = (const float4 *)(x + half + first) + threadIdx.x;
    const float4 *cosine = (const float4 *)(c + first) + threadIdx.x,
                 *sine = (const float4 *)(s + first) + threadIdx.x;
    float4 *to = (float4 *)(y + first) + threadIdx.x, *other = (float4 *)(y + half + first) + threadIdx.x;
    float4 u[PER], v[PER], p[PER], q[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        u[i] = __ldcs(low + i * BLOCK);
        v[i] = __ldcs(high + i * BLOCK);
        p[i] = __ldcs(cosine + i * BLOCK);
        q[i] = __ldcs(sine + i * BLOCK);
    }
#pragma unroll
    for (int i = 0; i < PER; i++) {
        __stcs(to + i * BLOCK,
               make_float4(u[i].x * p[i].x - v[i].x * q[i].x, u[i].y * p[i].y - v[i].y * q[i].y,
                           u[i].z * p[i].z - v[i].z * q[i].z, u[i].w * p[i].w - v[i].w * q[i].w));
        __stcs(other + i * BLOCK,
               make_float4(u[i].x * q[i].x + v[i].x * p[i].x, u[i].y * q[i].y + v[i].y * p[i].y,
                           u[i].z * q[i].z + v[i].z * p[i].z, u[i].w * q[i].w + v[i].w * p[i].w));
    }
}
