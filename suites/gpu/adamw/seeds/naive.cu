/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "adamw", "grid": ["cdiv(M * N, 256)"], "block": ["256"],
              "args": ["p", "m", "v", "g", "w", "i64:M * N"]}]
} */
/* One thread per parameter. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void adamw(float *p, float *m, float *v, const unsigned short *g, unsigned short *w,
                                 long long count)
{
    const float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.01f;
    const float correction1 = 0.6513215599f;  /* 1 - beta1^10 */
    const float correction2 = 0.00995511979f; /* 1 - beta2^10 */
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float slope = from_bf16(g[i]);
    m[i] = beta1 * m[i] + 0.1f * slope;
    v[i] = beta2 * v[i] + 0.001f * slope * slope;
    float mean = m[i] / correction1;
    float square = v[i] / correction2;
    p[i] = p[i] - rate * decay * p[i] - rate * mean / (sqrtf(square) + epsilon);
    w[i] = to_bf16(p[i]);
}
