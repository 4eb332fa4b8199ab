/* atoll-plan {
  "version": 1,
  "params": {"PIPE_STAGES": [8, 6], "IN_PLACE": [1, 0]},
  "require": ["IN_PLACE * (PIPE_STAGES - 8) == 0"],
  "scratch": {"taps": "6 * F * C", "turned": "2 * B * L * C"},
  "paths": [{"when": "C % 8 == 0 && L % 8 == 0",
             "launch": [{"kernel": "arrange",
                         "grid": ["cdiv(3 * F * C, 256)"],
                         "block": ["256"],
                         "args": ["w", "taps", "i32:F", "i32:C"]},
                        {"kernel": "turn",
                         "grid": ["IN_PLACE + (1 - IN_PLACE) * B", "IN_PLACE + (1 - IN_PLACE) * cdiv(L, 64)", "IN_PLACE + (1 - IN_PLACE) * cdiv(C, 64)"],
                         "block": ["256"],
                         "args": ["x", "turned", "i32:C", "i32:L"]},
                        {"kernel": "product",
                         "grid": ["132"],
                         "block": ["384"],
                         "shared_bytes": "(1 - IN_PLACE) * (PIPE_STAGES * 24576 + (10 - PIPE_STAGES) * 16384) + IN_PLACE * (2 * 74752 + 65536) + 1152",
                         "args": ["tensormap(taps, [C, F, 3], [32, 128, 1], swizzle=64, l2=256, dtype=f16)", "tensormap(turned, [C, L, B], [32, 256, 1], swizzle=64, l2=256, dtype=f16)", "tensormap(y, [L, F, B], [64, 16, 1], swizzle=128)", "tensormap(x, [L, C, B], [64, 32, 1], swizzle=128, l2=256)", "tensormap(x, [L, C, B], [8, 32, 1])", "bias", "i32:B", "i32:C", "i32:F", "i32:L"]}]},
            {"launch": [{"kernel": "plain",
                         "grid": ["cdiv(B * F * L, 256)"],
                         "block": ["256"],
                         "args": ["x", "w", "bias", "y", "i64:B", "i64:C", "i64:F", "i64:L"]}]}]
} */
/* A product whose depth are the channels of each tap: filters are rows, places of one row of x are columns, and a tap moves the box that is
 * copied by one place; what lies outside of the row is zero as the copy engine fills it in.  Nothing is unfolded.  A box begins at a
 * multiple of 16 bytes of the fastest axis (another start is an illegal instruction), so that x is turned first and a tap moves the
 * second axis.  A block has a tile of 128 filters x 256 places: warp group 0 is the producer (one thread issues bulk copies), warp
 * groups 1 and 2 multiply 64 filters each.  Filters are arranged by tap first, channels contiguous.  The last batches come first: the
 * cache still has them.  IN_PLACE: x is not turned; the other warps of group 0 write two copies of what was loaded, shifted by one place, and
 * copies of 8 places on both sides bring the neighbours.  The grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

constexpr bool kInPlace = IN_PLACE;
constexpr int kStages = kInPlace ? 2 : PIPE_STAGES;
constexpr int kSlots = kInPlace ? 4 : 10 - PIPE_STAGES;              /* pieces of 16 x 64 outputs that a warp has in flight */
constexpr unsigned kBytesA = 8192u;                       /* 128 filters, 32 channels */
constexpr unsigned kBytesB = 16384u;                      /* 256 places, 32 channels */
/* In place: filters of three taps, 32 channels of 256 places in four boxes of 64, the same shifted to the right and to the left, 8 places
 * before and 8 behind. */
constexpr unsigned kX = 3u * kBytesA, kRight = kX + kBytesB, kLeft = kRight + kBytesB, kSides = kLeft + kBytesB;
constexpr unsigned kBytesStage = kInPlace ? kSides + 1024u : kBytesA + kBytesB;
constexpr unsigned kBytesExpected = kInPlace ? kX + kBytesB + 1024u : kBytesStage;
constexpr unsigned kBytesPiece = 2048u;                   /* 16 rows of 64 outputs */

/* A wgmma descriptor without its address: rows of 64 bytes run along the depth, 64-byte swizzle, 512 bytes from 8 rows to the
 * next 8 rows. */
