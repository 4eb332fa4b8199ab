/* atoll-plan {
  "version": 1,
  "params": {"PIPE_STAGES": [4, 3], "RASTER_GROUP": [8, 4, 16], "CLUSTER_CTAS": [1, 2]},
  "paths": [{"when": "N % 8 == 0 && K % 8 == 0",
             "launch": [{"kernel": "gemm", "grid": [132], "block": [384], "cluster": ["CLUSTER_CTAS"],
                         "shared_bytes": "PIPE_STAGES * 49152 + (10 - 2 * PIPE_STAGES) * 16384 + 1152",
                         "args": ["tensormap(a, [K, M], [64, 128], swizzle=128, l2=256)",
                                  "tensormap(b, [N, K], [64, 64], swizzle=128, l2=256)",
                                  "tensormap(c, [N, M], [64, 16], swizzle=128)", "i32:M", "i32:N", "i32:K"]}]},
            {"launch": [{"kernel": "plain", "grid": ["min(cdiv(M, 64) * cdiv(N, 64), 1056)"], "block": [384],
                         "shared_bytes": 16640, "args": ["a", "b", "c", "i32:M", "i32:N", "i32:K"]}]}]
} */
/* A block has a tile of 128 x 256: warpgroup 0 is the producer (one thread issues TMA loads), warpgroups 1 and 2 multiply
 * 64 rows each.  The blocks of a cluster lie below one another and share the columns of B.  Rows that are no multiples of
 * 16 bytes go through the plain kernel. */
#include <cuda.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

constexpr int kStages = PIPE_STAGES;
constexpr int kCtas = CLUSTER_CTAS;
constexpr int kGroup = RASTER_GROUP;
constexpr int kSlots = 10 - 2 * kStages;                  /* pieces of 16 x 64 outputs that a warp has in flight */
constexpr unsigned kBytesA = 16384u;                      /* 128 rows of 64 of the depth */
constexpr unsigned kBytesBox = 8192u;                     /* 64 of the depth, 64 columns */
constexpr unsigned kBytesStage = kBytesA + 4u * kBytesBox;
constexpr unsigned kBytesPiece = 2048u;                   /* 16 rows of 64 outputs */

/* wgmma descriptors without their address: 128-byte swizzle, 1024 bytes from 8 rows to the next 8 rows; for B, where the
 * columns are contiguous, 8192 bytes from 64 columns to the next 64. */
constexpr unsigned long long kDescA = (1ull << 62) | (64ull << 32) | (1ull << 16);
constexpr unsigned long long kDescB = (1ull << 62) | (64ull << 32) | (512ull << 16);

static __device__ __forceinline__ unsigned address_of(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* ---- barriers ---- */

static __device__ __forceinline__ void init_barrier(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

static __device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void arrive_here(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

static __device__ __forceinline__ void arrive_at(unsigned barrier, unsigned cta)
{
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(barrier), "r"(cta));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

static __device__ __forceinline__ void wait_for(cuda::std::uint64_t *barrier, cuda::std::uint32_t parity)
{
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
}

/* A warp has done with a stage: it tells so to the producers of all blocks of the cluster. */
static __device__ __forceinline__ void release(cuda::std::uint64_t *barrier, unsigned lane)
{
    const unsigned address = address_of(barrier);
    if (kCtas > 1) {
        if (lane < (unsigned)kCtas)
            arrive_at(address, lane);
    } else {
        if (lane == 0)
            arrive_here(address);
    }
}

static __device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

static __device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* ---- bulk copies ---- */

static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

static __device__ __forceinline__ void load_box(unsigned to, const CUtensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}

/* The same, to the same place of all blocks that the mask names. */
static __device__ __forceinline__ void load_box_for(unsigned to, const CUtensorMap *map, unsigned barrier, int x, int y,
                                                    unsigned short mask)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(mask)
                 : "memory");
}

static __device__ __forceinline__ void store_box(const CUtensorMap *map, unsigned from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
                 "r"(x), "r"(y)
                 : "memory");
}

static __device__ __forceinline__ void store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

static __device__ __forceinline__ void store_wait_all()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static __device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- tensor cores ---- */

static __device__ __forceinline__ void mma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void mma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void mma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

static __device__ __forceinline__ void clear(float &v)
{
    asm volatile("mov.b32 %0, 0;" : "=f"(v));
}

