/* atoll-plan {
  "version": 1,
  "params": {"STAGGER": [1, 2, 0], "ORDER": [0, 1]},
  "paths": [{"when": "N % 8 == 0 && K % 8 == 0",
             "launch": [{"kernel": "norm_product", "grid": [132], "block": [384], "cluster": [2], "shared_bytes": 231424,
                         "args": ["tensormap(x, [K, M], [64, 128], swizzle=128, l2=256)",
                                  "tensormap(b, [N, K], [64, 64], swizzle=128, l2=256)", "gain", "y", "i32:M", "i32:N",
                                  "i32:K"]}]},
            {"launch": [{"kernel": "plain", "grid": ["min(cdiv(M, 64) * cdiv(N, 64), 1056)"], "block": [384],
                         "shared_bytes": 16896, "args": ["x", "gain", "b", "y", "i32:M", "i32:N", "i32:K"]}]}]
} */
/* One persistent kernel.  Threads 0 to 127: producer (thread 0 issues the bulk copies).  Threads 128 to 383: two consumer
 * warpgroups with 64 rows x 256 columns each.  Two blocks of a cluster have the same columns and neighbouring rows: each
 * fetches its own x tile and one half of the b tile, which goes to both.  x goes through registers (gain and squares), b is
 * read by wgmma from shared memory in its own order (columns contiguous). */
#include <cuda.h>
#include <cuda/std/cstdint>
#include <cuda/ptx>

constexpr int stages = 4;
constexpr unsigned a_bytes = 16384;                             /* 128 rows of 64 k */
constexpr unsigned panel_bytes = 8192;                          /* 64 k of 64 columns */
constexpr unsigned stage_bytes = 49152;                         /* x tile and four panels of b */
constexpr unsigned out_offset = 4 * 49152;                      /* 4 KiB for each consumer warp */
constexpr unsigned gain_offset = out_offset + 8 * 4096;         /* 64 gains for each stage */
constexpr unsigned full_offset = gain_offset + 4 * 128;
constexpr unsigned empty_offset = full_offset + 4 * 8;

static __device__ __forceinline__ float widen(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}

static __device__ __forceinline__ unsigned pack(float low, float high)
{
    unsigned v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

static __device__ __forceinline__ unsigned address_of(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void wait_phase(unsigned char *barrier, unsigned parity)
{
    cuda::std::uint64_t *const word = reinterpret_cast<cuda::std::uint64_t *>(barrier);
    while (!cuda::ptx::mbarrier_try_wait_parity(word, parity)) {
    }
}

static __device__ __forceinline__ void init_barrier(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}

static __device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void copy_box(unsigned place, const CUtensorMap *map, unsigned barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :
                 : "r"(place), "l"(reinterpret_cast<unsigned long long>(map)), "r"(barrier), "r"(c0), "r"(c1)
                 : "memory");
}

static __device__ __forceinline__ void copy_box_to_both(unsigned place, const CUtensorMap *map, unsigned barrier, int c0,
                                                        int c1)
{
    const unsigned short mask = 3;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
                 :
                 : "r"(place), "l"(reinterpret_cast<unsigned long long>(map)), "r"(barrier), "h"(mask), "r"(c0), "r"(c1)
                 : "memory");
}

static __device__ __forceinline__ void copy_bytes(unsigned place, const void *from, unsigned bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(place), "l"(reinterpret_cast<unsigned long long>(from)), "r"(bytes), "r"(barrier)
                 : "memory");
}

static __device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;" : : : "memory");
    asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}

/* One warp is done with a stage: lanes 0 and 1 tell both blocks of the cluster. */
static __device__ __forceinline__ void release_stage(unsigned remote, int lane)
{
    if (lane < 2)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" : : "r"(remote) : "memory");
    __syncwarp();
}

/* Four 16 x 16 blocks of x in the order of the register operand, and the gains of this thread's columns. */
static __device__ __forceinline__ void load_fragments(unsigned (&raw)[16], unsigned (&gains)[8], unsigned a_address,
                                                      unsigned gain_address, const unsigned (&chunk)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(raw[4 * i]), "=r"(raw[4 * i + 1]), "=r"(raw[4 * i + 2]), "=r"(raw[4 * i + 3])
                     : "r"(a_address + chunk[i])
                     : "memory");
