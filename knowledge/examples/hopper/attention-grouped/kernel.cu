/* atoll-plan {
  "version": 1,
  "params": {"KST": [3, 2], "PING": [1, 0], "POLY": [4, 0, 8]},
  "paths": [{"when": "D % 8 == 0 && D <= 128",
             "launch": [{"kernel": "attention",
                         "grid": ["min(132, B * H * cdiv(L, 128))"],
                         "block": ["384"],
                         "shared_bytes": "(4 + KST) * 32768 + 2048",
                         "args": ["tensormap(q, [D, B * H * L], [64, 128], swizzle=128, l2=256)", "tensormap(k, [D, B * G * L], [64, 128], swizzle=128, l2=256)", "tensormap(v, [D, B * G * L], [64, 128], swizzle=128, l2=256)", "tensormap(y, [D, B * H * L], [64, 64], swizzle=128, l2=256)", "y", "i32:B * H", "i32:H", "i32:G", "i32:L", "i32:D"]}]},
            {"launch": [{"kernel": "plain",
                         "grid": ["B * H * L"],
                         "block": ["128"],
                         "shared_bytes": "cdiv(L, 4) * 16",
                         "args": ["q", "k", "v", "y", "i64:H", "i64:G", "i64:L", "i64:D"]}]}]
} */
/* Warp group 0: warp 0 loads (one thread), warps 1 and 2 send results off (one thread each).  Warp groups 1 and 2: 64 of the
 * 128 rows of a tile each; the scores of the next keys are multiplied while the powers of the last ones are made.
 * KST: stages of K at depth 128.  PING: warp groups take turns at the tensor cores.  POLY: at depth 64 every POLY-th power
 * is a polynomial in f32 (error 1e-4, below the rounding of powers to bf16), 0: none; it relieves the special function unit.
 * The grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda/std/cstdint>
#include <cuda/ptx>

/* Barriers: K full 0, K empty 32, V full 64, V empty 96, Q full 128, Q empty 144, result ready 160 + 16 * warp group. */
static constexpr int bars_at = (4 + KST) * 32768;

static __device__ __forceinline__ unsigned smem_of(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void bar_init(unsigned char *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_of(bar)), "r"(count) : "memory");
}

static __device__ __forceinline__ void bar_arrive(unsigned char *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_of(bar)) : "memory");
}

static __device__ __forceinline__ void bar_expect(unsigned char *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_of(bar)), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void bar_wait(unsigned char *bar, unsigned parity)
{
    while (!cuda::ptx::mbarrier_try_wait_parity((cuda::std::uint64_t *)bar, parity)) {
    }
}

static __device__ __forceinline__ void tma_load(unsigned to, const CUtensorMap *map, unsigned bar, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y)
                 : "memory");
}

static __device__ __forceinline__ void tma_store(const CUtensorMap *map, unsigned from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from), "r"(x),
                 "r"(y)
                 : "memory");
}

static __device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Turns at the tensor cores: named barriers 1 and 2; the threads of one warp group: 3 and 4. */
static __device__ __forceinline__ void turn_wait(int wg)
{
    asm volatile("bar.sync %0, 256;" ::"r"(wg + 1) : "memory");
}

static __device__ __forceinline__ void turn_give(int wg)
{
    asm volatile("bar.arrive %0, 256;" ::"r"(wg + 1) : "memory");
}

static __device__ __forceinline__ void group_sync(int wg)
{
    asm volatile("bar.sync %0, 128;" ::"r"(wg + 3) : "memory");
}

static __device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Nothing that uses these registers moves up across a wait. */
template <int N> static __device__ __forceinline__ void hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("mov.b32 %0, %0;" : "+f"(d[i])::"memory");
}

