/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [256, 128, 512, 1024], "PER": [1, 2, 4]},
  "launch": [{"kernel": "rope", "grid": ["cdiv(D * T, 8 * BLOCK * PER)"], "block": ["BLOCK"],
              "args": ["x", "c", "s", "y", "i64:D * T"]}]
} */
/* PER vectors of eight pairs per thread, all loads in flight before the first store. */
static __device__ float from_bf16(unsigned bits)
{
    return __uint_as_float(bits << 16);
}

static __device__ unsigned to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

static __device__ void turn1(float x0, float x1, float c, float s, unsigned *y0, unsigned *y1)
{
    *y0 = to_bf16(x0 * c - x1 * s);
    *y1 = to_bf16(x0 * s + x1 * c);
}

/* Two pairs in a word each. */
static __device__ void turn2(unsigned x0, unsigned x1, unsigned c, unsigned s, unsigned *y0, unsigned *y1)
{
    unsigned low0, low1, high0, high1;
    turn1(from_bf16(x0 & 0xffffu), from_bf16(x1 & 0xffffu), from_bf16(c & 0xffffu), from_bf16(s & 0xffffu),
          &low0, &low1);
    turn1(from_bf16(x0 >> 16), from_bf16(x1 >> 16), from_bf16(c >> 16), from_bf16(s >> 16), &high0, &high1);
    *y0 = low0 | high0 << 16;
    *y1 = low1 | high1 << 16;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    rope(const unsigned short *x, const unsigned short *c, const unsigned short *s, unsigned short *y,
         long long half)
{
    long long first = (long long)blockIdx.x * BLOCK * PER * 8, last = first + BLOCK * PER * 8;
    if (last > half || half % 8 != 0 || ((size_t)x | (size_t)c | (size_t)s | (size_t)y) % 16 != 0) {
        for (long long i = first + threadIdx.x; i < last && i < half; i += BLOCK) {
            unsigned y0, y1;
            turn1(from_bf16(x[i]), from_bf16(x[half + i]), from_bf16(c[i]), from_bf16(s[i]), &y0, &y1);
            y[i] = (unsigned short)y0;
            y[half + i] = (unsigned short)y1;
        }
        return;
    }
    const uint4 *low = (const uint4 *)(x + first) + threadIdx.x,
                *high = (const uint4 *)(x + half + first) + threadIdx.x;
    const uint4 *cosine = (const uint4 *)(c + first) + threadIdx.x,
                *sine = (const uint4 *)(s + first) + threadIdx.x;
    uint4 *to = (uint4 *)(y + first) + threadIdx.x, *other = (uint4 *)(y + half + first) + threadIdx.x;
    uint4 u[PER], v[PER], p[PER], q[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        u[i] = __ldcs(low + i * BLOCK);
        v[i] = __ldcs(high + i * BLOCK);
        p[i] = __ldcs(cosine + i * BLOCK);
        q[i] = __ldcs(sine + i * BLOCK);
    }
#pragma unroll
    for (int i = 0; i < PER; i++) {
        uint4 a, b;
        turn2(u[i].x, v[i].x, p[i].x, q[i].x, &a.x, &b.x);
        turn2(u[i].y, v[i].y, p[i].y, q[i].y, &a.y, &b.y);
        turn2(u[i].z, v[i].z, p[i].z, q[i].z, &a.z, &b.z);
        turn2(u[i].w, v[i].w, p[i].w, q[i].w, &a.w, &b.w);
        __stcs(to + i * BLOCK, a);
        __stcs(other + i * BLOCK, b);
    }
}