constexpr unsigned long long kDesc = (2ull << 62) | (32ull << 32) | (1ull << 16);
/* Places run across the depth: 128-byte swizzle, 1024 bytes from 8 channels to the next, 4096 from 64 places to the next 64. */
constexpr unsigned long long kDescAcross = (1ull << 62) | (64ull << 32) | (256ull << 16);

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

static __device__ __forceinline__ void wait_for(cuda::std::uint64_t *barrier, cuda::std::uint32_t parity)
{
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
}

static __device__ __forceinline__ void release(cuda::std::uint64_t *barrier, unsigned lane)
{
    if (lane == 0)
        arrive_here(address_of(barrier));
}

/* ---- bulk copies ---- */

static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

static __device__ __forceinline__ void load_box(unsigned to, const CUtensorMap *map, unsigned barrier, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

static __device__ __forceinline__ void store_box(const CUtensorMap *map, unsigned from, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(from),
                 "r"(x), "r"(y), "r"(z)
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

/* d += A B, 64 x 256 x 16; rows of A run along the depth, those of B too unless ACROSS is 1. */
template <int ACROSS>
static __device__ __forceinline__ void multiply(float (&d)[128], unsigned long long desc_a, unsigned long long desc_b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, 1, 1, 1, 0, %130;"
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
        : "l"(desc_a), "l"(desc_b), "n"(ACROSS));
}

/* ---- epilogue ---- */

static __device__ __forceinline__ unsigned pack(float low, float high)
{
    unsigned v;
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

/* Four 8 x 8 blocks of 16-bit elements; lane i gives the address of row i % 8 of block i / 8. */
static __device__ __forceinline__ void store_matrix(unsigned to, unsigned v0, unsigned v1, unsigned v2, unsigned v3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v0), "r"(v1),
                 "r"(v2), "r"(v3)
                 : "memory");
}

/* w[f][c][t] to taps[t][f][c]. */
extern "C" __global__ void arrange(const unsigned short *w, unsigned short *taps, int filters, int channels)
{
    const int at = (int)(blockIdx.x * 256u + threadIdx.x), one = filters * channels;
    if (at < 3 * one)
        taps[at] = w[at % one * 3 + at / one];
}

/* x[b][c][l] to turned[b][l][c], 64 x 64 of them: 16 bytes at a time on both sides; chunk j of channel c lies at j ^ c / 8. */
extern "C" __global__ void __launch_bounds__(256)
    turn(const unsigned short *x, unsigned short *turned, int channels, int length)
{
    __shared__ __align__(16) unsigned short tile[64 * 64];
    if (kInPlace)
        return;
    const int l0 = (int)blockIdx.y * 64, c0 = (int)blockIdx.z * 64, chunk = (int)threadIdx.x % 8;
    const long long batch = (long long)blockIdx.x * channels * length;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int c = (int)threadIdx.x / 8 + i * 32, l = l0 + chunk * 8;
        uint4 v = make_uint4(0u, 0u, 0u, 0u);
        if (c0 + c < channels && l < length)
            v = *reinterpret_cast<const uint4 *>(x + batch + (long long)(c0 + c) * length + l);
        *reinterpret_cast<uint4 *>(tile + c * 64 + (chunk ^ (c / 8)) * 8) = v;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int l = (int)threadIdx.x / 8 + i * 32, c = chunk * 8;
        const unsigned short *from = tile + c * 64 + ((l / 8) ^ chunk) * 8 + l % 8;
        uint4 v;
        v.x = from[0] | (unsigned)from[64] << 16;
        v.y = from[128] | (unsigned)from[192] << 16;
        v.z = from[256] | (unsigned)from[320] << 16;
        v.w = from[384] | (unsigned)from[448] << 16;
        if (c0 + c < channels && l0 + l < length)
            *reinterpret_cast<uint4 *>(turned + batch + (long long)(l0 + l) * channels + c0 + c) = v;
    }
}

static __device__ __forceinline__ void place(int tile, int down, int across, int batches, int &row, int &column,
                                             int &batch)
{
    row = tile % down * 128;
    column = tile / down % across * 256;
    batch = batches - 1 - tile / (down * across);
}

static __device__ __forceinline__ uint4 load_16(unsigned from)
{
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from) : "memory");
    return v;
}

static __device__ __forceinline__ unsigned load_2(unsigned from)
{
    unsigned short v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(from) : "memory");
    return v;
}