/* s = a b, 64 x 128 x 16; both factors in shared memory, the depth contiguous. */
static __device__ __forceinline__ void score_first(float (&d)[64], unsigned long long a, unsigned long long b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, 0, 1, 1, 0, 0;"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
          "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]),
          "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]),
          "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31]),
          "=f"(d[32]), "=f"(d[33]), "=f"(d[34]), "=f"(d[35]), "=f"(d[36]), "=f"(d[37]), "=f"(d[38]), "=f"(d[39]),
          "=f"(d[40]), "=f"(d[41]), "=f"(d[42]), "=f"(d[43]), "=f"(d[44]), "=f"(d[45]), "=f"(d[46]), "=f"(d[47]),
          "=f"(d[48]), "=f"(d[49]), "=f"(d[50]), "=f"(d[51]), "=f"(d[52]), "=f"(d[53]), "=f"(d[54]), "=f"(d[55]),
          "=f"(d[56]), "=f"(d[57]), "=f"(d[58]), "=f"(d[59]), "=f"(d[60]), "=f"(d[61]), "=f"(d[62]), "=f"(d[63])
        : "l"(a), "l"(b));
}

/* s += a b. */
static __device__ __forceinline__ void score_next(float (&d)[64], unsigned long long a, unsigned long long b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b));
}

/* o += p v, 64 x 128 x 16; p in registers, v in shared memory with its columns contiguous. */
static __device__ __forceinline__ void weigh(float (&d)[64], unsigned p0, unsigned p1, unsigned p2, unsigned p3,
                                             unsigned long long b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "r"(p0), "r"(p1), "r"(p2), "r"(p3), "l"(b));
}

/* The same, 64 x 64 x 16. */
static __device__ __forceinline__ void weigh(float (&d)[32], unsigned p0, unsigned p1, unsigned p2, unsigned p3,
                                             unsigned long long b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(p0), "r"(p1), "r"(p2), "r"(p3), "l"(b));
}

/* Starts the scores of 64 rows with 128 keys.  A tile is halves of 64 columns, 128 rows of 128 bytes each. */
template <int DP>
static __device__ __forceinline__ void issue_scores(float (&s)[64], unsigned long long a, unsigned long long b)
{
    wgmma_fence();
    score_first(s, a, b);
#pragma unroll
    for (int i = 1; i < DP / 16; i++)
        score_next(s, a + (unsigned long long)(i % 4 * 2 + i / 4 * 1024),
                   b + (unsigned long long)(i % 4 * 2 + i / 4 * 1024));
    wgmma_commit();
}

/* Starts o += powers times values, 16 keys (2048 bytes) at a time. */
template <int DP>
static __device__ __forceinline__ void issue_values(float (&o)[DP / 2], const unsigned (&p)[32], unsigned long long b)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 8; i++)
        weigh(o, p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3], b + (unsigned long long)(i * 128));
    wgmma_commit();
}

static __device__ __forceinline__ float power(float x)
{
    float r;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* 2^x without the special function unit, x at most about 0: 2^n times a cubic in [-0.5, 0.5]. */
static __device__ __forceinline__ float power_cubic(float x)
{
    x = fmaxf(x, -120.0f);
    const float t = x + 12582912.0f;
    const float n = t - 12582912.0f;
    const float f = x - n;
    const float c = fmaf(fmaf(fmaf(0.05592079f, f, 0.24263104f), f, 0.69312114f), f, 0.99992486f);
    return __uint_as_float(__float_as_uint(c) + (__float_as_uint(t) << 23));
}

template <int EVERY> static __device__ __forceinline__ float power_at(float x, int index)
{
    if (EVERY > 0 && index % (EVERY > 0 ? EVERY : 1) == EVERY - 1)
        return power_cubic(x);
    return power(x);
}

static __device__ __forceinline__ unsigned pair_of(float low, float high)
{
    unsigned r;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* Powers to the left factor of the second product. */
static __device__ __forceinline__ void pack(unsigned (&p)[32], const float (&s)[64])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        p[i] = pair_of(s[2 * i], s[2 * i + 1]);
}

static __device__ __forceinline__ float lanes_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

static __device__ __forceinline__ float lanes_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* The last tile of keys: key 8 j + e + 2 (lane % 4) exists up to `last`, which is as far from 2 (lane % 4). */
static __device__ __forceinline__ void hide(float (&s)[64], int last)
{
    const float none = -__int_as_float(0x7f800000);
#pragma unroll
    for (int j = 0; j < 16; j++) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
            if (8 * j + e > last) {
                s[4 * j + e] = none;
                s[4 * j + 2 + e] = none;
            }
        }
    }
}

