/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 64, 512], "RUN": [4, 1, 2, 8]},
  "launch": [{"kernel": "rope", "grid": ["B * N"], "block": ["BLOCK"],
              "args": ["x", "c", "s", "y", "i64:N", "i64:H", "i64:D"]}]
} */
/* A block per position: its sines and cosines stay in the cache for all heads.  Vectors of four where D allows,
 * RUN of them from each half in flight. */
static __device__ float4 turn(float4 a, float4 c, float4 b, float4 s, float sign)
{
    return make_float4(a.x * c.x + sign * (b.x * s.x), a.y * c.y + sign * (b.y * s.y),
                       a.z * c.z + sign * (b.z * s.z), a.w * c.w + sign * (b.w * s.w));
}

static __device__ void position_plain(const float *x, const float *c, const float *s, float *y,
                                      long long heads, long long half)
{
    for (long long i = threadIdx.x; i < heads * half; i += BLOCK) {
        long long d = i % half, first = i / half * 2 * half + d, second = first + half;
        float x1 = x[first], x2 = x[second];
        y[first] = x1 * c[d] - x2 * s[d];
        y[second] = x2 * c[d] + x1 * s[d];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    rope(const float *x, const float *c, const float *s, float *y, long long positions, long long heads,
         long long half)
{
    long long position = blockIdx.x % positions, start = (long long)blockIdx.x * heads * 2 * half;
    x += start;
    y += start;
    c += position * half;
    s += position * half;
    if (half % 4 != 0 || ((size_t)x | (size_t)y | (size_t)c | (size_t)s) % 16 != 0) {
        position_plain(x, c, s, y, heads, half);
        return;
    }
    int quads = (int)(half / 4), count = (int)heads * quads;
    for (int base = threadIdx.x; base < count; base += BLOCK * RUN) {
        float4 v[RUN], u[RUN];
#pragma unroll
        for (int r = 0; r < RUN; r++) {
            int i = base + r * BLOCK, at = i / quads * 2 * quads + i % quads;
            if (i < count) {
                v[r] = __ldcs((const float4 *)x + at);
                u[r] = __ldcs((const float4 *)x + at + quads);
            }
        }
#pragma unroll
        for (int r = 0; r < RUN; r++) {
            int i = base + r * BLOCK, at = i / quads * 2 * quads + i % quads;
            if (i < count) {
                float4 cosine = *((const float4 *)c + i % quads), sine = *((const float4 *)s + i % quads);
                __stcs((float4 *)y + at, turn(v[r], cosine, u[r], sine, -1.0f));
                __stcs((float4 *)y + at + quads, turn(u[r], cosine, v[r], sine, 1.0f));
            }
        }
    }
}
