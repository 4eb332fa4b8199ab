/* atoll-plan {
  "version": 1,
  "params": {"PIPE_STAGES": [5, 4, 6], "RASTER_GROUP": [8, 4, 2], "WARPS": [2, 4, 8], "SPLITS": [14, 4, 8, 2], "ROWS": [16], "BLOCK": [128], "PARTS": [16], "AHEAD": [4]},
  "require": ["ROWS * 4 * BLOCK * 4 <= 65536"],
  "scratch": {"partial": "4 * PARTS * M * N", "few": "4 * SPLITS * M * N", "rest": "132 * 131072", "done": "264 * 4"},
  "paths": [{"when": "M >= 128 && G % 64 == 0 && N % 16 == 0 && K % 4 == 0",
             "launch": [{"kernel": "reset", "grid": ["1"], "block": ["264"], "args": ["done"]},
                        {"kernel": "product",
                         "grid": ["132"],
                         "block": ["384"],
                         "shared_bytes": "PIPE_STAGES * 37120 + 1152",
                         "args": ["tensormap(x, [2 * K, M], [64, 128], swizzle=128, l2=256)", "tensormap(w, [N, K], [128, 32], swizzle=128, l2=256)", "tensormap(s, [N, cdiv(2 * K, G)], [128, 1])", "y", "rest", "done", "i32:M", "i32:N", "i32:K", "i32:G"]}]},
            {"when": "M <= 64 && G % 64 == 0 && N % 8 == 0 && K % 4 == 0",
             "launch": [{"kernel": "narrow",
                         "grid": ["cdiv(N, 64 * WARPS)", "cdiv(M, 16)", "SPLITS"],
                         "block": ["32 * WARPS"],
                         "args": ["x", "w", "s", "few", "i32:M", "i32:N", "i32:K", "i32:G"]},
                        {"kernel": "gather",
                         "grid": ["cdiv(M * N, 1024)"],
                         "block": ["256"],
                         "args": ["few", "y", "i32:M * N"]}]},
            {"launch": [{"kernel": "columns",
                         "grid": ["cdiv(N, 4 * BLOCK)", "cdiv(M, ROWS)", "PARTS"],
                         "block": ["BLOCK"],
                         "args": ["x", "w", "s", "partial", "i64:M", "i64:N", "i64:K", "i64:G"]},
                        {"kernel": "combine",
                         "grid": ["cdiv(M * N, 256)"],
                         "block": ["256"],
                         "args": ["partial", "y", "i64:M * N"]}]}]
} */
/* Many rows: the transposed product is made, so that the weights are the factor that comes through registers.  A byte of W is two
 * neighbours of the depth, as one register of the instruction holds them: ldmatrix brings a thread the bytes of its two columns, which
 * become bf16 and are multiplied by the scale of their group; rows of x are read in place.  A block has tiles of 256 rows and 128 columns
 * of y: warp group 0 is the producer (one thread issues bulk copies), warp groups 1 and 2 have 64 columns each.
 * Where whole tiles would leave blocks idle in the last wave, the last tiles (those of one wave and what is left) are shared: they are one
 * line of units of 128 of the depth, of which every block has an equal stretch.  Who begins inside a tile leaves its sums in `rest`; who has the
 * tile's first unit waits for those of the blocks behind it, adds them in order and writes the tile.
 * Few rows are bound by the weights' bytes, which go from memory to registers and from there into the tensor cores: 16 rows of x, 64
 * columns a warp, the depth in SPLITS that blocks share; a second kernel adds them.  What shapes are left have a thread for four columns.
 * The first grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

constexpr int kStages = PIPE_STAGES;
constexpr int kGroup = RASTER_GROUP;
constexpr unsigned kBytesX = 32768u;                      /* 256 rows, 64 of the depth */
constexpr unsigned kBytesStage = kBytesX + 4096u;         /* 32 pairs of the depth, 128 columns */
constexpr unsigned kBytesScale = 256u;                    /* of 128 columns */
constexpr int kVectors = 256 * 128 / 4 / 256;             /* of four sums of a tile, a thread */

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

