/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "adamw", "grid": ["cdiv(M * N, 256)"], "block": ["256"],
              "args": ["p", "g", "m", "v", "y", "i64:M * N"]}]
} */
/* One thread per parameter. */
static __device__ float step(float p, float g, float m, float v)
{
    float root = sqrtf(1000.0f * (0.999f * v + 0.001f * g * g)) + 1e-8f;
    return p - 1e-5f * p - 0.01f * (0.9f * m + 0.1f * g) / root;
}

extern "C" __global__ void adamw(const float *p, const float *g, const float *m, const float *v, float *y,
                                 long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = step(p[i], g[i], m[i], v[i]);
}
