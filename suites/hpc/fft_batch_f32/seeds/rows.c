/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [8, 4, 16], "RADIX": [4, 2]},
  "scratch": {"table": "16 * N", "work": "32 * ROWS * N * cdiv(B, ROWS)"},
  "launch": [{"function": "twiddles", "units": "cdiv(N, 256)", "args": ["table", "i64:N"]},
             {"function": "transform", "units": "cdiv(B, ROWS)", "args": ["x", "y", "table", "work", "i64:B", "i64:N"]}]
} */
/* ROWS rows side by side, one in each lane of a vector, so that no stage shuffles; Stockham's radix 4, and one stage of
 * radix 2 where the length asks for it. */
#include <math.h>

typedef real vec __attribute__((vector_size(sizeof(real) * ROWS), aligned(sizeof(real)), may_alias));
struct pair {
    vec re, im;
};

void twiddles(long begin, long end, real *table, long n)
{
    for (long k = begin * 256; k < end * 256 && k < n; k++) {
        const double angle = -6.283185307179586476925 * (double)k / (double)n;
        table[2 * k] = (real)cos(angle);
        table[2 * k + 1] = (real)sin(angle);
    }
}

static inline struct pair turned(vec re, vec im, const real *w)
{
    const struct pair p = {re * w[0] - im * w[1], re * w[1] + im * w[0]};
    return p;
}

static void stage2(const struct pair *restrict from, struct pair *restrict to, const real *table, long n,
                   long run)
{
    for (long g = 0; g < n / 2 / run; g++) {
        for (long r = 0; r < run; r++) {
            const struct pair *p = from + g * run + r, *q = p + n / 2;
            struct pair *out = to + 2 * g * run + r;
            out[0].re = p->re + q->re;
            out[0].im = p->im + q->im;
            out[run] = turned(p->re - q->re, p->im - q->im, table + 2 * g * run);
        }
    }
}

static void stage4(const struct pair *restrict from, struct pair *restrict to, const real *table, long n,
                   long run)
{
    const long quarter = n / 4;
    for (long g = 0; g < quarter / run; g++) {
        const real *w1 = table + 2 * g * run, *w2 = table + 4 * g * run, *w3 = table + 6 * g * run;
        for (long r = 0; r < run; r++) {
            const struct pair *p = from + g * run + r;
            const vec re0 = p[0].re + p[2 * quarter].re, im0 = p[0].im + p[2 * quarter].im;
            const vec re1 = p[0].re - p[2 * quarter].re, im1 = p[0].im - p[2 * quarter].im;
            const vec re2 = p[quarter].re + p[3 * quarter].re, im2 = p[quarter].im + p[3 * quarter].im;
            const vec re3 = p[quarter].im - p[3 * quarter].im, im3 = p[3 * quarter].re - p[quarter].re;
            struct pair *out = to + 4 * g * run + r;
            out[0].re = re0 + re2;
            out[0].im = im0 + im2;
            out[run] = turned(re1 + re3, im1 + im3, w1);
            out[2 * run] = turned(re0 - re2, im0 - im2, w2);
            out[3 * run] = turned(re1 - re3, im1 - im3, w3);
        }
    }
}

static struct pair *stages(struct pair *now, struct pair *next, const real *table, long n)
{
    long run = 1;
    while (run < n) {
        struct pair *swap = now;
        if (RADIX == 4 && run * 4 <= n) {
            stage4(now, next, table, n, run);
            run *= 4;
        } else {
            stage2(now, next, table, n, run);
            run *= 2;
        }
        now = next;
        next = swap;
    }
    return now;
}

void transform(long begin, long end, const real *x, real *y, const real *table, real *work, long rows, long n)
{
    for (long u = begin; u < end; u++) {
        const long first = u * ROWS, count = rows - first < ROWS ? rows - first : ROWS;
        struct pair *w = (struct pair *)(work + u * 4 * ROWS * n);
        for (long i = 0; i < n; i++) {
            for (int v = 0; v < ROWS; v++) {
                w[i].re[v] = v < count ? x[2 * ((first + v) * n + i)] : 0;
                w[i].im[v] = v < count ? x[2 * ((first + v) * n + i) + 1] : 0;
            }
        }
        const struct pair *done = stages(w, w + n, table, n);
        for (int v = 0; v < count; v++) {
            for (long i = 0; i < n; i++) {
                y[2 * ((first + v) * n + i)] = done[i].re[v];
                y[2 * ((first + v) * n + i) + 1] = done[i].im[v];
            }
        }
    }
}