static __device__ __forceinline__ void wait_for(cuda::std::uint64_t *barrier, cuda::std::uint32_t parity)
{
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
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

/* d += A B, 64 x 256 x 16; A in registers, rows of B along the depth. */
static __device__ __forceinline__ void multiply(float (&d)[128], const unsigned (&a)[4], unsigned long long desc_b)
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
        "{%128, %129, %130, %131}, %132, 1, 1, 1, 0;"
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

static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ __forceinline__ unsigned pack(float low, float high)
{
    const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned *>(&v);
}

/* Byte i of four, as two weights: 0x4300 with a nibble is 128 more than it in bf16, so that 8 less of it are 136 less. */
static __device__ __forceinline__ unsigned weigh_one(unsigned low, unsigned high, unsigned scale, int i)
{
    const unsigned both = (__byte_perm(low, high, (unsigned)(i | i << 4 | (4 + i) << 8 | i << 12)) & 0x000f000fu) | 0x43004300u;
    const __nv_bfloat162 level = *reinterpret_cast<const __nv_bfloat162 *>(&both);
    const __nv_bfloat162 v = __hmul2(__hsub2(level, __nv_bfloat162(__float2bfloat16_rn(136.0f), __float2bfloat16_rn(136.0f))),
                                     *reinterpret_cast<const __nv_bfloat162 *>(&scale));
    return *reinterpret_cast<const unsigned *>(&v);
}

/* Weights of 64 of the depth from 32 rows of pairs of 16 columns: a register of ldmatrix has of 8 rows the bytes of two neighbours in columns in
 * two rows, in the order in which the instruction wants them since `at` takes every row of its second half after one of its first half. */
static __device__ __forceinline__ void load_weights(unsigned (&f)[4][4], unsigned at, unsigned scales)
{
    unsigned v[4], both;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(both) : "r"(scales) : "memory");
    const unsigned s0 = __byte_perm(both, 0u, 0x1010), s1 = __byte_perm(both, 0u, 0x3232);
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            f[u][i] = weigh_one(v[u], v[u] >> 4, i % 2 ? s1 : s0, i);
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

/* ---- who does what ---- */

/* Tiles of a block, one after the other, with the units of the depth that are its own. */
struct work {
    int down, across, units; /* tiles, and units of 128 of the depth in each */
    int whole, shared_units; /* tiles before this are a block's alone; units of all others */
    int tile, at, end;       /* next tile of its own, next shared unit, and where its shared units end */
};

struct item {
    int tile, from, to;
};

/* First shared unit of a block. */
static __device__ __forceinline__ int share_of(const work &w, int block)
{
    return (int)((long long)w.shared_units * block / (int)gridDim.x);
}

static __device__ __forceinline__ work work_of(int m, int n, int pairs)
{
    work w;
    w.down = (m + 255) / 256;
    w.across = (n + 127) / 128;
    w.units = (2 * pairs + 127) / 128; /* what lies beyond the depth is level 0 times rows of 0 */
    const int blocks = (int)gridDim.x, total = w.down * w.across, waves = (total + blocks - 1) / blocks;
    const bool shares = waves * blocks * 8 > total * 9; /* an eighth of the time would be spent idle */
    w.whole = !shares ? total : waves > 1 ? (waves - 2) * blocks : 0;
    w.shared_units = (total - w.whole) * w.units;
    w.tile = (int)blockIdx.x;
    w.at = share_of(w, (int)blockIdx.x);
    w.end = share_of(w, (int)blockIdx.x + 1);
    return w;
}

static __device__ __forceinline__ bool next_item(work &w, item &i)
{
    if (w.tile < w.whole) {
        i.tile = w.tile;
        i.from = 0;
        i.to = w.units;
        w.tile += (int)gridDim.x;
        return true;
    }
    if (w.at >= w.end)
        return false;
    i.tile = w.whole + w.at / w.units;
    i.from = w.at % w.units;
    i.to = i.from + w.end - w.at < w.units ? i.from + w.end - w.at : w.units;
    w.at += i.to - i.from;
    return true;
}

static __device__ void place(const work &w, int tile, int &row, int &column)
{
    const int first = tile / (kGroup * w.across) * kGroup;
    const int height = w.down - first < kGroup ? w.down - first : kGroup;
    const int within = tile - first * w.across;
    row = (first + within % height) * 256;
    column = within / height * 128;
}

/* ---- sums of a tile that several blocks make; a warp group has those of its columns ---- */

static __device__ __forceinline__ void meet(unsigned thread)
{
    asm volatile("bar.sync %0, 128;" ::"r"(1u + thread / 128u) : "memory");
}

static __device__ __forceinline__ void leave_sums(const float (&d)[128], float4 *rest, unsigned *done, unsigned thread)
{
    float4 *to = rest + (long long)blockIdx.x * (kVectors * 256) + thread;
#pragma unroll
    for (int j = 0; j < kVectors; j++)
        __stcg(to + j * 256, make_float4(d[4 * j], d[4 * j + 1], d[4 * j + 2], d[4 * j + 3]));
    __threadfence();
    meet(thread);
    if (thread % 128u == 0u)
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(done + blockIdx.x * 2u + thread / 128u) : "memory");
}