static __device__ __forceinline__ void store_16(unsigned to, uint4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

/* A channel of 256 places, 8 of each lane: place l gets what l - 1 has, and what l + 1 has. */
static __device__ __forceinline__ void shift(unsigned tile, unsigned channel, unsigned lane)
{
    const unsigned at = lane / 8u * 4096u + channel * 128u + ((lane % 8u) ^ (channel % 8u)) * 16u;
    const uint4 v = load_16(tile + kX + at);
    unsigned before = __shfl_up_sync(0xffffffffu, v.w >> 16, 1), behind = __shfl_down_sync(0xffffffffu, v.x & 0xffffu, 1);
    if (lane == 0u)
        before = load_2(tile + kSides + channel * 16u + 14u);
    if (lane == 31u)
        behind = load_2(tile + kSides + 512u + channel * 16u);
    store_16(tile + kRight + at,
             make_uint4(v.x << 16 | before, __funnelshift_l(v.x, v.y, 16), __funnelshift_l(v.y, v.z, 16), __funnelshift_l(v.z, v.w, 16)));
    store_16(tile + kLeft + at,
             make_uint4(__funnelshift_r(v.x, v.y, 16), __funnelshift_r(v.y, v.z, 16), __funnelshift_r(v.z, v.w, 16), v.w >> 16 | behind << 16));
}

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_side,
         const __half *bias, int batches, int channels, int filters, int length)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned start = address_of(shared);
    const unsigned skip = (1024u - start % 1024u) % 1024u;
    const unsigned tiles = start + skip;
    const unsigned pieces = tiles + (unsigned)kStages * kBytesStage;
    unsigned char *bars = shared + skip + (unsigned)kStages * kBytesStage + (unsigned)kSlots * 8u * kBytesPiece;
    cuda::std::uint64_t *full = reinterpret_cast<cuda::std::uint64_t *>(bars);
    cuda::std::uint64_t *empty = full + kStages, *shifted = empty + kStages;

    const int down = (filters + 127) / 128, across = (length + 255) / 256;
    const int total = down * across * batches, deep = (channels + 31) / 32, steps = kInPlace ? deep : 3 * deep;

    if (threadIdx.x == 0) {
        prefetch_map(&map_a);
        prefetch_map(&map_b);
        prefetch_map(&map_c);
        for (int s = 0; s < kStages; s++) {
            init_barrier(address_of(full + s), 1u);
            init_barrier(address_of(empty + s), 8u); /* consumer warps */
            if (kInPlace)
                init_barrier(address_of(shifted + s), 3u);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();

    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            unsigned phase = 0;
            for (int t = (int)blockIdx.x; t < total; t += (int)gridDim.x) {
                int row, column, batch;
                place(t, down, across, batches, row, column, batch);
                for (int k = 0; k < steps; k++) {
                    wait_for(empty + stage, phase ^ 1u);
                    const unsigned barrier = address_of(full + stage);
                    const unsigned tile = tiles + (unsigned)stage * kBytesStage;
                    expect_bytes(barrier, kBytesExpected);
                    if (kInPlace) {
                        for (int tap = 0; tap < 3; tap++)
                            load_box(tile + (unsigned)tap * kBytesA, &map_a, barrier, k * 32, row, tap);
                        for (int b = 0; b < 4; b++)
                            load_box(tile + kX + (unsigned)b * 4096u, &map_x, barrier, column + b * 64, k * 32, batch);
                        load_box(tile + kSides, &map_side, barrier, column - 8, k * 32, batch);
                        load_box(tile + kSides + 512u, &map_side, barrier, column + 256, k * 32, batch);
                    } else {
                        const int tap = k / deep, first = k % deep * 32;
                        load_box(tile, &map_a, barrier, first, row, tap);
                        load_box(tile + kBytesA, &map_b, barrier, first, column + tap - 1, batch);
                    }
                    if (++stage == kStages) {
                        stage = 0;
                        phase ^= 1u;
                    }
                }
            }
        }
        __syncwarp();
        const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u;
        if (kInPlace && warp > 0u) {
            int stage = 0;
            unsigned phase = 0;
            for (int t = (int)blockIdx.x; t < total; t += (int)gridDim.x)
                for (int k = 0; k < steps; k++) {
                    wait_for(full + stage, phase);
                    const unsigned tile = tiles + (unsigned)stage * kBytesStage;
#pragma unroll 2
                    for (unsigned channel = warp - 1u; channel < 32u; channel += 3u)
                        shift(tile, channel, lane);
                    fence_async();
                    __syncwarp();
                    if (lane == 0)
                        arrive_here(address_of(shifted + stage));
                    if (++stage == kStages) {
                        stage = 0;
                        phase ^= 1u;
                    }
                }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const unsigned lane = threadIdx.x % 32u;
        const unsigned warp = threadIdx.x / 32u - 4u; /* 0 to 7: rows 16 * warp and up */
        const unsigned rows_a = (unsigned)(group - 1) * 4096u;
        const unsigned own = pieces + warp * ((unsigned)kSlots * kBytesPiece);
        const unsigned line = lane % 16u * 128u;
        int stage = 0;
        unsigned phase = 0;
        for (int t = (int)blockIdx.x; t < total; t += (int)gridDim.x) {
            int row, column, batch;
            place(t, down, across, batches, row, column, batch);
            float d[128];
#pragma unroll
            for (int i = 0; i < 128; i++)
                clear(d[i]);
            int previous = 0;
            for (int k = 0; k < steps; k++) {
                wait_for(full + stage, phase);
                const unsigned tile = tiles + (unsigned)stage * kBytesStage;
                const unsigned long long desc_a = kDesc | (unsigned long long)(((tile + rows_a) & 0x3ffffu) >> 4);
                if (kInPlace) { /* the middle tap first; 8192 bytes are 512 further, 16384 bytes 1024 */
                    const unsigned long long desc_x = kDescAcross | (unsigned long long)(((tile + kX) & 0x3ffffu) >> 4);
                    mma_fence();
#pragma unroll
                    for (int u = 0; u < 2; u++)
                        multiply<1>(d, desc_a + 512ull + 2ull * u, desc_x + 128ull * u);
                    mma_commit();
                    wait_for(shifted + stage, phase);
                    mma_fence();
#pragma unroll
                    for (int u = 0; u < 2; u++) {
                        multiply<1>(d, desc_a + 2ull * u, desc_x + 1024ull + 128ull * u);
                        multiply<1>(d, desc_a + 1024ull + 2ull * u, desc_x + 2048ull + 128ull * u);
                    }
                    mma_commit();
                    mma_wait<2>();
                } else {
                    const unsigned long long desc_b = kDesc | (unsigned long long)(((tile + kBytesA) & 0x3ffffu) >> 4);
                    mma_fence();
#pragma unroll
                    for (int u = 0; u < 2; u++) /* 16 channels, 32 bytes of a row; beyond the last are zeros */
                        multiply<0>(d, desc_a + 2ull * u, desc_b + 2ull * u);
                    mma_commit();
                    mma_wait<1>();
                }
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
            const int r0 = top + (int)lane / 4;
            const float f0 = r0 < filters ? __half2float(bias[r0]) : 0.0f, f1 = r0 + 8 < filters ? __half2float(bias[r0 + 8]) : 0.0f;
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
                    const unsigned v0 = pack(d[at] + f0, d[at + 1] + f0), v1 = pack(d[at + 2] + f1, d[at + 3] + f1);
                    const unsigned v2 = pack(d[at + 4] + f0, d[at + 5] + f0), v3 = pack(d[at + 6] + f1, d[at + 7] + f1);
                    store_matrix(slot + line + unit * 16u, v0, v1, v2, v3);
                }
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    if (top < filters && column + q * 64 < length)
                        store_box(&map_c, slot, column + q * 64, top, batch);
                    store_commit();
                }
            }
            __syncwarp();
        }
        if (lane == 0)
            store_wait_all();
        __syncwarp();
    }
}

/* One thread per element. */
extern "C" __global__ void plain(const __half *x, const __half *w, const __half *bias, __half *y,
                                  long long batches, long long channels, long long filters, long long length)
{
    long long unit = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long at = unit % length, filter = unit / length % filters, batch = unit / (length * filters);
    if (batch >= batches)
        return;
    float sum = __half2float(bias[filter]);
    for (long long c = 0; c < channels; c++) {
        const __half *row = x + (batch * channels + c) * length, *tap = w + (filter * channels + c) * 3;
        for (int t = 0; t < 3; t++)
            if (at + t >= 1 && at + t <= length)
                sum += __half2float(row[at + t - 1]) * __half2float(tap[t]);
    }
    y[unit] = __float2half(sum);
}
