/* atoll-plan {
  "version": 1,
  "params": {"PING": [1, 0]},
  "scratch": {"hidden": "2 * M * H"},
  "paths": [{"when": "K % 8 == 0 && H % 8 == 0 && N % 8 == 0 && K <= 256 && N <= 256",
             "launch": [{"kernel": "layers",
                         "grid": ["min(132, cdiv(M, 128))"],
                         "block": ["384"],
                         "shared_bytes": "229376 + 1024 + 128",
                         "args": ["tensormap(x, [K, M], [64, 128], swizzle=128, l2=256)", "tensormap(u, [H, K], [64, 64], swizzle=128, l2=256)", "tensormap(d, [N, H], [64, 64], swizzle=128, l2=256)", "tensormap(y, [N, M], [64, 16], swizzle=128)", "c", "e", "i32:M", "i32:K", "i32:H", "i32:N"]}]},
            {"launch": [{"kernel": "plain_hide",
                         "grid": ["cdiv(H, 32)", "cdiv(M, 8)"],
                         "block": ["32", "8"],
                         "args": ["x", "u", "c", "hidden", "i64:M", "i64:H", "i64:K"]},
                        {"kernel": "plain_finish",
                         "grid": ["cdiv(N, 32)", "cdiv(M, 8)"],
                         "block": ["32", "8"],
                         "args": ["hidden", "d", "e", "y", "i64:M", "i64:N", "i64:H"]}]}]
} */
/* Both layers in one kernel, the hidden one never leaves the registers: a block keeps 128 rows of x in shared memory; 64 units of the
 * hidden layer at a time are made by one product, softened, and are the left factor, in registers, of the other one.  The product for the
 * next 64 units runs while the last ones are softened.  Warp group 0 loads (one thread); warp groups 1 and 2 have 64 rows each.
 * PING: warp groups take turns at the tensor cores.
 * The grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

/* Shared memory: x (4 boxes of 128 rows, 64 of the depth), two stages of U (4 boxes of 64 of the depth, 64 units), two of D (64 units, 4 boxes
 * of 64 columns), two pieces of 16 x 64 results for each warp. */
constexpr unsigned kU = 65536u, kD = kU + 65536u, kPieces = kD + 65536u, kBars = kPieces + 32768u;
constexpr unsigned kBytesChunk = 32768u;
constexpr unsigned kBytesPiece = 2048u;

/* wgmma descriptors without their address: 128-byte swizzle, 1024 bytes from 8 rows to the next 8 rows.  kDescDepth: rows run
 * along the depth; kDescAcross: rows run across it, 8192 bytes from 64 columns to the next 64. */
constexpr unsigned long long kDescDepth = (1ull << 62) | (64ull << 32) | (1ull << 16);
constexpr unsigned long long kDescAcross = (1ull << 62) | (64ull << 32) | (512ull << 16);

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

/* Nothing that uses these registers moves up across a wait. */
template <int N> static __device__ __forceinline__ void hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("mov.b32 %0, %0;" : "+f"(d[i])::"memory");
}

/* Turns at the tensor cores: named barriers 1 and 2. */
static __device__ __forceinline__ void turn_wait(int group)
{
    asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory");
}

static __device__ __forceinline__ void turn_give(int group)
{
    asm volatile("bar.arrive %0, 256;" ::"r"(group + 1) : "memory");
}

/* s += x U, 64 x 64 x 16; both in shared memory. */
static __device__ __forceinline__ void multiply_units(float (&d)[32], unsigned long long desc_a, unsigned long long desc_b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, 1, 1, 1, 0, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(desc_a), "l"(desc_b));
}

/* o += h D, 64 x 256 x 16; h in registers. */
static __device__ __forceinline__ void multiply_columns(float (&d)[128], const unsigned (&a)[4], unsigned long long desc_b)
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
        "{%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
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