/* Scores to powers; c0, c1: what older sums and results shrink by. */
template <bool FIRST, int EVERY>
static __device__ __forceinline__ void soften(float (&s)[64], float &m0, float &m1, float &l0, float &l1, float &c0,
                                              float &c1, float factor)
{
    float a0 = s[0], b0 = s[1], a1 = s[2], b1 = s[3];
#pragma unroll
    for (int j = 1; j < 16; j++) {
        a0 = fmaxf(a0, s[4 * j]);
        b0 = fmaxf(b0, s[4 * j + 1]);
        a1 = fmaxf(a1, s[4 * j + 2]);
        b1 = fmaxf(b1, s[4 * j + 3]);
    }
    a0 = lanes_max(fmaxf(a0, b0));
    a1 = lanes_max(fmaxf(a1, b1));
    if (FIRST) {
        c0 = 0.0f;
        c1 = 0.0f;
    } else {
        a0 = fmaxf(a0, m0);
        a1 = fmaxf(a1, m1);
        c0 = power((m0 - a0) * factor);
        c1 = power((m1 - a1) * factor);
    }
    m0 = a0;
    m1 = a1;
    const float h0 = a0 * factor, h1 = a1 * factor;
    float t0 = 0.0f, u0 = 0.0f, t1 = 0.0f, u1 = 0.0f;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        s[4 * j] = power_at<EVERY>(fmaf(s[4 * j], factor, -h0), 4 * j);
        s[4 * j + 1] = power_at<EVERY>(fmaf(s[4 * j + 1], factor, -h0), 4 * j + 1);
        s[4 * j + 2] = power_at<EVERY>(fmaf(s[4 * j + 2], factor, -h1), 4 * j + 2);
        s[4 * j + 3] = power_at<EVERY>(fmaf(s[4 * j + 3], factor, -h1), 4 * j + 3);
        t0 += s[4 * j];
        u0 += s[4 * j + 1];
        t1 += s[4 * j + 2];
        u1 += s[4 * j + 3];
    }
    if (FIRST) {
        l0 = t0 + u0;
        l1 = t1 + u1;
    } else {
        l0 = fmaf(l0, c0, t0 + u0);
        l1 = fmaf(l1, c1, t1 + u1);
    }
}

/* Tiles, dealt to the blocks of the grid in zigzag. */
static __device__ __forceinline__ int tile_of(int turn)
{
    const int grid = (int)gridDim.x, own = (int)blockIdx.x;
    return turn * grid + ((turn & 1) ? grid - 1 - own : own);
}

/* The head of keys and values that a head of queries reads; queries, keys: heads of one batch. */
static __device__ __forceinline__ int key_head(int head, int queries, int keys)
{
    return head / queries * keys + head % queries / (queries / keys);
}

/* One thread: a tile of Q, K or V, 128 rows. */
template <int DP>
static __device__ __forceinline__ void fetch(const CUtensorMap *map, unsigned to, unsigned char *full, int row)
{
    bar_expect(full, 256 * DP);
    tma_load(to, map, smem_of(full), 0, row);
    if (DP == 128)
        tma_load(to + 16384, map, smem_of(full), 64, row);
}

