/* atoll-plan {
  "version": 1,
  "params": {"PIPE_STAGES": [4, 3], "RASTER_GROUP": [8, 4, 16], "CLUSTER_CTAS": [1, 2]},
  "paths": [{"when": "K % 4 == 0 && N % 4 == 0",
             "launch": [{"kernel": "product",
                         "grid": ["132"],
                         "block": ["384"],
                         "cluster": ["CLUSTER_CTAS"],
                         "shared_bytes": "PIPE_STAGES * 49152 + 1152",
                         "args": ["tensormap(a, [K, M], [32, 128], swizzle=128, l2=256)", "tensormap(b, [N, K], [32, 32], swizzle=128, l2=256)", "c", "i32:M", "i32:N", "i32:K"]}]},
            {"launch": [{"kernel": "plain",
                         "grid": ["cdiv(N, 32)", "cdiv(M, 8)"],
                         "block": ["32", "8"],
                         "args": ["a", "b", "c", "i64:M", "i64:N", "i64:K"]}]}]
} */
/* The tensor cores take tf32 from shared memory only where rows run along the depth; those of B do not.  So the transposed product is made:
 * columns of B are the instruction's rows and come through registers, in any order; rows of A are its columns and are read in place.
 * A block has 256 rows and 128 columns of C: warp group 0 is the producer (one thread issues bulk copies), warp groups 1 and 2 have 64
 * columns each.  The blocks of a cluster lie side by side and share the rows of A.
 * The grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

constexpr int kStages = PIPE_STAGES;
constexpr int kCtas = CLUSTER_CTAS;
constexpr int kGroup = RASTER_GROUP;
constexpr unsigned kBytesA = 32768u;                      /* 256 rows, 32 of the depth */
constexpr unsigned kBytesBox = 4096u;                     /* 32 of the depth, 32 columns */
constexpr unsigned kBytesStage = kBytesA + 4u * kBytesBox;

/* wgmma descriptor without its address: 128-byte swizzle, 1024 bytes from 8 rows to the next 8 rows. */
constexpr unsigned long long kDesc = (1ull << 62) | (64ull << 32) | (1ull << 16);

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

/* d += A B, 64 x 256 x 8; A in registers, rows of B along the depth. */
static __device__ __forceinline__ void multiply(float (&d)[128], const unsigned (&a)[4], unsigned long long desc_b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "{%128, %129, %130, %131}, %132, 1, 1, 1;"
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
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b));
}

/* ---- which tile: kGroup rows of tiles run side by side and share columns of B ---- */

static __device__ __forceinline__ void place(int tile, int down, int across, int rank, int &row, int &column)
{
    const int first = tile / (kGroup * across) * kGroup;
    const int height = down - first < kGroup ? down - first : kGroup;
    const int within = tile - first * across;
    row = (first + within % height) * 256;
    column = (within / height * kCtas + rank) * 128;
}

/* 16 columns of B and 32 of the depth, as the instruction wants them: at[i]: where the thread's element i of the first 8 lies. */
static __device__ __forceinline__ void load_columns(unsigned (&f)[4][4], const unsigned (&at)[4], unsigned tile)
{
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(f[u][i]) : "r"(tile + at[i] + 1024u * u));
}

static __device__ __forceinline__ void multiply_stage(float (&d)[128], const unsigned (&f)[4][4], unsigned tile)
{
    const unsigned long long desc = kDesc | (unsigned long long)((tile & 0x3ffffu) >> 4);
    mma_fence();
#pragma unroll
    for (int u = 0; u < 4; u++)
        multiply(d, f[u], desc + 2ull * u);
    mma_commit();
}

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float *c, int m, int n, int depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned start = address_of(shared);
    const unsigned skip = (1024u - start % 1024u) % 1024u;
    const unsigned tiles = start + skip;
    unsigned char *bars = shared + skip + (unsigned)kStages * kBytesStage;
    cuda::std::uint64_t *full = reinterpret_cast<cuda::std::uint64_t *>(bars);
    cuda::std::uint64_t *empty = full + kStages;

    const int rank = (int)blockIdx.x % kCtas;
    const int cluster = (int)blockIdx.x / kCtas, clusters = (int)gridDim.x / kCtas;
    const int down = (m + 255) / 256, across = (n + 128 * kCtas - 1) / (128 * kCtas);
    const int total = down * across, steps = (depth + 63) / 64 * 2; /* even: what lies beyond the depth is zero */

    if (threadIdx.x == 0) {
        prefetch_map(&map_a);
        prefetch_map(&map_b);
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
#pragma unroll
                    for (int j = 0; j < 2 / kCtas; j++) {
                        const int half = 2 / kCtas == 2 ? j : rank;
                        if (kCtas == 2)
                            load_box_for(tile + (unsigned)half * 16384u, &map_a, barrier, k * 32, row + half * 128, (unsigned short)3);
                        else
                            load_box(tile + (unsigned)half * 16384u, &map_a, barrier, k * 32, row + half * 128);
                    }
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        load_box(tile + kBytesA + (unsigned)j * kBytesBox, &map_b, barrier, column + j * 32, k * 32);
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
        const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u - 4u; /* columns 16 * warp and up */
        /* Element i: column lane / 4, 8 more for odd i; depth lane % 4, 4 more for i > 1.  Chunks of four columns are swizzled. */
        unsigned at[4];
#pragma unroll
        for (unsigned i = 0; i < 4u; i++) {
            const unsigned column = warp % 2u * 16u + lane / 4u + i % 2u * 8u, k = lane % 4u + i / 2u * 4u;
            at[i] = kBytesA + warp / 2u * kBytesBox + k * 128u + ((column / 4u ^ k) << 4) + column % 4u * 4u;
        }
        int stage = 0;
        unsigned phase = 0;
        for (int t = cluster; t < total; t += clusters) {
            int row, column;
            place(t, down, across, rank, row, column);
            float d[128];
            unsigned f[4][4], g[4][4]; /* of even and odd steps: one is still read when the other is loaded */
#pragma unroll
            for (int i = 0; i < 128; i++)
                clear(d[i]);
            int previous = 0;
            for (int k = 0; k < steps; k += 2) {
                wait_for(full + stage, phase);
                unsigned tile = tiles + (unsigned)stage * kBytesStage;
                load_columns(f, at, tile);
                multiply_stage(d, f, tile);
                mma_wait<1>();
                if (k > 0)
                    release(empty + previous, lane);
                previous = stage;
                if (++stage == kStages) {
                    stage = 0;
                    phase ^= 1u;
                }
                wait_for(full + stage, phase);
                tile = tiles + (unsigned)stage * kBytesStage;
                load_columns(g, at, tile);
                multiply_stage(d, g, tile);
                mma_wait<1>();
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

            /* Eight neighbours of a row at a time, 32 bytes. */
            const int left = column + (int)(warp * 16u + lane / 4u), top = row + (int)(lane % 4u) * 2;
#pragma unroll
            for (int j = 0; j < 32; j++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int r = top + 8 * j + e % 2, s = left + e / 2 * 8;
                    if (r < m && s < n)
                        c[(long long)r * n + s] = d[4 * j + e];
                }
            }
        }
    }

    if (kCtas > 1) { /* nobody leaves while the other block may still write or signal here */
        cluster_arrive();
        cluster_wait();
    }
}

/* One thread per element. */
extern "C" __global__ void plain(const float *a, const float *b, float *c, long long m, long long n,
                                long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = sum;
}