/* v / 2 (1 + erf(v / sqrt(2))) by a hyperbolic tangent; a fit of the exact one, error below 3e-5, an eighth of what bf16 keeps at 0.1. */
static __device__ __forceinline__ float soften(float v)
{
    const float q = fminf(v * v, 36.0f);
    float r;
    asm volatile("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(v * fmaf(q, fmaf(q, -3.5154e-4f, 3.7006e-2f), 0.79751f)));
    return fmaf(0.5f * v, r, 0.5f * v);
}

/* Starts the product for 64 units; what s holds, the bias, is added to. */
static __device__ __forceinline__ void issue_units(float (&s)[32], unsigned x, unsigned u)
{
    const unsigned long long desc_x = kDescDepth | (unsigned long long)((x & 0x3ffffu) >> 4), desc_u = kDescAcross | (unsigned long long)((u & 0x3ffffu) >> 4);
    mma_fence();
#pragma unroll
    for (int i = 0; i < 16; i++)
        multiply_units(s, desc_x + (unsigned long long)(i / 4 * 1024 + i % 4 * 2), desc_u + (unsigned long long)(i / 4 * 512 + i % 4 * 128));
    mma_commit();
}

static __device__ __forceinline__ void issue_columns(float (&o)[128], const unsigned (&h)[4][4], unsigned d)
{
    const unsigned long long desc_d = kDescAcross | (unsigned long long)((d & 0x3ffffu) >> 4);
    mma_fence();
#pragma unroll
    for (int i = 0; i < 4; i++)
        multiply_columns(o, h[i], desc_d + (unsigned long long)(i * 128));
    mma_commit();
}

static __device__ __forceinline__ void load_bias(float (&s)[32], const float *c, int first, int units)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        float2 v = make_float2(0.0f, 0.0f);
        if (first + 8 * j < units) /* units come in eights */
            v = *(const float2 *)(c + first + 8 * j + (threadIdx.x % 4u) * 2u);
        s[4 * j] = v.x;
        s[4 * j + 1] = v.y;
        s[4 * j + 2] = v.x;
        s[4 * j + 3] = v.y;
    }
}

