/* atoll-plan {
  "version": 1,
  "params": {"ROWS": [8, 16, 4], "RADIX": [8, 4]},
  "scratch": {"table": "16 * N", "work": "32 * ROWS * N * cdiv(B, ROWS)"},
  "launch": [{"function": "twiddles", "units": "cdiv(N, 256)", "args": ["table", "i64:N"]},
             {"function": "transform", "units": "cdiv(B, ROWS)", "args": ["x", "y", "table", "work", "i64:B", "i64:N"]}]
} */
/* ROWS rows side by side, one in each lane of a vector. The first stage reads the rows and the last one writes them, by square blocks
 * that are transposed in registers; the stages between (Stockham's, radix 8 with one of 2 or 4 for the rest) shuffle nothing. */
#include <math.h>

typedef real vec __attribute__((vector_size(sizeof(real) * ROWS), aligned(sizeof(real)), may_alias));

#define HALF (ROWS / 2) /* complex values of a row in a block */
#if ROWS == 4
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#elif ROWS == 8
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

struct pair {
    vec re, im;
};
/* Where rows lie in memory, and how many of them there are. */
struct rows {
    const real *from;
    real *to;
    long stride, count;
};

/* 256 roots as products of 16 by 16, in double precision. */
void twiddles(long begin, long end, real *table, long n)
{
    const double turn = -6.283185307179586476925 / (double)n;
    for (long u = begin; u < end; u++) {
        double re[16], im[16];
        for (int k = 0; k < 16; k++) {
            re[k] = cos(turn * k);
            im[k] = sin(turn * k);
        }
        for (long first = u * 256; first < u * 256 + 256 && first < n; first += 16) {
            const double c = cos(turn * (double)first), s = sin(turn * (double)first);
            for (int k = 0; k < 16 && first + k < n; k++) {
                table[2 * (first + k)] = (real)(c * re[k] - s * im[k]);
                table[2 * (first + k) + 1] = (real)(c * im[k] + s * re[k]);
            }
        }
    }
}

static inline void interleave(const vec *restrict from, vec *restrict to)
{
#pragma GCC unroll 16
    for (int i = 0; i < ROWS / 2; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + ROWS / 2], LOW);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + ROWS / 2], HIGH);
    }
}

#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif

static __attribute__((noinline, noclone)) void transpose_in_memory(real (*a)[ROWS])
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++) {
            const real swap = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = swap;
        }
}

/* Interleaving row i with row i + ROWS/2 log2(ROWS) times is a transposition. Vectors wider than the machine's gcc would shuffle element
 * by element. */
static inline void transpose(vec *a)
{
    vec b[ROWS];
    if (sizeof(vec) > REGISTER_BYTES) {
        transpose_in_memory((real(*)[ROWS])a);
        return;
    }
    interleave(a, b);
    interleave(b, a);
#if ROWS == 8
    interleave(a, b);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
        a[i] = b[i];
#elif ROWS == 16
    interleave(a, b);
    interleave(b, a);
#endif
}

/* HALF complex values of every row from column i on. */
static inline void take(const struct rows *r, long i, struct pair *ret)
{
    vec a[ROWS];
    if (r->count == ROWS) {
#pragma GCC unroll 16
        for (int v = 0; v < ROWS; v++)
            a[v] = *(const vec *)(r->from + v * r->stride + 2 * i);
    } else {
        for (int v = 0; v < ROWS; v++)
            a[v] = v < r->count ? *(const vec *)(r->from + v * r->stride + 2 * i) : (vec){0};
    }
    transpose(a);
#pragma GCC unroll 8
    for (int c = 0; c < HALF; c++) {
        ret[c].re = a[2 * c];
        ret[c].im = a[2 * c + 1];
    }
}

static inline void give(const struct rows *r, long i, const struct pair *values)
{
    vec a[ROWS];
#pragma GCC unroll 8
    for (int c = 0; c < HALF; c++) {
        a[2 * c] = values[c].re;
        a[2 * c + 1] = values[c].im;
    }
    transpose(a);
    for (int v = 0; v < r->count; v++)
        *(vec *)(r->to + v * r->stride + 2 * i) = a[v];
}

static inline struct pair plus(struct pair a, struct pair b)
{
    return (struct pair){a.re + b.re, a.im + b.im};
}

static inline struct pair minus(struct pair a, struct pair b)
{
    return (struct pair){a.re - b.re, a.im - b.im};
}

/* a / i */
static inline struct pair down(struct pair a)
{
    return (struct pair){a.im, -a.re};
}