static __device__ __forceinline__ void add_sums(float (&d)[128], const float4 *rest, const unsigned *done, const work &w, int tile, unsigned thread)
{
    const int end = (tile - w.whole + 1) * w.units;
    for (int block = (int)blockIdx.x + 1; share_of(w, block) < end; block++) {
        if (share_of(w, block) == share_of(w, block + 1))
            continue;
        if (thread % 128u == 0u) {
            unsigned there;
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(done + block * 2 + thread / 128u) : "memory");
            while (there == 0u);
        }
        meet(thread);
        const float4 *from = rest + (long long)block * (kVectors * 256) + thread;
#pragma unroll
        for (int j = 0; j < kVectors; j++) {
            const float4 v = __ldcg(from + j * 256);
            d[4 * j] += v.x;
            d[4 * j + 1] += v.y;
            d[4 * j + 2] += v.z;
            d[4 * j + 3] += v.w;
        }
    }
}

extern "C" __global__ void reset(unsigned *done)
{
    done[threadIdx.x] = 0u;
}

extern "C" __global__ void __launch_bounds__(384, 1)
    product(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_w, const __grid_constant__ CUtensorMap map_s,
            unsigned short *y, float4 *rest, unsigned *done, int m, int n, int pairs, int group_depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned start = address_of(shared);
    const unsigned skip = (1024u - start % 1024u) % 1024u;
    const unsigned tiles = start + skip, scales = tiles + (unsigned)kStages * kBytesStage;
    unsigned char *bars = shared + skip + (unsigned)kStages * (kBytesStage + kBytesScale);
    cuda::std::uint64_t *full = reinterpret_cast<cuda::std::uint64_t *>(bars);
    cuda::std::uint64_t *empty = full + kStages;

    if (threadIdx.x == 0) {
        prefetch_map(&map_x);
        prefetch_map(&map_w);
        prefetch_map(&map_s);
        for (int i = 0; i < kStages; i++) {
            init_barrier(address_of(full + i), 1u);
            init_barrier(address_of(empty + i), 8u);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();

    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    work w = work_of(m, n, pairs);
    item item;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            unsigned phase = 0;
            while (next_item(w, item)) {
                int row, column;
                place(w, item.tile, row, column);
                for (int k = item.from * 2; k < item.to * 2; k++) {
                    wait_for(empty + stage, phase ^ 1u);
                    const unsigned barrier = address_of(full + stage);
                    const unsigned tile = tiles + (unsigned)stage * kBytesStage;
                    expect_bytes(barrier, kBytesStage + kBytesScale);
                    load_box(tile + kBytesX, &map_w, barrier, column, k * 32);
                    load_box(scales + (unsigned)stage * kBytesScale, &map_s, barrier, column, k * 64 / group_depth);
                    load_box(tile, &map_x, barrier, k * 64, row);
                    load_box(tile + 16384u, &map_x, barrier, k * 64, row + 128);
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
        const unsigned thread = threadIdx.x - 128u, lane = thread % 32u, warp = thread / 32u; /* columns 16 * warp and up */
        /* Rows of pairs as ldmatrix gets them: 8 for each instruction, 0 4 1 5 2 6 3 7.  16 bytes are swizzled. */
        const unsigned pair = lane / 8u * 8u + lane % 8u / 2u + lane % 2u * 4u;
        const unsigned at = tiles + kBytesX + pair * 128u + ((warp ^ pair % 8u) << 4), own = scales + (warp * 16u + lane / 4u * 2u) * 2u;
        int stage = 0;
        unsigned phase = 0;
        while (next_item(w, item)) {
            float d[128];
            unsigned f[4][4], g[4][4]; /* of even and odd steps: one is still read when the other is made */
#pragma unroll
            for (int i = 0; i < 128; i++)
                clear(d[i]);
            int previous = -1;
            for (int k = item.from; k < item.to; k++) {
                wait_for(full + stage, phase);
                load_weights(f, at + (unsigned)stage * kBytesStage, own + (unsigned)stage * kBytesScale);
                multiply_stage(d, f, tiles + (unsigned)stage * kBytesStage);
                mma_wait<1>();
                if (previous >= 0 && lane == 0)
                    arrive_here(address_of(empty + previous));
                previous = stage;
                if (++stage == kStages) {
                    stage = 0;
                    phase ^= 1u;
                }
                wait_for(full + stage, phase);
                load_weights(g, at + (unsigned)stage * kBytesStage, own + (unsigned)stage * kBytesScale);
                multiply_stage(d, g, tiles + (unsigned)stage * kBytesStage);
                mma_wait<1>();
                if (lane == 0)
                    arrive_here(address_of(empty + previous));
                previous = stage;
                if (++stage == kStages) {
                    stage = 0;
                    phase ^= 1u;
                }
            }
            mma_wait<0>();
            if (lane == 0)
                arrive_here(address_of(empty + previous));
            __syncwarp();

            if (item.from > 0) {
                leave_sums(d, rest, done, thread);
                continue;
            }
            if (item.to < w.units)
                add_sums(d, rest, done, w, item.tile, thread);
            int row, column;
            place(w, item.tile, row, column);
            row += (int)(lane % 4u) * 2;
            column += (int)(warp * 16u + lane / 4u * 2u);
            if (column < n) {
                unsigned *to = reinterpret_cast<unsigned *>(y + (long long)row * n + column);
#pragma unroll
                for (int j = 0; j < 32; j++, to += 4 * n) {
                    if (row + 8 * j < m)
                        to[0] = pack(d[4 * j], d[4 * j + 2]);
                    if (row + 8 * j + 1 < m)
                        to[n / 2] = pack(d[4 * j + 1], d[4 * j + 3]);
                }
            }
        }
    }
}

/* ---- few rows ---- */

static __device__ __forceinline__ void multiply_few(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                                    unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* What a thread reads of 64 of the depth: eight pairs of eight columns, and the columns' scales. */
struct weights {
    uint2 pair[8];
    uint4 scale;
};

static __device__ __forceinline__ weights fetch(const unsigned char *w, const unsigned short *s, int chunk, int first, int column, int n,
                                                int pairs, int group)
{
    weights v;
    const unsigned char *from = w + (long long)(chunk * 32 + first) * n + column;
    if (column < n && chunk * 32 + 32 <= pairs) {
        v.scale = __ldg(reinterpret_cast<const uint4 *>(s + (long long)group * n + column));
#pragma unroll
        for (int i = 0; i < 8; i++, from += n)
            v.pair[i] = __ldcs(reinterpret_cast<const uint2 *>(from));
        return v;
    }
    v.scale = make_uint4(0u, 0u, 0u, 0u);
    if (column < n)
        v.scale = __ldg(reinterpret_cast<const uint4 *>(s + (long long)group * n + column));
#pragma unroll
    for (int i = 0; i < 8; i++, from += n) {
        v.pair[i] = make_uint2(0u, 0u); /* beyond the depth x is 0 */
        if (column < n && chunk * 32 + first + i < pairs)
            v.pair[i] = __ldcs(reinterpret_cast<const uint2 *>(from));
    }
    return v;
}

/* The transposed product, 16 columns x 8 rows x 16 of the depth at a time.  Which columns and which of the depth an instruction takes is
 * free as long as both factors agree: thread (r, q) has columns 8 r to 8 r + 7, two for each of four tiles, and pairs 8 q to 8 q + 7 of
 * 32, two for each of four steps, so that all it reads is contiguous. */
extern "C" __global__ void __launch_bounds__(32 * WARPS, 16 / WARPS)
    narrow(const unsigned short *x, const unsigned char *w, const unsigned short *s, float *few, int m, int n, int pairs, int share)
{
    const int lane = (int)threadIdx.x % 32, q = lane % 4, r = lane / 4;
    const int column = ((int)blockIdx.x * WARPS + (int)threadIdx.x / 32) * 64 + r * 8, row = (int)blockIdx.y * 16;
    const int chunks = (pairs + 31) / 32, per = (chunks + SPLITS - 1) / SPLITS, begin = (int)blockIdx.z * per;
    const int end = begin + per < chunks ? begin + per : chunks;
    float d[4][2][4];
#pragma unroll
    for (int i = 0; i < 32; i++)
        d[i / 8][i / 4 % 2][i % 4] = 0.0f;
    weights next;
    if (begin < end)
        next = fetch(w, s, begin, q * 8, column, n, pairs, begin * 64 / share);
    for (int chunk = begin; chunk < end; chunk++) {
        const weights now = next;
        if (chunk + 1 < end)
            next = fetch(w, s, chunk + 1, q * 8, column, n, pairs, (chunk + 1) * 64 / share);
        const unsigned two[4] = {now.scale.x, now.scale.y, now.scale.z, now.scale.w};
        unsigned scale[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            scale[i] = __byte_perm(two[i / 2], 0u, i % 2 ? 0x3232 : 0x1010);
        uint4 in[2][2]; /* of rows r and r + 8: pairs 0 to 3 and 4 to 7 of the thread's */
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int of = row + j * 8 + r, k = chunk * 32 + q * 8 + h * 4;
                in[j][h] = make_uint4(0u, 0u, 0u, 0u);
                if (of < m && k < pairs)
                    in[j][h] = __ldg(reinterpret_cast<const uint4 *>(x + (long long)of * 2 * pairs + 2 * k));
            }
#pragma unroll
        for (int u = 0; u < 4; u++)
#pragma unroll
            for (int t = 0; t < 4; t++) {
                const unsigned w0 = t < 2 ? now.pair[2 * u].x : now.pair[2 * u].y, w1 = t < 2 ? now.pair[2 * u + 1].x : now.pair[2 * u + 1].y;
                const unsigned low0 = w0 & 0x0f0f0f0fu, high0 = w0 >> 4 & 0x0f0f0f0fu, low1 = w1 & 0x0f0f0f0fu, high1 = w1 >> 4 & 0x0f0f0f0fu;
                const int i = t % 2 * 2;
                const unsigned a0 = weigh_one(low0, high0, scale[2 * t], i), a1 = weigh_one(low0, high0, scale[2 * t + 1], i + 1);
                const unsigned a2 = weigh_one(low1, high1, scale[2 * t], i), a3 = weigh_one(low1, high1, scale[2 * t + 1], i + 1);
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    const uint4 v = in[j][u / 2];
                    multiply_few(d[t][j], a0, a1, a2, a3, u % 2 ? v.z : v.x, u % 2 ? v.w : v.y);
                }
            }
    }
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int of = row + j * 8 + q * 2 + e;
            if (of < m && column < n) {
                float4 *to = reinterpret_cast<float4 *>(few + ((long long)blockIdx.z * m + of) * n + column);
                to[0] = make_float4(d[0][j][e], d[0][j][2 + e], d[1][j][e], d[1][j][2 + e]);
                to[1] = make_float4(d[2][j][e], d[2][j][2 + e], d[3][j][e], d[3][j][2 + e]);
            }
        }
}

extern "C" __global__ void gather(const float *few, unsigned short *y, int count)
{
    const int at = (int)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (at >= count)
        return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int p = 0; p < SPLITS; p++) {
        const float4 v = *reinterpret_cast<const float4 *>(few + (long long)p * count + at);
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
    }
    *reinterpret_cast<uint2 *>(y + at) = make_uint2(to_bf16(sum.x) | (unsigned)to_bf16(sum.y) << 16, to_bf16(sum.z) | (unsigned)to_bf16(sum.w) << 16);
}

/* For what is left: four columns per thread, ROWS rows of x at once, the depth in PARTS that blocks share; AHEAD vectors of
 * weights are in flight.  A second kernel adds the parts. */
/* Four columns of one pair of rows of W; what lies beyond the matrix makes level 8, which is 0. */
static __device__ unsigned load_weights(const unsigned char *w, long long k, long long column, long long n,
                                        int vector)
{
    const unsigned char *from = w + k * n + column;
    unsigned v = 0x88888888u;
    if (vector)
        return column < n ? __ldcs((const unsigned *)from) : v;
    for (int j = 0; j < 4; j++)
        if (column + j < n)
            v = (v & ~(255u << 8 * j)) | (unsigned)from[j] << 8 * j;
    return v;
}

static __device__ float scale_at(const unsigned short *s, long long group, long long column, long long n)
{
    return column < n ? from_bf16(s[group * n + column]) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    columns(const unsigned short *x, const unsigned char *w, const unsigned short *s, float *partial,
             long long m, long long n, long long pairs, long long group)
{
    __shared__ float shared[2 * AHEAD][ROWS];
    long long column = ((long long)blockIdx.x * BLOCK + threadIdx.x) * 4, row = (long long)blockIdx.y * ROWS;
    long long share = (pairs + PARTS - 1) / PARTS, begin = blockIdx.z * share;
    long long end = begin + share < pairs ? begin + share : pairs, known = -1;
    int vector = n % 4 == 0 && (size_t)w % 4 == 0;
    float sums[ROWS][4] = {{0.0f}}, scale[4] = {0.0f};
    for (long long k = begin; k < end; k += AHEAD) {
        unsigned levels[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            levels[i] = k + i < end ? load_weights(w, k + i, column, n, vector) : 0x88888888u;
        __syncthreads();
        for (int i = threadIdx.x; i < 2 * AHEAD * ROWS; i += BLOCK) {
            long long r = row + i % ROWS, d = 2 * k + i / ROWS;
            shared[i / ROWS][i % ROWS] = r < m && d < 2 * end ? from_bf16(x[r * 2 * pairs + d]) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2 * AHEAD; i++) {
            long long own = (2 * k + i) / group;
            if (own != known && 2 * k + i < 2 * end) {
                for (int j = 0; j < 4; j++)
                    scale[j] = scale_at(s, own, column + j, n);
                known = own;
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float v = (float)((int)(levels[i / 2] >> (8 * j + 4 * (i % 2)) & 15u) - 8) * scale[j];
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    sums[r][j] = fmaf(shared[i][r], v, sums[r][j]);
            }
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < 4; j++)
            if (row + r < m && column + j < n)
                partial[(blockIdx.z * m + row + r) * n + column + j] = sums[r][j];
}

extern "C" __global__ void combine(const float *partial, unsigned short *y, long long count)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (i >= count)
        return;
    for (int p = 0; p < PARTS; p++)
        sum += partial[p * count + i];
    y[i] = to_bf16(sum);
}
