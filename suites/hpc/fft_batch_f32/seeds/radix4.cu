/* atoll-plan {
  "version": 1,
  "params": {"BLOCK": [128, 64, 256, 512], "RADIX": [4, 2], "TABLE": [1, 0]},
  "scratch": {"table": "16 * N"},
  "launch": [{"kernel": "twiddles", "grid": ["cdiv(N, 256)"], "block": ["256"], "args": ["table", "i32:N"]},
             {"kernel": "transform", "grid": ["B"], "block": ["BLOCK"], "shared_bytes": "32 * N",
              "args": ["x", "y", "table", "i32:N"]}]
} */
/* One block per row: Stockham's radix 4 (and one stage of radix 2 where the length asks for it) between two copies in
 * shared memory.  TABLE: twiddles come from a table that stays in the caches. */
struct pair {
    real re, im;
};

static __device__ pair turned_by(float turn)
{
    float s, c;
    sincospif(turn, &s, &c);
    return {c, s};
}

static __device__ pair turned_by(double turn)
{
    double s, c;
    sincospi(turn, &s, &c);
    return {(real)c, (real)s};
}

static __device__ pair twiddle(const pair *table, int k, int n)
{
    return TABLE ? table[k] : turned_by((real)(-2 * k) / (real)n);
}

static __device__ pair times(pair a, pair b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static __device__ pair plus(pair a, pair b)
{
    return {a.re + b.re, a.im + b.im};
}

static __device__ pair minus(pair a, pair b)
{
    return {a.re - b.re, a.im - b.im};
}

extern "C" __global__ void twiddles(pair *table, int n)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n)
        table[k] = turned_by((real)(-2 * k) / (real)n);
}

static __device__ void stage2(const pair *now, pair *next, const pair *table, int n, int run)
{
    for (int t = threadIdx.x; t < n / 2; t += BLOCK) {
        const int g = t / run * run, r = t % run;
        const pair p = now[t], q = now[t + n / 2];
        next[2 * g + r] = plus(p, q);
        next[2 * g + r + run] = times(minus(p, q), twiddle(table, g, n));
    }
}

static __device__ void stage4(const pair *now, pair *next, const pair *table, int n, int run)
{
    const int quarter = n / 4;
    for (int t = threadIdx.x; t < quarter; t += BLOCK) {
        const int g = t / run * run, r = t % run;
        const pair a = plus(now[t], now[t + 2 * quarter]), b = minus(now[t], now[t + 2 * quarter]);
        const pair c = plus(now[t + quarter], now[t + 3 * quarter]),
                   d = minus(now[t + quarter], now[t + 3 * quarter]);
        const pair e = {d.im, -d.re};
        pair *out = next + 4 * g + r;
        out[0] = plus(a, c);
        out[run] = times(plus(b, e), twiddle(table, g, n));
        out[2 * run] = times(minus(a, c), twiddle(table, 2 * g, n));
        out[3 * run] = times(minus(b, e), twiddle(table, 3 * g, n));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    transform(const pair *x, pair *y, const pair *table, int n)
{
    extern __shared__ double memory[];
    pair *now = (pair *)memory, *next = now + n;
    const long long base = (long long)blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        const real *from = (const real *)(x + base + i);
        now[i] = {__ldcs(from), __ldcs(from + 1)};
    }
    for (int run = 1; run < n;) {
        __syncthreads();
        if (RADIX == 4 && run * 4 <= n) {
            stage4(now, next, table, n, run);
            run *= 4;
        } else {
            stage2(now, next, table, n, run);
            run *= 2;
        }
        pair *swap = now;
        now = next;
        next = swap;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += BLOCK)
        y[base + i] = now[i];
}
