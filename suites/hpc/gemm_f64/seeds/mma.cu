/* atoll-plan {
  "version": 1,
  "params": {"BM": [128, 64, 256], "BN": [128, 64, 256], "BK": [16, 32, 8], "WM": [4, 2, 1], "WN": [2, 4, 1],
             "STAGES": [3, 4, 2, 5], "GROUP": [8, 1, 16]},
  "require": ["BM / WM % 16 == 0", "BN / WN % 16 == 0", "WM * WN >= 4", "WM * WN <= 16",
              "BM * BN / (32 * WM * WN) <= 64", "BM * BN / (32 * WM * WN) >= 16",
              "STAGES * 8 * (BM * (BK + 4) + BK * (BN + 4)) <= 227328"],
  "launch": [{"kernel": "gemm", "grid": ["cdiv(M, BM) * cdiv(N, BN)"], "block": ["32 * WM * WN"],
              "shared_bytes": "8 * STAGES * (BM * (BK + 4) + BK * (BN + 4))",
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* Tensor cores in f64. */
#define THREADS (32 * WM * WN)
#define PITCH_A (BK + 4) /* 4 or 12 more than a multiple of 16 elements: half a warp reads each bank once */
#define PITCH_B (BN + 4)
#define TILE_A  (BM * PITCH_A)
#define TILE_B  (BK * PITCH_B)
#define ROWS    (BM / WM / 16) /* blocks of 16 rows of a warp */
#define COLUMNS (BN / WN / 8)  /* blocks of 8 columns of a warp */

/* 16 bytes past the registers into shared memory, zeros where `here` is false. */
static __device__ void copy16(void *to, const void *from, bool here)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    int bytes = here ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* c += a b, 16 x 8 x 8. */
static __device__ void mma_f64(double *c, const double *a, const double *b)
{
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

/* HEIGHT x WIDTH elements of a row-major matrix into shared memory; zeros outside of it. */
template <int HEIGHT, int WIDTH, int PITCH>
static __device__ void load_tile(double *to, const double *from, long long row, long long column,
                                 long long rows, long long columns)
{
    const int per = 2; /* elements of 16 bytes */
    bool vector = columns % per == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < HEIGHT * WIDTH / per; at += THREADS) {
        int i = at / (WIDTH / per), j = at % (WIDTH / per) * per;
        bool here = row + i < rows && column + j < columns;
        const double *own = here ? from + (row + i) * columns + column + j : from;
        if (vector)
            copy16(to + i * PITCH + j, own, here);
        else
            for (int e = 0; e < per; e++)
                to[i * PITCH + j + e] = here && column + j + e < columns ? own[e] : 0.0;
    }
}

/* Multiplies one pair of tiles: 8 of the depth at a time, every block of A with every block of B. */
static __device__ void multiply_tiles(const double *tile_a, const double *tile_b,
                                      double sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / WN * (BM / WM), warp_column = warp % WN * (BN / WN);
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
        double a[ROWS][4], b[COLUMNS][2];
#pragma unroll
        for (int i = 0; i < ROWS * 4; i++)
            a[i / 4][i % 4] = tile_a[(warp_row + i / 4 * 16 + i % 2 * 8 + lane / 4) * PITCH_A + k +
                                     i % 4 / 2 * 4 + lane % 4];
#pragma unroll
        for (int j = 0; j < COLUMNS * 2; j++)
            b[j / 2][j % 2] =
                tile_b[(k + lane % 4 + j % 2 * 4) * PITCH_B + warp_column + j / 2 * 8 + lane / 4];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                mma_f64(sums[i][j], a[i], b[j]);
    }
}

static __device__ void load_tiles(double *to, const double *a, const double *b, long long row,
                                  long long column, long long k, long long m, long long n, long long depth)
{
    load_tile<BM, BK, PITCH_A>(to, a, row, k, m, depth);
    load_tile<BK, BN, PITCH_B>(to + TILE_A, b, k, column, depth, n);
}

/* sums += the BM x BN tile of A B at (row, column); STAGES pairs of tiles are in shared memory or on their way. */
static __device__ void product(double *pool, const double *a, const double *b, long long row,
                               long long column, long long m, long long n, long long depth,
                               double sums[ROWS][COLUMNS][4])
{
    int steps = (int)((depth + BK - 1) / BK);
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps)
            load_tiles(pool + s * (TILE_A + TILE_B), a, b, row, column, (long long)s * BK, m, n, depth);
        copy_commit();
    }
    for (int s = 0; s < steps; s++) {
        int next = s + STAGES - 1;
        copy_wait<STAGES - 2>();
        __syncthreads();
        if (next < steps)
            load_tiles(pool + next % STAGES * (TILE_A + TILE_B), a, b, row, column, (long long)next * BK, m,
                       n, depth);
        copy_commit();
        const double *tile = pool + s % STAGES * (TILE_A + TILE_B);
        multiply_tiles(tile, tile + TILE_A, sums);
    }
    copy_wait<0>();
    __syncthreads();
}

/* Row and column of sums[i][j][0] and [1]; [2] and [3] are 8 rows below. */
static __device__ long long row_of(long long row, int i)
{
    return row + threadIdx.x / 32 / WN * (BM / WM) + i * 16 + threadIdx.x % 32 / 4;
}

static __device__ long long column_of(long long column, int j)
{
    return column + threadIdx.x / 32 % WN * (BN / WN) + j * 8 + threadIdx.x % 4 * 2;
}

/* Which tile a block has: GROUP rows of tiles run side by side and share columns of B. */
static __device__ void place(long long block, long long m, long long n, long long *row, long long *column)
{
    long long down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    long long group = block / (GROUP * across), first = group * GROUP;
    long long height = down - first < GROUP ? down - first : GROUP, within = block - first * across;
    *row = (first + within % height) * BM;
    *column = within / height * BN;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const double *a, const double *b, double *c, long long m, long long n, long long depth)
{
    extern __shared__ __align__(16) double pool[];
    double sums[ROWS][COLUMNS][4] = {{{0.0}}};
    long long row, column;
    place(blockIdx.x, m, n, &row, &column);
    product(pool, a, b, row, column, m, n, depth, sums);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            long long at = column_of(column, j);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                long long to = row_of(row, i) + half * 8;
                for (int e = 0; e < 2; e++)
                    if (to < m && at + e < n)
                        c[to * n + at + e] = sums[i][j][2 * half + e];
            }
        }
    }
}