template <int DP>
static __device__ __forceinline__ void load_tiles(const CUtensorMap *map_q, const CUtensorMap *map_k,
                                                  const CUtensorMap *map_v, unsigned char *base, int heads, int queries, int keys,
                                                  int rows)
{
    constexpr int size = 256 * DP, stages_k = DP == 128 ? KST : 4, stages_v = DP == 128 ? 2 : 4;
    const unsigned at = smem_of(base), at_k = at + 2 * size, at_v = at + (2 + stages_k) * size;
    unsigned char *kfull = base + bars_at, *kempty = kfull + 32, *vfull = kfull + 64, *vempty = kfull + 96,
                  *qfull = kfull + 128, *qempty = kfull + 144;
    const int blocks = (rows + 127) / 128, tiles = blocks * heads;
    int turn = 0, ks = 0, vs = 0;
    unsigned kp = 1, vp = 1;
    int tile = tile_of(0);
    if (tile >= tiles)
        return;
    int block = blocks - 1 - tile / heads, first = tile % heads * rows;
    int key = key_head(tile % heads, queries, keys) * rows;

    fetch<DP>(map_q, at, qfull, first + block * 128);
    bar_wait(kempty, kp);
    fetch<DP>(map_k, at_k, kfull, key + (blocks - 1) * 128);
    ks = 1;
    for (;;) {
        for (int n = blocks - 1; n > 0; n--) {
            bar_wait(kempty + 8 * ks, kp);
            fetch<DP>(map_k, at_k + ks * size, kfull + 8 * ks, key + (n - 1) * 128);
            if (++ks == stages_k) {
                ks = 0;
                kp ^= 1;
            }
            bar_wait(vempty + 8 * vs, vp);
            fetch<DP>(map_v, at_v + vs * size, vfull + 8 * vs, key + n * 128);
            if (++vs == stages_v) {
                vs = 0;
                vp ^= 1;
            }
        }
        const int done = key;
        turn++;
        tile = tile_of(turn);
        const bool more = tile < tiles;
        if (more) {
            const int buffer = turn & 1;
            block = blocks - 1 - tile / heads;
            first = tile % heads * rows;
            key = key_head(tile % heads, queries, keys) * rows;
            bar_wait(qempty + 8 * buffer, (unsigned)(turn >> 1 & 1) ^ 1u);
            fetch<DP>(map_q, at + buffer * size, qfull + 8 * buffer, first + block * 128);
            bar_wait(kempty + 8 * ks, kp);
            fetch<DP>(map_k, at_k + ks * size, kfull + 8 * ks, key + (blocks - 1) * 128);
            if (++ks == stages_k) {
                ks = 0;
                kp ^= 1;
            }
        }
        bar_wait(vempty + 8 * vs, vp);
        fetch<DP>(map_v, at_v + vs * size, vfull + 8 * vs, done);
        if (++vs == stages_v) {
            vs = 0;
            vp ^= 1;
        }
        if (!more)
            break;
    }
}

