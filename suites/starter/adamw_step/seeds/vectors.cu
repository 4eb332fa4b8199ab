/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [1, 2, 4], "STREAM": [1, 0], "FAST": [1, 0]},
  "launch": [{"kernel": "adamw", "grid": ["cdiv(N, 4 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["p", "m", "v", "g", "i64:N"]}]
} */
/* PER vectors of four parameters per thread, all loads in flight before the first root.  STREAM: lines that nobody
 * reads again are marked so.  FAST: the quotient by the hardware's approximation. */
static __device__ float4 load4(const float4 *from)
{
    return STREAM ? __ldcs(from) : *from;
}

static __device__ void store4(float4 *to, float4 v)
{
    if (STREAM)
        __stcs(to, v);
    else
        *to = v;
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

static __device__ void step4(float4 &p, float4 &m, float4 &v, float4 g)
{
    step(p.x, m.x, v.x, g.x);
    step(p.y, m.y, v.y, g.y);
    step(p.z, m.z, v.z, g.z);
    step(p.w, m.w, v.w, g.w);
}

static __device__ void block_vectors(float4 *p, float4 *m, float4 *v, const float4 *g)
{
    float4 a[PER], b[PER], c[PER], d[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) {
        a[k] = load4(p + k * BLOCK);
        b[k] = load4(m + k * BLOCK);
        c[k] = load4(v + k * BLOCK);
        d[k] = load4(g + k * BLOCK);
    }
#pragma unroll
    for (int k = 0; k < PER; k++) {
        step4(a[k], b[k], c[k], d[k]);
        store4(p + k * BLOCK, a[k]);
        store4(m + k * BLOCK, b[k]);
        store4(v + k * BLOCK, c[k]);
    }
}

static __device__ int is_aligned(const void *p)
{
    return (size_t)p % 16 == 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    adamw(float *p, float *m, float *v, const float *g, long long n)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 4, last = first + BLOCK * PER * 4;
    if (last <= n && is_aligned(p) && is_aligned(m) && is_aligned(v) && is_aligned(g)) {
        long long at = first / 4 + threadIdx.x;
        block_vectors((float4 *)p + at, (float4 *)m + at, (float4 *)v + at, (const float4 *)g + at);
        return;
    }
    for (long long i = first + threadIdx.x; i < last && i < n; i += BLOCK)
        step(p[i], m[i], v[i], g[i]);
}
