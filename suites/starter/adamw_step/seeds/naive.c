/* atoll-plan {
  "version": 1,
  "launch": [{"function": "adamw", "units": "N", "args": ["p", "m", "v", "g"]}]
} */
/* The update as it is written in the paper, one parameter at a time. */
#include <math.h>

void adamw(long begin, long end, float *p, float *m, float *v, const float *g)
{
    const float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.01f;
    const float correction1 = 0.6513215599f;  /* 1 - beta1^10 */
    const float correction2 = 0.00995511979f; /* 1 - beta2^10 */
    for (long i = begin; i < end; i++) {
        m[i] = beta1 * m[i] + 0.1f * g[i];
        v[i] = beta2 * v[i] + 0.001f * g[i] * g[i];
        float mean = m[i] / correction1;
        float square = v[i] / correction2;
        p[i] = p[i] - rate * decay * p[i] - rate * mean / (sqrtf(square) + epsilon);
    }
}
