/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [1, 2, 4], "FAST": [1, 0]},
  "launch": [{"kernel": "adamw", "grid": ["cdiv(M * N, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["p", "m", "v", "g", "w", "i64:M * N"]}]
} */
/* PER vectors of four parameters per thread, all loads in flight before the first root. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ void step(float &p, float &m, float &v, float g)
{
    const float rate = 1e-3f / 0.6513215599f;       /* over 1 - beta1^10 */
    const float correction = 1.0f / 0.00995511979f; /* 1 / (1 - beta2^10) */
    m = 0.9f * m + 0.1f * g;
    v = 0.999f * v + 0.001f * g * g;
    float root = sqrtf(v * correction) + 1e-8f;
    p = p * (1.0f - 1e-5f) - rate * (FAST ? __fdividef(m, root) : m / root);
}

static __device__ ushort4 step4(float4 &p, float4 &m, float4 &v, ushort4 g)
{
    ushort4 w;
    step(p.x, m.x, v.x, from_bf16(g.x));
    step(p.y, m.y, v.y, from_bf16(g.y));
    step(p.z, m.z, v.z, from_bf16(g.z));
    step(p.w, m.w, v.w, from_bf16(g.w));
    w.x = to_bf16(p.x);
    w.y = to_bf16(p.y);
    w.z = to_bf16(p.z);
    w.w = to_bf16(p.w);
    return w;
}

static __device__ void block_vectors(float4 *p, float4 *m, float4 *v, const ushort4 *g, ushort4 *w)
{
    float4 a[PER], b[PER], c[PER];
    ushort4 d[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) {
        a[k] = __ldcs(p + k * BLOCK);
        b[k] = __ldcs(m + k * BLOCK);
        c[k] = __ldcs(v + k * BLOCK);
        d[k] = __ldcs(g + k * BLOCK);
    }
#pragma unroll
    for (int k = 0; k < PER; k++) {
        ushort4 e = step4(a[k], b[k], c[k], d[k]);
        __stcs(p + k * BLOCK, a[k]);
        __stcs(m + k * BLOCK, b[k]);
        __stcs(v + k * BLOCK, c[k]);
        __stcs(w + k * BLOCK, e);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    adamw(float *p, float *m, float *v, const unsigned short *g, unsigned short *w, long long count)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last <= count && ((size_t)p | (size_t)m | (size_t)v | (size_t)g | (size_t)w) % 16 == 0) {
        long long at = first / 4 + threadIdx.x;
        block_vectors((float4 *)p + at, (float4 *)m + at, (float4 *)v + at, (const ushort4 *)g + at,
                      (ushort4 *)w + at);
        return;
    }
    for (long long i = first + threadIdx.x; i < last && i < count; i += BLOCK) {
        step(p[i], m[i], v[i], from_bf16(g[i]));
        w[i] = to_bf16(p[i]);
    }
}
