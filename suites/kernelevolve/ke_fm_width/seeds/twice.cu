/* atoll-plan {
  "version": 1,
  "params": {"BM": [128, 64], "BN": [128, 64, 256], "BK": [32, 64], "WM": [2, 4, 1], "WN": [2, 4, 1], "STAGES": [3, 2, 4],
             "GROUP": [8, 1]},
  "require": ["BM / WM % 16 == 0", "BN / WN % 16 == 0", "WM * WN >= 2", "WM * WN <= 16", "BM * BN / (32 * WM * WN) <= 128",
              "BM * BN / (32 * WM * WN) >= 16", "2 * STAGES * (BM * BK + 8 * max(BM, BK) + BK * (BN + 8)) <= 227328"],
  "scratch": {"middle": "2 * B * D * K"},
  "launch": [{"kernel": "first", "grid": ["B * cdiv(D, BM) * cdiv(K, BN)"], "block": ["32 * WM * WN"],
              "shared_bytes": "2 * STAGES * (BM * BK + 8 * max(BM, BK) + BK * (BN + 8))",
              "args": ["x", "y", "middle", "i64:D", "i64:K", "i64:N"]},
             {"kernel": "second", "grid": ["B * cdiv(N, BM) * cdiv(K, BN)"], "block": ["32 * WM * WN"],
              "shared_bytes": "2 * STAGES * (BM * BK + 8 * max(BM, BK) + BK * (BN + 8))",
              "args": ["x", "middle", "out", "i64:N", "i64:K", "i64:D"]}]
} */
/* Tensor cores, any number of features: X^T Y through memory in bf16, then X times it.  WM x WN warps share a tile of BM x BN, STAGES
 * pairs of tiles of depth BK are in shared memory or on their way there; TURN: the left factor lies the other way round. */
#define THREADS (32 * WM * WN)
#define PITCH_A (TURN ? BM + 8 : BK + 8)
#define PITCH_B (BN + 8)
#define TILE_A  (BM * BK + 8 * (BM > BK ? BM : BK))
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

/* Four 8 x 8 blocks of 16-bit elements; lane i gives the address of row i % 8 of block i / 8. */
static __device__ void load_matrix(unsigned *v, const void *from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(address)
                 : "memory");
}

/* The same, each block transposed. */
static __device__ void load_matrix_turned(unsigned *v, const void *from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(address)
                 : "memory");
}

/* c += a b, 16 x 8 x 16. */
static __device__ void mma_bf16(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* HEIGHT x WIDTH elements of a row-major matrix into shared memory; zeros outside of it. */
template <int HEIGHT, int WIDTH, int PITCH>
static __device__ void load_tile(unsigned short *to, const unsigned short *from, long long row,
                                 long long column, long long rows, long long columns)
{
    const int per = 8; /* elements of 16 bytes */
    bool vector = columns % per == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < HEIGHT * WIDTH / per; at += THREADS) {
        int i = at / (WIDTH / per), j = at % (WIDTH / per) * per;
        bool here = row + i < rows && column + j < columns;
        const unsigned short *own = here ? from + (row + i) * columns + column + j : from;
        if (vector)
            copy16(to + i * PITCH + j, own, here);
        else
            for (int e = 0; e < per; e++)
                to[i * PITCH + j + e] = here && column + j + e < columns ? own[e] : (unsigned short)0;
    }
}

