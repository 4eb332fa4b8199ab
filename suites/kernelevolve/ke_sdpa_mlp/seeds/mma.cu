/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [4, 8], "KEYS": [64, 32, 128], "BM": [128, 64], "BN": [64, 128], "BK": [32, 64], "WM": [4, 2], "WN": [2, 4, 1],
             "STAGES": [4, 3, 2]},
  "require": ["D <= 128", "2 * (16 * WARPS + 4 * KEYS) * (32 * cdiv(D, 32) + 8) <= 227328",
              "BM / WM % 16 == 0", "BN / WN % 16 == 0", "WM * WN >= 2", "BM * BN / (32 * WM * WN) <= 64",
              "BM * BN / (32 * WM * WN) >= 16", "STAGES * 2 * (BM * (BK + 8) + BK * (BN + 8)) <= 227328"],
  "scratch": {"attended": "2 * B * L * H * D", "hidden": "2 * B * L * F"},
  "launch": [{"kernel": "attention", "grid": ["B * H * cdiv(L, 16 * WARPS)"], "block": ["32 * WARPS"],
              "shared_bytes": "2 * (16 * WARPS + 4 * KEYS) * (32 * cdiv(D, 32) + 8)",
              "args": ["q", "k", "v", "attended", "i64:H", "i64:G", "i64:L", "i64:D"]},
             {"kernel": "gate", "grid": ["cdiv(B * L, BM) * cdiv(F, BN)"], "block": ["32 * WM * WN"],
              "shared_bytes": "2 * STAGES * (BM * (BK + 8) + BK * (BN + 8))",
              "args": ["attended", "g", "u", "hidden", "i64:B * L", "i64:F", "i64:H * D"]},
             {"kernel": "project", "grid": ["cdiv(B * L, BM) * cdiv(H * D, BN)"], "block": ["32 * WM * WN"],
              "shared_bytes": "2 * STAGES * (BM * (BK + 8) + BK * (BN + 8))",
              "args": ["hidden", "w", "y", "i64:B * L", "i64:H * D", "i64:F"]}]
} */
/* Tensor cores in three kernels.  Attention: a warp has 16 rows of a head and walks over the keys in tiles; scores, running
 * maximum and sum stay in f32 registers, powers become the left factor of the second product without leaving them; heads
 * are written beside each other.  Then both products of the gate, one after the other into two sets of sums, and the last
 * product.  What goes through memory between them is bf16. */
#define THREADS (32 * WM * WN)
#define PITCH_A (BK + 8)
#define PITCH_B (BN + 8)
#define TILE_A  (BM * PITCH_A)
#define TILE_B  (BK * PITCH_B)
#define ROWS    (BM / WM / 16) /* blocks of 16 rows of a warp */
#define COLUMNS (BN / WN / 8)  /* blocks of 8 columns of a warp */
#define GROUP   8              /* rows of tiles that run side by side */

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

/* HEIGHT x WIDTH elements of a row-major matrix into shared memory, by COUNT threads; zeros outside of it. */
template <int COUNT, int HEIGHT, int WIDTH, int PITCH>
static __device__ void load_tile(unsigned short *to, const unsigned short *from, long long row,
                                 long long column, long long rows, long long columns)
{
    const int per = 8; /* elements of 16 bytes */
    bool vector = columns % per == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < HEIGHT * WIDTH / per; at += COUNT) {
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

static __device__ float exp2_fast(float v)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
}

static __device__ unsigned pack_bf16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* Scores of 16 rows with the keys of a tile. */
template <int DP>
static __device__ void score(float s[KEYS / 8][4], const unsigned (*q)[4], const unsigned short *tile_k)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 0; d < DP / 16; d++) {
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++) {
            unsigned b[4];
            load_matrix(b,
                        tile_k + (j * 16 + lane / 16 * 8 + lane % 8) * (DP + 8) + d * 16 + lane / 8 % 2 * 8);
            mma_bf16(s[2 * j], q[d], b[0], b[1]);
            mma_bf16(s[2 * j + 1], q[d], b[2], b[3]);
        }
    }
}

/* Keys beyond the last one; key: the tile's first. */
static __device__ void mask(float s[KEYS / 8][4], long long key, long long keys)
{
#pragma unroll
    for (int j = 0; j < KEYS / 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            long long own = key + j * 8 + threadIdx.x % 4 * 2 + e % 2;
            if (own >= keys)
                s[j][e] = -1e30f;
        }
    }
}

static __device__ float lanes_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