static __device__ __forceinline__ void pack_units(unsigned (&h)[4][4], const float (&s)[32])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        h[i / 4][i % 4] = pack(s[2 * i], s[2 * i + 1]);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    layers(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_u, const __grid_constant__ CUtensorMap map_d,
           const __grid_constant__ CUtensorMap map_y, const float *c, const float *e, int m, int depth, int units, int n)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned skip = (1024u - address_of(shared) % 1024u) % 1024u, base = address_of(shared) + skip;
    cuda::std::uint64_t *bars = reinterpret_cast<cuda::std::uint64_t *>(shared + skip + kBars);
    cuda::std::uint64_t *xfull = bars, *xempty = bars + 1, *ufull = bars + 2, *uempty = bars + 4, *dfull = bars + 6, *dempty = bars + 8;
    const int total = (m + 127) / 128, chunks = (units + 63) / 64;

    if (threadIdx.x == 0) {
        prefetch_map(&map_x);
        prefetch_map(&map_u);
        prefetch_map(&map_d);
        prefetch_map(&map_y);
        init_barrier(address_of(xfull), 1u);
        init_barrier(address_of(xempty), 8u); /* the warps of both warp groups */
        for (int i = 0; i < 2; i++) {
            init_barrier(address_of(ufull + i), 1u);
            init_barrier(address_of(uempty + i), 8u);
            init_barrier(address_of(dfull + i), 1u);
            init_barrier(address_of(dempty + i), 8u);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();

    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            unsigned turn = 0, step = 0; /* tiles and chunks so far */
            for (int t = blockIdx.x; t < total; t += gridDim.x, turn++) {
                wait_for(xempty, turn % 2u ^ 1u);
                expect_bytes(address_of(xfull), 65536u);
                for (int j = 0; j < 4; j++)
                    load_box(base + (unsigned)j * 16384u, &map_x, address_of(xfull), j * 64, t * 128);
                for (int i = 0; i <= chunks; i++) { /* units i with columns of units i - 1 */
                    if (i < chunks) {
                        const unsigned at = (step + (unsigned)i) % 2u, barrier = address_of(ufull + at);
                        wait_for(uempty + at, (step + (unsigned)i) / 2u % 2u ^ 1u);
                        expect_bytes(barrier, kBytesChunk);
                        for (int j = 0; j < 4; j++)
                            load_box(base + kU + at * kBytesChunk + (unsigned)j * 8192u, &map_u, barrier, i * 64, j * 64);
                    }
                    if (i > 0) {
                        const unsigned at = (step + (unsigned)i - 1u) % 2u, barrier = address_of(dfull + at);
                        wait_for(dempty + at, (step + (unsigned)i - 1u) / 2u % 2u ^ 1u);
                        expect_bytes(barrier, kBytesChunk);
                        for (int j = 0; j < 4; j++)
                            load_box(base + kD + at * kBytesChunk + (unsigned)j * 8192u, &map_d, barrier, j * 64, (i - 1) * 64);
                    }
                }
                step += (unsigned)chunks;
            }
        }
        __syncwarp();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int own = group - 1;
        const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u - 4u;
        const unsigned x = base + (unsigned)own * 8192u, pieces = base + kPieces + warp * 2u * kBytesPiece;
        const unsigned line = lane % 16u * 128u;
        unsigned turn = 0, step = 0;
        if (PING && own == 1)
            turn_give(0);
        for (int t = blockIdx.x; t < total; t += gridDim.x, turn++) {
            float o[128];
            unsigned h[4][4];
            {
                float s[32];
                load_bias(s, c, 0, units);
                wait_for(xfull, turn % 2u);
                wait_for(ufull + step % 2u, step / 2u % 2u);
                issue_units(s, x, base + kU + step % 2u * kBytesChunk);
                mma_wait<0>();
                hold(s);
                if (lane == 0) {
                    arrive_here(address_of(uempty + step % 2u));
                    if (chunks == 1)
                        arrive_here(address_of(xempty));
                }
#pragma unroll
                for (int i = 0; i < 32; i++)
                    s[i] = soften(s[i]);
                pack_units(h, s);
#pragma unroll
                for (int i = 0; i < 128; i++)
                    o[i] = 0.0f;
            }
            for (int i = 1; i < chunks; i++) {
                const unsigned at = (step + (unsigned)i) % 2u, last = at ^ 1u;
                float s[32];
                load_bias(s, c, i * 64, units);
                wait_for(ufull + at, (step + (unsigned)i) / 2u % 2u);
                if (PING)
                    turn_wait(own);
                issue_units(s, x, base + kU + at * kBytesChunk);
                wait_for(dfull + last, (step + (unsigned)i - 1u) / 2u % 2u);
                issue_columns(o, h, base + kD + last * kBytesChunk);
                if (PING)
                    turn_give(own ^ 1);
                mma_wait<1>();
                hold(s);
                if (lane == 0) {
                    arrive_here(address_of(uempty + at));
                    if (i == chunks - 1)
                        arrive_here(address_of(xempty));
                }
#pragma unroll
                for (int j = 0; j < 32; j++)
                    s[j] = soften(s[j]);
                mma_wait<0>();
                hold(o);
                if (lane == 0)
                    arrive_here(address_of(dempty + last));
                pack_units(h, s);
            }
            const unsigned last = (step + (unsigned)chunks - 1u) % 2u;
            wait_for(dfull + last, (step + (unsigned)chunks - 1u) / 2u % 2u);
            issue_columns(o, h, base + kD + last * kBytesChunk);
            mma_wait<0>();
            hold(o);
            if (lane == 0)
                arrive_here(address_of(dempty + last));
            step += (unsigned)chunks;
            __syncwarp();

            /* 16 rows of this warp, 64 columns at a time: registers, shared memory (swizzled), bulk store. */
            const int top = t * 128 + (int)warp * 16;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const unsigned slot = pieces + (unsigned)(q % 2) * kBytesPiece;
                if (lane == 0)
                    store_wait_read<1>();
                __syncwarp();
#pragma unroll
                for (int p = 0; p < 4; p++) {
                    const int at = q * 32 + p * 8, column = q * 64 + p * 16 + (int)lane % 4 * 2;
                    const unsigned unit = (2u * p + lane / 16u) ^ (lane & 7u);
                    float2 f = make_float2(0.0f, 0.0f), g = make_float2(0.0f, 0.0f);
                    if (column < n)
                        f = *(const float2 *)(e + column);
                    if (column + 8 < n)
                        g = *(const float2 *)(e + column + 8);
                    const unsigned v0 = pack(o[at] + f.x, o[at + 1] + f.y), v1 = pack(o[at + 2] + f.x, o[at + 3] + f.y);
                    const unsigned v2 = pack(o[at + 4] + g.x, o[at + 5] + g.y), v3 = pack(o[at + 6] + g.x, o[at + 7] + g.y);
                    store_matrix(slot + line + unit * 16u, v0, v1, v2, v3);
                }
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    if (top < m && q * 64 < n)
                        store_box(&map_y, slot, q * 64, top);
                    store_commit();
                }
            }
            __syncwarp();
        }
        if (PING && own == 0)
            turn_wait(0); /* takes the last turn that was given */
        if (lane == 0)
            store_wait_all();
        __syncwarp();
    }
}

/* Layer by layer, one thread per element; the hidden layer goes through memory in bf16. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ float dot_row(const unsigned short *x, const unsigned short *w, long long row,
                                 long long column, long long n, long long depth)
{
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(x[row * depth + k]) * from_bf16(w[k * n + column]);
    return sum;
}

extern "C" __global__ void plain_hide(const unsigned short *x, const unsigned short *u, const float *c,
                                unsigned short *hidden, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float v = dot_row(x, u, row, column, n, depth) + c[column];
    hidden[row * n + column] = to_bf16(0.5f * v * (1.0f + erff(v * 0.70710678f)));
}

extern "C" __global__ void plain_finish(const unsigned short *hidden, const unsigned short *d, const float *e,
                                  unsigned short *y, long long m, long long n, long long depth)
{
    long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n)
        y[row * n + column] = to_bf16(dot_row(hidden, d, row, column, n, depth) + e[column]);
}