static inline struct pair turned(struct pair a, const real *w)
{
    return (struct pair){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

/* The transform of 2, 4 or 8 values, in order. */
static inline __attribute__((always_inline)) void small(struct pair *a, const int radix)
{
    if (radix == 2) {
        const struct pair t = minus(a[0], a[1]);
        a[0] = plus(a[0], a[1]);
        a[1] = t;
    } else if (radix == 4) {
        const struct pair s = plus(a[0], a[2]), d = minus(a[0], a[2]), t = plus(a[1], a[3]),
                          e = down(minus(a[1], a[3]));
        a[0] = plus(s, t);
        a[1] = plus(d, e);
        a[2] = minus(s, t);
        a[3] = minus(d, e);
    } else {
        const real c = (real)0.70710678118654752440;
        struct pair even[4] = {plus(a[0], a[4]), plus(a[1], a[5]), plus(a[2], a[6]), plus(a[3], a[7])};
        struct pair odd[4] = {minus(a[0], a[4]), minus(a[1], a[5]), minus(a[2], a[6]), minus(a[3], a[7])};
        odd[1] = (struct pair){c * (odd[1].re + odd[1].im), c * (odd[1].im - odd[1].re)};
        odd[2] = down(odd[2]);
        odd[3] = (struct pair){c * (odd[3].im - odd[3].re), -c * (odd[3].re + odd[3].im)};
        small(even, 4);
        small(odd, 4);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            a[2 * k] = even[k];
            a[2 * k + 1] = odd[k];
        }
    }
}

enum place { WORK, ROW };

/* One stage from `from` (or the rows) to `to` (or the rows): groups of `run` transforms share their twiddles. */
static inline __attribute__((always_inline)) void
stage(const struct rows *r, const struct pair *restrict from, struct pair *restrict to, const real *table,
      long n, long run, const int radix, const enum place in, const enum place out)
{
    const long part = n / radix;
    const long step = in == ROW || out == ROW ? HALF : 1;
    for (long p = 0; p < part; p += step) {
        struct pair block[8][HALF];
        if (in == ROW)
            for (int k = 0; k < radix; k++)
                take(r, p + k * part, block[k]);
        for (long c = 0; c < step; c++) {
            const long g = (p + c) / run, at = (p + c) % run;
            struct pair a[8];
#pragma GCC unroll 8
            for (int k = 0; k < radix; k++)
                a[k] = in == ROW ? block[k][c] : from[p + c + k * part];
            small(a, radix);
            struct pair *place = to + radix * g * run + at;
            if (out == ROW)
                block[0][c] = a[0];
            else
                place[0] = a[0];
#pragma GCC unroll 8
            for (int k = 1; k < radix; k++)
                if (out == ROW) /* the last stage has one group: nothing turns */
                    block[k][c] = a[k];
                else
                    place[k * run] = turned(a[k], table + 2 * k * g * run);
        }
        if (out == ROW)
            for (int k = 0; k < radix; k++)
                give(r, p + k * part, block[k]);
    }
}

/* Stages between two buffers, with a loop of groups around the one of a run. */
static inline __attribute__((always_inline)) void middle(const struct pair *restrict from,
                                                         struct pair *restrict to, const real *table, long n,
                                                         long run, const int radix)
{
    const long part = n / radix;
    for (long g = 0; g < part / run; g++) {
        for (long at = 0; at < run; at++) {
            struct pair a[8];
#pragma GCC unroll 8
            for (int k = 0; k < radix; k++)
                a[k] = from[g * run + at + k * part];
            small(a, radix);
            struct pair *place = to + radix * g * run + at;
            place[0] = a[0];
#pragma GCC unroll 8
            for (int k = 1; k < radix; k++)
                place[k * run] = turned(a[k], table + 2 * k * g * run);
        }
    }
}

static long rest_of(long n)
{
    while (n >= RADIX * RADIX)
        n /= RADIX;
    return n / RADIX; /* 1, or a first stage of less than RADIX before the others */
}

/* Short rows: element by element into lanes, radix 2. */
static void short_rows(const struct rows *r, struct pair *now, struct pair *next, const real *table, long n)
{
    for (long i = 0; i < n; i++)
        for (int v = 0; v < ROWS; v++) {
            now[i].re[v] = v < r->count ? r->from[v * r->stride + 2 * i] : 0;
            now[i].im[v] = v < r->count ? r->from[v * r->stride + 2 * i + 1] : 0;
        }
    for (long run = 1; run < n; run *= 2) {
        struct pair *swap = now;
        middle(now, next, table, n, run, 2);
        now = next;
        next = swap;
    }
    for (long i = 0; i < n; i++)
        for (int v = 0; v < r->count; v++) {
            r->to[v * r->stride + 2 * i] = now[i].re[v];
            r->to[v * r->stride + 2 * i + 1] = now[i].im[v];
        }
}

/* n >= 256: the first stage and the last one have whole blocks, and are two. */
static void long_rows(const struct rows *r, struct pair *now, struct pair *next, const real *table, long n)
{
    const long rest = rest_of(n);
    long run = rest == 1 ? RADIX : rest;
    if (rest == 1)
        stage(r, next, now, table, n, 1, RADIX, ROW, WORK);
    else if (rest == 2)
        stage(r, next, now, table, n, 1, 2, ROW, WORK);
    else
        stage(r, next, now, table, n, 1, 4, ROW, WORK);
    for (; run * RADIX < n; run *= RADIX) {
        struct pair *swap = now;
        middle(now, next, table, n, run, RADIX);
        now = next;
        next = swap;
    }
    stage(r, now, next, table, n, run, RADIX, WORK, ROW);
}

void transform(long begin, long end, const real *x, real *y, const real *table, real *work, long rows, long n)
{
    /* the first unit's part of the buffer serves the whole range, and stays in the cache */
    struct pair *w = (struct pair *)(work + begin * 4 * ROWS * n);
    for (long u = begin; u < end; u++) {
        const long first = u * ROWS, count = rows - first < ROWS ? rows - first : ROWS;
        const struct rows r = {x + 2 * first * n, y + 2 * first * n, 2 * n, count};
        if (n >= 256)
            long_rows(&r, w, w + n, table, n);
        else
            short_rows(&r, w, w + n, table, n);
    }
}
