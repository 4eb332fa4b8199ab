/* atoll-plan {
  "version": 1,
  "scratch": {"table": "16 * N", "work": "16 * B * N"},
  "launch": [{"function": "twiddles", "units": "1", "args": ["table", "i64:N"]},
             {"function": "transform", "units": "B", "args": ["x", "y", "table", "work", "i64:N"]}]
} */
/* Stockham's radix 2 between the result and a copy, with a table of twiddles. */
#include <math.h>

void twiddles(long begin, long end, real *table, long n)
{
    for (long u = begin; u < end; u++) {
        for (long k = 0; k < n; k++) {
            const double angle = -6.283185307179586476925 * (double)k / (double)n;
            table[2 * k] = (real)cos(angle);
            table[2 * k + 1] = (real)sin(angle);
        }
    }
}

/* One stage: pairs n / 2 apart into runs of twice the length. */
static void stage(const real *from, real *to, const real *table, long n, long run)
{
    const long groups = n / 2 / run;
    for (long g = 0; g < groups; g++) {
        const real c = table[2 * g * run], s = table[2 * g * run + 1];
        for (long r = 0; r < run; r++) {
            const real *p = from + 2 * (g * run + r), *q = p + n;
            real *even = to + 2 * (2 * g * run + r), *odd = even + 2 * run;
            const real re = p[0] - q[0], im = p[1] - q[1];
            even[0] = p[0] + q[0];
            even[1] = p[1] + q[1];
            odd[0] = re * c - im * s;
            odd[1] = re * s + im * c;
        }
    }
}

void transform(long begin, long end, const real *x, real *y, const real *table, real *work, long n)
{
    for (long u = begin; u < end; u++) {
        real *to = y + 2 * u * n, *other = work + 2 * u * n;
        int stages = 0;
        for (long run = 1; run < n; run *= 2)
            stages++;
        real *now = stages % 2 ? other : to, *next = stages % 2 ? to : other;
        for (long i = 0; i < 2 * n; i++)
            now[i] = x[2 * u * n + i];
        for (long run = 1; run < n; run *= 2) {
            stage(now, next, table, n, run);
            real *swap = now;
            now = next;
            next = swap;
        }
    }
}