/* Multiplies one pair of tiles: 16 of the depth at a time, every block of A with every block of B. */
template <bool TURN>
static __device__ void multiply_tiles(const unsigned short *tile_a, const unsigned short *tile_b,
                                      float sums[ROWS][COLUMNS][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / WN * (BM / WM), warp_column = warp % WN * (BN / WN);
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        unsigned a[ROWS][4], b[COLUMNS / 2][4];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (TURN)
                load_matrix_turned(a[i], tile_a + (k + lane % 8 + lane / 16 * 8) * PITCH_A + warp_row +
                                             i * 16 + lane / 8 % 2 * 8);
            else
                load_matrix(a[i], tile_a + (warp_row + i * 16 + lane % 16) * PITCH_A + k + lane / 16 * 8);
#pragma unroll
        for (int j = 0; j < COLUMNS / 2; j++)
            load_matrix_turned(b[j],
                               tile_b + (k + lane % 16) * PITCH_B + warp_column + j * 16 + lane / 16 * 8);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                mma_bf16(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

template <bool TURN>
static __device__ void load_tiles(unsigned short *to, const unsigned short *a, const unsigned short *b,
                                  long long row, long long column, long long k, long long m, long long n,
                                  long long depth)
{
    if (TURN)
        load_tile<BK, BM, PITCH_A>(to, a, k, row, depth, m);
    else
        load_tile<BM, BK, PITCH_A>(to, a, row, k, m, depth);
    load_tile<BK, BN, PITCH_B>(to + TILE_A, b, k, column, depth, n);
}

/* sums += the BM x BN tile of A B at (row, column); STAGES pairs of tiles are in shared memory or on their way. */
template <bool TURN>
static __device__ void product(unsigned short *pool, const unsigned short *a, const unsigned short *b,
                               long long row, long long column, long long m, long long n, long long depth,
                               float sums[ROWS][COLUMNS][4])
{
    int steps = (int)((depth + BK - 1) / BK);
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps)
            load_tiles<TURN>(pool + s * (TILE_A + TILE_B), a, b, row, column, (long long)s * BK, m, n, depth);
        copy_commit();
    }
    for (int s = 0; s < steps; s++) {
        int next = s + STAGES - 1;
        copy_wait<STAGES - 2>();
        __syncthreads();
        if (next < steps)
            load_tiles<TURN>(pool + next % STAGES * (TILE_A + TILE_B), a, b, row, column,
                             (long long)next * BK, m, n, depth);
        copy_commit();
        const unsigned short *tile = pool + s % STAGES * (TILE_A + TILE_B);
        multiply_tiles<TURN>(tile, tile + TILE_A, sums);
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

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Two neighbours of a row. */
static __device__ void store2(unsigned short *c, long long row, long long column, long long m, long long n,
                              float v, float w)
{
    unsigned short *to = c + row * n + column;
    if (row >= m || column >= n)
        return;
    if (n % 2 == 0 && (size_t)c % 4 == 0) {
        *(unsigned *)to = (unsigned)to_bf16(v) | (unsigned)to_bf16(w) << 16;
        return;
    }
    to[0] = to_bf16(v);
    if (column + 1 < n)
        to[1] = to_bf16(w);
}

/* c[b] = a[b] b[b], or a[b]^T b[b]. */
template <bool TURN>
static __device__ void multiply(unsigned short *pool, const unsigned short *a, const unsigned short *b,
                                unsigned short *c, long long m, long long n, long long depth)
{
    float sums[ROWS][COLUMNS][4] = {{{0.0f}}};
    long long row, column;
    long long tiles = (m + BM - 1) / BM * ((n + BN - 1) / BN), batch = blockIdx.x / tiles;
    a += batch * m * depth;
    b += batch * depth * n;
    c += batch * m * n;
    place(blockIdx.x % tiles, m, n, &row, &column);
    product<TURN>(pool, a, b, row, column, m, n, depth, sums);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            long long at = column_of(column, j);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                long long to = row_of(row, i) + half * 8;
                store2(c, to, at, m, n, sums[i][j][2 * half], sums[i][j][2 * half + 1]);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    first(const unsigned short *x, const unsigned short *y, unsigned short *middle, long long m, long long n,
          long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    multiply<true>(pool, x, y, middle, m, n, depth);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    second(const unsigned short *x, const unsigned short *middle, unsigned short *out, long long m,
           long long n, long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    multiply<false>(pool, x, middle, out, m, n, depth);
}