/* One thread: results of one warp group, from the queries' buffer to y; then the buffer is free again. */
template <int DP>
static __device__ __forceinline__ void store_tiles(const CUtensorMap *map_y, unsigned char *base, int wg, int heads,
                                                   int rows)
{
    constexpr int size = 256 * DP;
    const unsigned at = smem_of(base);
    unsigned char *qempty = base + bars_at + 144, *ready = base + bars_at + 160 + wg * 16;
    const int blocks = (rows + 127) / 128, tiles = blocks * heads;
    for (int turn = 0;; turn++) {
        const int tile = tile_of(turn);
        if (tile >= tiles)
            break;
        const int buffer = turn & 1, row = (blocks - 1 - tile / heads) * 128 + wg * 64;
        bar_wait(ready + 8 * buffer, (unsigned)(turn >> 1 & 1));
        if (row + 64 <= rows) {
            const unsigned from = at + buffer * size + wg * 8192;
            tma_store(map_y, from, 0, tile % heads * rows + row);
            if (DP == 128)
                tma_store(map_y, from + 16384, 64, tile % heads * rows + row);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        bar_arrive(qempty + 8 * buffer);
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Results of a warp group over their sums: to shared memory where all 64 rows exist, else straight to y. */
template <int DP>
static __device__ __forceinline__ void finish(const float (&o)[DP / 2], float l0, float l1, unsigned stage,
                                              unsigned char *ready, unsigned short *y, int head, int row, int rows,
                                              int depth, int wg, int warp, int lane)
{
    const float i0 = __fdividef(1.0f, lanes_sum(l0)), i1 = __fdividef(1.0f, lanes_sum(l1));
    if (row + 64 <= rows) {
        const unsigned line = lane & 7, side = lane >> 3;
        const unsigned to = stage + (warp * 16 + (side & 1) * 8 + line) * 128;
        group_sync(wg);
#pragma unroll
        for (int g = 0; g < DP / 16; g++) {
            const unsigned chunk = (unsigned)(g % 4 * 2) + (side >> 1);
            const unsigned address = to + (unsigned)(g / 4) * 16384u + ((chunk ^ line) << 4);
            const unsigned r0 = pair_of(o[8 * g] * i0, o[8 * g + 1] * i0);
            const unsigned r1 = pair_of(o[8 * g + 2] * i1, o[8 * g + 3] * i1);
            const unsigned r2 = pair_of(o[8 * g + 4] * i0, o[8 * g + 5] * i0);
            const unsigned r3 = pair_of(o[8 * g + 6] * i1, o[8 * g + 7] * i1);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0),
                         "r"(r1), "r"(r2), "r"(r3)
                         : "memory");
        }
        fence_async();
    } else {
        const int first = row + warp * 16 + lane / 4, column = lane % 4 * 2;
        unsigned short *to = y + ((long long)head * rows + first) * depth + column;
#pragma unroll
        for (int j = 0; j < DP / 8; j++) {
            if (8 * j + column < depth) {
                if (first < rows)
                    *(unsigned *)(to + 8 * j) = pair_of(o[4 * j] * i0, o[4 * j + 1] * i0);
                if (first + 8 < rows)
                    *(unsigned *)(to + 8 * depth + 8 * j) = pair_of(o[4 * j + 2] * i1, o[4 * j + 3] * i1);
            }
        }
    }
    __syncwarp();
    if (lane == 0)
        bar_arrive(ready);
}

/* A warp group: 64 rows of each of the block's tiles. */
template <int DP>
static __device__ __forceinline__ void consume(unsigned char *base, int wg, unsigned short *y, int heads, int rows,
                                               int depth)
{
    constexpr int size = 256 * DP, stages_k = DP == 128 ? KST : 4, stages_v = DP == 128 ? 2 : 4;
    constexpr int every = DP == 64 ? POLY : 0;
    const unsigned at = smem_of(base);
    unsigned char *kfull = base + bars_at, *kempty = kfull + 32, *vfull = kfull + 64, *vempty = kfull + 96,
                  *qfull = kfull + 128, *ready = kfull + 160 + wg * 16;
    const int lane = (int)(threadIdx.x & 31), warp = (int)(threadIdx.x >> 5 & 3);
    const int blocks = (rows + 127) / 128, tiles = blocks * heads;
    const int last = rows - (blocks - 1) * 128 - 1 - lane % 4 * 2;
    const float factor = 1.44269504f * rsqrtf((float)depth);
    /* 128-byte swizzle, 1024 bytes from 8 rows to the next 8; for the values also 16384 from 64 columns to the next. */
    const unsigned long long kind_k = (1ull << 62) | (64ull << 32) | (1ull << 16);
    const unsigned long long kind_v = (1ull << 62) | (64ull << 32) | (1024ull << 16);
    const unsigned long long desc_q = kind_k | (unsigned long long)(((at + wg * 8192) & 0x3ffffu) >> 4);
    const unsigned long long desc_k = kind_k | (unsigned long long)(((at + 2 * size) & 0x3ffffu) >> 4);
    const unsigned long long desc_v = kind_v | (unsigned long long)(((at + (2 + stages_k) * size) & 0x3ffffu) >> 4);

    int turn = 0, ks = 0, vs = 0, tile = tile_of(0);
    unsigned kp = 0, vp = 0;
    if (tile >= tiles)
        return;
    int block = blocks - 1 - tile / heads, head = tile % heads;
    float o[DP / 2], m0 = 0.0f, m1 = 0.0f, l0 = 0.0f, l1 = 0.0f;
    unsigned p[32];

    if (PING && wg == 1)
        turn_give(0);
    {
        float s[64], c0, c1;
        bar_wait(qfull, 0u);
        bar_wait(kfull, 0u);
        issue_scores<DP>(s, desc_q, desc_k);
        wgmma_wait<0>();
        hold(s);
        if (lane == 0)
            bar_arrive(kempty);
        ks = 1;
        hide(s, last);
        soften<true, 0>(s, m0, m1, l0, l1, c0, c1, factor);
        pack(p, s);
#pragma unroll
        for (int i = 0; i < DP / 2; i++)
            o[i] = 0.0f;
    }
    for (;;) {
        const unsigned long long own_q = desc_q + (unsigned long long)((turn & 1) * (size / 16));
        for (int n = blocks - 1; n > 0; n--) {
            float s[64], c0, c1;
            bar_wait(kfull + 8 * ks, kp);
            if (PING)
                turn_wait(wg);
            issue_scores<DP>(s, own_q, desc_k + (unsigned long long)(ks * (size / 16)));
            bar_wait(vfull + 8 * vs, vp);
            issue_values<DP>(o, p, desc_v + (unsigned long long)(vs * (size / 16)));
            if (PING)
                turn_give(wg ^ 1);
            wgmma_wait<1>();
            hold(s);
            if (lane == 0)
                bar_arrive(kempty + 8 * ks);
            if (++ks == stages_k) {
                ks = 0;
                kp ^= 1;
            }
            soften<false, every>(s, m0, m1, l0, l1, c0, c1, factor);
            wgmma_wait<0>();
            hold(o);
            if (lane == 0)
                bar_arrive(vempty + 8 * vs);
            if (++vs == stages_v) {
                vs = 0;
                vp ^= 1;
            }
            pack(p, s);
#pragma unroll
            for (int j = 0; j < DP / 8; j++) {
                o[4 * j] *= c0;
                o[4 * j + 1] *= c0;
                o[4 * j + 2] *= c1;
                o[4 * j + 3] *= c1;
            }
        }
        const int next = tile_of(turn + 1);
        if (next >= tiles)
            break;
        {
            /* The first scores of the next tile together with the last values of this one. */
            const int buffer = (turn + 1) & 1;
            const float e0 = l0, e1 = l1;
            float s[64], c0, c1;
            bar_wait(qfull + 8 * buffer, (unsigned)((turn + 1) >> 1 & 1));
            bar_wait(kfull + 8 * ks, kp);
            if (PING)
                turn_wait(wg);
            issue_scores<DP>(s, desc_q + (unsigned long long)(buffer * (size / 16)),
                             desc_k + (unsigned long long)(ks * (size / 16)));
            bar_wait(vfull + 8 * vs, vp);
            issue_values<DP>(o, p, desc_v + (unsigned long long)(vs * (size / 16)));
            if (PING)
                turn_give(wg ^ 1);
            wgmma_wait<1>();
            hold(s);
            if (lane == 0)
                bar_arrive(kempty + 8 * ks);
            if (++ks == stages_k) {
                ks = 0;
                kp ^= 1;
            }
            hide(s, last);
            soften<true, 0>(s, m0, m1, l0, l1, c0, c1, factor);
            wgmma_wait<0>();
            hold(o);
            if (lane == 0)
                bar_arrive(vempty + 8 * vs);
            if (++vs == stages_v) {
                vs = 0;
                vp ^= 1;
            }
            finish<DP>(o, e0, e1, at + (buffer ^ 1) * size + wg * 8192, ready + 8 * (buffer ^ 1), y, head,
                       block * 128 + wg * 64, rows, depth, wg, warp, lane);
            pack(p, s);
#pragma unroll
            for (int i = 0; i < DP / 2; i++)
                o[i] = 0.0f;
        }
        turn++;
        block = blocks - 1 - next / heads;
        head = next % heads;
    }
    bar_wait(vfull + 8 * vs, vp);
    issue_values<DP>(o, p, desc_v + (unsigned long long)(vs * (size / 16)));
    wgmma_wait<0>();
    hold(o);
    finish<DP>(o, l0, l1, at + (turn & 1) * size + wg * 8192, ready + 8 * (turn & 1), y, head, block * 128 + wg * 64,
               rows, depth, wg, warp, lane);
    if (PING && wg == 0)
        turn_wait(0); /* takes the last turn that was given */
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_y,
              unsigned short *y, int heads, int queries, int keys, int rows, int depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char *base = shared + ((1024u - (smem_of(shared) & 1023u)) & 1023u);
    if (threadIdx.x == 0) {
        unsigned char *bars = base + bars_at;
        for (int i = 0; i < 4; i++) {
            bar_init(bars + 8 * i, 1);      /* K full */
            bar_init(bars + 32 + 8 * i, 8); /* K empty: the warps of both warp groups */
            bar_init(bars + 64 + 8 * i, 1); /* V full */
            bar_init(bars + 96 + 8 * i, 8); /* V empty */
        }
        for (int i = 0; i < 2; i++) {
            bar_init(bars + 128 + 8 * i, 1); /* Q full */
            bar_init(bars + 144 + 8 * i, 2); /* Q empty: both storing threads */
        }
        for (int i = 0; i < 4; i++)
            bar_init(bars + 160 + 8 * i, 4); /* result ready: the warps of a warp group */
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_q) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_k) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_v) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map_y) : "memory");
    }
    __syncthreads();
    const int group = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 7), 0);
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
        const int warp = (int)(threadIdx.x >> 5), lane = (int)(threadIdx.x & 31);
        if (lane == 0) {
            if (warp == 0) {
                if (depth > 64)
                    load_tiles<128>(&map_q, &map_k, &map_v, base, heads, queries, keys, rows);
                else
                    load_tiles<64>(&map_q, &map_k, &map_v, base, heads, queries, keys, rows);
            } else if (warp < 3) {
                if (depth > 64)
                    store_tiles<128>(&map_y, base, warp - 1, heads, rows);
                else
                    store_tiles<64>(&map_y, base, warp - 1, heads, rows);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
        if (depth > 64)
            consume<128>(base, group - 1, y, heads, rows, depth);
        else
            consume<64>(base, group - 1, y, heads, rows, depth);
    }
}