/* d += A B, 64 x 256 x 16; rows of A run along the depth, rows of B along the columns. */
static __device__ __forceinline__ void multiply(float (&d)[128], unsigned long long desc_a, unsigned long long desc_b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, 1, 1, 1, 0, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
          "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
          "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
          "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
          "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]),
          "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]),
          "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]),
          "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(desc_a), "l"(desc_b));
}

/* ---- epilogue ---- */

static __device__ __forceinline__ unsigned pack(float low, float high)
{
    unsigned v;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

/* Four 8 x 8 blocks of 16-bit elements; lane i gives the address of row i % 8 of block i / 8. */
static __device__ __forceinline__ void store_matrix(unsigned to, unsigned v0, unsigned v1, unsigned v2, unsigned v3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v0), "r"(v1),
                 "r"(v2), "r"(v3)
                 : "memory");
}

/* ---- the plain kernel, for rows that are not aligned ---- */

static __device__ __forceinline__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ __forceinline__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Tiles of 64 x 64 in steps of 32 of the depth; 256 threads have 4 x 4 outputs each, all threads load. */
extern "C" __global__ void __launch_bounds__(384)
    plain(const unsigned short *__restrict__ a, const unsigned short *__restrict__ b, unsigned short *__restrict__ c,
          int m, int n, int depth)
{
    extern __shared__ float pool[];
    float *tile_a = pool, *tile_b = pool + 32 * 65;
    const int across = (n + 63) / 64, down = (m + 63) / 64;
    const int x = (int)threadIdx.x % 16, y = (int)threadIdx.x / 16;
    const long long total = (long long)across * down;
    for (long long t = blockIdx.x; t < total; t += gridDim.x) {
        const int row = (int)(t / across) * 64, column = (int)(t % across) * 64;
        float sums[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sums[i][j] = 0.0f;
        for (int k = 0; k < depth; k += 32) {
            for (int e = (int)threadIdx.x; e < 2048; e += 384) {
                const int i = e / 32, u = e % 32, v = e / 64, j = e % 64;
                float va = 0.0f, vb = 0.0f;
                if (row + i < m && k + u < depth)
                    va = from_bf16(a[(long long)(row + i) * depth + k + u]);
                if (k + v < depth && column + j < n)
                    vb = from_bf16(b[(long long)(k + v) * n + column + j]);
                tile_a[u * 65 + i] = va;
                tile_b[v * 65 + j] = vb;
            }
            __syncthreads();
            if (y < 16) {
                for (int u = 0; u < 32; u++) {
                    float p[4], q[4];
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        p[i] = tile_a[u * 65 + y + 16 * i];
                        q[i] = tile_b[u * 65 + x + 16 * i];
                    }
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int j = 0; j < 4; j++)
                            sums[i][j] += p[i] * q[j];
                }
            }
            __syncthreads();
        }
        if (y < 16) {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int r = row + y + 16 * i, s = column + x + 16 * j;
                    if (r < m && s < n)
                        c[(long long)r * n + s] = to_bf16(sums[i][j]);
                }
        }
    }
}

/* ---- which tile: kGroup rows of cluster tiles run side by side and share columns of B ---- */

