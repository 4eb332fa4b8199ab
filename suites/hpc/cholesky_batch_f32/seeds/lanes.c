/* atoll-plan {
  "version": 1,
  "params": {"LANES": [8, 4, 16], "LIMIT": [32, 16]},
  "launch": [{"function": "factor", "units": "cdiv(B, LANES)", "args": ["a", "l", "i64:B", "i64:N"]}]
} */
/* LANES matrices side by side, one in each lane of a vector: every step of the factorisation is the same for all.
 * Matrices above LIMIT are factored one at a time. */
#include <math.h>

typedef real vec __attribute__((vector_size(sizeof(real) * LANES)));

static inline real root(real v)
{
    return sizeof(real) == 4 ? (real)__builtin_sqrtf((float)v) : (real)__builtin_sqrt(v);
}

static void lanes(const real *a, real *l, long n, long count)
{
    vec t[LIMIT][LIMIT];
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= i; j++)
            for (int v = 0; v < LANES; v++)
                t[i][j][v] = v < count ? a[(v * n + i) * n + j] : 0;
    for (long j = 0; j < n; j++) {
        vec diagonal = t[j][j] + (real)(n + 1);
        for (long k = 0; k < j; k++)
            diagonal -= t[j][k] * t[j][k];
        for (int v = 0; v < LANES; v++)
            diagonal[v] = root(diagonal[v]);
        t[j][j] = diagonal;
        const vec inverse = (real)1 / diagonal;
        for (long i = j + 1; i < n; i++) {
            vec sum = t[i][j];
            for (long k = 0; k < j; k++)
                sum -= t[i][k] * t[j][k];
            t[i][j] = sum * inverse;
        }
    }
    for (int v = 0; v < count; v++)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++)
                l[(v * n + i) * n + j] = j <= i ? t[i][j][v] : 0;
}

static void one(const real *from, real *to, long n)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j <= i; j++) {
            real sum = from[i * n + j] + (i == j ? (real)(n + 1) : 0);
            for (long k = 0; k < j; k++)
                sum -= to[i * n + k] * to[j * n + k];
            to[i * n + j] = i == j ? root(sum) : sum / to[j * n + j];
        }
        for (long j = i + 1; j < n; j++)
            to[i * n + j] = 0;
    }
}

void factor(long begin, long end, const real *a, real *l, long batch, long n)
{
    for (long u = begin; u < end; u++) {
        const long first = u * LANES, count = batch - first < LANES ? batch - first : LANES;
        if (n <= LIMIT) {
            lanes(a + first * n * n, l + first * n * n, n, count);
            continue;
        }
        for (long v = first; v < first + count; v++)
            one(a + v * n * n, l + v * n * n, n);
    }
}
