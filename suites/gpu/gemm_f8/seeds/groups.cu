/* atoll-plan {
  "version": 1,
  "params": {"WG": [2, 1, 3, 4], "NB": [1, 2], "STAGES": [4, 3, 5, 6], "INTERVAL": [4, 1, 8], "GROUP": [8, 1, 16]},
  "require": ["STAGES * 128 * (64 * WG + 128 * NB) <= 226304", "NB == 1 || WG <= 2"],
  "launch": [{"kernel": "gemm", "grid": ["cdiv(M, 64 * WG) * cdiv(N, 128 * NB)"], "block": ["128 * WG"],
              "shared_bytes": "1024 + STAGES * 128 * (64 * WG + 128 * NB)",
              "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]
} */
/* Warp groups: WG groups of four warps multiply 64 rows each with 128 * NB columns straight from shared memory, where
 * rows of 128 bytes lie swizzled as the instruction reads them.  STAGES pairs of tiles: one is multiplied, one may still be,
 * the others are on their way.  The unit keeps few bits of a long sum, so every INTERVAL tiles the sums move on into f32
 * registers. */
#define THREADS (128 * WG)
#define BM      (64 * WG)
#define BN      (128 * NB)
#define BK      128
#define TILE    (BK * (BM + BN))

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

/* What the copies and stores before it wrote becomes visible to the multiplying unit. */
static __device__ void proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ void group_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ void group_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ void group_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* The pool from its first multiple of 1024 bytes on: the swizzle goes by the address. */
static __device__ unsigned char *align_pool(unsigned char *pool)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(pool);
    return pool + (1024u - address % 1024u) % 1024u;
}

/* Matrix descriptor: rows of 128 bytes, 8 rows in 1024, swizzled by 128. */
static __device__ unsigned long long describe(const void *from)
{
    unsigned long long address = (unsigned)__cvta_generic_to_shared(from);
    return (address & 0x3ffffull) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* d += a b^T, 64 x 128 x 32. */
static __device__ void multiply_async(float *d, unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "l"(a), "l"(b));
}

/* COUNT rows of 128 bytes; chunk j of row i lies at chunk j ^ i % 8. */
template <int COUNT>
static __device__ void load_tile(unsigned char *to, const unsigned char *from, long long row,
                                 long long column, long long rows, long long columns)
{
    bool vector = columns % 16 == 0 && (size_t)from % 16 == 0;
#pragma unroll
    for (int at = threadIdx.x; at < COUNT * 8; at += THREADS) {
        int i = at / 8, j = at % 8;
        bool here = row + i < rows && column + 16 * j < columns;
        const unsigned char *own = here ? from + (row + i) * columns + column + 16 * j : from;
        unsigned char *place = to + i * 128 + (j ^ i % 8) * 16;
        if (vector)
            copy16(place, own, here);
        else
            for (int e = 0; e < 16; e++)
                place[e] = here && column + 16 * j + e < columns ? own[e] : (unsigned char)0;
    }
}

/* Which tile a block has: GROUP rows of tiles run side by side and share columns of B. */
static __device__ void place_of(long long block, long long m, long long n, long long *row, long long *column)
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

static __device__ void load_tiles(unsigned char *to, const unsigned char *a, const unsigned char *b,
                                  long long row, long long column, long long k, long long m, long long n,
                                  long long depth)
{
    load_tile<BM>(to, a, row, k, m, depth);
    load_tile<BN>(to + BK * BM, b, column, k, n, depth);
}

static __device__ void multiply_tiles(const unsigned char *tile, float d[NB][64])
{
    const unsigned char *a = tile + threadIdx.x / 128 * 64 * BK, *b = tile + BK * BM;
    group_fence();
#pragma unroll
    for (int k = 0; k < BK; k += 32)
#pragma unroll
        for (int j = 0; j < NB; j++)
            multiply_async(d[j], describe(a + k), describe(b + j * 128 * BK + k));
    group_commit();
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const unsigned char *a, const unsigned char *b, unsigned short *c, long long m, long long n,
         long long depth)
{
    extern __shared__ __align__(1024) unsigned char pool[];
    unsigned char *tiles = align_pool(pool);
    float d[NB][64], sums[NB][64] = {{0.0f}};
    long long row, column;
    int steps = (int)((depth + BK - 1) / BK);
    place_of(blockIdx.x, m, n, &row, &column);
    for (int s = 0; s < STAGES - 2; s++) {
        if (s < steps)
            load_tiles(tiles + s * TILE, a, b, row, column, (long long)s * BK, m, n, depth);
        copy_commit();
    }
    for (int first = 0; first < steps; first += INTERVAL) {
#pragma unroll
        for (int i = 0; i < NB * 64; i++)
            d[i / 64][i % 64] = 0.0f;
        for (int s = first; s < first + INTERVAL && s < steps; s++) {
            int next = s + STAGES - 2;
            copy_wait<STAGES - 3>();
            proxy_fence();
            __syncthreads();
            if (next < steps)
                load_tiles(tiles + next % STAGES * TILE, a, b, row, column, (long long)next * BK, m, n,
                           depth);
            copy_commit();
            multiply_tiles(tiles + s % STAGES * TILE, d);
            group_wait<1>();
        }
        group_wait<0>();
#pragma unroll
        for (int i = 0; i < NB * 64; i++)
            sums[i / 64][i % 64] += d[i / 64][i % 64];
    }
    copy_wait<0>();
    row += threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    column += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < NB * 64; i += 2)
        store2(c, row + i / 2 % 2 * 8, column + i / 64 * 128 + i % 64 / 4 * 8, m, n, sums[i / 64][i % 64],
               sums[i / 64][i % 64 + 1]);
}