static __device__ __forceinline__ void place(int tile, int down, int across, int rank, int &row, int &column)
{
    const int first = tile / (kGroup * across) * kGroup;
    const int height = down - first < kGroup ? down - first : kGroup;
    const int within = tile - first * across;
    row = ((first + within % height) * kCtas + rank) * 128;
    column = within / height * 256;
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, int m, int n, int depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];

    const unsigned start = address_of(shared);
    const unsigned skip = (1024u - start % 1024u) % 1024u;
    const unsigned tiles = start + skip;
    const unsigned pieces = tiles + (unsigned)kStages * kBytesStage;
    unsigned char *bars = shared + skip + (unsigned)kStages * kBytesStage + (unsigned)kSlots * 8u * kBytesPiece;
    cuda::std::uint64_t *full = reinterpret_cast<cuda::std::uint64_t *>(bars);
    cuda::std::uint64_t *empty = full + kStages;

    const int rank = (int)blockIdx.x % kCtas;
    const int cluster = (int)blockIdx.x / kCtas, clusters = (int)gridDim.x / kCtas;
    const int down = (m + 128 * kCtas - 1) / (128 * kCtas), across = (n + 255) / 256;
    const int total = down * across, steps = (depth + 63) / 64;

    if (threadIdx.x == 0) {
        prefetch_map(&map_a);
        prefetch_map(&map_b);
        prefetch_map(&map_c);
        for (int s = 0; s < kStages; s++) {
            init_barrier(address_of(full + s), 1u);
            init_barrier(address_of(empty + s), 8u * (unsigned)kCtas); /* 8 consumer warps of each block */
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();
    if (kCtas > 1) {
        cluster_arrive();
        cluster_wait();
    }

    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            unsigned phase = 0;
            for (int t = cluster; t < total; t += clusters) {
                int row, column;
                place(t, down, across, rank, row, column);
                for (int k = 0; k < steps; k++) {
                    wait_for(empty + stage, phase ^ 1u);
                    const unsigned barrier = address_of(full + stage);
                    const unsigned tile = tiles + (unsigned)stage * kBytesStage;
                    expect_bytes(barrier, kBytesStage);
                    load_box(tile, &map_a, barrier, k * 64, row);
                    if (kCtas == 2) {
#pragma unroll
                        for (int j = 0; j < 2; j++) {
                            const int box = 2 * rank + j;
                            load_box_for(tile + kBytesA + (unsigned)box * kBytesBox, &map_b, barrier, column + box * 64,
                                         k * 64, (unsigned short)3);
                        }
                    } else {
#pragma unroll
                        for (int j = 0; j < 4; j++)
                            load_box(tile + kBytesA + (unsigned)j * kBytesBox, &map_b, barrier, column + j * 64, k * 64);
                    }
                    if (++stage == kStages) {
                        stage = 0;
                        phase ^= 1u;
                    }
                }
            }
        }
        __syncwarp();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const unsigned lane = threadIdx.x % 32u;
        const unsigned warp = threadIdx.x / 32u - 4u; /* 0 to 7: rows 16 * warp and up */
        const unsigned rows_a = (unsigned)(group - 1) * 8192u;
        const unsigned own = pieces + warp * ((unsigned)kSlots * kBytesPiece);
        const unsigned line = lane % 16u * 128u;
        int stage = 0;
        unsigned phase = 0;
        for (int t = cluster; t < total; t += clusters) {
            int row, column;
            place(t, down, across, rank, row, column);
            float d[128];
#pragma unroll
            for (int i = 0; i < 128; i++)
                clear(d[i]);
            int previous = 0;
            for (int k = 0; k < steps; k++) {
                wait_for(full + stage, phase);
                const unsigned tile = tiles + (unsigned)stage * kBytesStage;
                const unsigned long long desc_a = kDescA | (unsigned long long)(((tile + rows_a) & 0x3ffffu) >> 4);
                const unsigned long long desc_b = kDescB | (unsigned long long)(((tile + kBytesA) & 0x3ffffu) >> 4);
                mma_fence();
#pragma unroll
                for (int u = 0; u < 4; u++) /* 16 of the depth: 32 bytes of a row of A, 16 rows of B */
                    multiply(d, desc_a + 2ull * u, desc_b + 128ull * u);
                mma_commit();
                mma_wait<1>();
                if (k > 0)
                    release(empty + previous, lane);
                previous = stage;
                if (++stage == kStages) {
                    stage = 0;
                    phase ^= 1u;
                }
            }
            mma_wait<0>();
            release(empty + previous, lane);
            __syncwarp();

            /* 16 rows of this warp, 64 columns at a time: registers, shared memory (swizzled), bulk store. */
            const int top = row + (int)warp * 16;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const unsigned slot = own + (unsigned)(q % kSlots) * kBytesPiece;
                if (lane == 0)
                    store_wait_read<kSlots - 1>();
                __syncwarp();
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    const int at = q * 32 + p * 8;
                    const unsigned unit = (2u * p + lane / 16u) ^ (lane & 7u);
                    const unsigned v0 = pack(d[at], d[at + 1]), v1 = pack(d[at + 2], d[at + 3]);
                    const unsigned v2 = pack(d[at + 4], d[at + 5]), v3 = pack(d[at + 6], d[at + 7]);
                    store_matrix(slot + line + unit * 16u, v0, v1, v2, v3);
                }
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    if (top < m && column + q * 64 < n)
                        store_box(&map_c, slot, column + q * 64, top);
                    store_commit();
                }
            }
            __syncwarp();
        }
        if (lane == 0)
            store_wait_all();
        __syncwarp();
    }

    if (kCtas > 1) { /* nobody leaves while the other block may still write or signal here */
        cluster_arrive();
        cluster_wait();
    }
}
