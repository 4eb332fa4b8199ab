/* atoll-plan {
  "version": 1,
  "params": {"BM": [128, 64, 32], "BN": [128, 64, 256], "BK": [8, 16], "TM": [8, 4], "TN": [8, 4], "BLOCKS": [2, 1]},
  "require": ["BM / TM * (BN / TN) % 32 == 0", "BM / TM % 4 == 0", "BN / TN % 8 == 0",
              "BM / TM * (BN / TN) <= 512", "BM / TM * (BN / TN) >= 64",
              "BM * BK % (4 * (BM / TM) * (BN / TN)) == 0", "BM / TM * (BN / TN) % BN == 0",
              "BK * BN % (BM / TM * (BN / TN)) == 0", "8 * BK * (BM + BN) <= 49152"],
  "scratch": {"packed": "16 * cdiv(F, 4) * C * R * S", "offset": "8 * C * R * S"},
  "launch": [{"kernel": "pack", "grid": ["cdiv(4 * cdiv(F, 4) * C * R * S, 256)"], "block": ["256"],
              "args": ["w", "packed", "offset", "i64:C", "i64:F", "i64:P", "i64:Q", "i64:R", "i64:S"]},
             {"kernel": "conv2d", "grid": ["cdiv(P * Q, BN) * cdiv(F, BM)"], "block": ["BM / TM * (BN / TN)"],
              "args": ["x", "packed", "offset", "y", "i64:F", "i64:P", "i64:Q", "i64:C * R * S", "i64:Q + S - 1"]}]
} */
/* A product of filters with columns of the image: F x (C R S) times (C R S) x (P Q).  The first kernel turns the
 * filters round (padded to vectors of four) and writes where each tap stands in the image; the second one gathers a
 * pixel per thread and multiplies in registers, the next tiles on their way meanwhile. */
#define THREADS (BM / TM * (BN / TN))
#define PA      (BM * BK / 4 / THREADS)
#define PB      (BK * BN / THREADS)

extern "C" __global__ void pack(const float *w, float *packed, long long *offset, long long channels,
                                long long filters, long long p, long long q, long long r, long long s)
{
    long long depth = channels * r * s, pitch = (filters + 3) / 4 * 4;
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long k = at / pitch, f = at % pitch;
    if (k >= depth)
        return;
    packed[at] = f < filters ? w[f * depth + k] : 0.0f;
    if (f == 0)
        offset[k] = (k / (r * s) * (p + r - 1) + k / s % r) * (q + s - 1) + k % s;
}

struct tiles {
    float a[2][BK][BM];
    float b[2][BK][BN];
};

struct fetched {
    float4 a[PA];
    float b[PB];
};

/* pixel: this thread's in the image, or NULL outside of it. */
static __device__ void fetch(struct fetched *f, const float *packed, const long long *offset,
                             const float *pixel, long long row, long long k, long long pitch, long long depth)
{
#pragma unroll
    for (int p = 0; p < PA; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BM / 4), q = at % (BM / 4) * 4;
        f->a[p] = k + i < depth && row + q < pitch ? *(const float4 *)(packed + (k + i) * pitch + row + q)
                                                   : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
        long long i = k + threadIdx.x / BN + p * (THREADS / BN);
        f->b[p] = pixel && i < depth ? pixel[offset[i]] : 0.0f;
    }
}

static __device__ void put(struct tiles *t, int half, const struct fetched *f)
{
#pragma unroll
    for (int p = 0; p < PA; p++) {
        int at = threadIdx.x + p * THREADS;
        *(float4 *)&t->a[half][at / (BM / 4)][at % (BM / 4) * 4] = f->a[p];
    }
#pragma unroll
    for (int p = 0; p < PB; p++)
        t->b[half][threadIdx.x / BN + p * (THREADS / BN)][threadIdx.x % BN] = f->b[p];
}

/* Rows of a thread: TM / 4 groups of four, BM / (TM / 4) apart; columns in the same way. */
static __device__ void multiply_tile(const struct tiles *t, int half, int y, int x, float sums[TM][TN])
{
#pragma unroll
    for (int k = 0; k < BK; k++) {
        __align__(16) float a[TM], b[TN];
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            *(float4 *)(a + i) = *(const float4 *)&t->a[half][k][i / 4 * (BM / (TM / 4)) + y * 4];
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            *(float4 *)(b + j) = *(const float4 *)&t->b[half][k][j / 4 * (BN / (TN / 4)) + x * 4];
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
}

static __device__ void store(float *c, long long row, long long column, long long m, long long n,
                             float sums[TM][TN])
{
    bool vector = n % 4 == 0 && (size_t)c % 16 == 0;
#pragma unroll
    for (int i = 0; i < TM; i++) {
        long long to = row + i / 4 * (BM / (TM / 4)) + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            long long at = column + j / 4 * (BN / (TN / 4));
            if (to >= m || at >= n)
                continue;
            if (vector) {
                *(float4 *)(c + to * n + at) = *(const float4 *)&sums[i][j];
                continue;
            }
            for (int e = 0; e < 4; e++)
                if (at + e < n)
                    c[to * n + at + e] = sums[i][j + e];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    conv2d(const float *x, const float *packed, const long long *offset, float *y, long long filters,
           long long p, long long q, long long depth, long long width)
{
    __shared__ __align__(16) struct tiles t;
    struct fetched f;
    __align__(16) float sums[TM][TN] = {{0.0f}};
    long long pixels = p * q, wide = (pixels + BN - 1) / BN, pitch = (filters + 3) / 4 * 4;
    long long row = blockIdx.x / wide * BM, column = blockIdx.x % wide * BN, own = column + threadIdx.x % BN;
    const float *pixel = own < pixels ? x + own / q * width + own % q : 0;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = BN / TN / 8;
    int i = warp / across * 4 + lane / 8, j = warp % across * 8 + lane % 8, half = 0;
    fetch(&f, packed, offset, pixel, row, 0, pitch, depth);
    put(&t, 0, &f);
    __syncthreads();
    for (long long k = BK; k - BK < depth; k += BK) {
        if (k < depth)
            fetch(&f, packed, offset, pixel, row, k, pitch, depth);
        multiply_tile(&t, half, i, j, sums);
        half ^= 1;
        if (k < depth)
            put(&t, half, &f);
        __syncthreads();
    }
    store(y, row + i * 4, column + j * 4, filters, pixels, sums);
}