#pragma unroll
    for (int i = 0; i < 8; i++)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(gains[i]) : "r"(gain_address + 16u * i) : "memory");
}

/* Registers of even index belong to row lane / 4, those of odd index to the row eight below it. */
static __device__ __forceinline__ void add_squares(float (&s)[4], const unsigned (&raw)[16])
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const float low = __uint_as_float(raw[i] << 16), high = __uint_as_float(raw[i] & 0xffff0000u);
        s[2 * (i & 1)] = fmaf(low, low, s[2 * (i & 1)]);
        s[2 * (i & 1) + 1] = fmaf(high, high, s[2 * (i & 1) + 1]);
    }
}

static __device__ __forceinline__ void scale_fragments(unsigned (&cur)[16], const unsigned (&raw)[16],
                                                       const unsigned (&gains)[8])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        asm volatile("mul.rn.bf16x2 %0, %1, %2;" : "=r"(cur[i]) : "r"(raw[i]), "r"(gains[i >> 1]));
}

static __device__ __forceinline__ void pin(float (&d)[128])
{
#pragma unroll
    for (int i = 0; i < 128; i++)
        asm volatile("" : "+f"(d[i]) : : "memory");
}

/* d += a b: 64 x 256 += 64 x 16 (registers) times 16 x 256 (shared memory, columns contiguous) */
static __device__ __forceinline__ void multiply_add(float (&d)[128], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                    unsigned long long desc)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
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
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(desc)
                 : "memory");
}

/* The products of one stage, as one group.  Panels of 64 columns are 8192 bytes apart, groups of 8 k 1024 bytes; 16 k are
 * 2048 bytes, 128 units of the descriptor; 128-byte swizzle. */