static __device__ float lanes_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* Scores to powers; what was summed before shrinks to the new maximum.  factor: log2(e) / sqrt(depth). */
template <int DP>
static __device__ void soften(float s[KEYS / 8][4], float o[DP / 8][4], float *top, float *sum, float factor)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float high = top[half], part = 0.0f;
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++)
            high = fmaxf(high, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
        high = lanes_max(high);
        float shift = high * factor, shrink = exp2_fast((top[half] - high) * factor);
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++) {
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; e++) {
                s[j][e] = exp2_fast(fmaf(s[j][e], factor, -shift));
                part += s[j][e];
            }
        }
        sum[half] = sum[half] * shrink + part;
        top[half] = high;
#pragma unroll
        for (int d = 0; d < DP / 8; d++) {
            o[d][2 * half] *= shrink;
            o[d][2 * half + 1] *= shrink;
        }
    }
}

/* o += powers times values. */
template <int DP>
static __device__ void weigh(float o[DP / 8][4], const float s[KEYS / 8][4], const unsigned short *tile_v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < KEYS / 16; j++) {
        unsigned p[4] = {pack_bf16(s[2 * j][0], s[2 * j][1]), pack_bf16(s[2 * j][2], s[2 * j][3]),
                         pack_bf16(s[2 * j + 1][0], s[2 * j + 1][1]),
                         pack_bf16(s[2 * j + 1][2], s[2 * j + 1][3])};
#pragma unroll
        for (int d = 0; d < DP / 16; d++) {
            unsigned b[4];
            load_matrix_turned(b, tile_v + (j * 16 + lane % 16) * (DP + 8) + d * 16 + lane / 16 * 8);
            mma_bf16(o[2 * d], p, b[0], b[1]);
            mma_bf16(o[2 * d + 1], p, b[2], b[3]);
        }
    }
}

template <int DP>
static __device__ void store(unsigned short *y, long long row, long long rows, long long depth,
                             long long pitch, float o[DP / 8][4], const float *sum)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float factor = 1.0f / lanes_sum(sum[half]);
        long long to = row + half * 8;
#pragma unroll
        for (int d = 0; d < DP / 8; d++) {
            long long at = d * 8 + threadIdx.x % 4 * 2;
            unsigned pair = pack_bf16(o[d][2 * half] * factor, o[d][2 * half + 1] * factor);
            if (to >= rows || at >= depth)
                continue;
            if (depth % 2 == 0 && pitch % 2 == 0 && (size_t)y % 4 == 0) {
                *(unsigned *)(y + to * pitch + at) = pair;
                continue;
            }
            y[to * pitch + at] = (unsigned short)pair;
            if (at + 1 < depth)
                y[to * pitch + at + 1] = (unsigned short)(pair >> 16);
        }
    }
}

/* 16 * WARPS rows of one head; q, k, v, y start at the head, rows of y are pitch apart. */
template <int DP>
static __device__ void attend(unsigned short *pool, const unsigned short *q, const unsigned short *k,
                              const unsigned short *v, unsigned short *y, long long row, long long keys,
                              long long depth, long long pitch)
{
    const int size = KEYS * (DP + 8);
    unsigned short *tile_q = pool, *tiles = pool + 16 * WARPS * (DP + 8);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, half = 0;
    long long own = row + warp * 16 + lane / 4;
    float o[DP / 8][4] = {{0.0f}}, top[2] = {-1e30f, -1e30f}, sum[2] = {0.0f, 0.0f};
    float factor = 1.44269504f * rsqrtf((float)depth);
    unsigned a[DP / 16][4];
    load_tile<32 * WARPS, 16 * WARPS, DP, DP + 8>(tile_q, q, row, 0, keys, depth);
    load_tile<32 * WARPS, KEYS, DP, DP + 8>(tiles, k, 0, 0, keys, depth);
    load_tile<32 * WARPS, KEYS, DP, DP + 8>(tiles + size, v, 0, 0, keys, depth);
    copy_commit();
    for (long long j = 0; j < keys; j += KEYS) {
        float s[KEYS / 8][4] = {{0.0f}};
        copy_wait<0>();
        __syncthreads();
        if (j == 0) {
#pragma unroll
            for (int d = 0; d < DP / 16; d++)
                load_matrix(a[d], tile_q + (warp * 16 + lane % 16) * (DP + 8) + d * 16 + lane / 16 * 8);
        }
        if (j + KEYS < keys) {
            unsigned short *next = tiles + (half ^ 1) * 2 * size;
            load_tile<32 * WARPS, KEYS, DP, DP + 8>(next, k, j + KEYS, 0, keys, depth);
            load_tile<32 * WARPS, KEYS, DP, DP + 8>(next + size, v, j + KEYS, 0, keys, depth);
        }
        copy_commit();
        score<DP>(s, a, tiles + half * 2 * size);
        if (j + KEYS > keys)
            mask(s, j, keys);
        soften<DP>(s, o, top, sum, factor);
        weigh<DP>(o, s, tiles + half * 2 * size + size);
        half ^= 1;
    }
    copy_wait<0>();
    store<DP>(y, own, keys, depth, pitch, o, sum);
}

