/* atoll-plan {
  "version": 1,
  "params": {"BM": [128, 64, 256], "BN": [128, 64, 256], "BK": [16, 8, 32], "TM": [8, 4, 16], "TN": [8, 4],
             "GROUP": [8, 1, 4, 16], "BLOCKS": [2, 1]},
  "require": ["BM / TM * (BN / TN) % 32 == 0", "BM / TM % 4 == 0", "BN / TN % 8 == 0",
              "BM / TM * (BN / TN) <= 512", "BM / TM * (BN / TN) >= 64",
              "BM * BK % (4 * (BM / TM) * (BN / TN)) == 0", "BK * BN % (4 * (BM / TM) * (BN / TN)) == 0",
              "8 * BK * (BM + 4 + BN) <= 49152", "TM * TN <= 128",
              "BLOCKS == 1 || TM * TN <= 64"],
  "launch": [{"kernel": "gemm", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["BM / TM * (BN / TN)"],
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* A block computes BM x BN, a thread TM x TN of it in registers.  The next tiles of A and B are on their way from
 * memory while these are multiplied; two halves of shared memory need one barrier a step.  The lanes of a warp stand
 * as 4 x 8, so a vector of A or B is one transfer.  GROUP rows of blocks run side by side and share columns of B. */
#define THREADS (BM / TM * (BN / TN))
#define PA      (BM * BK / 4 / THREADS)
#define PB      (BK * BN / 4 / THREADS)
#define PITCH   (BM + 4)

struct tiles {
    float a[2][BK][PITCH]; /* transposed: four rows of one depth are one vector */
    float b[2][BK][BN];
};

struct fetched {
    float4 a[PA], b[PB];
};

/* Four neighbours in a row; zeros outside of the matrix. */
static __device__ float4 load4(const float *p, long long row, long long column, long long rows,
                               long long columns)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *from = p + row * columns + column;
    if (row >= rows || column >= columns)
        return v;
    v.x = from[0];
    if (column + 1 < columns)
        v.y = from[1];
    if (column + 2 < columns)
        v.z = from[2];
    if (column + 3 < columns)
        v.w = from[3];
    return v;
}

static __device__ void fetch(struct fetched *f, const float *a, const float *b, long long row,
                             long long column, long long k, long long m, long long n, long long depth)
{
    bool whole_a = row + BM <= m && k + BK <= depth && depth % 4 == 0 && (size_t)a % 16 == 0;
    bool whole_b = column + BN <= n && k + BK <= depth && n % 4 == 0 && (size_t)b % 16 == 0;
#pragma unroll
    for (int p = 0; p < PA; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BK / 4), q = at % (BK / 4) * 4;
        f->a[p] =
            whole_a ? *(const float4 *)(a + (row + i) * depth + k + q) : load4(a, row + i, k + q, m, depth);
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BN / 4), q = at % (BN / 4) * 4;
        f->b[p] =
            whole_b ? *(const float4 *)(b + (k + i) * n + column + q) : load4(b, k + i, column + q, depth, n);
    }
}

static __device__ void put(struct tiles *t, int half, const struct fetched *f)
{
#pragma unroll
    for (int p = 0; p < PA; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BK / 4), q = at % (BK / 4) * 4;
        t->a[half][q][i] = f->a[p].x;
        t->a[half][q + 1][i] = f->a[p].y;
        t->a[half][q + 2][i] = f->a[p].z;
        t->a[half][q + 3][i] = f->a[p].w;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
        int at = threadIdx.x + p * THREADS;
        *(float4 *)&t->b[half][at / (BN / 4)][at % (BN / 4) * 4] = f->b[p];
    }
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

static __device__ void product(const float *a, const float *b, float *c, long long row, long long column,
                               long long m, long long n, long long depth)
{
    __shared__ __align__(16) struct tiles t;
    struct fetched f;
    __align__(16) float sums[TM][TN] = {{0.0f}};
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = BN / TN / 8;
    int y = warp / across * 4 + lane / 8, x = warp % across * 8 + lane % 8, half = 0;
    fetch(&f, a, b, row, column, 0, m, n, depth);
    put(&t, 0, &f);
    __syncthreads();
    for (long long k = BK; k - BK < depth; k += BK) {
        if (k < depth)
            fetch(&f, a, b, row, column, k, m, n, depth);
        multiply_tile(&t, half, y, x, sums);
        half ^= 1;
        if (k < depth)
            put(&t, half, &f);
        __syncthreads();
    }
    store(c, row + y * 4, column + x * 4, m, n, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm(const float *a, const float *b, float *c, long long m, long long n, long long depth)
{
    long long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    long long group = blockIdx.x / (GROUP * across), first = group * GROUP;
    long long height = down - first < GROUP ? down - first : GROUP, within = blockIdx.x - first * across;
    product(a, b, c, (first + within % height) * BM, within / height * BN, m, n, depth);
}