static __device__ __forceinline__ void issue_products(float (&d)[128], const unsigned (&cur)[16], unsigned b_address)
{
    const unsigned long long desc = (unsigned long long)((b_address & 0x3ffffu) >> 4) | (unsigned long long)(8192 >> 4) << 16 |
                                    (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
    multiply_add(d, cur[0], cur[1], cur[2], cur[3], desc);
    multiply_add(d, cur[4], cur[5], cur[6], cur[7], desc + 128);
    multiply_add(d, cur[8], cur[9], cur[10], cur[11], desc + 256);
    multiply_add(d, cur[12], cur[13], cur[14], cur[15], desc + 384);
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

static __device__ __forceinline__ void finish_products()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
}

/* Any shape: tiles of 64 x 64 in f32, for rows that the bulk copies cannot address. */
extern "C" __global__ void __launch_bounds__(384)
    plain(const unsigned short *__restrict__ x, const unsigned short *__restrict__ gain,
          const unsigned short *__restrict__ b, unsigned short *__restrict__ y, int m, int n, int k)
{
    extern __shared__ float room[];
    float *const as = room, *const bs = room + 64 * 33, *const factor = bs + 32 * 64;
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int col0 = tid & 15, row0 = (tid >> 4) & 15;
    const int across = (n + 63) / 64, down = (m + 63) / 64, tiles = across * down;
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        const long long r0 = (long long)(tile / across) * 64, c0 = (long long)(tile % across) * 64;
        for (int r = warp; r < 64; r += 12) {
            float sum = 0.0f;
            if (r0 + r < m)
                for (int i = lane; i < k; i += 32) {
                    const float v = widen(x[(r0 + r) * k + i]);
                    sum += v * v;
                }
            for (int i = 16; i; i >>= 1)
                sum += __shfl_xor_sync(0xffffffffu, sum, i);
            if (lane == 0)
                factor[r] = rsqrtf(__fdividef(sum, (float)k) + 1e-5f);
        }
        float acc[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[i][j] = 0.0f;
        for (int k0 = 0; k0 < k; k0 += 32) {
            for (int e = tid; e < 64 * 32; e += 384) {
                const int r = e >> 5, i = e & 31;
                float v = 0.0f;
                if (r0 + r < m && k0 + i < k)
                    v = widen(x[(r0 + r) * k + k0 + i]) * widen(gain[k0 + i]);
                as[r * 33 + i] = v;
            }
            for (int e = tid; e < 32 * 64; e += 384) {
                const int i = e >> 6, c = e & 63;
                float v = 0.0f;
                if (k0 + i < k && c0 + c < n)
                    v = widen(b[(long long)(k0 + i) * n + c0 + c]);
                bs[i * 64 + c] = v;
            }
            __syncthreads();
            if (tid < 256) {
#pragma unroll 4
                for (int i = 0; i < 32; i++) {
                    float u[4], v[4];
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        u[j] = as[(row0 + 16 * j) * 33 + i];
                        v[j] = bs[i * 64 + col0 + 16 * j];
                    }
#pragma unroll
                    for (int j = 0; j < 4; j++)
#pragma unroll
                        for (int l = 0; l < 4; l++)
                            acc[j][l] = fmaf(u[j], v[l], acc[j][l]);
                }
            }
            __syncthreads();
        }
        if (tid < 256) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const long long row = r0 + row0 + 16 * j;
#pragma unroll
                for (int l = 0; l < 4; l++) {
                    const long long column = c0 + col0 + 16 * l;
                    if (row < m && column < n)
                        y[row * n + column] = (unsigned short)(pack(acc[j][l] * factor[row0 + 16 * j], 0.0f) & 0xffffu);
                }
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    norm_product(const __grid_constant__ CUtensorMap xmap, const __grid_constant__ CUtensorMap bmap,
                 const unsigned short *__restrict__ gain, unsigned short *__restrict__ y, int m, int n, int k)
{
    extern __shared__ __align__(16) unsigned char shared[];
    unsigned char *const room = shared + ((1024u - (address_of(shared) & 1023u)) & 1023u);
    const unsigned base = address_of(room);
    const int role = __shfl_sync(0xffffffffu, (int)threadIdx.x >> 7, 0);
    const int lane = (int)threadIdx.x & 31;
    const int rank = (int)blockIdx.x & 1, cluster = (int)blockIdx.x >> 1, clusters = (int)gridDim.x >> 1;
    const int steps = (k + 63) / 64, across = (n + 255) / 256, down = (m + 255) / 256, pairs = across * down;

    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" : : "l"(reinterpret_cast<unsigned long long>(&xmap)) : "memory");
        asm volatile("prefetch.tensormap [%0];" : : "l"(reinterpret_cast<unsigned long long>(&bmap)) : "memory");
        for (int i = 0; i < stages; i++) {
            init_barrier(base + full_offset + 8u * i, 1);
            init_barrier(base + empty_offset + 8u * i, 16); /* eight consumer warps in each of two blocks */
        }
        asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    }
    if (threadIdx.x < 32 * stages) { /* gains beyond K are multiplied by zeros: they must be finite */
        asm volatile("st.shared.u32 [%0], %1;" : : "r"(base + gain_offset + 4u * threadIdx.x), "r"(0u) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    }
    __syncwarp();
    cluster_barrier();

    if (role == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            unsigned parity = 1;
#pragma unroll 1
            for (int p = cluster; p < pairs; p += clusters) {
                const int tm = ORDER ? p % down : p / across, tn = ORDER ? p / down : p % across;
                const int row = (2 * tm + rank) * 128, column = tn * 256 + rank * 128;
#pragma unroll 1
                for (int i = 0; i < steps; i++) {
                    wait_phase(room + empty_offset + 8 * stage, parity);
                    const int k0 = 64 * i, left = k - k0;
                    const unsigned gain_bytes = left < 64 ? 2u * (unsigned)left : 128u;
                    const unsigned full = base + full_offset + 8u * stage, place = base + stage_bytes * stage;
                    const unsigned panel = place + a_bytes + 2u * panel_bytes * (unsigned)rank;
                    expect_bytes(full, stage_bytes + gain_bytes);
                    copy_box(place, &xmap, full, k0, row);
                    copy_box_to_both(panel, &bmap, full, column, k0);
                    copy_box_to_both(panel + panel_bytes, &bmap, full, column + 64, k0);
                    copy_bytes(base + gain_offset + 128u * stage, gain + k0, gain_bytes, full);
                    if (++stage == stages) {
                        stage = 0;
                        parity ^= 1u;
                    }
                }
            }
        }
        __syncwarp();
        cluster_barrier(); /* the other block may still reach into this one */
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int group = role - 1;
    const int quarter = __shfl_sync(0xffffffffu, ((int)threadIdx.x >> 5) & 3, 0);
    const int first_row = 64 * group + 16 * quarter;
    const unsigned half = (unsigned)lane >> 4, low = (unsigned)lane & 7u;
    unsigned chunk[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        chunk[i] = (unsigned)(first_row + (lane & 15)) * 128u + (((2u * i + half) ^ low) << 4);
    const unsigned gain_base = base + gain_offset + 4u * ((unsigned)lane & 3u);
    const unsigned out = base + out_offset + 4096u * (unsigned)(4 * group + quarter);
    const unsigned out_row = out + 256u * ((unsigned)lane & 15u);
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(base + empty_offset), "r"(lane & 1));

    float d[128];
    unsigned raw[16], cur[16], gains[8];
    int stage = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int p = cluster; p < pairs; p += clusters) {
        const bool first = p == cluster;
        float s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < 128; i++)
            d[i] = 0.0f;
        wait_phase(room + full_offset + 8 * stage, parity);
        load_fragments(raw, gains, base + stage_bytes * stage, gain_base + 128u * stage, chunk);
        add_squares(s, raw);
        scale_fragments(cur, raw, gains);
        if (STAGGER > 0 && first && group == 1)
            asm volatile("bar.sync 1, 256;" : : : "memory");
        pin(d);
#pragma unroll 1
        for (int i = 1; i < steps; i++) {
            issue_products(d, cur, base + stage_bytes * stage + a_bytes);
            const int next = stage + 1 == stages ? 0 : stage + 1;
            const unsigned next_parity = next == 0 ? parity ^ 1u : parity;
            wait_phase(room + full_offset + 8 * next, next_parity);
            load_fragments(raw, gains, base + stage_bytes * next, gain_base + 128u * next, chunk);
            add_squares(s, raw);
            finish_products();
            release_stage(remote + 8u * stage, lane);
            scale_fragments(cur, raw, gains);
            stage = next;
            parity = next_parity;
            if (STAGGER > 0 && first && group == 0 && i == STAGGER)
                asm volatile("bar.arrive 1, 256;" : : : "memory");
        }
        issue_products(d, cur, base + stage_bytes * stage + a_bytes);
        finish_products();
        release_stage(remote + 8u * stage, lane);
        if (++stage == stages) {
            stage = 0;
            parity ^= 1u;
        }
        if (STAGGER > 0 && first && group == 0 && steps <= STAGGER)
            asm volatile("bar.arrive 1, 256;" : : : "memory");
        pin(d);

        /* Four neighbouring lanes hold the squares of two rows. */
        float r0 = s[0] + s[1], r1 = s[2] + s[3];
        r0 += __shfl_xor_sync(0xffffffffu, r0, 1);
        r1 += __shfl_xor_sync(0xffffffffu, r1, 1);
        r0 += __shfl_xor_sync(0xffffffffu, r0, 2);
        r1 += __shfl_xor_sync(0xffffffffu, r1, 2);
        const float f0 = rsqrtf(__fdividef(r0, (float)k) + 1e-5f), f1 = rsqrtf(__fdividef(r1, (float)k) + 1e-5f);
        const int tm = ORDER ? p % down : p / across, tn = ORDER ? p / down : p % across;
        const int row0 = (2 * tm + rank) * 128 + first_row + (lane >> 4);
        const int column0 = tn * 256 + 8 * (lane & 15);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int j = 4 * (16 * h + 2 * i);
                const unsigned v0 = pack(d[j] * f0, d[j + 1] * f0), v1 = pack(d[j + 2] * f1, d[j + 3] * f1);
                const unsigned v2 = pack(d[j + 4] * f0, d[j + 5] * f0), v3 = pack(d[j + 6] * f1, d[j + 7] * f1);
                asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                             :
                             : "r"(out_row + (((2u * i + half) ^ low) << 4)), "r"(v0), "r"(v1), "r"(v2), "r"(v3)
                             : "memory");
            }
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const unsigned r = 2u * i + half;
                const unsigned from = out + 256u * r + ((((unsigned)lane & 15u) ^ (r & 7u)) << 4);
                uint4 v;
                asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                             : "r"(from)
                             : "memory");
                const int row = row0 + 2 * i, column = column0 + 128 * h;
                if (row < m && column < n)
                    *reinterpret_cast<uint4 *>(y + (long long)row * n + column) = v;
            }
        }
        __syncwarp();
    }
    __syncwarp();
    cluster_barrier();
}