/* ---- products ---- */

/* Multiplies one pair of tiles: 16 of the depth at a time, every block of A with every block of B. */
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

static __device__ void load_tiles(unsigned short *to, const unsigned short *a, const unsigned short *b,
                                  long long row, long long column, long long k, long long m, long long n,
                                  long long depth)
{
    load_tile<THREADS, BM, BK, PITCH_A>(to, a, row, k, m, depth);
    load_tile<THREADS, BK, BN, PITCH_B>(to + TILE_A, b, k, column, depth, n);
}

/* sums += the BM x BN tile of A B at (row, column); STAGES pairs of tiles are in shared memory or on their way. */
static __device__ void product(unsigned short *pool, const unsigned short *a, const unsigned short *b,
                               long long row, long long column, long long m, long long n, long long depth,
                               float sums[ROWS][COLUMNS][4])
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
        const unsigned short *tile = pool + s % STAGES * (TILE_A + TILE_B);
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

/* Two neighbours of a row. */
static __device__ void store2(unsigned short *c, long long row, long long column, long long m, long long n,
                              float v, float w)
{
    unsigned short *to = c + row * n + column;
    unsigned pair = pack_bf16(v, w);
    if (row >= m || column >= n)
        return;
    if (n % 2 == 0 && (size_t)c % 4 == 0) {
        *(unsigned *)to = pair;
        return;
    }
    to[0] = (unsigned short)pair;
    if (column + 1 < n)
        to[1] = (unsigned short)(pair >> 16);
}

static __device__ void store_tile(unsigned short *y, long long row, long long column, long long m,
                                  long long n, float sums[ROWS][COLUMNS][4])
{
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                store2(y, row_of(row, i) + half * 8, column_of(column, j), m, n, sums[i][j][2 * half],
                       sums[i][j][2 * half + 1]);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    attention(const unsigned short *q, const unsigned short *k, const unsigned short *v, unsigned short *y,
              long long heads, long long groups, long long keys, long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    long long blocks = (keys + 16 * WARPS - 1) / (16 * WARPS), head = blockIdx.x / blocks,
              row = blockIdx.x % blocks * 16 * WARPS, batch = head / heads, pitch = heads * depth;
    long long other = (batch * groups + head % heads / (heads / groups)) * keys * depth;
    q += head * keys * depth;
    y += batch * keys * pitch + head % heads * depth;
    if (depth <= 32)
        attend<32>(pool, q, k + other, v + other, y, row, keys, depth, pitch);
    else if (depth <= 64)
        attend<64>(pool, q, k + other, v + other, y, row, keys, depth, pitch);
    else if (depth <= 96)
        attend<96>(pool, q, k + other, v + other, y, row, keys, depth, pitch);
    else
        attend<128>(pool, q, k + other, v + other, y, row, keys, depth, pitch);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gate(const unsigned short *x, const unsigned short *g, const unsigned short *u, unsigned short *y,
         long long m, long long n, long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    float p[ROWS][COLUMNS][4] = {{{0.0f}}}, q[ROWS][COLUMNS][4] = {{{0.0f}}};
    long long row, column;
    place(blockIdx.x, m, n, &row, &column);
    product(pool, x, g, row, column, m, n, depth, p);
    product(pool, x, u, row, column, m, n, depth, q);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                p[i][j][e] = __fdividef(p[i][j][e], 1.0f + __expf(-p[i][j][e])) * q[i][j][e];
    store_tile(y, row, column, m, n, p);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    project(const unsigned short *x, const unsigned short *w, unsigned short *y, long long m, long long n,
            long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    float sums[ROWS][COLUMNS][4] = {{{0.0f}}};
    long long row, column;
    place(blockIdx.x, m, n, &row, &column);
    product(pool, x, w, row, column, m, n, depth, sums);
    store_tile(y, row, column, m, n, sums);
}