/* A block per row: all scores in shared memory, their softmax, then a thread per column of the result. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ float block_reduce(float v, bool is_max)
{
    __shared__ float shared[128];
    __syncthreads();
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d)
            shared[threadIdx.x] = is_max ? fmaxf(shared[threadIdx.x], shared[threadIdx.x + d])
                                         : shared[threadIdx.x] + shared[threadIdx.x + d];
        __syncthreads();
    }
    return shared[0];
}

extern "C" __global__ void plain(const unsigned short *q, const unsigned short *k,
                                     const unsigned short *v, unsigned short *y, long long heads,
                                     long long groups, long long rows, long long depth)
{
    extern __shared__ float score[];
    long long i = blockIdx.x, head = (i / rows / heads * groups + i / rows % heads / (heads / groups)) * rows,
              keys = rows;
    float top = -1e30f, sum = 0.0f;
    for (long long j = threadIdx.x; j < keys; j += 128) {
        float s = 0.0f;
        for (long long d = 0; d < depth; d++)
            s += from_bf16(q[i * depth + d]) * from_bf16(k[(head + j) * depth + d]);
        score[j] = s * rsqrtf((float)depth);
        top = fmaxf(top, score[j]);
    }
    top = block_reduce(top, true);
    for (long long j = threadIdx.x; j < keys; j += 128) {
        score[j] = expf(score[j] - top);
        sum += score[j];
    }
    sum = block_reduce(sum, false);
    for (long long d = threadIdx.x; d < depth; d += 128) {
        float total = 0.0f;
        for (long long j = 0; j < keys; j++)
            total += score[j] * from_bf16(v[(head + j) * depth + d]);
        y[i * depth + d] = to_bf16(total / sum);
    }
}
