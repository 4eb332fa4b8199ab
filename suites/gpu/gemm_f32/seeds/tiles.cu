/* atoll-plan {
  "version": 1,
  "params": {"BM": [64, 128, 256], "BN": [256, 128, 64], "BK": [8, 16, 32], "TM": [16, 8, 4], "TN": [8, 4],
             "GROUP": [4, 8, 1, 16], "BLOCKS": [1, 2]},
  "require": ["BM / TM * (BN / TN) % 32 == 0", "BM / TM % 4 == 0", "BN / TN % 8 == 0",
              "BM / TM * (BN / TN) <= 512", "BM / TM * (BN / TN) >= 64",
              "BM * BK % (4 * (BM / TM) * (BN / TN)) == 0", "BK * BN % (4 * (BM / TM) * (BN / TN)) == 0",
              "8 * BK * (BM + 4 + BN) <= 49152", "TM * TN <= 128",
              "BLOCKS == 1 || TM * TN <= 64",
              "max(M * K, max(K * N, M * N)) < 2147483648"],
  "paths": [{"when": "K % 4 == 0 && N % 4 == 0",
             "launch": [{"kernel": "gemm", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["BM / TM * (BN / TN)"],
                         "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"]}]},
            {"launch": [{"kernel": "gemm_odd", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["BM / TM * (BN / TN)"],
                         "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"]}]}]
} */
/* A block computes BM x BN, a thread TM x TN of it in registers.  The next tiles of A and B are on their way from
 * memory while these are multiplied; two halves of shared memory need one barrier a step.  The lanes of a warp stand
 * as 4 x 8, so a vector of A or B is one transfer.  GROUP rows of blocks run side by side and share columns of B.  gemm_odd
 * takes rows that are no whole vectors. */
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

/* Four neighbours in a row; zeros outside of the matrix.  WHOLE: rows are multiples of four. */
template <bool WHOLE>
static __device__ __forceinline__ float4 load4(const float *p, int row, int column, int rows, int columns)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *from = p + row * columns + column;
    if (row >= rows || column >= columns)
        return v;
    if (WHOLE)
        return *(const float4 *)from;
    v.x = from[0];
    if (column + 1 < columns)
        v.y = from[1];
    if (column + 2 < columns)
        v.z = from[2];
    if (column + 3 < columns)
        v.w = from[3];
    return v;
}

template <bool WHOLE>
static __device__ __forceinline__ void fetch(struct fetched *f, const float *a, const float *b, int row,
                                             int column, int k, int m, int n, int depth)
{
#pragma unroll
    for (int p = 0; p < PA; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BK / 4), q = at % (BK / 4) * 4;
        f->a[p] = load4<WHOLE>(a, row + i, k + q, m, depth);
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
        int at = threadIdx.x + p * THREADS, i = at / (BN / 4), q = at % (BN / 4) * 4;
        f->b[p] = load4<WHOLE>(b, k + i, column + q, depth, n);
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

template <bool WHOLE>
static __device__ __forceinline__ void store(float *c, int row, int column, int m, int n, float sums[TM][TN])
{
#pragma unroll
    for (int i = 0; i < TM; i++) {
        int to = row + i / 4 * (BM / (TM / 4)) + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int at = column + j / 4 * (BN / (TN / 4));
            if (to >= m || at >= n)
                continue;
            if (WHOLE) {
                *(float4 *)(c + to * n + at) = *(const float4 *)&sums[i][j];
                continue;
            }
            for (int e = 0; e < 4; e++)
                if (at + e < n)
                    c[to * n + at + e] = sums[i][j + e];
        }
    }
}

template <bool WHOLE>
static __device__ __forceinline__ void product(const float *a, const float *b, float *c, int row, int column,
                                               int m, int n, int depth)
{
    __shared__ __align__(16) struct tiles t;
    struct fetched f;
    __align__(16) float sums[TM][TN] = {{0.0f}};
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = BN / TN / 8;
    int down = lane / 8, aside = lane % 8;
    int y = warp / across * 4 + down, x = warp % across * 8 + aside, half = 0;
    fetch<WHOLE>(&f, a, b, row, column, 0, m, n, depth);
    put(&t, 0, &f);
    __syncthreads();
    for (int k = BK; k - BK < depth; k += BK) {
        if (k < depth)
            fetch<WHOLE>(&f, a, b, row, column, k, m, n, depth);
        multiply_tile(&t, half, y, x, sums);
        half ^= 1;
        if (k < depth)
            put(&t, half, &f);
        __syncthreads();
    }
    store<WHOLE>(c, row + y * 4, column + x * 4, m, n, sums);
}

template <bool WHOLE>
static __device__ __forceinline__ void blocks(const float *a, const float *b, float *c, int m, int n,
                                              int depth)
{
    int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    int group = blockIdx.x / (GROUP * across), first = group * GROUP;
    int height = down - first < GROUP ? down - first : GROUP, within = blockIdx.x - first * across;
    product<WHOLE>(a, b, c, (first + within % height) * BM, within / height * BN, m, n, depth);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm(const float *a, const float *b, float *c, int m, int n, int depth)
{
    blocks<true>(a, b, c, m, n, depth);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_odd(const float *a, const float *b, float *c, int m, int n, int depth)
{
    blocks<false>(a, b, c, m, n, depth);
}
