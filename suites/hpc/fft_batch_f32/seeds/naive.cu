/* atoll-plan {
  "version": 1,
  "launch": [{"kernel": "transform", "grid": ["B"], "block": ["256"], "shared_bytes": "32 * N",
              "args": ["x", "y", "i32:N"]}]
} */
/* One block per row: Stockham's radix 2 between two copies in shared memory, twiddles as they are needed. */
struct pair {
    real re, im;
};

static __device__ pair twiddle(float turn)
{
    pair w;
    float s, c;
    sincospif(turn, &s, &c);
    w.re = c;
    w.im = s;
    return w;
}

static __device__ pair twiddle(double turn)
{
    pair w;
    double s, c;
    sincospi(turn, &s, &c);
    w.re = (real)c;
    w.im = (real)s;
    return w;
}

extern "C" __global__ void transform(const real *x, real *y, int n)
{
    extern __shared__ double memory[];
    pair *now = (pair *)memory, *next = now + n;
    const long long base = (long long)blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        now[i] = {x[2 * (base + i)], x[2 * (base + i) + 1]};
    for (int run = 1; run < n; run *= 2) {
        __syncthreads();
        for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
            const int g = t / run, r = t % run;
            const pair p = now[t], q = now[t + n / 2], w = twiddle((real)(-2 * g * run) / (real)n);
            const real re = p.re - q.re, im = p.im - q.im;
            next[2 * g * run + r] = {p.re + q.re, p.im + q.im};
            next[2 * g * run + r + run] = {re * w.re - im * w.im, re * w.im + im * w.re};
        }
        pair *swap = now;
        now = next;
        next = swap;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[2 * (base + i)] = now[i].re;
        y[2 * (base + i) + 1] = now[i].im;
    }
}
