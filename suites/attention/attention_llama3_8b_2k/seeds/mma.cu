/* atoll-plan {
  "version": 1,
  "params": {"WARPS": [4, 8], "BK": [64, 32, 128], "BLOCKS": [1, 2]},
  "require": ["2 * (16 * WARPS + 4 * BK) * (32 * cdiv(D, 32) + 8) <= 227328 / BLOCKS", "BLOCKS * WARPS <= 8", "D <= 128"],
  "launch": [{"kernel": "attention", "grid": ["B * H * cdiv(L, 16 * WARPS)"], "block": ["32 * WARPS"],
              "shared_bytes": "2 * (16 * WARPS + 4 * BK) * (32 * cdiv(D, 32) + 8)",
              "args": ["q", "k", "v", "y", "i64:L", "i64:D"]}]
} */
/* Tensor cores: a warp has 16 rows of a head, with their queries and results in registers, and walks over the keys in
 * tiles of BK; the next keys and values are on their way meanwhile.  Scores, running maximum and sum stay in f32
 * registers, powers become the left factor of the second product without leaving them.  DP is the depth, padded to
 * 32. */
#define THREADS (32 * WARPS)

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
static __device__ void mma_f16(float *c, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ float exp2_fast(float v)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
}

static __device__ unsigned pack_f16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
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

/* Scores of 16 rows with the keys of a tile. */
template <int DP>
static __device__ void score(float s[BK / 8][4], const unsigned (*q)[4], const unsigned short *tile_k)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 0; d < DP / 16; d++) {
#pragma unroll
        for (int j = 0; j < BK / 16; j++) {
            unsigned b[4];
            load_matrix(b,
                        tile_k + (j * 16 + lane / 16 * 8 + lane % 8) * (DP + 8) + d * 16 + lane / 8 % 2 * 8);
            mma_f16(s[2 * j], q[d], b[0], b[1]);
            mma_f16(s[2 * j + 1], q[d], b[2], b[3]);
        }
    }
}

/* Keys past the last one; key: the tile's first. */
static __device__ void mask(float s[BK / 8][4], long long key, long long keys)
{
#pragma unroll
    for (int j = 0; j < BK / 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (key + j * 8 + threadIdx.x % 4 * 2 + e % 2 >= keys)
                s[j][e] = -1e30f;
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
static __device__ void soften(float s[BK / 8][4], float o[DP / 8][4], float *top, float *sum, float factor)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float high = top[half], part = 0.0f;
#pragma unroll
        for (int j = 0; j < BK / 8; j++)
            high = fmaxf(high, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
        high = lanes_max(high);
        float shift = high * factor, shrink = exp2_fast((top[half] - high) * factor);
#pragma unroll
        for (int j = 0; j < BK / 8; j++) {
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
static __device__ void weigh(float o[DP / 8][4], const float s[BK / 8][4], const unsigned short *tile_v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < BK / 16; j++) {
        unsigned p[4] = {pack_f16(s[2 * j][0], s[2 * j][1]), pack_f16(s[2 * j][2], s[2 * j][3]),
                         pack_f16(s[2 * j + 1][0], s[2 * j + 1][1]),
                         pack_f16(s[2 * j + 1][2], s[2 * j + 1][3])};
#pragma unroll
        for (int d = 0; d < DP / 16; d++) {
            unsigned b[4];
            load_matrix_turned(b, tile_v + (j * 16 + lane % 16) * (DP + 8) + d * 16 + lane / 16 * 8);
            mma_f16(o[2 * d], p, b[0], b[1]);
            mma_f16(o[2 * d + 1], p, b[2], b[3]);
        }
    }
}

template <int DP>
static __device__ void store(unsigned short *y, long long row, long long rows, long long depth,
                             float o[DP / 8][4], const float *sum)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float factor = 1.0f / lanes_sum(sum[half]);
        long long to = row + half * 8;
#pragma unroll
        for (int d = 0; d < DP / 8; d++) {
            long long at = d * 8 + threadIdx.x % 4 * 2;
            unsigned pair = pack_f16(o[d][2 * half] * factor, o[d][2 * half + 1] * factor);
            if (to >= rows || at >= depth)
                continue;
            if (depth % 2 == 0 && (size_t)y % 4 == 0) {
                *(unsigned *)(y + to * depth + at) = pair;
                continue;
            }
            y[to * depth + at] = (unsigned short)pair;
            if (at + 1 < depth)
                y[to * depth + at + 1] = (unsigned short)(pair >> 16);
        }
    }
}

/* 16 * WARPS rows of one head; q, k, v, y start at the head. */
template <int DP>
static __device__ void attend(unsigned short *pool, const unsigned short *q, const unsigned short *k,
                              const unsigned short *v, unsigned short *y, long long row, long long keys,
                              long long depth)
{
    const int size = BK * (DP + 8);
    unsigned short *tile_q = pool, *tiles = pool + 16 * WARPS * (DP + 8);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, half = 0;
    long long own = row + warp * 16 + lane / 4;
    float o[DP / 8][4] = {{0.0f}}, top[2] = {-1e30f, -1e30f}, sum[2] = {0.0f, 0.0f};
    float factor = 1.44269504f * rsqrtf((float)depth);
    unsigned a[DP / 16][4];
    load_tile<16 * WARPS, DP, DP + 8>(tile_q, q, row, 0, keys, depth);
    load_tile<BK, DP, DP + 8>(tiles, k, 0, 0, keys, depth);
    load_tile<BK, DP, DP + 8>(tiles + size, v, 0, 0, keys, depth);
    copy_commit();
    for (long long j = 0; j < keys; j += BK) {
        float s[BK / 8][4] = {{0.0f}};
        copy_wait<0>();
        __syncthreads();
        if (j == 0) {
#pragma unroll
            for (int d = 0; d < DP / 16; d++)
                load_matrix(a[d], tile_q + (warp * 16 + lane % 16) * (DP + 8) + d * 16 + lane / 16 * 8);
        }
        if (j + BK < keys) {
            unsigned short *next = tiles + (half ^ 1) * 2 * size;
            load_tile<BK, DP, DP + 8>(next, k, j + BK, 0, keys, depth);
            load_tile<BK, DP, DP + 8>(next + size, v, j + BK, 0, keys, depth);
        }
        copy_commit();
        score<DP>(s, a, tiles + half * 2 * size);
        if (j + BK > keys)
            mask(s, j, keys);
        soften<DP>(s, o, top, sum, factor);
        weigh<DP>(o, s, tiles + half * 2 * size + size);
        half ^= 1;
    }
    copy_wait<0>();
    store<DP>(y, own, keys, depth, o, sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    attention(const unsigned short *q, const unsigned short *k, const unsigned short *v, unsigned short *y,
              long long keys, long long depth)
{
    extern __shared__ __align__(16) unsigned short pool[];
    long long blocks = (keys + 16 * WARPS - 1) / (16 * WARPS), head = blockIdx.x / blocks,
              row = blockIdx.x % blocks * 16 * WARPS;
    q += head * keys * depth;
    k += head * keys * depth;
    v += head * keys * depth;
    y += head * keys * depth;
    if (depth <= 32)
        attend<32>(pool, q, k, v, y, row, keys, depth);
    else if (depth <= 64)
        attend<64>(pool, q, k, v, y, row, keys, depth);
    else if (depth <= 96)
        attend<96>(pool, q, k, v, y, row, keys, depth);
    else
        attend<128>(pool, q, k, v, y, row, keys, depth);
}
