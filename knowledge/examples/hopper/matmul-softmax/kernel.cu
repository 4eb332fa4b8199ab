/* atoll-plan {
  "version": 1,
  "params": {"STAGES": [3, 4], "SLOTS": [2, 4, 3], "POLY": [4, 0, 8]},
  "require": ["STAGES * 2 + SLOTS <= 12"],
  "scratch": {"scores": "4 * B * M * N"},
  "paths": [{"when": "K <= 64 && K % 8 == 0 && N % 8 == 0",
             "launch": [{"kernel": "rows",
                         "grid": ["min(132, B * cdiv(M, 128))"],
                         "block": ["384"],
                         "shared_bytes": "16384 + STAGES * 32768 + SLOTS * 16384 + 1024 + 256",
                         "args": ["tensormap(a, [K, M, B], [64, 128, 1], swizzle=128, l2=256)", "tensormap(b, [N, K, B], [64, 64, 1], swizzle=128, l2=256)", "tensormap(y, [N, M, B], [64, 16, 1], swizzle=128)", "i32:B", "i32:M", "i32:N", "i32:K"]}]},
            {"launch": [{"kernel": "plain_multiply",
                         "grid": ["cdiv(B * M * N, 256)"],
                         "block": ["256"],
                         "args": ["a", "b", "scores", "i64:B", "i64:M", "i64:N", "i64:K"]},
                        {"kernel": "plain_softmax",
                         "grid": ["cdiv(B * M, 128)"],
                         "block": ["128"],
                         "args": ["scores", "y", "i64:B * M", "i64:N"]}]}]
} */
/* A block has 128 rows and makes their scores twice: the first time for the largest one and the sum of a row, the second time for the
 * result.  That is cheaper than to keep them, as the depth is one step of the tensor cores' tile.  Warp group 0 loads (one thread), warp
 * groups 1 and 2 have 64 rows each, 256 columns at a time.  POLY: every POLY-th power of the first pass is a polynomial in f32 (error
 * 1e-4), 0: none; it relieves the special function unit.
 * The grid is the 132 multiprocessors of an H100 SXM or H200. */
#include <cuda.h>
#include <cuda/ptx>
#include <cuda/std/cstdint>

constexpr unsigned kBytesA = 16384u;                      /* 128 rows, 64 of the depth */
constexpr unsigned kBytesStage = 32768u;                  /* 64 of the depth, 256 columns */
constexpr unsigned kBytesBox = 8192u;
constexpr unsigned kBytesPiece = 2048u;                   /* 16 rows of 64 results */

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
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
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

