/* atoll-plan {
  "version": 1,
  "params": {"LANES": [16, 4, 8], "CHUNK": [64, 16, 32, 128, 256], "AHEAD": [0, 256, 512, 1024]},
  "launch": [{"function": "bias_gelu", "units": "B", "args": ["x", "bias", "y", "i64:N"]}]
} */
/* erf as a quotient of two polynomials over |z| <= 4 (constants: Eigen, generic_fast_erf), in loops that the
 * compiler turns into vectors of LANES. CHUNK: columns between prefetches; AHEAD: elements to prefetch ahead.
 */

static inline float gelu(float v)
{
    float z = v * 0.70710678f;
    z = z > 4.0f ? 4.0f : z;
    z = z < -4.0f ? -4.0f : z;
    const float s = z * z;
    float p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    float q = s * -1.45660718464996e-05f + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    const float half = 0.5f * v;
    return half + half * (z * p / q);
}

static inline void piece(const float *restrict x, const float *restrict bias, float *restrict y, long count)
{
#pragma omp simd simdlen(LANES)
    for (long j = 0; j < count; j++)
        y[j] = gelu(x[j] + bias[j]);
}

void bias_gelu(long begin, long end, const float *restrict x, const float *restrict bias, float *restrict y,
               long n)
{
    for (long i = begin; i < end; i++) {
        const float *restrict from = x + i * n;
        float *restrict to = y + i * n;
        long j = 0;
        for (; j + CHUNK <= n; j += CHUNK) {
#if AHEAD > 0
            for (int v = 0; v < CHUNK; v += 16)
                __builtin_prefetch(from + j + v + AHEAD);
#endif
            piece(from + j, bias + j, to + j, CHUNK);
        }
        piece(from + j, bias + j, to + j, n - j);
    }
}
