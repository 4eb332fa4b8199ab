/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "adamw", "grid": ["cdiv(N, 256)"], "block": ["256"], "args": ["p", "m", "v", "g", "i64:N"]}]
} */
/* One thread per parameter. */
extern "C" __global__ void adamw(float *p, float *m, float *v, const float *g, long long n)
{
    const float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.01f;
    const float correction1 = 0.6513215599f;  /* 1 - beta1^10 */
    const float correction2 = 0.00995511979f; /* 1 - beta2^10 */
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    m[i] = beta1 * m[i] + 0.1f * g[i];
    v[i] = beta2 * v[i] + 0.001f * g[i] * g[i];
    float mean = m[i] / correction1;
    float square = v[i] / correction2;
    p[i] = p[i] - rate * decay * p[i] - rate * mean / (sqrtf(square) + epsilon);
}