/* The scores of 64 rows with 256 columns; s is whole when this returns. */
static __device__ __forceinline__ void scores(float (&s)[128], unsigned a, unsigned b)
{
    const unsigned long long desc_a = kDescDepth | (unsigned long long)((a & 0x3ffffu) >> 4), desc_b = kDescAcross | (unsigned long long)((b & 0x3ffffu) >> 4);
#pragma unroll
    for (int i = 0; i < 128; i++)
        clear(s[i]);
    mma_fence();
#pragma unroll
    for (int u = 0; u < 4; u++)
        multiply(s, desc_a + 2ull * u, desc_b + 128ull * u);
    mma_commit();
    mma_wait<0>();
#pragma unroll
    for (int i = 0; i < 128; i++)
        asm volatile("mov.b32 %0, %0;" : "+f"(s[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(384, 1)
    rows(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c,
         int batches, int m, int n, int depth)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned skip = (1024u - address_of(shared) % 1024u) % 1024u, base = address_of(shared) + skip;
    cuda::std::uint64_t *full = reinterpret_cast<cuda::std::uint64_t *>(shared + skip + kBytesA + STAGES * kBytesStage + SLOTS * 8u * kBytesPiece);
    cuda::std::uint64_t *empty = full + STAGES, *afull = empty + STAGES, *aempty = afull + 1;
    const int down = (m + 127) / 128, across = (n + 255) / 256, total = down * batches;
    const float factor = 0.125f * 1.44269504f; /* powers of two of scores / 8 */

    if (threadIdx.x == 0) {
        prefetch_map(&map_a);
        prefetch_map(&map_b);
        prefetch_map(&map_c);
        for (int i = 0; i < STAGES; i++) {
            init_barrier(address_of(full + i), 1u);
            init_barrier(address_of(empty + i), 8u);
        }
        init_barrier(address_of(afull), 1u);
        init_barrier(address_of(aempty), 8u);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();

    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            unsigned turn = 0, step = 0;
            for (int t = (int)blockIdx.x; t < total; t += (int)gridDim.x, turn++) {
                const int row = t % down * 128, batch = t / down;
                wait_for(aempty, turn % 2u ^ 1u);
                expect_bytes(address_of(afull), kBytesA);
                load_box(base, &map_a, address_of(afull), 0, row, batch);
                for (int j = 0; j < 2 * across; j++, step++) {
                    const unsigned at = step % (unsigned)STAGES, barrier = address_of(full + at), to = base + kBytesA + at * kBytesStage;
                    wait_for(empty + at, step / (unsigned)STAGES % 2u ^ 1u);
                    expect_bytes(barrier, kBytesStage);
                    for (int i = 0; i < 4; i++)
                        load_box(to + (unsigned)i * kBytesBox, &map_b, barrier, j % across * 256 + i * 64, 0, batch);
                }
            }
        }
        __syncwarp();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u - 4u; /* rows 16 * warp and up */
        const unsigned a = base + (unsigned)(group - 1) * 8192u;
        const unsigned pieces = base + kBytesA + STAGES * kBytesStage + warp * SLOTS * kBytesPiece, line = lane % 16u * 128u;
        unsigned turn = 0, step = 0;
        for (int t = (int)blockIdx.x; t < total; t += (int)gridDim.x, turn++) {
            const int top = t % down * 128 + (int)warp * 16, batch = t / down;
            float m0 = -1e30f, m1 = -1e30f, l0 = 0.0f, l1 = 0.0f;
            wait_for(afull, turn % 2u);
            for (int j = 0; j < across; j++, step++) {
                const unsigned at = step % (unsigned)STAGES;
                float s[128];
                wait_for(full + at, step / (unsigned)STAGES % 2u);
                scores(s, a, base + kBytesA + at * kBytesStage);
                if (lane == 0)
                    arrive_here(address_of(empty + at));
                const int left = n - j * 256 - (int)lane % 4 * 2; /* column 8 i and one more exist below it */
                if (j == across - 1) {
#pragma unroll
                    for (int i = 0; i < 32; i++)
                        if (8 * i >= left)
                            s[4 * i] = s[4 * i + 1] = s[4 * i + 2] = s[4 * i + 3] = -1e30f;
                }
                float a0 = s[0], a1 = s[2];
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    a0 = fmaxf(a0, fmaxf(s[4 * i], s[4 * i + 1]));
                    a1 = fmaxf(a1, fmaxf(s[4 * i + 2], s[4 * i + 3]));
                }
                a0 = fmaxf(m0, a0 * factor);
                a1 = fmaxf(m1, a1 * factor);
                float t0 = 0.0f, t1 = 0.0f;
#pragma unroll
                for (int i = 0; i < 32; i++) {
                    t0 += power_at<POLY>(fmaf(s[4 * i], factor, -a0), 4 * i) + power_at<POLY>(fmaf(s[4 * i + 1], factor, -a0), 4 * i + 1);
                    t1 += power_at<POLY>(fmaf(s[4 * i + 2], factor, -a1), 4 * i + 2) + power_at<POLY>(fmaf(s[4 * i + 3], factor, -a1), 4 * i + 3);
                }
                l0 = fmaf(l0, power(m0 - a0), t0);
                l1 = fmaf(l1, power(m1 - a1), t1);
                m0 = a0;
                m1 = a1;
            }
            /* Each of four neighbouring lanes has a quarter of the row. */
            const float h0 = lanes_max(m0), h1 = lanes_max(m1);
            const float o0 = h0 + __log2f(lanes_sum(l0 * power(m0 - h0))), o1 = h1 + __log2f(lanes_sum(l1 * power(m1 - h1)));
            for (int j = 0; j < across; j++, step++) {
                const unsigned at = step % (unsigned)STAGES;
                float s[128];
                wait_for(full + at, step / (unsigned)STAGES % 2u);
                scores(s, a, base + kBytesA + at * kBytesStage);
                if (lane == 0) {
                    arrive_here(address_of(empty + at));
                    if (j == across - 1)
                        arrive_here(address_of(aempty));
                }
                /* 16 rows of this warp, 64 columns at a time: registers, shared memory (swizzled), bulk store. */
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    const unsigned slot = pieces + (unsigned)((j * 4 + q) % SLOTS) * kBytesPiece;
                    if (lane == 0)
                        store_wait_read<SLOTS - 1>();
                    __syncwarp();
#pragma unroll
                    for (int p = 0; p < 4; p++) {
                        const int d = q * 32 + p * 8;
                        const unsigned unit = (2u * p + lane / 16u) ^ (lane & 7u);
                        float v[8];
#pragma unroll
                        for (int e = 0; e < 8; e++)
                            v[e] = power(fmaf(s[d + e], factor, e & 2 ? -o1 : -o0));
                        store_matrix(slot + line + unit * 16u, pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
                    }
                    fence_async();
                    __syncwarp();
                    if (lane == 0) {
                        if (top < m && j * 256 + q * 64 < n)
                            store_box(&map_c, slot, j * 256 + q * 64, top, batch);
                        store_commit();
                    }
                }
            }
        }
        if (lane == 0)
            store_wait_all();
        __syncwarp();
    }
}

/* Scores, one thread each; softmax, one thread per row. */
static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

extern "C" __global__ void plain_multiply(const unsigned short *a, const unsigned short *b, float *scores,
                                    long long batches, long long m, long long n, long long depth)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= batches * m * n)
        return;
    long long column = at % n, row = at / n, batch = row / m;
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum += from_bf16(a[row * depth + k]) * from_bf16(b[(batch * depth + k) * n + column]);
    scores[at] = sum / 8.0f;
}

extern "C" __global__ void plain_softmax(float *scores, unsigned short *y, long long rows, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    float *row = scores + i * n;
    float top = row[0], sum = 0.0f;
    for (long long j = 1; j < n; j++)
        top = fmaxf(top, row[j]);
    for (long long j = 0; j < n; j++) {
        row[j] = expf(row[j] - top);
        sum += row[j];
    }
    for (long long j = 0; j < n; j++)
        y[i * n + j] = to_bf16(row[j] / sum);
}
